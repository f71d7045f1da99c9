"""Label maps that are drawn in colours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from assets.volumes import build_volumes
from tests.inspect.folders import drafted, pairs

RED, GREEN, BLUE, WHITE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255), (0, 0, 0)

TOOL = """# index red green blue opacity and two switches
0 0 0 0 0 0 0 "Clear"
1 255 0 0 1 1 1 "liver"
2 0 255 0 1 1 1 "left kidney"
3 0 0 255 1 1 1 "spleen"
"""
ENTRIES = [
    {"title": "liver", "color": "#FF0000"},
    {"title": "left kidney", "color": "#00FF00"},
    {"title": "spleen", "color": "#0000FF"},
]


def mask(path: Path, *colours: tuple[int, int, int], ground: tuple[int, int, int] = BLACK, palette: bool = False) -> None:
    """A rectangle of 4 x 5 of each colour on a ground."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.full((40, 48, 3), ground, np.uint8)
    for number, colour in enumerate(colours):
        pixels[5 * number + 1 : 5 * number + 5, 8:13] = colour
    drawn = Image.fromarray(pixels)
    (drawn.quantize(8) if palette else drawn).save(path)


def photo(path: Path, seed: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (40, 48, 3)).astype(np.uint8)).save(path)


def folder(root: Path, n: int = 4, **how: Any) -> Path:
    """Red in all masks, and green in the second to the last but one alone."""
    for number in range(n):
        photo(root / f"images/{number:03d}.png", number)
        mask(root / f"masks/{number:03d}.png", RED, *([GREEN] if 0 < number < n - 1 else []), **how)
    return root


def colours_of(root: Path) -> tuple[dict[int, tuple[int, int, int]], dict[int, str]]:
    found, spec, tree = drafted(root)
    assert found.said("task") == "segmentation"
    assert len(pairs(spec, tree)) == len(tree.subjects)
    (source,) = spec.layout.labels.values()
    return source.colours, {number: label.name for number, label in spec.labels.items()}


@pytest.mark.parametrize("palette", [False, True])
def test_colours_become_labels_and_the_draft_can_be_built(tmp_path: Path, palette: bool) -> None:
    raw = folder(tmp_path / "raw", palette=palette)
    assert colours_of(raw) == ({1: RED, 2: GREEN}, {1: "label 1", 2: "label 2"})
    found, spec, tree = drafted(raw)
    why = next(unknown.why for unknown in found.unknown if unknown.field == "labels")
    assert why.endswith("they are the colours of 4 label map(s) such as masks/000.png")
    made = build_volumes(spec, raw, tree.subjects["001"], tmp_path / "out", synthetic=True)
    assert [f.detail for f in made.findings if f.severity == "error"] == []
    labels = made.table().filter(kind="labels").row(0, named=True)
    assert (labels["label_ids"], labels["label_voxels"]) == ([1, 2], [20, 20])


def test_colours_of_files_that_are_not_looked_at_are_said_to_be_missing(tmp_path: Path) -> None:
    found, _, _ = drafted(folder(tmp_path, 100))
    why = next(unknown.why for unknown in found.unknown if unknown.field == "labels")
    assert "colours that only the" in why


def test_one_colour_on_black_is_one_label(tmp_path: Path) -> None:
    for number in range(3):
        photo(tmp_path / f"images/{number}.png", number)
        mask(tmp_path / f"masks/{number}.png", RED)
    assert colours_of(tmp_path)[0] == {1: RED}


def test_colours_are_seen_where_the_first_and_the_last_mask_are_empty(tmp_path: Path) -> None:
    for number in range(5):
        photo(tmp_path / f"images/{number}.png", number)
        mask(tmp_path / f"masks/{number}.png", *([RED, BLUE] if number == 2 else []))
    assert colours_of(tmp_path)[0] == {1: RED, 2: BLUE}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels.txt", "background 0 0 0\nliver 255 0 0\nleft kidney 0 255 0\nspleen 0 0 255\n"),
        ("label_colors.txt", "0 0 0\tbackground\n255 0 0\tliver\n0 255 0\tleft kidney\n0 0 255\tspleen\n"),
        ("classes.csv", "name,r,g,b\nbackground,0,0,0\nliver,255,0,0\nleft kidney,0,255,0\nspleen,0,0,255\n"),
        ("tool.txt", TOOL),
        ("hex.txt", "#FF0000 liver\n#00FF00 left kidney\n#0000FF spleen\n"),
        ("map.json", json.dumps({"liver": RED, "left kidney": GREEN, "spleen": BLUE})),
        ("meta.json", json.dumps({"classes": ENTRIES})),
        ("keyed.json", json.dumps({"colors": {"255,0,0": "liver", "0,255,0": "left kidney", "(0, 0, 255)": "spleen"}})),
    ],
)  # fmt: skip
def test_a_file_beside_names_colours_and_those_that_were_not_seen(tmp_path: Path, name: str, text: str) -> None:
    folder(tmp_path)
    (tmp_path / name).write_text(text, encoding="utf-8")
    colours, names = colours_of(tmp_path)
    assert colours == {1: RED, 2: GREEN, 3: BLUE}
    assert names == {1: "liver", 2: "left kidney", 3: "spleen"}


def test_a_file_that_names_other_colours_names_none(tmp_path: Path) -> None:
    folder(tmp_path)
    (tmp_path / "labels.txt").write_text("1 2 3 liver\n40 50 60 spleen\n", encoding="utf-8")
    assert colours_of(tmp_path)[1] == {1: "label 1", 2: "label 2"}


def test_a_ground_that_a_file_names_is_no_label(tmp_path: Path) -> None:
    folder(tmp_path, ground=WHITE)
    (tmp_path / "labels.txt").write_text("255 255 255 background\n255 0 0 liver\n0 255 0 spleen\n", encoding="utf-8")
    assert colours_of(tmp_path) == ({0: WHITE, 1: RED, 2: GREEN}, {1: "liver", 2: "spleen"})


def test_a_ground_that_no_file_names_is_a_label_too(tmp_path: Path) -> None:
    assert colours_of(folder(tmp_path, ground=WHITE))[0] == {1: WHITE, 2: RED, 3: GREEN}


def test_black_and_white_in_three_colours_is_no_map_of_colours(tmp_path: Path) -> None:
    for number in range(3):
        photo(tmp_path / f"images/{number}.png", number)
        mask(tmp_path / f"masks/{number}.png", WHITE)
    _, spec, _ = drafted(tmp_path)
    assert [(source.colours, source.nonzero_is) for source in spec.layout.labels.values()] == [({}, 1)]
