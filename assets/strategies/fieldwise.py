"""S4: field by field the value that most candidates support, weighted by what the validator says of them.

What belongs together is taken together: task, dimension, masks, boxes, spatial block and picture come from one candidate, the
best of those that agree with the majority on task, dimension, variant, class and annotation files. Names, modality, subject and
the like are chosen one by one. Targets are those of the best complete candidate (S3); others join in where they name the same
source.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from assets.benchmark.mdsbench.values import at, is_filled, text
from assets.mds.record import image_path
from assets.strategies.checklist import Facts, repair_records
from assets.strategies.choice import Choice, best_complete
from assets.strategies.metadata import repair_metadata
from assets.strategies.outcome import Outcome
from assets.strategies.validator import IsThere, RecordScore

Json = dict[str, Any]
Way = tuple[str, ...]

BODY: tuple[tuple[str, Callable[[Json], object]], ...] = (
    ("media", lambda record: text(at(record, "media_geometry", "media", "task_type"))),
    ("spatial", lambda record: text(at(record, "media_geometry", "media", "dimension"))),
    ("task_payload", lambda record: _branch(record).get("schema_variant")),
    ("task_payload", lambda record: _branch(record).get("label_name")),
    ("extra", lambda record: [at(_extra(record), key) for key in ("label_file", "mask_file", "seg_file", "bbox_file")]),
)
"""Validator's item -> what is voted on, one after the other; who loses a vote has no say in the next."""

FIELDS: tuple[tuple[str, Way], ...] = (
    ("record", ("record", "dataset_name")),
    ("context", ("context", "sample", "modality_primary")),
    ("context", ("context", "sample", "modality_secondary")),
    ("context", ("context", "sample", "anatomical_structure")),
    ("context", ("context", "sample", "subject_id")),
)
"""Validator's item -> field of a record."""

META_FIELDS: tuple[tuple[str, Way], ...] = tuple(
    (item, (name,))
    for item, name in (
        ("record", "dataset_name"), ("record", "release_date"), ("record", "homepage_url"), ("record", "license"),
        ("record", "dataset_description"), ("context", "modality_primary"), ("context", "modality_secondary"),
        ("context", "anatomical_structure"), ("context", "disease"),
    )
)  # fmt: skip
"""Validator's item -> field of `data_meta.json`."""


@dataclass(frozen=True, slots=True)
class Vote:
    """How one field was chosen.

    Attributes:
        where: `data_meta.json`, or the index of a record.
        field: Which field.
        value: What was chosen, as JSON.
        support: Its weight, and that of all.
        by: Who say so.
        tied: Whether another value had the same weight.
    """

    where: str
    field: str
    value: str
    support: tuple[float, float]
    by: tuple[str, ...]
    tied: bool


@dataclass(frozen=True)
class Fieldwise:
    """What S4 gives.

    Attributes:
        outcome: The records.
        best: What S3 chooses.
        stands: Whether S3's choice stands, as the mixture scores lower.
        votes: Where candidates did not all say the same.
        why: In a sentence.
    """

    outcome: Outcome
    best: Choice
    stands: bool
    votes: tuple[Vote, ...]
    why: str


@dataclass(frozen=True)
class _Voice:
    """One candidate's record of a target."""

    outcome: Outcome
    index: int
    record: Json
    score: RecordScore


def fieldwise(outcomes: Sequence[Outcome], is_there: IsThere | None) -> Fieldwise:
    """Mix outcomes field by field; never worse by the validator than the best complete one, which else stands.

    Args:
        outcomes: At least one, in the order in which their sources are trusted.
        is_there: Whether a source is in the raw folder.
    """
    best = best_complete(outcomes, is_there)
    ordered = [best.outcome, *(outcome for outcome in outcomes if outcome is not best.outcome)]
    votes: list[Vote] = []
    records, pictures, sizes = {}, {}, {}
    for index, record in best.outcome.records.items():
        voices = [_Voice(best.outcome, index, record, best.outcome.score(index, is_there))]
        for outcome in ordered[1:]:
            voices += _same_source(outcome, record, is_there)
        body = _body(index, voices, votes)
        records[index] = _mixed(index, body, voices, votes)
        pictures[index], sizes[index] = body.outcome.pictures[body.index], body.outcome.sizes[body.index]
    meta = _meta(ordered, is_there, votes)
    done = tuple(repair for repair in best.outcome.repairs if repair.done)
    mixed = replace(best.outcome, records=records, meta=meta, pictures=pictures, sizes=sizes, repairs=done)
    mixed = _agreeing(mixed)
    ours, theirs = mixed.validation(is_there).total, best.outcome.validation(is_there).total
    told = tuple(vote for vote in votes if vote.support[0] < vote.support[1] or vote.tied)
    if ours < theirs:
        return Fieldwise(
            best.outcome,
            best,
            stands=True,
            votes=told,
            why=f"the mixture scores {ours:.4f}, less than {theirs:.4f}: {best.why} stands",
        )
    return Fieldwise(
        mixed, best, stands=False, votes=told, why=f"fields of {len(outcomes)} candidates, {ours:.4f}; S3 scores {theirs:.4f}"
    )


def _same_source(outcome: Outcome, record: Json, is_there: IsThere | None) -> list[_Voice]:
    source = _extra(record).get("source_file")
    alike = [index for index, other in outcome.records.items() if _extra(other).get("source_file") == source]
    usable = [index for index in alike if index in outcome.sizes][:1]
    return [_Voice(outcome, index, outcome.records[index], outcome.score(index, is_there)) for index in usable]


def _body(index: int, voices: Sequence[_Voice], votes: list[Vote]) -> _Voice:
    """The best of those that agree with the majority on what kind of record it is."""
    left = list(voices)
    for number, (item, read) in enumerate(BODY):
        said = [(voice.outcome.draft.name, voice.score.items[item], read(voice.record)) for voice in left]
        value, vote = _winner(str(index), ("task", "dimension", "variant", "class", "files")[number], said)
        votes.append(vote)
        left = [voice for voice in left if _key(read(voice.record)) == value]
    return max(left, key=lambda voice: voice.score.total)


def _mixed(index: int, body: _Voice, voices: Sequence[_Voice], votes: list[Vote]) -> Json:
    record = copy.deepcopy(body.record)
    record["record"]["image_path"] = image_path(index)
    for item, way in FIELDS:
        said = [(voice.outcome.draft.name, voice.score.items[item], at(voice.record, *way)) for voice in voices]
        value, vote = _winner(str(index), ".".join(way), said)
        votes.append(vote)
        block = record
        for name in way[:-1]:
            block = block[name]
        block[way[-1]] = json.loads(value)
    return record


def _meta(outcomes: Sequence[Outcome], is_there: IsThere | None, votes: list[Vote]) -> Json:
    items = [(outcome, outcome.validation(is_there).items) for outcome in outcomes]
    meta = copy.deepcopy(outcomes[0].meta)
    for item, (name,) in META_FIELDS:
        said = [(outcome.draft.name, scores[item], outcome.meta.get(name)) for outcome, scores in items]
        value, vote = _winner("data_meta.json", name, said)
        votes.append(vote)
        meta[name] = json.loads(value)
    return meta


def _winner(where: str, field: str, said: Iterable[tuple[str, float, object]]) -> tuple[str, Vote]:
    """The value with the most weight; what says nothing has no voice where anything says something; of equals the first."""
    voices = [(who, weight, value) for who, weight, value in said]
    speaking = [voice for voice in voices if is_filled(voice[2])] or voices
    weights: dict[str, float] = {}
    for _, weight, value in speaking:
        weights[_key(value)] = round(weights.get(_key(value), 0.0) + weight, 6)
    value = max(weights, key=lambda key: weights[key])
    by = tuple(who for who, _, said_value in speaking if _key(said_value) == value)
    tied = sum(weight == weights[value] for weight in weights.values()) > 1
    return value, Vote(where, field, value, (weights[value], round(sum(weights.values()), 6)), by, tied)


def _key(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _agreeing(mixed: Outcome) -> Outcome:
    """Through the checklist once more, as parts of several records need not agree."""
    mds = mixed.spec.mds
    facts = Facts(mds.name if mds else mixed.spec.name, "", mixed.sizes, {index: image_path(index) for index in mixed.records})
    records, repairs = repair_records(mixed.records, facts)
    meta, more = repair_metadata(mixed.meta, records)
    return replace(mixed, records=records, meta=meta, repairs=(*mixed.repairs, *repairs, *more))


def _extra(record: Mapping[str, Any]) -> Json:
    found = at(record, "context", "sample", "extra")
    return found if isinstance(found, dict) else {}


def _branch(record: Mapping[str, Any]) -> Json:
    found = at(record, "tasks", text(at(record, "media_geometry", "media", "task_type")))
    return found if isinstance(found, dict) else {}
