"""Classes under a key of JSON: in a file of each subject or scan, and in one object whose keys name the images."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.class_tables import MOST_BYTES as MOST_OF_TABLE
from assets.classes import classes_table
from assets.raw import discover
from assets.raw.lines import MOST_BYTES, value_under
from assets.spec import DatasetSpec
from resources.findings import Code, Finding
from tests.assets.test_told import all_of, no_tag, spec, touch

NAMES = {"names": ["benign", "malignant"], "values": {"0": "benign", "1": "malignant", "true": "malignant"}}
LAYOUT = {"subject": r"p\d", "series": {"photo": "{subject}/image.png"}}


def read(by: DatasetSpec, root: Path) -> tuple[dict[str, str], list[Finding]]:
    tree = discover(by, root)
    table, findings = classes_table(by, tree, all_of(tree), no_tag)
    return dict(table.select("subject", "class").iter_rows()), findings


def in_files(root: Path, contents: list[bytes], key: str = "diagnosis", **more: Any) -> tuple[dict[str, str], list[Finding]]:
    """The classes of subjects p1, p2, ..., each with a file beside its image."""
    for number, content in enumerate(contents, start=1):
        touch(root, f"p{number}/image.png")
        (root / f"p{number}/info.json").write_bytes(content)
    return read(spec(LAYOUT, classes={**NAMES, "lines": {"file": "{subject}/info.json", "key": key}, **more}), root)


def in_one(root: Path, content: str, names: str = "abc", **table: Any) -> tuple[dict[str, str], list[Finding]]:
    """The classes of images a.png, b.png, ..., all told by one file."""
    touch(root, *(f"img/{name}.png" for name in names))
    (root / "labels.json").write_text(content)
    more = {name: table.pop(name) for name in ("missing",) if name in table}
    layout = {"subject": "[a-z]", "series": {"photo": "img/{subject}.png"}}
    told = {"file": "labels.json", "each": "{}", "match": "{name}", **table}
    return read(spec(layout, classes={**NAMES, "table": told, **more}), root)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"diagnosis": "malignant", "age": 50}', "malignant"),
        ('{\n  "age": 50,\n  "diagnosis": " benign "\n}', "benign"),
        ('{"diagnosis": 1}', "malignant"),
        ('{"diagnosis": 0.0}', "benign"),
        ('{"diagnosis": 1e0}', "malignant"),
        ('{"diagnosis": true}', "malignant"),
        ('\ufeff{"diagnosis": "benign"}', "benign"),
        ('{"diagnosis": "benign", "age": NaN, "dose": 1e999, "notes": ["a"]}', "benign"),
        ('{"diagnosis": "benign", "age": 1, "age": 2, "diagnosis": "benign"}', "benign"),
    ],
)
def test_a_key_beside_an_image_is_its_class(text: str, name: str, tmp_path: Path) -> None:
    assert in_files(tmp_path, [text.encode()]) == ({"p1": name}, [])


def test_a_point_leads_into_an_object_and_may_be_part_of_a_name(tmp_path: Path) -> None:
    entries = [
        {"meta": {"clinical": {"dx": "benign"}}},
        {"meta.clinical": {"dx": "malignant"}},
        {"meta": {"clinical.dx": "benign"}},
        {"meta.clinical.dx": "malignant", "meta": {"clinical": {"dx": "benign"}}},
    ]
    told, findings = in_files(tmp_path, [json.dumps(entry).encode() for entry in entries], "meta.clinical.dx")
    assert told == {"p1": "benign", "p2": "malignant", "p3": "benign", "p4": "malignant"}
    assert findings == []


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "no JSON"),
        (b'{"diagnosis": "benign"', "no JSON"),
        (b"diagnosis: benign", "no JSON"),
        (b'"benign"', "there is one value"),
        (b"[1]", "there is a list"),
        (b'{"diagnosis": ["benign"]}', "a list"),
        (b'{"diagnosis": {"name": "benign"}}', "an object"),
        (b'{"diagnosis": NaN}', "NaN is no number"),
        (b'{"diagnosis": -Infinity}', "no number"),
        (b'{"diagnosis": 1e999}', "no number"),
        (b'{"diagnosis": "benign", "diagnosis": "malignant"}', "twice"),
        (b'{"diagnosis": "' + b"a" * 300 + b'"}', "300 letters"),
        (b'{"diagnosis": "a\\nb"}', "printable"),
        (b'{"diagnosis": "\\ud800"}', "printable"),
        (b'{"a": ' * 100_000, "nested|no JSON"),
        (b"\xff\xfe{", "utf-8"),
        (b" " * MOST_BYTES + b"{}", "more than the 1048576 bytes"),
    ],
)
def test_what_is_no_class_is_a_finding_of_its_file_alone(content: bytes, why: str, tmp_path: Path) -> None:
    told, findings = in_files(tmp_path, [content, b'{"diagnosis": "benign"}'], missing="none")
    assert told == {"p2": "benign"}
    assert [(f.code, f.file) for f in findings] == [(Code.CLASS_UNKNOWN, "p1/info.json")]
    assert any(text in findings[0].detail for text in why.split("|"))


@pytest.mark.parametrize("text", ["{}", '{"age": 4}', '{"diagnosis": null}', '{"diagnosis": "  "}', '{"Diagnosis": "benign"}'])
@pytest.mark.parametrize("missing", ["error", "none"])
def test_a_missing_key_and_null_tell_no_class(text: str, missing: str, tmp_path: Path) -> None:
    told, findings = in_files(tmp_path, [text.encode()], missing=missing)
    assert told == {}
    details = ["no class is told (p1/info.json, diagnosis)"] if missing == "error" else []
    assert [(f.file, f.detail) for f in findings] == [("p1/image.png", detail) for detail in details]


def test_a_key_that_leads_into_a_value_is_a_finding(tmp_path: Path) -> None:
    told, (fault, _) = in_files(tmp_path, [b'{"meta": "benign"}'], "meta.dx")
    assert told == {}
    assert "'dx' is looked for in an object, and there is one value" in fault.detail


def test_a_value_that_is_no_class_is_told_and_not_rounded(tmp_path: Path) -> None:
    told, findings = in_files(tmp_path, [b'{"diagnosis": 0.50}', b'{"diagnosis": "cyst"}'])
    assert told == {}
    assert ["'0.50', which is none of" in findings[0].detail, "'cyst', which is none of" in findings[1].detail] == [True, True]
    assert "(p1/info.json, diagnosis)" in findings[0].detail


def test_a_key_of_many_parts_follows_no_deeper_than_its_file(tmp_path: Path) -> None:
    depth = 900
    (tmp_path / "deep.json").write_text('{"a":' * depth + '"benign"' + "}" * depth)
    for parts in (depth + 1, 60_000):
        with pytest.raises(ValueError, match="object"):
            value_under(tmp_path / "deep.json", ".".join("a" * parts))


def test_every_scan_may_have_its_own_json(tmp_path: Path) -> None:
    touch(tmp_path, "p1/a.png", "p1/b.png")
    for name, kind in {"a": "benign", "b": "malignant"}.items():
        (tmp_path / f"p1/{name}.json").write_text(json.dumps({"dx": kind}))
    layout = {"subject": r"p\d", "scan": "[ab]", "series": {"photo": "{subject}/{scan}.png"}}
    by = spec(layout, classes={**NAMES, "lines": {"file": "{subject}/{scan}.json", "key": "dx"}})
    tree = discover(by, tmp_path)
    table, findings = classes_table(by, tree, all_of(tree), no_tag)
    assert table.select("scan", "class", "source").rows() == [
        ("a", "benign", "p1/a.json, dx"), ("b", "malignant", "p1/b.json, dx"),
    ]  # fmt: skip
    assert findings == []
    assert {f.reason for f in tree.files if f.path.endswith(".json")} == {"the classes are taken from it"}


@settings(deadline=None, max_examples=60)
@given(st.dictionaries(st.text(max_size=4), st.none() | st.booleans() | st.integers() | st.text(max_size=5)), st.text(max_size=4))
def test_a_key_without_points_reads_what_json_says(content: dict[str, Any], key: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "value.json"
        path.write_text(json.dumps(content))
        value = content.get(key)
        shown = str(value).lower() if isinstance(value, bool) else "" if value is None else str(value).strip()
        try:
            assert "." in key or value_under(path, key) == (shown or None)
        except ValueError:
            assert not shown.isprintable()


@pytest.mark.parametrize(
    ("content", "more"),
    [
        ({"a.png": "benign", "b.png": "malignant", "c.png": 0}, {}),
        ({"a": "benign", "b": True, "c": 0.0}, {"match": "{stem}"}),
        ({"img/a.png": "benign", "img/b.png": "malignant", "img/c.png": "benign"}, {"match": "{path}"}),
        ({"v": 1, "labels": {"a.png": "benign", "b.png": "malignant", "c.png": "benign"}}, {"each": "labels{}"}),
        (
            {"a.png": {"label": "benign", "age": 4}, "b.png": {"label": "malignant"}, "c.png": {"label": "benign"}},
            {"value": "label"},
        ),
        ({f"{n}.png": {"m": {"dx": kind}} for n, kind in zip("abc", (0, 1, 0), strict=True)}, {"value": "m.dx"}),
        ({"sets": [{"of": {"a.png": 0, "b.png": 1}}, {"of": {"c.png": 0, "a.png": "0"}}]}, {"each": "sets[].of{}"}),
    ],
)
def test_the_keys_of_one_object_name_the_images(content: Any, more: dict[str, Any], tmp_path: Path) -> None:
    told, findings = in_one(tmp_path, json.dumps(content), **more)
    assert told == {"a": "benign", "b": "malignant", "c": "benign"}
    assert findings == []


def test_an_entry_that_is_no_class_leaves_the_others(tmp_path: Path) -> None:
    entries = '"a.png": ["benign"], "b.png": NaN, "c.png": {"x": 1}, "d.png": "benign", "e.png": "benign", "e.png": "malignant"'
    told, findings = in_one(
        tmp_path, f'{{{entries}, "f.png": null, "z.png": [], "g.png": 1, "g.png": 1}}', "abcdefg", missing="none"
    )
    assert told == {"d": "benign", "g": "malignant"}
    assert [f.file for f in findings] == ["img/a.png", "img/b.png", "img/c.png", "img/e.png"]
    assert [f.detail.partition(": ")[2] for f in findings] == [
        "there is a list, and should be one value (labels.json, a.png)",
        "NaN is no number that could be told (labels.json, b.png)",
        "there is an object, and should be one value (labels.json, c.png)",
        "there is the same key twice, with values that differ, and should be one value (labels.json, e.png)",
    ]


def test_an_image_without_an_entry_or_a_key_is_a_finding_that_names_the_file(tmp_path: Path) -> None:
    told, findings = in_one(
        tmp_path, '{"a.png": {"label": "benign"}, "b.png": {"age": 4}, "d.png": "benign"}', "abcd", value="label"
    )
    assert told == {"a": "benign"}
    assert [(f.file, f.detail) for f in findings] == [
        ("img/b.png", "no class is told (labels.json, b.png)"),
        ("img/c.png", "no class is told (labels.json, c.png)"),
        (
            "img/d.png",
            "the class cannot be read: the key 'label' is looked for in an object, and there is one value (labels.json, d.png)",
        ),
    ]


@pytest.mark.parametrize(
    ("content", "each"),
    [
        ("", "{}"),
        ('{"a.png": ', "{}"),
        ('["benign"]', "{}"),
        ("3", "{}"),
        ("{}", "labels{}"),
        ('{"labels": ["benign"]}', "labels{}"),
        ('{"labels": {}, "labels": {"a.png": 1}}', "labels{}"),
        ('{"labels": 4}', "labels[]{}"),
        ('{"a": ' * 100_000, "{}"),
    ],
)
def test_a_file_without_such_an_object_is_one_finding(content: str, each: str, tmp_path: Path) -> None:
    told, findings = in_one(tmp_path, content, each=each)
    assert told == {}
    assert [(f.code, f.file) for f in findings] == [(Code.CLASS_UNKNOWN, "labels.json")]
    assert f"labels.json has no classes at {each}" in findings[0].detail


@pytest.mark.parametrize("how", [{"each": "{}"}, {"each": "[]", "key": "a", "value": "b"}])
def test_a_huge_object_or_list_is_not_read(how: dict[str, str], tmp_path: Path) -> None:
    touch(tmp_path, "img/a.png")
    with (tmp_path / "labels.json").open("wb") as file:
        file.truncate(1 << 40)
    layout = {"subject": "[a-z]", "series": {"photo": "img/{subject}.png"}}
    _, findings = read(spec(layout, classes={**NAMES, "table": {"file": "labels.json", **how}}), tmp_path)
    assert f"more than the {MOST_OF_TABLE} bytes" in findings[0].detail


@pytest.mark.parametrize(
    "table",
    [
        {"each": "{}", "key": "image"},
        {"each": "{}", "flags": ["a"]},
        {"each": "{}.x{}"},
        {"each": "a{}.b", "key": "c", "value": "d"},
        {"value": "d"},
    ],
)
def test_what_names_the_images_is_said_once(table: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"`key`"):
        spec(LAYOUT, classes={**NAMES, "table": {"file": "labels.json", **table}})
