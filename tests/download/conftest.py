from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from resources.download import safe
from resources.download.network import Network
from resources.download.tokens import TOKENS
from tests.download.boxes import Box
from tests.download.common import QUICK, Heard
from tests.download.desk import Desk
from tests.download.site import Site, running_site


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as found:
        yield found


@pytest.fixture
def other_site() -> Iterator[Site]:
    with running_site() as found:
        yield found


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


@pytest.fixture
def desk(tmp_path: Path, site: Site) -> Desk:
    return Desk(tmp_path / "data", site)


@pytest.fixture
def network() -> Network:
    return Network(QUICK, threading.Event())


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """No token of whoever runs the tests, and no proxy between them and their server."""
    for token in TOKENS:
        monkeypatch.delenv(token.variable, raising=False)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    monkeypatch.delenv("HF_ENDPOINT", raising=False)


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Syncing guards against a lost power supply, which no test here takes away; the killed processes of `test_kill` sync."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(safe, "_sync_file_system", lambda _: False)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 512 kB; skips where this user may not mount one."""
    mount = tmp_path / "small"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(mount)]
    done = subprocess.run(command, capture_output=True, text=True, check=False) if shutil.which("mount") else None
    if done is None or done.returncode:
        pytest.skip(f"a small disk cannot be mounted here: {done.stderr.strip() if done else 'no mount command'}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=True)
