"""Files of `key: value` lines."""

from __future__ import annotations

from pathlib import Path


def key_values(path: Path) -> dict[str, str]:
    """Key -> value, both without the blanks around them; lines without a colon are left, and of equal keys the last counts.

    Raises:
        OSError: The file cannot be read.
        UnicodeDecodeError: It is no text.
    """
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    pairs = (line.partition(":") for line in lines if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}
