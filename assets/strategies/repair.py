"""What a strategy changed, and why: every repair is written down."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Repair:
    """One change, or one fault that nothing could be done about.

    Attributes:
        where: `spec`, `data_meta.json`, or the index of a record.
        check: What was asked.
        done: What was changed; empty where nothing could be.
        met: What was found.
    """

    where: str
    check: str
    done: str
    met: str

    def __str__(self) -> str:
        return f"{self.where}: {self.check}: {self.met}; {self.done or 'nothing could be done'}"
