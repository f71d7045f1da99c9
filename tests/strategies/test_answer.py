"""A model's answer is data of a stranger: what is taken of it, and what never is."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
import yaml

from assets.spec import DatasetSpec
from assets.strategies.answer import UnusableAnswerError, read_answer
from assets.strategies.regexes import DangerousRegexError, require_harmless, require_quick
from tests.strategies.fake_model import KEY

NAMES = [f"{folder}/ct_{number:03d}.nii.gz" for folder in ("imagesTr", "labelsTr") for number in range(9)]
GOOD: dict[str, Any] = {
    "task": "segmentation",
    "modality": "CT",
    "anatomy": "liver",
    "layout": {
        "subject": r"\d{3}",
        "series": {"ct": "imagesTr/ct_{subject}.nii.gz"},
        "labels": {"mask": "labelsTr/ct_{subject}.nii.gz"},
    },
    "labels": {1: "liver", 2: "tumour"},
}
TEXT = yaml.safe_dump(GOOD)


def with_layout(**changed: Any) -> str:
    return yaml.safe_dump({**GOOD, "layout": {**GOOD["layout"], **changed}})


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```yaml\n{TEXT}```",
        f"Here is the layout you asked for:\n\n```yml\n{TEXT}\n```\nI hope that it helps. Also see ```this```.",
        f"```\n{TEXT}",
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD, indent=2)}\n```",
        f"```sh\nls\n```\n```yaml\n{TEXT}```",
    ],
)
def test_a_good_answer_is_taken_plain_or_in_a_fence(text: str) -> None:
    content, task, remarks = read_answer(text, NAMES)
    spec = DatasetSpec.model_validate(content)
    assert (task, remarks) == ("segmentation", [])
    assert spec.layout.series["ct"].path == ("imagesTr/ct_{subject}.nii.gz",)
    assert {number: label.name for number, label in spec.labels.items()} == {1: "liver", 2: "tumour"}
    assert (spec.anatomy, spec.licence, spec.sources) == ("liver", "unknown", ())


def test_what_a_model_has_no_say_in_is_left_out_and_told() -> None:
    more = {**GOOD, "sources": [{"kind": "http", "id": "https://evil"}], "raw_folder": "../../etc", "slug": "kits23", "task": "x"}
    more["layout"] = {**GOOD["layout"], "listing": {"file": "/etc/passwd", "each": "x"}, "tags": {"who": "PatientName"}}
    content, task, remarks = read_answer(yaml.safe_dump(more), NAMES)
    assert task == ""
    assert [
        r
        for key in ("'sources'", "'raw_folder'", "'slug'", "task", "'layout.listing'", "'layout.tags'")
        for r in remarks
        if key in r
    ]
    spec = DatasetSpec.model_validate(content)
    assert (spec.slug, spec.raw_folder, spec.sources, spec.layout.listing, spec.layout.tags) == ("draft", "", (), None, {})


BOMB = (
    "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*{p}, *{p}]\n" for n, p in enumerate(["a", *(f"b{n}" for n in range(30))])) + TEXT
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I am sorry, I cannot help with that.", "not a mapping"),
        ("", "not a mapping"),
        ("layout: [unclosed", "neither YAML nor JSON"),
        ("{'a': ", "neither YAML nor JSON"),
        ('{"layout": ', "neither YAML nor JSON"),
        ("[" * 5000, "nested deeper"),
        ('{"a":' * 3000, "neither YAML nor JSON"),
        (BOMB, "aliases"),
        ("!!python/object/apply:os.system ['touch /tmp/owned']", "neither YAML nor JSON"),
        (f"layout: !!python/name:os.system\n{TEXT}", "neither YAML nor JSON"),
        ("x" * 70_000, "70000 letters"),
        (yaml.safe_dump({**GOOD, "labels": {n: f"l{n}" for n in range(1, 4000)}}), "more than 5000 values"),
        (json.dumps({"layout": {"a": [[[[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]]]}}), "nested deeper"),
        ("modality: CT", "no `layout`"),
        (with_layout(series={"ct": "imagesTr/{patient}.nii.gz"}), "no {subject}"),
        (with_layout(series={"ct": "../../etc/{subject}"}), "leads out"),
        (with_layout(series={"ct": "/etc/{subject}"}), "is absolute"),
        (with_layout(series={"ct": "C:\\data\\{subject}"}), "has a backslash"),
        (with_layout(ignore={"a/../../b": "x"}), "leads out"),
        (with_layout(roots=["../.."], series={"ct": "{root}/{subject}.nii.gz"}), "leads out"),
        (yaml.safe_dump({**GOOD, "objects": {"file": "../../etc/passwd", "corners": list("abcd"), "key": "k"}}), "leads out"),
        (yaml.safe_dump({**GOOD, "classes": {"names": ["a"], "table": {"file": "~/x", "key": "k", "value": "v"}}}), "leads out"),
        (yaml.safe_dump({**GOOD, "classes": {"names": ["a"], "tag": "PatientName"}}), "PatientName"),
        (with_layout(subject="(a+)+"), "keeps groups"),
        (with_layout(subject="(?:a+)+b"), "repeats a group"),
        (with_layout(subject=r"(?:\d|\d\d)*x"), "repeats a group"),
        (with_layout(subject=".*" * 12), "repeats without an end"),
        (with_layout(subject="(?=a)b"), "looks around"),
        (with_layout(subject="a{100000}"), "more than 1000 times"),
        (with_layout(subject="[a-"), "no spec"),
        (with_layout(series={"ct": "**/**/**/**/**/**/**/**/**/**/**/**/**/{subject}"}), "repeats without an end"),
        (yaml.safe_dump({**GOOD, "classes": {"names": ["a"], "field": "{path}", "matches": {"a": ".*.*.*x"}}}), "without an end"),
        (with_layout(series={"ct": {"path": "{subject}.dcm", "header": {"Modality": "(?:C|C)*T"}}}), "repeats a group"),
        (yaml.safe_dump({**GOOD, "name": f"my {KEY}"}), "repeats the key"),
        (f'{{"name": "{"".join(f"{chr(92)}u{ord(c):04x}" for c in KEY)}", "layout": {{}}}}', "repeats the key"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_in_one_line_without_the_key(text: str, told: str) -> None:
    started = time.monotonic()
    with pytest.raises(UnusableAnswerError) as caught:
        read_answer(text, NAMES, KEY)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)
    assert len(str(caught.value)) <= 400
    assert time.monotonic() - started < 10


def test_patterns_that_are_slow_on_the_names_that_are_there_are_stopped() -> None:
    with pytest.raises(DangerousRegexError, match="took more than"):
        require_quick(["(?:a|a)*b"], ["a" * 200], seconds=0.5)
    require_quick([r"imagesTr/ct_\d+\.nii\.gz"], NAMES)


@pytest.mark.parametrize(
    "fine", [r"case_\d{5}", r"(?:[^/]+/)*[^/.][^/]*", "a|b|c", r"(?:LUNG1|R01)-\d+", r"[(*+]\(\)\+", r"x{2,3}"]
)
def test_what_layouts_need_is_harmless(fine: str) -> None:
    require_harmless(fine)
