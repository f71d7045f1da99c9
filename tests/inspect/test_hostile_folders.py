"""Folders that are large, deep, damaged or misleading."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from assets.inspect import as_yaml, inspect_folder
from assets.inspect.listing import DEEPEST, list_folder
from assets.inspect.peek import MOST_FILES, Opener
from assets.inspect.tokens import tokens


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="is no folder"):
        inspect_folder(tmp_path / "absent")


def test_an_empty_folder_is_unknown(tmp_path: Path) -> None:
    found = inspect_folder(tmp_path)
    assert {"layout", "task", "modality"} <= {u.field for u in found.unknown}
    assert "layout" not in yaml.safe_load(as_yaml(found, "draft"))


class _Entry:
    """What `os.scandir` yields, without a file system under it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def is_dir(self, *, follow_symlinks: bool) -> bool:  # noqa: ARG002 - the name is that of the standard library
        return False


class _Million:
    def __enter__(self) -> object:
        return (_Entry(f"{n:07d}.dcm") for n in range(1_000_000))

    def __exit__(self, *_: object) -> None:
        return None


def test_of_a_million_names_only_the_first_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "scandir", lambda _: _Million())
    listing = list_folder(tmp_path)
    assert len(listing.paths) == 2000
    assert listing.paths[0] == "0000000.dcm"
    assert "more than 2000 entries" in listing.left_out[0]


def test_many_folders_are_cut_off(tmp_path: Path) -> None:
    for folder in range(6):
        for name in range(5):
            path = tmp_path / str(folder) / f"{name}.png"
            path.parent.mkdir(exist_ok=True)
            path.touch()
    listing = list_folder(tmp_path, in_all=12)
    assert len(listing.paths) == 12
    assert "more than 12 files" in listing.left_out[0]


def test_folders_beside_each_other_share_what_is_looked_at(tmp_path: Path) -> None:
    for kind in ("benign", "malignant", "normal"):
        for person in range(8):
            for name in range(300):
                path = tmp_path / kind / f"p{person}" / f"{name:03}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
    listing = list_folder(tmp_path, in_all=3000)
    counts = Counter(path.partition("/")[0] for path in listing.paths)
    assert counts == {"benign": 1000, "malignant": 1000, "normal": 1000}
    assert sum(path.startswith("normal/p0/") for path in listing.paths) == 300  # some whole rather than all in part
    assert "more than 3000 files" in listing.left_out[-1]
    assert "benign/p3" in listing.left_out[-1]


def test_what_a_small_folder_leaves_goes_to_those_behind_it(tmp_path: Path) -> None:
    for kind, n in (("a", 3), ("b", 900)):
        for name in range(n):
            path = tmp_path / kind / f"{name:03}.png"
            path.parent.mkdir(exist_ok=True)
            path.touch()
    listing = list_folder(tmp_path, in_all=903)
    assert len(listing.paths) == 903
    assert listing.left_out == ()


def test_folders_without_files_are_bounded_too(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number:02}").mkdir()
    (tmp_path / "59/x.png").touch()
    listing = list_folder(tmp_path, in_all=20)
    assert listing.paths == ()
    assert "were not looked into" in listing.left_out[0]


def test_a_deep_tree_ends(tmp_path: Path) -> None:
    folder = tmp_path.joinpath(*["d"] * (DEEPEST + 5))
    folder.mkdir(parents=True)
    (folder / "x.png").touch()
    found = inspect_folder(tmp_path)
    assert found.n_files == 0
    assert any("deeper" in u.why for u in found.unknown)


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert inspect_folder(tmp_path).n_files <= 1


def test_damaged_files_are_no_images(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"scan_{number}.nii.gz").write_bytes(b"no scan")
    found = inspect_folder(tmp_path)
    assert found.plan is None
    assert found.said("task") == ""


def test_few_files_are_opened() -> None:
    opener = Opener(Path(__file__).parent)
    peeks = [opener.peek(f"{n}.png") for n in range(MOST_FILES + 40)]
    assert sum(peek is not None for peek in peeks) == MOST_FILES


def test_masks_in_name_alone_are_not_believed(tmp_path: Path) -> None:
    """Photographs in a folder called masks are no label maps, and nothing else is known of them."""
    pixels = np.arange(400, dtype=np.uint16).reshape(20, 20)
    for number in range(5):
        for folder in ("masks", "photos"):
            (tmp_path / folder).mkdir(exist_ok=True)
            Image.fromarray(((pixels * (number + 3)) % 251).astype(np.uint8)).save(tmp_path / folder / f"{number}.png")
    found = inspect_folder(tmp_path)
    assert found.said("task") != "segmentation"


def test_masks_of_other_images_are_not_paired(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number in range(4):
        for folder, name in (("images", f"{number}.png"), ("masks", f"{number + 100}.png")):
            (tmp_path / folder).mkdir(exist_ok=True)
            pixels = rng.integers(0, 255, (9, 9)).astype(np.uint8)
            Image.fromarray(pixels if folder == "images" else (pixels > 99).astype(np.uint8)).save(tmp_path / folder / name)
    assert inspect_folder(tmp_path).said("task") != "segmentation"


def test_names_without_any_rule_stay_unknown(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name in ("mara", "heron", "obsidian", "quay", "tundra"):
        Image.fromarray(rng.integers(0, 255, (9, 9)).astype(np.uint8)).save(tmp_path / f"{name}.png")
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert found.said("modality") == ""
    assert {"task", "modality", "people"} <= {u.field for u in found.unknown}


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), min_size=1, max_size=40))
def test_tokens_joined_are_the_path(path: str) -> None:
    printable = "".join(letter for letter in path if letter.isprintable())
    assert "".join(token.text for token in tokens(printable)) == printable


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.from_regex(r"[a-zA-Z0-9_. {}*?()+\[\]\\-]{1,12}(/[a-z0-9{}_]{1,6}){0,2}\.(png|nii|csv|dcm)", fullmatch=True),
        max_size=8,
    )
)
def test_any_names_give_a_draft(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    root = tmp_path_factory.mktemp("names")
    for name in names:
        path = root / name.strip("/")
        if ".." in path.parts or not path.parent.resolve().is_relative_to(root):
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.arange(64, dtype=np.uint8).reshape(8, 8)).save(path, format="png")
        except (OSError, ValueError):
            continue
    assert as_yaml(inspect_folder(root), "draft")
