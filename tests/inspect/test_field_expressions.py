"""Expressions of fields read what was there and further numbers, and nothing of another form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from assets.inspect.grouping import as_regex
from tests.inspect.folders import drafted, picture


def test_a_few_words_with_numbers_are_read_with_further_numbers() -> None:
    values = [f"{word} ({number})" for word in ("left", "right", "upper") for number in range(1, 5)]
    assert as_regex(values) == r"(?:left|right|upper) \(\d+\)"


def test_a_word_with_one_number_does_not_spoil_the_others() -> None:
    assert as_regex(["left 1", "left 2", "left 3", "right 1"]) == r"(?:left|right) \d+"


def test_words_that_go_together_stay_together() -> None:
    text = as_regex(["a_b_1", "a_b_2", "c_d_1", "c_d_12"])
    assert all(re.fullmatch(text, value) for value in ("a_b_9", "c_d_30"))
    assert not re.fullmatch(text, "a_d_1")


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (["left", "right"], "left|right"),
        (["a1", "b2"], r"a1|b2"),
        (["a_1", "a_2", "b_1"], "a_1|a_2|b_1"),
        (["x1", "x2", "x2_b", "x3_b"], "x1|x2|x2_b|x3_b"),
        (["sub-01", "sub-02"], r"sub-\d{2}"),
        ([f"{word}" for word in "abcdefghijklmn"], "[^/]+"),
    ],
)
def test_other_values_are_read_as_before(values: list[str], text: str) -> None:
    assert as_regex(values) == text


def test_a_draft_of_class_folders_reads_a_new_number(tmp_path: Path) -> None:
    for name in ("benign", "malignant", "normal"):
        for number in range(1, 5):
            picture(tmp_path / name / f"{name} ({number}).png")
            picture(tmp_path / name / f"{name} ({number})_mask.png", mask=True)
    _, spec, tree = drafted(tmp_path)
    assert len(tree.subjects) == 12
    assert spec.layout.subject == r"(?:benign|malignant|normal) \(\d+\)"
