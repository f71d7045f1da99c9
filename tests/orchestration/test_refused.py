"""What the command says when the file system refuses it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orchestration import cli
from resources.store import DatasetStore


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of a command line, through the entry that the installed command has."""
    monkeypatch.setattr(sys, "argv", ["medfoundry", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return int(ended.value.code or 0)


@pytest.mark.parametrize("words", [("status", "kits23"), ("forget", "kits23", "case_00000"), ("demo",)])
def test_a_data_root_that_is_a_file_is_one_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("MEDFOUNDRY_DATA", str(tmp_path / "file"))
    assert run(monkeypatch, *words) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(tmp_path / "file") in line
    assert "Not a directory" in line
    assert "MEDFOUNDRY_DATA" in line


@pytest.mark.parametrize(
    ("number", "advice"),
    [(errno.EROFS, "mount it so that it can be written"), (errno.EACCES, "permissions"), (errno.ENOSPC, "free space")],
)
def test_a_refused_write_names_the_path_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], number: int, advice: str
) -> None:
    path = str(tmp_path / "two\nlines")

    def refuse(_store: DatasetStore) -> list[str]:
        raise OSError(number, os.strerror(number), path)

    monkeypatch.setattr(DatasetStore, "clean", refuse)
    assert run(monkeypatch, "clean", "kits23") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert path.replace("\n", "?") in line
    assert advice in line


def test_a_full_disk_that_names_no_path_names_the_data_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_store: DatasetStore) -> list[str]:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setenv("MEDFOUNDRY_DATA", str(tmp_path))
    monkeypatch.setattr(DatasetStore, "clean", refuse)
    assert run(monkeypatch, "clean", "kits23") == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: No space left")


@pytest.mark.parametrize("fault", [OSError(errno.EBADF, "Bad file descriptor"), OSError("of a library"), KeyError("x")])
def test_a_fault_of_the_program_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    def fail(_store: DatasetStore) -> list[str]:
        raise fault

    monkeypatch.setattr(DatasetStore, "clean", fail)
    monkeypatch.setattr(sys, "argv", ["medfoundry", "clean", "kits23"])
    with pytest.raises(type(fault)):
        cli.main()


_ENDED = """
import tempfile, time
from pathlib import Path
from orchestration import cli

def work() -> None:
    with tempfile.TemporaryDirectory(dir=FOLDER) as half_made:
        print(half_made, flush=True)
        time.sleep(60)

cli.app = work
cli.main()
"""


def test_a_command_that_is_asked_to_end_leaves_nothing_half_made(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _ENDED.replace("FOLDER", repr(str(tmp_path)))], stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert Path(running.stdout.readline().strip()).is_dir()
        running.terminate()
        assert running.wait(20) == 128 + signal.SIGTERM
    assert list(tmp_path.iterdir()) == []
