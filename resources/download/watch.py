"""Who is told how far a download is."""

from __future__ import annotations

from typing import Protocol


class Watch(Protocol):
    """Hears what is being done; called from several threads."""

    def begin(self, name: str, doing: str, size: int | None) -> None:
        """Work on `name` begins; `size` is its bytes where known."""

    def reach(self, name: str, position: int) -> None:
        """Work on `name` has reached this many bytes, which may be fewer than before when it had to start over."""

    def end(self, name: str) -> None:
        """Work on `name` has ended, well or badly."""

    def say(self, text: str) -> None:
        """Something worth a line."""


class Unwatched:
    """Hears nothing."""

    def begin(self, name: str, doing: str, size: int | None) -> None:
        """Nothing is done."""

    def reach(self, name: str, position: int) -> None:
        """Nothing is done."""

    def end(self, name: str) -> None:
        """Nothing is done."""

    def say(self, text: str) -> None:
        """Nothing is done."""
