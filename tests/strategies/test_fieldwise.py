"""S3 and S4 on outcomes made by hand: who is chosen, how ties are broken, and that a mixture is never worse."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from assets.strategies.choice import best_complete
from assets.strategies.drafts import Draft
from assets.strategies.fieldwise import fieldwise
from assets.strategies.outcome import Outcome
from tests.mds.made import spec_of
from tests.strategies.test_validator import CLASS, EXTRA, MEDIA, SAMPLE, put, whole

Json = dict[str, Any]
SPEC = spec_of(
    {"subject": r"s\d", "series": {"ct": "{subject}.nii"}, "labels": {"m": "{subject}_m.nii"}},
    {},
    labels={1: "organ", 2: "tumour"},
)
META: Json = {"dataset_name": "Set", "modality_primary": ["CT"], "license": "unknown", "data_volume": {"total": 2}}


@pytest.fixture
def picture(tmp_path: Path) -> Path:
    path = tmp_path / "picture.png"
    Image.new("RGB", (4, 3)).save(path)
    return path


def outcome(name: str, picture: Path, *changes: Callable[[Json], None], n: int = 2, listed: int = 2, **meta: Any) -> Outcome:
    """A candidate whose records all have some changes."""
    records = {}
    for index in range(n):
        record = whole()
        record["record"]["image_path"] = f"images/{index}.png"
        record["context"]["sample"]["extra"] |= {"source_file": f"data/s{index}.nii", "original_filename": f"s{index}.nii"}
        for change in changes:
            change(record)
        records[index] = record
    everywhere = dict.fromkeys(records, picture)
    return Outcome(Draft(name, "rules"), SPEC, listed, records, META | meta, everywhere, dict.fromkeys(records, (4, 3)))


def test_the_complete_candidate_with_the_highest_score_is_chosen(picture: Path) -> None:
    low = outcome("low", picture, put(*SAMPLE, "modality_primary"))
    high = outcome("high", picture)
    assert best_complete([low, high], None).outcome is high


def test_an_incomplete_candidate_is_not_chosen_though_its_records_are_better(picture: Path) -> None:
    best = outcome("few", picture, n=1)
    whole_but_worse = outcome("all", picture, *(put(*SAMPLE, name) for name in ("modality_primary", "sex", "site_id")))
    assert best_complete([best, whole_but_worse], None).outcome is whole_but_worse


def test_a_candidate_that_answers_nothing_is_not_complete(picture: Path) -> None:
    silent = outcome("silent", picture, put(*CLASS, "label"), put(*CLASS, "label_name"))
    half = outcome("half", picture, n=1)
    assert best_complete([silent, half], None).outcome is half
    assert "incomplete, as all are, with 50% answered" in best_complete([silent, half], None).why


def test_of_equals_the_first_is_taken_and_the_others_are_named(picture: Path) -> None:
    one, two = outcome("one", picture), outcome("two", picture)
    choice = best_complete([one, two], None)
    assert choice.outcome is one
    assert "two score the same" in choice.why
    assert best_complete([two, one], None).outcome is two


def test_the_majority_decides_field_by_field(picture: Path) -> None:
    def named(name: str, modality: str) -> list[Callable[[Json], None]]:
        return [put("record", "dataset_name", value=name), put(*SAMPLE, "modality_primary", value=modality)]

    mixed = fieldwise(
        [
            outcome("a", picture, *named("One", "MRI"), license="CC0-1.0"),
            outcome("b", picture, *named("Two", "CT")),
            outcome("c", picture, *named("Two", "MRI")),
        ],
        None,
    )
    record = mixed.outcome.records[0]
    assert (record["record"]["dataset_name"], record["context"]["sample"]["modality_primary"]) == ("Two", "MRI")
    assert (mixed.outcome.meta["license"], mixed.outcome.meta["dataset_name"]) == ("CC0-1.0", "Two")
    vote = next(vote for vote in mixed.votes if (vote.where, vote.field) == ("0", "record.dataset_name"))
    assert (vote.value, vote.support, vote.by, vote.tied) == ('"Two"', (2, 3), ("b", "c"), False)


def test_votes_weigh_what_the_validator_says_of_their_part(picture: Path) -> None:
    # One says MRI and lacks nothing of the context (1); two say CT and lack three of its four parts (0.25 each).
    lacking = [put(*SAMPLE, name) for name in ("sex", "race_ethnicity", "site_id")]
    poor = [outcome(name, picture, *lacking) for name in ("b", "c")]
    mixed = fieldwise([outcome("a", picture, put(*SAMPLE, "modality_primary", value="MRI")), *poor], None)
    assert mixed.outcome.records[0]["context"]["sample"]["modality_primary"] == "MRI"


def test_who_says_nothing_has_no_voice_where_anything_is_said(picture: Path) -> None:
    silent = [outcome(name, picture, put(*SAMPLE, "modality_primary", value="unknown")) for name in ("b", "c")]
    mixed = fieldwise([*silent, outcome("a", picture, put(*CLASS, "label"))], None)
    assert mixed.outcome.records[1]["context"]["sample"]["modality_primary"] == "CT"
    assert mixed.outcome.validation(None).total == 1
    assert not mixed.stands


def test_task_class_and_masks_come_from_one_candidate(picture: Path) -> None:
    def segmentation(record: Json) -> None:
        record["media_geometry"]["media"] = {"task_type": "segmentation", "dimension": "2D", "annotation_type": "2d_coco"}
        branch = {"schema_variant": "2d_coco", "classes": {"0": "background", "1": "cyst"}, "coco_2d": {"annotations": [1]}}
        record["tasks"] = {"classification": {}, "segmentation": branch, "detection": {}}

    mixed = fieldwise([outcome("a", picture), outcome("b", picture, segmentation), outcome("c", picture, segmentation)], None)
    record = mixed.outcome.records[0]
    assert record["media_geometry"]["media"]["task_type"] == "segmentation"
    assert record["tasks"]["classification"] == {}
    assert mixed.outcome.validation(None).total == 1


def test_a_mixture_that_scores_lower_gives_way_to_the_best_candidate(picture: Path) -> None:
    # The majority agrees on a class that is none of the classes it names: a mixture cannot be better than the first.
    wrong = [put(*CLASS, "label_name", value="abscess"), put(*CLASS, "label", value=5)]
    best = outcome("best", picture)
    mixed = fieldwise([best, *(outcome(name, picture, *wrong) for name in ("b", "c", "d", "e", "f"))], None)
    assert mixed.outcome.validation(None).total == 1
    assert mixed.stands
    assert mixed.outcome is best
    assert "stands" in mixed.why


def test_other_candidates_join_by_source_not_by_number(picture: Path) -> None:
    one, two = outcome("a", picture), outcome("b", picture, put(*SAMPLE, "modality_secondary", value="Contrast"))
    swapped = {0: copy.deepcopy(two.records[1]), 1: copy.deepcopy(two.records[0])}
    swapped[0]["record"]["image_path"], swapped[1]["record"]["image_path"] = "images/0.png", "images/1.png"
    put(*SAMPLE, "modality_secondary", value="of s1")(swapped[0])
    other = Outcome(two.draft, SPEC, 2, swapped, META, two.pictures, two.sizes)
    mixed = fieldwise([one, other], None)
    assert [mixed.outcome.records[n]["context"]["sample"]["modality_secondary"] for n in (0, 1)] == ["Contrast", "of s1"]
    assert [mixed.outcome.records[n]["record"]["image_path"] for n in (0, 1)] == ["images/0.png", "images/1.png"]


def test_the_same_outcomes_give_the_same_mixture(picture: Path, tmp_path: Path) -> None:
    some = [
        outcome("a", picture),
        outcome("b", picture, put(*EXTRA, "class_name")),
        outcome("c", picture, put(*MEDIA, "dimension")),
    ]
    one, two = fieldwise(some, None), fieldwise(some, None)
    one.outcome.write(tmp_path / "one")
    two.outcome.write(tmp_path / "two")
    read = [{p.name: p.read_bytes() for p in sorted((tmp_path / n).rglob("*.*"))} for n in ("one", "two")]
    assert read[0] == read[1]
    assert one.votes == two.votes
