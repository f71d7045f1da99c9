"""What is wrong with a record is found when it is read back, and every expectation of the suite can fail."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from assets.mds.audit import audit
from assets.mds.table import RECORDS_TABLE
from expectations import records as suite_of
from expectations.engine import run_suite
from resources.findings import Severity
from tests.mds.made import Records, publish, spec_of, write_picture

Json = dict[str, Any]
LAYOUT = {
    "subject": r"p\d",
    "series": {"photo": "{subject}.png"},
    "labels": {"seg": {"path": "{subject}_m.png", "nonzero_is": 1}},
}
MDS = {"variant": "2d_coco", "dimension": "2D", "modality": "Fundus", "classes": ["vessel"]}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Records:
    root = tmp_path_factory.mktemp("good")
    for number in range(2):
        write_picture(
            root / "raw" / "made_up" / f"p{number}.png", np.arange(300, dtype=np.uint16).reshape(15, 20).astype(np.uint8)
        )
        mask = np.zeros((15, 20), np.uint8)
        mask[4:9, 3:12] = 255
        write_picture(root / "raw" / "made_up" / f"p{number}_m.png", mask)
    return publish(spec_of(LAYOUT, MDS, labels={1: "vessel"}), root)


@pytest.fixture
def folder(good: Records, tmp_path: Path) -> Path:
    shutil.copytree(good.folder, tmp_path / "records")
    return tmp_path / "records"


def change(folder: Path, edit: Callable[[Json], object]) -> None:
    path = folder / "standardized_annotations" / "1.json"
    record = json.loads(path.read_text())
    edit(record)
    path.write_text(json.dumps(record))


def failed(good: Records, table: pl.DataFrame) -> dict[str, Severity]:
    """Column -> severity of the expectations that do not hold."""
    result = run_suite(suite_of.suite(good.dataset.spec), suite_of.view(table))
    return {"".join(r.expectation.columns): r.expectation.severity for r in result.failed}


def annotation(record: Json) -> Json:
    (only,) = record["tasks"]["segmentation"]["coco_2d"]["annotations"]
    assert isinstance(only, dict)
    return only


def test_what_was_written_holds(good: Records) -> None:
    table = audit(good.folder)
    assert failed(good, table) == {}
    assert table.select("index", "image", "width", "height", "n_masks").rows() == [
        (0, "images/0.png", 20, 15, 1), (1, "images/1.png", 20, 15, 1),
    ]  # fmt: skip


def drop_sex(record: Json) -> None:
    record["context"]["sample"]["sex"] = None


def fill_two_branches(record: Json) -> None:
    record["media_geometry"]["spatial"]["three_d"] = {"volume_shape_vox": [1, 2, 3]}


def shift_box(record: Json) -> None:
    annotation(record)["bbox_xywh"][0] += 1


def wrong_area(record: Json) -> None:
    annotation(record)["area_px"] += 1


def other_size(record: Json) -> None:
    annotation(record)["segmentation"]["size"].reverse()


def short_runs(record: Json) -> None:
    annotation(record)["segmentation"]["counts"][-1] -= 1


def no_pixel(record: Json) -> None:
    annotation(record)["segmentation"]["counts"] = [300]


def box_outside(record: Json) -> None:
    record["tasks"]["detection"] = {
        "schema_variant": "2d", "class_names": {"0": "a"}, "boxes2d": [{"category_id": 0, "bbox_xyxy_px": [1, 2, 21, 4]}],
    }  # fmt: skip
    record["tasks"]["segmentation"] = {}


def other_picture_size(record: Json) -> None:
    record["media_geometry"]["spatial"]["common"]["picture"]["size_px"] = [20, 16]


@pytest.mark.parametrize(
    ("edit", "column"),
    [
        (drop_sex, "violations"), (fill_two_branches, "violations"), (shift_box, "bad_masks"), (wrong_area, "bad_masks"),
        (other_size, "bad_masks"), (short_runs, "bad_masks"), (no_pixel, "bad_masks"), (box_outside, "bad_boxes"),
        (other_picture_size, "picture_problem"),
    ],
)  # fmt: skip
def test_a_record_that_is_wrong_is_found(good: Records, folder: Path, edit: Callable[[Json], object], column: str) -> None:
    change(folder, edit)
    table = audit(folder)
    assert failed(good, table) == {column: Severity.ERROR}
    assert [bool(text) for text in table[column]] == [False, True]


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def grey(path: Path) -> None:
    Image.open(path).convert("L").save(path)


def gone(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("damage", [cut_short, grey, gone])
def test_a_picture_that_does_not_open_as_rgb_is_found(good: Records, folder: Path, damage: Callable[[Path], None]) -> None:
    damage(folder / "images" / "1.png")
    assert "picture_problem" in failed(good, audit(folder))


def test_a_picture_of_one_colour_is_a_warning(good: Records, folder: Path) -> None:
    Image.new("RGB", (20, 15), (9, 9, 9)).save(folder / "images" / "1.png")
    assert failed(good, audit(folder)) == {"n_colours": Severity.WARNING}


def test_a_table_that_is_wrong_in_other_ways_fails_too(good: Records) -> None:
    table = audit(good.folder)
    assert "index" in failed(good, table.with_columns(index=pl.lit(0, pl.Int64)))
    assert "image" in failed(good, table.with_columns(image=pl.lit("images/01.png")))
    assert "unset" in failed(good, table.with_columns(violations=pl.lit(None, pl.String)))
    assert "" in failed(good, table.drop("width"))
    assert list(RECORDS_TABLE) == table.columns
