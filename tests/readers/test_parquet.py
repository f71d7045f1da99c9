"""Pictures in Parquet tables, written by polars and Pillow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from PIL import Image

from resources.findings import BadInputError, Code
from resources.readers.registry import list_arrays, picture_rows
from tests.readers.makers import codes
from tests.readers.pictures import collect, damaged, opened, read_or_refuse, refused, rows_columns

Array = npt.NDArray[Any]
DICE = np.random.default_rng(13)
COLOURS = DICE.integers(0, 256, (5, 12, 15, 3)).astype(np.uint8)
MASKS = DICE.integers(0, 2, (5, 12, 15)).astype(np.uint8)


def png(array: Array, form: str = "PNG") -> bytes:
    content = io.BytesIO()
    Image.fromarray(array).save(content, form)
    return content.getvalue()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """As the Hugging Face libraries write: a structure of bytes and path for each picture."""
    frame = pl.DataFrame({
        "image": [{"bytes": png(picture), "path": f"{number}.png"} for number, picture in enumerate(COLOURS)],
        "label": [{"bytes": png(mask, "GIF"), "path": f"{number}.gif"} for number, mask in enumerate(MASKS)],
        "age": [1.5] * 5,
    })  # fmt: skip
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=2)
    return tmp_path / "a.parquet"


def test_all_rows_are_pages(table: Path) -> None:
    image = opened(table, key="image")
    np.testing.assert_array_equal(collect(image), COLOURS.transpose(2, 1, 0, 3))
    assert (image.format, image.third_axis, image.n_channels) == ("Parquet, PNG", "page", 3)
    assert codes(image) == set()


def test_a_row_is_a_picture(table: Path) -> None:
    np.testing.assert_array_equal(rows_columns(opened(table, key="image/3")), COLOURS[3])
    np.testing.assert_array_equal(rows_columns(opened(table, key="label/4/index")), MASKS[4])


def test_the_pictures_of_a_column_are_listed_with_their_names(table: Path) -> None:
    assert picture_rows(table, "image") == tuple((f"{n}.png", len(png(picture))) for n, picture in enumerate(COLOURS))
    plain = table.with_name("b.parquet")
    pl.DataFrame({"photo": [png(COLOURS[0]), None, b""], "age": [1, 2, 3]}).write_parquet(plain)
    assert picture_rows(plain, "photo") == (("", len(png(COLOURS[0]))), ("", 0), ("", 0))
    for column in ("age", "image"):
        with pytest.raises(BadInputError, match="columns of bytes") as told:
            picture_rows(plain, column)
        assert told.value.finding.code == Code.NO_SUCH_ARRAY


def test_the_key_is_needed_and_columns_are_listed(table: Path) -> None:
    error = refused(table)
    assert error.finding.code == Code.NO_SUCH_ARRAY
    assert "'image', 'label'" in str(error)
    for key in ("age", "age/1", "image/5", "nothing"):
        assert refused(table, key=key).finding.code == Code.NO_SUCH_ARRAY
    assert [(info.name, info.shape) for info in list_arrays(table)] == [("image", (5,)), ("label", (5,)), ("age", (5,))]


def test_a_column_of_plain_bytes(tmp_path: Path) -> None:
    pl.DataFrame({"picture": [png(picture) for picture in COLOURS]}).write_parquet(tmp_path / "a.parquet")
    np.testing.assert_array_equal(collect(opened(tmp_path / "a.parquet")), COLOURS.transpose(2, 1, 0, 3))


def test_pictures_of_different_sizes_are_read_one_by_one(tmp_path: Path) -> None:
    pictures = [png(COLOURS[0]), png(COLOURS[1, :5]), None, b"no picture"]
    pl.DataFrame({"picture": pictures}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"picture": pictures[:2]}).write_parquet(tmp_path / "b.parquet")
    assert "picture/1" in str(refused(tmp_path / "b.parquet"))
    np.testing.assert_array_equal(rows_columns(opened(tmp_path / "a.parquet", key="picture/1")), COLOURS[1, :5])
    assert "empty" in str(refused(tmp_path / "a.parquet", key="picture/2"))
    assert "no pictu" in str(refused(tmp_path / "a.parquet", key="picture/3"))


def test_a_cut_table_is_truncated_and_a_large_one_refused(table: Path) -> None:
    content = table.read_bytes()
    assert refused(table, key="image", max_bytes=1000).finding.code == Code.TOO_LARGE
    for size in (10, len(content) // 2, len(content) - 1):
        table.write_bytes(content[:size])
        assert refused(table, key="image").finding.code == Code.TRUNCATED


def test_whatever_is_damaged_the_run_goes_on(table: Path) -> None:
    content = table.read_bytes()
    results = [read_or_refuse(table, one, key="image") for one in damaged(content, 60)]
    assert not all(results)
