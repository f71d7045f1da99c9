"""f, of which CF is the mean: agreement with the expected values, block by block, each block of equal weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assets.benchmark.mdsbench.fields import MatchRules, block_agreement, field_agreements
from assets.benchmark.mdsbench.record import Record
from assets.benchmark.mdsbench.scored import Loss, Scored, mean, rounded
from assets.benchmark.mdsbench.truth import GroundTruth, TruthSample
from assets.benchmark.mdsbench.values import JsonObject, is_placeholder, objects, shown


@dataclass(frozen=True, slots=True)
class _Part:
    """A score and its losses, in shares of the part itself."""

    score: float
    losses: tuple[Loss, ...]

    def scaled(self, weight: float) -> Iterator[Loss]:
        return (Loss(loss.metric, loss.item, loss.cost * weight, loss.detail) for loss in self.losses)


def content_fidelity(record: Record, sample: TruthSample, truth: GroundTruth, rules: MatchRules) -> Scored:
    """The unweighted mean over the blocks that are expected (normally six); 0 when none is."""
    parts = [*_sample_parts(record, sample, rules), *_global_parts(record, truth, rules)]
    if not parts:
        return Scored(0.0, (Loss("CF", "nothing to check", 1.0, "the ground truth expects no content of this sample"),))
    joined = _join(parts)
    return Scored(rounded(joined.score), joined.losses)


def _join(parts: list[_Part]) -> _Part:
    return _Part(mean(part.score for part in parts), tuple(loss for part in parts for loss in part.scaled(1 / len(parts))))


def _block(name: str, met: object, expected: JsonObject, rules: MatchRules) -> _Part:
    losses = tuple(
        Loss("CF", f"{name}.{key}", (1 - score) / len(expected), detail)
        for key, score, detail in field_agreements(met, expected, rules)
        if score < 1
    )
    return _Part(block_agreement(met, expected, rules), losses)


def _sample_parts(record: Record, sample: TruthSample, rules: MatchRules) -> Iterator[_Part]:
    met = {"expected_record": record.record, "expected_context_sample": record.sample, "expected_extra": record.extra}
    for name, block in met.items():
        expected = objects(sample.expected.get(name))
        if expected:
            yield _block(name, block, expected, rules)
    keys = sample.expected.get("expected_extra_keys")
    if isinstance(keys, list) and keys:
        yield _extra_keys(record.extra, [str(key) for key in keys])
    tasks = [_block(f"expected_tasks.{task}", record.task(task), block, rules) for task, block in sample.tasks.items()]
    if tasks:
        yield _join(tasks)


def _extra_keys(extra: JsonObject, keys: list[str]) -> _Part:
    lacking = [key for key in keys if key not in extra or is_placeholder(key, extra[key])]
    losses = tuple(
        Loss("CF", f"expected_extra_keys.{key}", 1 / len(keys), f"extra.{key} is {shown(extra.get(key))}") for key in lacking
    )
    return _Part(1 - len(lacking) / len(keys), losses)


def _global_parts(record: Record, truth: GroundTruth, rules: MatchRules) -> Iterator[_Part]:
    blocks = objects(truth.content.get("global_expected_blocks"))
    met = {"record": record.record, "context_sample": record.sample, "media": record.media}
    parts = [
        _block(f"global.{name}", block, expected, rules)
        for name, block in met.items()
        if isinstance(expected := blocks.get(name), dict)
    ]
    tasks = [
        _block(f"global.tasks.{task}", record.task(task), expected, rules)
        for task, expected in objects(blocks.get("tasks")).items()
        if isinstance(expected, dict)
    ]
    if tasks:
        parts.append(_join(tasks))
    if parts:
        yield _join(parts)
