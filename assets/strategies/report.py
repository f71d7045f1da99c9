"""What a strategy did, for people and for programs. The same drafts give the same bytes: no time, no place of work is in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from assets.benchmark.mdsbench.values import printable
from assets.strategies.outcome import Outcome
from assets.strategies.repair import Repair
from assets.strategies.run import Standardized
from assets.strategies.validator import WEIGHTS, IsThere, Validation

Json = dict[str, Any]

_MOST_LINES = 12
CAUTION = "The validator sees whether records are complete and agree with themselves, not whether they are true. Look at them."


def payload(done: Standardized) -> Json:
    """The report for programs."""
    return {
        "strategy": done.strategy,
        "dataset": done.place.name,
        "chosen": {"draft": done.chosen.draft.name, "why": done.why, **_outcome(done.chosen, done.is_there)},
        "candidates": [
            {"draft": o.draft.name, "source": o.draft.source, "why": o.draft.why, **_outcome(o, done.is_there)}
            for o in done.outcomes
        ],
        "failed": [{"draft": one.draft.name, "source": one.draft.source, "why": one.why} for one in done.failed],
        "fields": [asdict(vote) for vote in done.mixed.votes] if done.mixed is not None else [],
        "mixture_stands": done.mixed is not None and not done.mixed.stands,
        "remarks": list(done.remarks),
        "unknown": [f"{unknown.field}: {unknown.why}" for unknown in done.found.unknown],
        "weights": dict(WEIGHTS),
        "caution": CAUTION,
    }


def _outcome(outcome: Outcome, is_there: IsThere) -> Json:
    validation = outcome.validation(is_there)
    return {
        "targets": outcome.listed,
        "records": len(outcome.records),
        "complete": validation.complete,
        "validator": {"total": validation.total, "items": validation.items, "lacks": _lacks(validation)},
        "repairs": [{"where": where, "check": r.check, "done": r.done, "met": r.met} for where, r in gathered(outcome.repairs)],
        "contradictions": list(outcome.contradictions),
    }


def _lacks(validation: Validation) -> dict[str, int]:
    """What records lack -> how many do."""
    counts = Counter(lack for score in validation.records.values() for lack in score.lacks)
    missing = validation.n - len(validation.records)
    return dict(sorted(counts.items())) | ({"record: is missing": missing} if missing else {})


def gathered(repairs: Iterable[Repair]) -> list[tuple[list[str], Repair]]:
    """Equal repairs of several records together: where they were made, and the first of them."""
    alike: dict[tuple[str, str, str], list[Repair]] = {}
    for repair in repairs:
        alike.setdefault((repair.check, repair.done, repair.met), []).append(repair)
    return [([repair.where for repair in some], some[0]) for some in alike.values()]


def lines(done: Standardized) -> Iterator[str]:
    """The report for people; what files and models are called cannot command a terminal."""
    return (printable(line) for line in _lines(done))


def _lines(done: Standardized) -> Iterator[str]:
    chosen, validation = done.chosen, done.chosen.validation(done.is_there)
    mds = chosen.spec.mds
    yield f"{done.place.name}, strategy {done.strategy.upper()}: {len(chosen.records)} of {chosen.listed} targets have a record"
    if mds is not None:
        classes = f"{len(mds.classes)} classes ({', '.join(mds.classes[:8])}{', ...' if len(mds.classes) > 8 else ''})"
        yield f"  {mds.task}, {mds.variant}, {mds.dimension}, {mds.modality}; {classes if mds.classes else 'no classes'}"
    yield f"validator: {validation.total:.4f}"
    for item, value in validation.items.items():
        yield f"  {item:<16} {WEIGHTS[item]:.2f} x {value:.4f}"
    yield from _listed("lacking", [f"{lack} ({count} records)" for lack, count in _lacks(validation).items()])
    yield f"chosen: {done.why}"
    for outcome in done.outcomes:
        told = outcome.validation(done.is_there)
        state = "complete" if told.complete else f"{len(outcome.records)} of {outcome.listed}"
        yield f"  {told.total:.4f}  {state:<10} {outcome.draft.name}: {outcome.draft.why}"
    yield from (f"  no records  {one.draft.name}: {one.why[:200]}" for one in done.failed)
    repairs = [
        f"{_where(where)}: {r.check}: {r.met}; {r.done or 'nothing could be done'}" for where, r in gathered(chosen.repairs)
    ]
    yield from _listed("repairs", repairs)
    yield from _listed("the folder contradicts the draft", chosen.contradictions)
    if done.mixed is not None:
        votes = (f"{v.where} {v.field} = {v.value[:60]} ({v.support[0]:g} of {v.support[1]:g})" for v in done.mixed.votes)
        yield from _listed("fields on which candidates differ", list(votes))
    yield from _listed("remarks", done.remarks)
    yield from _listed("not known", [f"{unknown.field}: {unknown.why}" for unknown in done.found.unknown])
    yield CAUTION


def _where(where: Sequence[str]) -> str:
    return where[0] if len(where) == 1 and not where[0].isdecimal() else f"{len(where)} record{'s' * (len(where) > 1)}"


def _listed(title: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        yield f"{title}:"
        yield from (f"  {' '.join(entry.split())[:240]}" for entry in entries[:_MOST_LINES])
        if len(entries) > _MOST_LINES:
            yield f"  and {len(entries) - _MOST_LINES} more; report.json has them all"
