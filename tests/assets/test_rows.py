"""Rows of Parquet tables that count as files."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from assets.incremental import Fingerprints
from assets.opened import open_source
from assets.raw import RawDataMissingError, RawTree, discover
from assets.raw.rows import Row, on_disk, row_of
from assets.spec import DatasetSpec
from assets.spec_layout import FileSource
from resources.findings import BadInputError, Code
from tests.readers.pictures import rows_columns

TABLE = "data/train-0.parquet"
LAYOUT = {
    "subject": r"\w+", "scan": r"\d", "fields": {"row": r"\d+"}, "rows": {"data/*.parquet": ["image", "label"]},
    "series": {"photo": "data/*.parquet/image/{row}/{subject}-{scan}.png"},
    "labels": {"mask": {"path": "data/*.parquet/label/*/{subject}-{scan}_mask.png", "required": False}},
    "ignore": {"data/*.parquet/image/*": "nobody told its name"},
}  # fmt: skip


def spec(**layout: Any) -> DatasetSpec:
    content = {
        "slug": "toy", "name": "Toy", "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "Microscopy",
        "anatomy": "none", "description": "made up", "sources": [], "layout": LAYOUT | layout, "labels": {1: "cell"},
    }  # fmt: skip
    return DatasetSpec.model_validate(content)


def picture(number: int) -> bytes:
    content = io.BytesIO()
    Image.fromarray(np.full((3 + number, 4), 40 + number, np.uint8)).save(content, "PNG")
    return content.getvalue()


def write(root: Path) -> None:
    (root / "data").mkdir()
    images = [{"bytes": picture(n), "path": name} for n, name in enumerate(["b-1.png", None, "/home/x/a-2.png", "b-0.png"])]
    masks = [{"bytes": picture(n) if n in {0, 3} else None, "path": f"b-{1 if n == 0 else 0}_mask.png"} for n in range(4)]
    pl.DataFrame({"image": images, "label": masks, "age": [1, 2, 3, 4]}).write_parquet(root / TABLE, row_group_size=2)


def found(tree: RawTree) -> dict[str, list[tuple[str, str, list[str]]]]:
    return {
        name: [(s.scan, s.series["photo"], [f.path for files in s.labels.values() for f in files]) for s in raw.scans]
        for name, raw in tree.subjects.items()
    }


def test_every_row_has_a_path(tmp_path: Path) -> None:
    write(tmp_path)
    tree = discover(spec(), tmp_path)
    assert found(tree) == {
        "a": [("2", f"{TABLE}/image/2/a-2.png", [])],
        "b": [
            ("0", f"{TABLE}/image/3/b-0.png", [f"{TABLE}/label/3/b-0_mask.png"]),
            ("1", f"{TABLE}/image/0/b-1.png", [f"{TABLE}/label/0/b-1_mask.png"]),
        ],
    }
    reasons = {f.path: f.reason for f in tree.files if f.state == "ignored"}
    assert reasons == {TABLE: "its rows are listed one by one", f"{TABLE}/image/1": "nobody told its name"}
    sizes = {f.path: f.size for f in tree.files}
    assert sizes[f"{TABLE}/image/2/a-2.png"] == len(picture(2))
    assert sizes[TABLE] == (tmp_path / TABLE).stat().st_size
    assert tree.subjects["b"].scans[0].fields["row"] == "3"


def test_a_path_of_a_row_opens_its_picture(tmp_path: Path) -> None:
    write(tmp_path)
    for path, height in ((f"{TABLE}/image/2/a-2.png", 5), (f"{TABLE}/image/1", 4)):
        image = open_source(tmp_path, path, FileSource(path=("x",)))
        np.testing.assert_array_equal(rows_columns(image), np.full((height, 4), 37 + height))
        assert [source.path for source in image.sources] == [tmp_path / TABLE]


def test_a_path_is_that_of_a_row_or_of_a_file() -> None:
    assert row_of("a/b.parquet/image/12/c.png") == Row("a/b.parquet", "image", 12)
    assert on_disk("a/b.parquet/image/12/c.png") == "a/b.parquet"
    for path in ("a/b.parquet", "a/b.parquet/image/c.png", "a/b.parquet/part-0.parquet", "a/12/c.png"):
        assert (row_of(path), on_disk(path)) == (None, path)


def test_a_table_that_was_touched_has_the_content_that_it_had(tmp_path: Path) -> None:
    write(tmp_path)
    os.utime(tmp_path / TABLE, ns=(1, 1))
    entry = next(f for f in discover(spec(), tmp_path).files if f.path.endswith("a-2.png"))
    assert entry.mtime_ns == 1
    content = hashlib.sha256((tmp_path / TABLE).read_bytes()).hexdigest()
    assert Fingerprints(tmp_path, {}).content_of(entry) == content


@pytest.mark.parametrize(("columns", "code"), [(["image", "age"], Code.NO_SUCH_ARRAY), (["photo"], Code.NO_SUCH_ARRAY)])
def test_a_column_without_pictures_is_told(tmp_path: Path, columns: list[str], code: Code) -> None:
    write(tmp_path)
    (tmp_path / "data/0.parquet").write_bytes((tmp_path / TABLE).read_bytes())
    layout = {"rows": {"data/0.parquet": columns, TABLE: ["image"]}}
    tree = discover(spec(**layout), tmp_path)
    (said,) = [f for f in tree.findings if f.file == "data/0.parquet"]
    assert said.code == code
    assert next(f.reason for f in tree.files if f.path == "data/0.parquet") == "its rows cannot be listed"


def test_a_file_that_is_no_table_is_told(tmp_path: Path) -> None:
    write(tmp_path)
    Image.fromarray(np.zeros((3, 4), np.uint8)).save(tmp_path / "data/a.png")
    (tmp_path / "data/a.png").rename(tmp_path / "data/a.parquet")
    (said,) = [f for f in discover(spec(), tmp_path).findings if f.file == "data/a.parquet"]
    assert (said.code, "only Parquet tables" in said.detail) == (Code.WRONG_MAGIC, True)


def test_a_table_alone_that_cannot_be_read_is_no_dataset(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / TABLE).write_bytes((tmp_path / TABLE).read_bytes()[:-9])
    with pytest.raises(RawDataMissingError):
        discover(spec(), tmp_path)


def test_a_row_that_is_not_there_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    with pytest.raises(BadInputError, match="has no row 9"):
        open_source(tmp_path, f"{TABLE}/image/9/x.png", FileSource(path=("x",)))
