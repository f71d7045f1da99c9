"""What every test may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("medfoundry", deadline=None)
settings.load_profile("medfoundry")

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
