"""Rows of tables of marked objects that name no image are told, so that no box is lost in silence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assets.objects import objects_table
from assets.raw import discover
from assets.tables import FINDINGS, frame
from expectations.gate import _raw_folder_check
from resources.findings import Code, Finding, Severity
from tests.assets.test_told import spec, touch

HEAD = "filename,id,x,y,w,h\n"


def found_by(root: Path, *published: str, **objects: Any) -> tuple[pl.DataFrame, list[Finding]]:
    content = {"file": "boxes.csv", "key": "filename", "match": "{name}", "origin_size": ["x", "y", "w", "h"]} | objects
    layout = {"subject": r"s\d", "series": {"photo": "img/{subject}.png"}, "ignore": {"aside/*.png": "not ours"}}
    declared = spec(layout, labels={1: "cell"}, objects=content)
    tree = discover(declared, root)
    return objects_table(declared, tree, set(published or tree.subjects))


@pytest.mark.parametrize("wrong", [{"match": "{stem}.jpg"}, {"key": "id"}, {"match": "{case}"}])
def test_a_table_that_names_no_image_by_the_spec_is_an_error_that_closes_the_gate(wrong: dict[str, str], tmp_path: Path) -> None:
    touch(tmp_path, "img/s1.png", "img/s2.png")
    (tmp_path / "boxes.csv").write_text(HEAD + "s1.png,7,1,1,2,2\ns2.png,8,1,1,2,2\ns2.png,9,4,4,2,2\n")
    rows, findings = found_by(tmp_path, **wrong)
    (said,) = [f for f in findings if f.code is Code.OBJECT_WITHOUT_IMAGE]
    assert (rows.height, said.severity, said.file) == (0, Severity.ERROR, "boxes.csv")
    assert said.detail.startswith("3 of 3 rows name no image")
    assert repr("7" if "key" in wrong else "s1.png") in said.detail
    row = {"code": said.code.value, "severity": said.severity.value, "file": said.file, "detail": said.detail}
    assert not _raw_folder_check(frame(FINDINGS, [row])).passed


def test_some_rows_that_name_no_image_are_one_warning(tmp_path: Path) -> None:
    touch(tmp_path, "img/s1.png", "img/s2.png")
    (tmp_path / "boxes.csv").write_text(HEAD + "s1.png,7,1,1,2,2\nS2.png,8,1,1,2,2\n,8,1,1,2,2\ns2.PNG,8,1,1,2,2\n")
    rows, (said,) = found_by(tmp_path)
    assert (rows.height, said.code, said.severity) == (1, Code.OBJECT_WITHOUT_IMAGE, Severity.WARNING)
    assert said.detail.startswith(
        "3 of 4 rows name no image: filename is '', 'S2.png', 's2.PNG'; by '{name}' the images are called"
    )
    assert "'s1.png', 's2.png'" in said.detail


def test_rows_of_images_that_are_not_published_or_not_used_name_something(tmp_path: Path) -> None:
    touch(tmp_path, "img/s1.png", "img/s2.png", "aside/t1.png")
    (tmp_path / "boxes.csv").write_text(HEAD + "s1.png,7,1,1,2,2\ns2.png,8,1,1,2,2\nt1.png,8,1,1,2,2\n")
    rows, findings = found_by(tmp_path, "s1")
    assert (rows.height, findings) == (1, [])


def test_rows_that_say_there_is_no_object_name_their_images_too(tmp_path: Path) -> None:
    touch(tmp_path, "img/s1.png", "img/s2.png")
    (tmp_path / "boxes.csv").write_text(HEAD + "s1.png,7,,,,\ns2.png,8,,,,\n")
    rows, findings = found_by(tmp_path)
    assert (rows.height, findings) == (0, [])


def test_every_table_is_told_of_by_itself(tmp_path: Path) -> None:
    touch(tmp_path, "img/s1.png")
    (tmp_path / "boxes.csv").write_text(HEAD + "s1.png,7,1,1,2,2\n")
    (tmp_path / "more.csv").write_text(HEAD + "image s1,7,1,1,2,2\n")
    rows, findings = found_by(tmp_path, file=["boxes.csv", "more.csv"])
    assert rows.height == 1
    assert [(f.file, f.severity) for f in findings] == [("more.csv", Severity.ERROR)]


@pytest.mark.parametrize("table", ["", "name,x,y\n"])
def test_a_table_that_cannot_be_read_is_one_error_for_all_its_images(table: str, tmp_path: Path) -> None:
    touch(tmp_path, "img/s1.png", "img/s2.png")
    if table:
        (tmp_path / "boxes.csv").write_text(table)
    rows, findings = found_by(tmp_path)
    assert rows.is_empty()
    assert [(f.code, f.severity, f.file) for f in findings] == [(Code.OBJECT_UNUSABLE, Severity.ERROR, "boxes.csv")]
