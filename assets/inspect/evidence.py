"""What is said of a folder, how sure it is, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a field of the draft says what it says.

    Attributes:
        field: Which field, as a path of keys.
        said: What it says.
        confidence: From 0, a guess, to 1, beyond doubt. An ordering by hand, not a measured probability.
        seen: What it rests on.
    """

    field: str
    said: str
    confidence: float
    seen: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """What could not be told.

    Attributes:
        field: Which field, as a path of keys.
        why: What was missing.
    """

    field: str
    why: str
