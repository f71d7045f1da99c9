"""Files that are nothing but the class of a subject or a scan."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.classes import classes_table
from assets.raw import discover
from assets.raw.lines import MOST_OF_ONE, only_value
from assets.spec import DatasetSpec
from resources.findings import Code, Finding
from tests.assets.test_told import all_of, no_tag, spec, touch


def declared(ending: str = ".json", **more: Any) -> DatasetSpec:
    layout = {"subject": r"p\d", "series": {"ct": "{subject}/ct.mha"}}
    classes = {"names": ["benign", "malignant"], "values": {"0": "benign", "1": "malignant"}}
    return spec(layout, classes={**classes, "lines": {"file": f"answers/{{subject}}{ending}"}, **more})


def told(root: Path, content: bytes | None, ending: str = ".json", **more: Any) -> tuple[list[str], list[Finding]]:
    """The classes of one subject whose file holds something."""
    touch(root, "p1/ct.mha")
    (root / "answers").mkdir()
    if content is not None:
        (root / f"answers/p1{ending}").write_bytes(content)
    by = declared(ending, **more)
    tree = discover(by, root)
    table, findings = classes_table(by, tree, all_of(tree), no_tag)
    return table["class"].to_list(), findings


@pytest.mark.parametrize("text", ["1", "1.0", " 1\n", "1e0", "10.0E-1", '"1"', '"malignant"', "\ufeff1"])
def test_a_json_file_is_the_class(text: str, tmp_path: Path) -> None:
    assert told(tmp_path, text.encode()) == (["malignant"], [])


@pytest.mark.parametrize("text", ["0", "0.0", "-0.0", "0e5"])
def test_no_point_and_no_sign_makes_another_class_of_nought(text: str, tmp_path: Path) -> None:
    assert told(tmp_path, text.encode()) == (["benign"], [])


@pytest.mark.parametrize(("text", "name"), [("1", "malignant"), ("0.0\r\n", "benign"), ("malignant\n\n", "malignant")])
def test_a_text_of_one_line_is_the_class(text: str, name: str, tmp_path: Path) -> None:
    assert told(tmp_path, text.encode(), ".cls") == ([name], [])


def test_true_and_false_are_classes(tmp_path: Path) -> None:
    assert told(tmp_path, b"true", values={"true": "malignant", "false": "benign"}) == (["malignant"], [])


def test_every_scan_may_have_a_file_of_its_own(tmp_path: Path) -> None:
    touch(tmp_path, "p1/a.png", "p1/b.png", "p2/a.png")
    for name, text in {"p1/a": "1", "p1/b": "0", "p2/a": "0"}.items():
        (tmp_path / f"{name}.cls").write_text(text)
    layout = {"subject": r"p\d", "scan": "[ab]", "series": {"photo": "{subject}/{scan}.png"}}
    by = spec(layout, classes={"names": ["0", "1"], "lines": {"file": "{subject}/{scan}.cls"}})
    tree = discover(by, tmp_path)
    table, findings = classes_table(by, tree, all_of(tree), no_tag)
    assert table.select("subject", "scan", "class", "source").rows() == [
        ("p1", "a", "1", "p1/a.cls"), ("p1", "b", "0", "p1/b.cls"), ("p2", "a", "0", "p2/a.cls"),
    ]  # fmt: skip
    assert findings == []
    assert {f.reason for f in tree.files if f.path.endswith(".cls")} == {"the classes are taken from it"}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "empty"),
        (b" \n", "empty"),
        (b'{"risk": 1}', "an object"),
        (b"[1]", "a list"),
        (b"NaN", "NaN is no number"),
        (b"-Infinity", "no number"),
        (b"1e999", "no number"),
        (b"1 0", "no JSON"),
        (b"malignant", "no JSON"),
        (b"[" * 2000, "one value|no JSON"),
        (b"\xff\xfe1", "utf-8"),
        (b'"' + b"a" * 300 + b'"', "300 letters"),
        (b'"a\\nb"', "printable"),
        (b" " * MOST_OF_ONE + b"1", "more than the 4096 bytes"),
    ],
)
def test_a_file_that_is_no_class_is_a_finding(content: bytes, why: str, tmp_path: Path) -> None:
    classes, findings = told(tmp_path, content)
    assert classes == []
    assert [(f.code, f.file) for f in findings] == [(Code.CLASS_UNKNOWN, "answers/p1.json"), (Code.CLASS_UNKNOWN, "p1/ct.mha")]
    assert any(text in findings[0].detail for text in why.split("|"))
    assert findings[1].detail == "no class is told (answers/p1.json)"


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    touch(tmp_path, "p1/ct.mha", "answers/p1.json")
    with (tmp_path / "answers/p1.json").open("wb") as file:
        file.truncate(1 << 40)
    by = declared()
    tree = discover(by, tmp_path)
    _, findings = classes_table(by, tree, all_of(tree), no_tag)
    assert "more than the 4096 bytes" in findings[0].detail


def test_a_huge_file_of_lines_is_not_read(tmp_path: Path) -> None:
    touch(tmp_path, "p1/ct.mha", "answers/p1.json")
    with (tmp_path / "answers/p1.json").open("wb") as file:
        file.truncate(1 << 40)
    by = declared(lines={"file": "answers/{subject}.json", "key": "risk"})
    _, findings = classes_table(by, discover(by, tmp_path), {"p1"}, no_tag)
    assert "more than the 1048576 bytes" in findings[0].detail


@pytest.mark.parametrize(("missing", "n_findings"), [("error", 1), ("none", 0)])
def test_a_missing_file_and_null_tell_no_class(missing: str, n_findings: int, tmp_path: Path) -> None:
    for name, content in (("absent", None), ("null", b"null")):
        (tmp_path / name).mkdir()
        classes, findings = told(tmp_path / name, content, missing=missing)
        assert classes == []
        assert [f.file for f in findings] == ["p1/ct.mha"] * n_findings


@pytest.mark.parametrize("text", ["0.37", "2", "0.5", "-1", "1.0000001", "true"])
def test_a_value_that_is_no_class_is_never_rounded_to_one(text: str, tmp_path: Path) -> None:
    classes, findings = told(tmp_path, text.encode())
    assert classes == []
    assert [(f.code, f.file) for f in findings] == [(Code.CLASS_UNKNOWN, "p1/ct.mha")]
    assert f"the class is {text!r}, which is none of" in findings[0].detail
    assert "answers/p1.json" in findings[0].detail


def test_a_text_of_several_lines_is_no_class(tmp_path: Path) -> None:
    classes, findings = told(tmp_path, b"malignant\nbenign\n", ".txt")
    assert classes == []
    assert "2 lines" in findings[0].detail


def test_a_file_that_is_a_class_is_a_subjects() -> None:
    with pytest.raises(ValueError, match=r"or is one, is a subject's"):
        declared(lines={"file": "class.json"})


@settings(deadline=None, max_examples=60)
@given(st.one_of(st.integers(-(10**30), 10**30), st.floats(allow_nan=False, allow_infinity=False)))
def test_a_number_reads_as_itself(number: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "value.json"
        path.write_text(json.dumps(number))
        read = only_value(path)
        assert read is not None
        assert float(read) == float(number)
        assert number != int(number) or abs(number) >= 2**53 or read == str(int(number))
