"""Real processes, really killed."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.download.common import files_below
from tests.download.packing import pack
from tests.download.site import Site, whole

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).resolve().parents[2]
CONTENT = random.Random(2).randbytes(400_000)


def start(root: Path, url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.download.driver", str(root), url]
    return subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def kill_once(process: subprocess.Popen[str], when: Callable[[], bool], how: signal.Signals = signal.SIGKILL) -> None:
    """Kill a process as soon as a condition holds; it must not have ended by itself."""
    until = time.monotonic() + 60
    while not when():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until
        time.sleep(0.002)
    process.send_signal(how)
    process.communicate(timeout=30)
    assert process.returncode == -how


def finish(root: Path, url: str) -> str:
    process = start(root, url)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    return output


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_download_that_is_killed_goes_on_where_it_was(tmp_path: Path, site: Site, how: signal.Signals) -> None:
    url = site.put("/scan.nii.gz", site.stalls(CONTENT, after=250_000))
    part = tmp_path / "downloads/d/http-127.0.0.1/scan.nii.gz.part"
    kill_once(start(tmp_path, url), lambda: part.is_file() and part.stat().st_size >= 240_000, how)
    assert not (tmp_path / "raw").exists()
    site.put("/scan.nii.gz", whole(CONTENT))
    assert "fetched" in finish(tmp_path, url)
    assert files_below(tmp_path / "raw/d") == {"scan.nii.gz": CONTENT}
    assert 0 < site.requests[-1].first_byte <= 250_000
    assert not part.exists()


@pytest.mark.parametrize("kind", ["a.zip", "a.tar.gz", "a.7z"])
def test_unpacking_that_is_killed_goes_on_where_it_was(tmp_path: Path, site: Site, kind: str) -> None:
    draw = random.Random(4)
    files = {f"case_{n:04}/scan.bin": draw.randbytes(2000) for n in range(200)}
    content = pack(tmp_path / kind, files).read_bytes()
    url = site.put(f"/{kind}", whole(content))
    record = tmp_path / f"downloads/d/http-127.0.0.1/{kind}.members.jsonl"
    staging = tmp_path / f"downloads/d/http-127.0.0.1/{kind}.unpacking"
    kill_once(start(tmp_path, url), lambda: record.is_file() and record.read_bytes().count(b"\n") >= 50)
    assert not (tmp_path / "raw").exists()
    before: dict[Path, Any] = {path: path.stat().st_mtime_ns for path in staging.rglob("*.bin")}
    recorded = record.read_bytes().count(b"sha256")
    assert 45 <= recorded < 200
    assert "unpacked" in finish(tmp_path, url)
    assert files_below(tmp_path / "raw/d") == files
    kept = [path for path in before if (tmp_path / "raw/d" / path.relative_to(staging)).stat().st_mtime_ns == before[path]]
    assert len(kept) >= recorded
    assert len(site.requests) == 1
