"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# At a desk every run tries new examples; in CI the same ones, so that a red run is about the change at hand.
settings.register_profile("desk", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")

_SHARED = Path(__file__).resolve().parents[2] / "shared"


def _folder(name: str) -> Path:
    folder = _SHARED / name
    if not folder.is_dir():
        pytest.skip(f"needs the reference material in {Path('..') / 'shared' / name}, beside the repository")
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real public images, label maps and reference values; skips where it is not there."""
    return _folder("data")


@pytest.fixture(scope="session")
def shared_cases() -> Path:
    """Folder of the program that makes true-to-format odd files; skips where it is not there."""
    return _folder("cases")
