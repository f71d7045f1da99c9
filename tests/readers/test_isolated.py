"""Readers in a process of their own: what comes back, what a crash costs, and that nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest

from resources.findings import BadInputError, Code
from resources.readers import isolated, process
from resources.readers.registry import open_image
from resources.readers.source import RawFile, examine
from tests.readers.makers import voxels
from tests.readers.misbehaviour import call
from tests.readers.pictures import collect


@pytest.fixture
def file(tmp_path: Path) -> RawFile:
    with h5py.File(tmp_path / "a.h5", "w") as written:
        written["image"] = voxels((30, 40))
    return examine(tmp_path / "a.h5", "s/a.h5")


@pytest.mark.parametrize(
    ("how", "code", "words"),
    [
        ("crash", Code.BAD_HEADER, "SIGSEGV"),
        ("abort", Code.BAD_HEADER, "SIGABRT"),
        ("exit", Code.BAD_HEADER, "exit status 3"),
        ("half", Code.BAD_HEADER, "exit status 0"),
        ("noise", Code.BAD_HEADER, "not understood"),
        ("class", Code.BAD_HEADER, "Popen is no value"),
        ("memory", Code.TOO_LARGE, "more than the 4096 MiB"),
        ("KILL", Code.UNREADABLE, "from outside.*SIGKILL.*run again"),
        ("TERM", Code.UNREADABLE, "from outside.*SIGTERM"),
    ],
)
def test_a_lost_reading_refuses_the_file_and_the_next_one_is_read(file: RawFile, how: str, code: Code, words: str) -> None:
    before = call("pid", file)
    with pytest.raises(BadInputError, match=words) as met:
        call("go_wrong", file, how)
    assert (met.value.finding.code, met.value.finding.file) == (code, "s/a.h5")
    np.testing.assert_array_equal(collect(open_image(file.path))[:, :, 0, 0].T, voxels((30, 40)))
    assert not alive(before)


def test_a_helper_can_be_ended_though_its_starter_ignores_the_signal(file: RawFile) -> None:
    """As under `nohup`, where Dagster lets SIGTERM be ignored with SIGINT."""
    before = call("pid", file)
    os.kill(before, signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    handler = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with pytest.raises(BadInputError, match="SIGTERM"):
            call("go_wrong", file, "TERM")
    finally:
        signal.signal(signal.SIGTERM, handler)


def test_silence_refuses_the_file_and_ends_the_helper(file: RawFile, monkeypatch: pytest.MonkeyPatch) -> None:
    before = call("pid", file)
    monkeypatch.setattr(isolated, "PATIENCE_S", 0.2)
    monkeypatch.setattr(process, "START_SECONDS", 0.0)
    with pytest.raises(BadInputError, match=r"silent for 0\.2 s") as met:
        call("go_wrong", file, "hang")
    assert met.value.finding.code == Code.BAD_HEADER
    assert not alive(before)


def test_a_helper_that_is_killed_while_it_waits_costs_nothing(file: RawFile) -> None:
    before = call("pid", file)
    os.kill(before, signal.SIGKILL)
    os.waitid(os.P_PID, before, os.WEXITED | os.WNOWAIT)
    assert call("pid", file) not in {before, os.getpid()}


def test_a_kill_in_the_midst_of_the_voxels_is_told(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as written:
        written["image"] = np.zeros((64, 100_000), np.uint16)
    slabs = open_image(tmp_path / "a.h5", name="s/a.h5").slabs([(row, row + 1) for row in range(64)])
    next(slabs)
    (busy,) = (helper for helper in process._pool.every if helper.process.poll() is None and helper not in process._pool.idle)
    busy.process.kill()
    busy.process.wait()
    with pytest.raises(BadInputError, match="SIGKILL") as met:
        list(slabs)
    assert (met.value.finding.code, met.value.finding.file) == (Code.UNREADABLE, "s/a.h5")


def test_a_refusal_comes_as_it_is_and_the_helper_stays(file: RawFile) -> None:
    before = call("pid", file)
    with pytest.raises(BadInputError, match="short") as met:
        call("go_wrong", file, "refusal")
    assert met.value.finding.code == Code.TRUNCATED
    assert call("pid", file) == before


def test_a_fault_of_ours_is_no_bad_input(file: RawFile) -> None:
    with pytest.raises(process.ReaderFaultError, match="ZeroDivisionError: ours"):
        call("go_wrong", file, "fault")


def test_what_libraries_print_is_thrown_away(file: RawFile, capfd: pytest.CaptureFixture[str]) -> None:
    assert call("prints", file) == 5
    assert capfd.readouterr() == ("", "")


def test_helpers_are_used_again_and_are_another_process(file: RawFile) -> None:
    first, second = call("pid", file), call("pid", file)
    assert first == second != os.getpid()


def test_many_threads_read_and_few_helpers_wait(file: RawFile) -> None:
    expected = voxels((30, 40))
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: collect(open_image(file.path)), range(18)):
            np.testing.assert_array_equal(found[:, :, 0, 0].T, expected)
    assert len(process._pool.idle) <= process.MAX_IDLE
    process.stop_helpers()
    assert not process._pool.idle


def test_a_helper_outlives_the_thread_that_started_it(file: RawFile) -> None:
    process.stop_helpers()
    met: list[int] = []
    thread = threading.Thread(target=lambda: met.append(call("pid", file)))
    thread.start()
    thread.join()
    assert [call("pid", file)] == met


def test_two_files_can_be_streamed_at_once_and_one_be_left(file: RawFile) -> None:
    one, two = open_image(file.path), open_image(file.path)
    bounds = [(0, 10), (10, 20), (20, 30)]
    for left, right in zip(one.slabs(bounds), two.slabs(bounds), strict=True):
        np.testing.assert_array_equal(left.voxels, right.voxels)
    unfinished = iter(one.slabs(bounds))
    next(unfinished)
    del unfinished
    assert collect(one).shape == (40, 30, 1, 1)


def test_a_file_that_changes_between_header_and_voxels_is_refused(file: RawFile) -> None:
    image = open_image(file.path, name="s/a.h5")
    file.path.write_bytes(file.path.read_bytes() + b"more")
    with pytest.raises(BadInputError) as met:
        collect(image)
    assert met.value.finding.code == Code.FILE_CHANGED


def test_a_fork_has_helpers_of_its_own(file: RawFile) -> None:
    before = call("pid", file)
    code = os.fork()
    if not code:
        try:
            os._exit(0 if call("pid", file) not in {before, os.getppid()} else 1)
        finally:
            os._exit(2)
    assert os.waitpid(code, 0)[1] == 0
    assert call("pid", file) == before


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
@pytest.mark.slow
def test_every_way_of_starting_processes_has_helpers_and_leaves_none(file: RawFile, tmp_path: Path, method: str) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "import multiprocessing, pathlib, sys\n"
        "from resources.readers.source import examine\n"
        "from tests.readers.misbehaviour import call\n"
        "def work(path):\n"
        "    return call('pid', examine(pathlib.Path(path), 'a'))\n"
        "if __name__ == '__main__':\n"
        f"    with multiprocessing.get_context({method!r}).Pool(2) as pool:\n"
        "        print(*pool.map(work, [sys.argv[1]] * 4))\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, str(script), str(file.path)], check=True, capture_output=True, text=True, env=environment(), timeout=300
    )
    assert not done.stderr
    for number in done.stdout.split():
        assert_ends(int(number))


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


def alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def assert_ends(number: int) -> None:
    for _ in range(300):
        if not alive(number):
            return
        time.sleep(0.1)
    raise AssertionError(f"process {number} outlives the one it works for")


@pytest.fixture
def parent(file: RawFile, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A process whose helper is in the midst of something that never ends."""
    if not Path("/proc/self").exists():
        pytest.skip("needs /proc to look at other processes")
    code = (
        "import sys, pathlib\n"
        "from resources.readers.source import examine\n"
        "from tests.readers.misbehaviour import call\n"
        "call('hang_without_end', examine(pathlib.Path(sys.argv[1]), 'a'), pathlib.Path(sys.argv[2]))\n"
    )
    started = tmp_path / "started"
    command = [sys.executable, "-c", code, str(file.path), str(started)]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as working:
        while not (started.exists() and started.read_text()):
            assert working.poll() is None
            time.sleep(0.05)
        yield working, int(started.read_text())
        working.kill()


def test_a_helper_in_a_loop_ends_with_its_process(parent: tuple[subprocess.Popen[bytes], int]) -> None:
    working, helper = parent
    assert alive(helper)
    working.kill()
    working.wait(60)
    assert_ends(helper)
