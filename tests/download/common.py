"""What many tests of downloads use."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from resources.download.policy import Policy

QUICK = Policy(
    attempts=4, first_wait_s=0.001, longest_wait_s=0.002, longest_asked_s=2, connect_s=5, silence_s=0.4, checkpoint_bytes=1000
)


@dataclass
class Heard:
    """A watch that remembers."""

    said: list[str] = field(default_factory=list)
    reached: list[tuple[str, int]] = field(default_factory=list)
    begun: list[tuple[str, str, int | None]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def begin(self, name: str, doing: str, size: int | None) -> None:
        self.begun.append((name, doing, size))

    def reach(self, name: str, position: int) -> None:
        self.reached.append((name, position))

    def end(self, name: str) -> None:
        self.ended.append(name)

    def say(self, text: str) -> None:
        self.said.append(text)


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by its path."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}
