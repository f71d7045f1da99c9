"""The five strategies over the drafts of one folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from assets.inspect import Inspection, inspect_folder
from assets.mds.meta import META_PATH
from assets.raw.walk import walk
from assets.strategies.candidate import Candidate, CandidateError, make_candidate
from assets.strategies.choice import best_complete
from assets.strategies.drafts import Draft, first_draft
from assets.strategies.endpoint import Endpoint
from assets.strategies.fieldwise import Fieldwise, fieldwise
from assets.strategies.model import Model
from assets.strategies.outcome import Outcome, checked, outcome_of
from assets.strategies.place import Place
from assets.strategies.repair import Repair
from assets.strategies.rivals import rivals
from assets.strategies.selfcheck import contradictions, for_a_model, repaired, without_what_does_not_load

Strategy = Literal["s0", "s1", "s2", "s3", "s4"]
STRATEGIES: tuple[Strategy, ...] = ("s0", "s1", "s2", "s3", "s4")

MODEL_DRAFTS = 3
"""How many drafts a model is asked for where several are compared."""

_PREFIX = "data/"

_ROUNDS = 3
"""How often the rules of the self-check look again at what they changed: one fault may hide another."""


class NothingStandardizedError(Exception):
    """No draft gives any record; the message says why, draft by draft."""


@dataclass(frozen=True)
class Failed:
    """A draft that gave no records."""

    draft: Draft
    why: str


@dataclass(frozen=True)
class Standardized:
    """What a strategy gives.

    Attributes:
        strategy: Which.
        place: The raw folder.
        found: What inspection found in it.
        chosen: The records.
        outcomes: All that were compared, in the order in which their sources are trusted.
        failed: Drafts that gave none.
        why: Why these were chosen.
        remarks: What a model's answers lacked, and the like.
        mixed: How fields were chosen, for S4.
        is_there: Whether a source is in the raw folder.
    """

    strategy: Strategy
    place: Place
    found: Inspection
    chosen: Outcome
    outcomes: tuple[Outcome, ...]
    failed: tuple[Failed, ...]
    why: str
    remarks: tuple[str, ...]
    mixed: Fieldwise | None
    is_there: Callable[[str], bool]


def standardize(
    place: Place,
    strategy: Strategy,
    work: Path,
    endpoint: Endpoint | None = None,
    report: Callable[[str], None] = lambda _line: None,
) -> Standardized:
    """Standardize a folder that no spec describes.

    Args:
        place: The raw folder.
        strategy: S0 takes the first draft as it is; S1 lets it be checked once; S2 goes through the checklist too; S3 does so
            with every draft and takes the best complete one; S4 mixes them field by field.
        work: A folder to work in, outside the raw folder.
        endpoint: A model that is asked for drafts too; none is asked where it is not given.
        report: Called with a line for every draft.

    Raises:
        NothingStandardizedError: No draft gives any record.
        OSError: The disk failed or is full.
    """
    found = inspect_folder(place.raw)
    model = Model(endpoint, found) if endpoint is not None else None
    several = strategy in ("s3", "s4")
    drafts = [*(model.drafts(MODEL_DRAFTS if several else 1) if model is not None else ()), first_draft(found)]
    drafts += rivals(found, drafts[-1], work) if several else ()
    maker = _Maker(place, strategy, work, model)
    outcomes: list[Outcome] = []
    failed: list[Failed] = []
    for draft in drafts:
        report(f"{draft.name}: {draft.why}")
        try:
            outcomes.append(maker.outcome(draft))
        except CandidateError as error:
            failed.append(Failed(draft, str(error)))
        if outcomes and not several:
            break
    if not outcomes:
        told = "; ".join(f"{one.draft.name}: {one.why}" for one in failed)
        raise NothingStandardizedError(
            f"no draft of {place.raw} gives a record: {told}. `medfoundry inspect` shows the draft; a spec written by hand "
            "(docs/adding-a-dataset.md) can say what no rule finds"
        )
    mixed = fieldwise(outcomes, maker.is_there) if strategy == "s4" else None
    chosen, why = _chosen(outcomes, mixed, maker, several=several)
    remarks = tuple(model.remarks) if model is not None else ()
    return Standardized(strategy, place, found, chosen, tuple(outcomes), tuple(failed), why, remarks, mixed, maker.is_there)


def _chosen(outcomes: Sequence[Outcome], mixed: Fieldwise | None, maker: _Maker, *, several: bool) -> tuple[Outcome, str]:
    if mixed is not None:
        return mixed.outcome, mixed.why
    if several:
        best = best_complete(outcomes, maker.is_there)
        return best.outcome, best.why
    return outcomes[0], f"{outcomes[0].draft.name}: the first draft that gives records"


class _Maker:
    """Makes the outcome of one draft after the other by one strategy."""

    def __init__(self, place: Place, strategy: Strategy, work: Path, model: Model | None) -> None:
        self.place, self.strategy, self.work, self.model = place, strategy, work, model
        paths = [path for path, _ in walk(place.raw, [])]
        self.sources = frozenset(path if path.startswith(_PREFIX) else _PREFIX + path for path in paths)
        folders = {parent for path in self.sources for parent in _parents(path)}
        self._known = self.sources | folders

    def is_there(self, source: str) -> bool:
        """Whether the raw folder has a file, or a folder, that a record names."""
        return source in self._known

    def outcome(self, draft: Draft) -> Outcome:
        """The records of a draft.

        Raises:
            CandidateError: There are none.
        """
        repairs: list[Repair] = []
        if self.strategy != "s0":
            draft, repairs = without_what_does_not_load(draft)
        candidate = self._made(draft)
        if self.strategy == "s0":
            return self._outcome(draft, candidate)
        draft, candidate, more = self._self_checked(draft, candidate)
        outcome = replace(self._outcome(draft, candidate), repairs=(*repairs, *more))
        return outcome if self.strategy == "s1" else checked(outcome, self.sources)

    def _made(self, draft: Draft) -> Candidate:
        if draft.spec is None:
            raise CandidateError(f"it is no spec: {draft.problem[:300]}")
        return make_candidate(draft.spec, self.place, self.work, draft.task)

    def _outcome(self, draft: Draft, candidate: Candidate) -> Outcome:
        if not candidate.records:
            raise CandidateError(f"none of {candidate.listed} targets has a record: {'; '.join(contradictions(candidate)[1:3])}")
        meta = json.loads((candidate.folder / META_PATH).read_bytes())
        return outcome_of(draft, candidate, meta, contradictions(candidate))

    def _self_checked(self, draft: Draft, candidate: Candidate) -> tuple[Draft, Candidate, list[Repair]]:
        """The draft and its records after its source has looked at them: a model once, rules until they have nothing to say."""
        if draft.source == "model" and self.model is not None:
            if not contradictions(candidate):
                return draft, candidate, []
            after = self.model.corrected(draft, for_a_model(candidate))
            told = [Repair("spec", "the model looks at its draft once more", "it answers otherwise", "see contradictions")]
            return self._better(draft, candidate, after, told)
        done: list[Repair] = []
        for _ in range(_ROUNDS):
            after, told = repaired(draft, candidate, self.place.raw)
            before = draft
            draft, candidate, more = self._better(draft, candidate, after, told)
            done += more
            if draft is before:
                break
        return draft, candidate, done

    def _better(
        self, draft: Draft, candidate: Candidate, after: Draft, told: list[Repair]
    ) -> tuple[Draft, Candidate, list[Repair]]:
        """The changed draft, unless it gives less than the one before."""
        if after is draft or after.spec is None:
            return draft, candidate, told if after is draft and any(not repair.done for repair in told) else []
        try:
            made = self._made(after)
        except CandidateError as error:
            return draft, candidate, [Repair("spec", "the repaired draft gives records", "", str(error)[:300])]
        if self._total(after, made) < self._total(draft, candidate):
            return draft, candidate, [Repair("spec", "the repaired draft scores no lower", "", "it does; the first one stands")]
        return after, made, told

    def _total(self, draft: Draft, candidate: Candidate) -> float:
        if not candidate.records:
            return -1.0
        return self._outcome(draft, candidate).validation(self.is_there).total


def _parents(path: str) -> Sequence[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
