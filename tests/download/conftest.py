from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from resources.download import safe
from resources.download.network import Network
from resources.download.policy import Policy
from resources.download.tokens import TOKENS
from tests.download.site import Site, running_site

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


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as found:
        yield found


@pytest.fixture
def other_site() -> Iterator[Site]:
    with running_site() as found:
        yield found


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


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, by its path."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


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
