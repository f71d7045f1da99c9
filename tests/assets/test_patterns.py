from __future__ import annotations

import re
from fnmatch import fnmatchcase
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.patterns import compile_pattern
from assets.raw import natural_key

FIELDS = {"subject": r"case_\d{5}", "scan": r"[a-z]\d"}
PART = st.text("abc.-_ 01", min_size=1, max_size=8).filter(lambda t: t not in {".", ".."})
NAME = st.text(st.characters(codec="utf-8", exclude_characters="\0/\n"), max_size=12)


@given(st.integers(0, 99_999), st.integers(0, 9))
def test_a_filled_pattern_matches_and_gives_its_fields_back(subject: int, scan: int) -> None:
    pattern = compile_pattern("a.b/{subject}/{subject}_{scan}.nii.gz", FIELDS)
    fields = {"subject": f"case_{subject:05d}", "scan": f"q{scan}"}
    assert pattern.match(pattern.fill(**fields)) == fields


@given(st.lists(PART, min_size=1, max_size=4).map("/".join))
def test_a_pattern_without_tokens_matches_itself_alone(path: str) -> None:
    pattern = compile_pattern(path, {})
    assert pattern.match(path) == {}
    assert pattern.match(path + "x") is None
    assert pattern.match("x" + path) is None


@given(st.text("ab*?.", max_size=6), st.text("ab.", max_size=6))
def test_within_one_folder_stars_mean_what_they_mean_to_fnmatch(text: str, name: str) -> None:
    text = re.sub(r"\*+", "*", text)
    assert (compile_pattern(text, {}).match(name) is not None) == fnmatchcase(name, text)


@pytest.mark.parametrize(
    ("text", "path", "matches"),
    [
        ("a/*", "a/b", True),
        ("a/*", "a/b/c", False),
        ("a/**", "a/b/c", True),
        ("a/**", "ab/c", False),
        ("**/x", "x", True),
        ("**/x", "a/b/x", True),
        ("**/x", "a/bx", False),
        ("a/**/x", "a/x", True),
        ("a/?", "a//", False),
        ("a.b", "aXb", False),
        ("{subject}/{subject}.nii", "case_00001/case_00002.nii", False),
        ("{subject}/i.nii", "case_000011/i.nii", False),
    ],
)
def test_a_pattern_matches_whole_paths(text: str, path: str, *, matches: bool) -> None:
    assert (compile_pattern(text, FIELDS).match(path) is not None) == matches


def test_an_unknown_field_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="names \\{visit\\}"):
        compile_pattern("{subject}/{visit}", FIELDS)


@given(st.lists(st.integers(0, 10**9), unique=True, min_size=2))
def test_numbers_in_names_sort_as_numbers(numbers: list[int]) -> None:
    names = sorted((f"case_{n}" for n in numbers), key=natural_key)
    assert [int(name[5:]) for name in names] == sorted(numbers)


@given(st.lists(NAME, unique=True, max_size=12))
def test_natural_order_is_total_for_any_names(names: list[str]) -> None:
    ordered = sorted(names, key=natural_key)
    assert set(ordered) == set(names)
    assert all(natural_key(a) < natural_key(b) for a, b in pairwise(ordered))
