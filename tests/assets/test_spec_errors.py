"""What somebody learns whose spec is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.spec import DatasetSpec, read_catalog
from assets.spec_errors import SpecError

GOOD = r"""slug: toy
name: Toy
version: "1"
licence: CC0-1.0
access: open
modality: CT
anatomy: none
description: made up
sources: []
layout:
  subject: 's\d'
  series:
    ct: {path: "{subject}.nii.gz"}
  labels:
    seg: "{subject}_seg.nii.gz"
labels: {1: liver}
"""
PATH = '{path: "{subject}.nii.gz"}'


def refused(folder: Path, *changes: tuple[str, str]) -> SpecError:
    text = GOOD
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = folder / "toy.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        DatasetSpec.from_yaml(path)
    assert str(path) in str(caught.value)
    return caught.value


def test_every_spec_of_the_catalog_loads() -> None:
    catalog = read_catalog()
    assert {name: str(error) for name, error in catalog.broken.items()} == {}
    assert len(catalog.specs) > 100


def test_every_problem_has_a_line_with_its_field_what_was_met_and_what_to_do(tmp_path: Path) -> None:
    error = refused(
        tmp_path,
        ("access: open", "access: opn\nlicense: x"),
        ('version: "1"', "version: 1"),
        ("name: Toy\n", ""),
        ("labels: {1", "expect: {subjects: many}\nlabels: {1"),
    )
    assert sorted(error.problems) == [
        "access: met 'opn'; write 'open', 'registration' or 'restricted'",
        "expect.subjects: met 'many'; write a whole number",
        "license: there is no such field; did you mean licence?",
        "name: it is missing; add it",
        "version: met 1; write a text, in quotes where YAML takes it for something else",
    ]


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/images/{subject}.nii.gz", "is absolute; write it as it lies under the raw folder, such as 'images/{subject}.nii.gz'"),
        ("C:/images/{subject}.nii.gz", "is absolute; .* such as 'images/{subject}.nii.gz'"),
        ("../{subject}.nii.gz", r"leads out of the raw folder by `\.\.`"),
        ("./{subject}.nii.gz", "has an empty part or `.`, which no path has; write '{subject}.nii.gz'"),
        ("a//{subject}.nii.gz", "write 'a/{subject}.nii.gz'"),
        (r"images\{subject}.nii.gz", "has a backslash, .* write 'images/{subject}.nii.gz'"),
    ],
)
def test_a_path_that_no_file_can_have_is_refused_with_what_to_write(tmp_path: Path, path: str, told: str) -> None:
    error = refused(tmp_path, (PATH, f"{{path: '{path}'}}"))
    assert len(error.problems) == 1
    place, _, said = error.problems[0].partition(": ")
    assert place == "layout.series.ct.path"
    with pytest.raises(ValueError, match=told):
        raise ValueError(said)


@pytest.mark.parametrize(
    ("addition", "place"),
    [
        ("layout:\n  ignore: {'/notes/**': none}", "layout.ignore./notes/**"),
        ("layout:\n  ignore: {'notes/': none}", "layout.ignore.notes/"),
        ("layout:\n  listing: {file: ../list.json, each: '[]'}", "layout.listing.file"),
        ("layout:\n  roots: [/data]", "layout.roots.0"),
        ("people: {table: {file: 'a\\b.csv', subject: s, person: p}}\nlayout:", "people.table.file"),
        ("classes: {names: [a], table: {file: /t.csv, key: k, value: v}}\nlayout:", "classes.table.file"),
        ("objects: {file: ../b.csv, corners: [a, b, c, d]}\nlayout:", "objects.file"),
        ("split: {official: {files: {test: /t.txt}}}\nlayout:", "split.official.files.test"),
        ("raw_folder: ../elsewhere\nlayout:", "raw_folder"),
    ],
)
def test_so_is_one_of_a_table_a_list_or_what_is_ignored(tmp_path: Path, addition: str, place: str) -> None:
    assert [problem.partition(": ")[0] for problem in refused(tmp_path, ("layout:", addition)).problems] == [place]


def test_backslashes_of_regular_expressions_stay(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(
        GOOD.replace("layout:", "layout:\n  fields: {age: '\\d+'}\n  scan: 't\\d'").replace("{subject}", "{subject}{scan}")
    )
    assert DatasetSpec.from_yaml(path).layout.scan == r"t\d"


def test_a_pattern_with_an_unknown_field_is_refused(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, (PATH, '"{patient}/{subject}.nii"')).problems
    assert "{patient}/{subject}.nii names {'patient'}; say under `fields` what is read there" in problem


def test_a_bad_regular_expression_is_told_with_its_field(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, (r"'s\d'", "'s('")).problems
    assert problem.startswith("layout.subject: 's(' is no regular expression: missing ), unterminated subpattern")


@pytest.mark.parametrize(
    ("old", "new", "place", "line", "hint"),
    [
        ("  series:", "\tseries:", "line 12, column 1:", "series:", "indent with blanks, not with tabs"),
        (PATH, "{path: {subject}.nii.gz}", "line 13, column ", "ct: {path: {subject}.nii.gz}", "stands in quotes"),
        (PATH, "**/{subject}.nii.gz", "line 13, column ", "ct: **/{subject}.nii.gz", "stands in quotes"),
        (r"'s\d'", r'"s\d"', "line 11, column ", r'subject: "s\d"', "single quotes"),
    ],
)
def test_a_fault_of_yaml_is_told_with_its_line(tmp_path: Path, old: str, new: str, place: str, line: str, hint: str) -> None:
    (problem,) = refused(tmp_path, (old, new)).problems
    first, second = problem.splitlines()
    assert first.startswith(place)
    assert hint in first
    assert second.strip() == line


@pytest.mark.parametrize("text", ["{path: {subject}}", "{subject}"])
def test_an_unquoted_brace_that_is_yaml_is_told_too(tmp_path: Path, text: str) -> None:
    (problem,) = refused(tmp_path, (PATH, text)).problems
    assert problem.startswith("layout.series.ct.")
    assert "stands in quotes" in problem


def test_a_key_that_stands_twice_is_refused_with_both_lines(tmp_path: Path) -> None:
    (problem,) = refused(tmp_path, ("modality: CT", "modality: CT\naccess: restricted")).problems
    assert problem.startswith("line 7, column 1: the key 'access' stands here and on line 5")
    (problem,) = refused(tmp_path, ("{1: liver}", "\n  1: liver\n  2: spleen\n  1: kidney")).problems
    assert problem.startswith("line 19, column 3: the key 1 stands here and on line 17")


def test_a_key_that_stands_twice_in_a_base_is_refused(tmp_path: Path) -> None:
    (tmp_path / "_ground.yaml").write_text("version: '1'\nversion: '2'\n", encoding="utf-8")
    (tmp_path / "toy.yaml").write_text("base: ground\n" + GOOD, encoding="utf-8")
    with pytest.raises(SpecError, match=r"_ground.yaml is no usable spec:\n  line 2, column 1: the key 'version'"):
        DatasetSpec.from_yaml(tmp_path / "toy.yaml")


def test_a_base_that_is_missing_is_told_with_who_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "toy.yaml").write_text("base: nosuch\n" + GOOD, encoding="utf-8")
    with pytest.raises(SpecError, match=r"_nosuch.yaml.*\n.*No such file.*toy.yaml names it as its base"):
        DatasetSpec.from_yaml(tmp_path / "toy.yaml")


def test_what_a_spec_was_checked_on_is_nothing_unless_it_says_so(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    path.write_text(GOOD, encoding="utf-8")
    assert DatasetSpec.from_yaml(path).checked_on is None


def test_every_spec_of_the_catalog_says_what_it_was_checked_on() -> None:
    assert [slug for slug, spec in read_catalog().specs.items() if spec.checked_on is None] == []


def test_a_broken_spec_stands_apart_and_the_others_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "other.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "third.yml").write_text(GOOD, encoding="utf-8")
    monkeypatch.setattr("assets.spec.catalog_folder", lambda: tmp_path)
    catalog = read_catalog()
    assert list(catalog.specs) == ["toy"]
    assert "slug: met 'toy'" in str(catalog.broken["other"])
    assert "call it third.yaml" in str(catalog.broken["third"])


def test_two_series_that_read_the_same_of_the_same_files_are_refused(tmp_path: Path) -> None:
    error = refused(tmp_path, (f"ct: {PATH}", f"ct: {PATH}\n    again: {PATH[:-1]}, required: false}}"))
    assert any("ct and again read the same of the same files ({subject}.nii.gz)" in problem for problem in error.problems)


def test_two_channels_of_the_same_files_are_two_series(tmp_path: Path) -> None:
    path = tmp_path / "toy.yaml"
    one, two = (f"{PATH[:-1]}, channel: {n}, channels: 2}}" for n in (0, 1))
    path.write_text(GOOD.replace(f"ct: {PATH}", f"ct: {one}\n    pet: {two}"), encoding="utf-8")
    assert list(DatasetSpec.from_yaml(path).layout.series) == ["ct", "pet"]
