"""S3: of several outcomes the best complete one by the validator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assets.strategies.outcome import Outcome
from assets.strategies.validator import IsThere


@dataclass(frozen=True)
class Choice:
    """Which outcome was chosen.

    Attributes:
        outcome: It.
        why: In a sentence.
    """

    outcome: Outcome
    why: str


def best_complete(outcomes: Sequence[Outcome], is_there: IsThere | None) -> Choice:
    """The complete outcome with the highest score; where none is complete, that of which most records tell what their task asks.

    Of these the one with the highest score; of equals the first, which is why the order of the outcomes is that in which their
    sources are trusted.

    Args:
        outcomes: At least one.
        is_there: Whether a source is in the raw folder.
    """
    scored = [(outcome, outcome.validation(is_there)) for outcome in outcomes]
    complete = [pair for pair in scored if pair[1].complete]
    most = max(validation.answered for _, validation in scored)
    among = complete or [pair for pair in scored if pair[1].answered == most]
    top = max(validation.total for _, validation in among)
    equals = [outcome for outcome, validation in among if validation.total == top]
    chosen = equals[0]
    kind = "complete" if complete else f"incomplete, as all are, with {most:.0%} answered"
    why = f"{chosen.draft.name}: the highest score of {len(among)} candidates ({kind}), {top:.4f}"
    if len(equals) > 1:
        others = ", ".join(outcome.draft.name for outcome in equals[1:])
        why += f"; {others} score the same, and the first in order is taken"
    return Choice(chosen, why)
