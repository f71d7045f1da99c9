"""Readers in a process of their own: what comes back, and what a crash costs."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from resources.findings import BadInputError, Code
from resources.readers import isolated
from resources.readers.registry import open_image
from resources.readers.source import RawFile, examine
from tests.readers.makers import voxels
from tests.readers.pictures import collect


@pytest.fixture
def file(tmp_path: Path) -> RawFile:
    with h5py.File(tmp_path / "a.h5", "w") as written:
        written["image"] = voxels((30, 40))
    return examine(tmp_path / "a.h5", "s/a.h5")


def call(function: str, *arguments: Any) -> Any:
    """What a function of this module says in a helper."""
    with isolated._borrowed() as helper:
        helper.send(isolated.Call(__name__, function, arguments), None)
        return helper.answer(last=True)


def pid(file: RawFile) -> int:
    return os.getpid()


def go_wrong(file: RawFile, how: str) -> None:
    """What the tests call in the helper."""
    if how == "abort":
        os.abort()
    if how == "exit":
        os._exit(3)
    if how == "hang":
        time.sleep(60)
    raise {"fault": ZeroDivisionError("ours"), "refusal": file.bad(Code.TRUNCATED, "short")}[how]


@pytest.mark.parametrize(("how", "word"), [("abort", "SIGABRT"), ("exit", "exit status 3")])
def test_a_crash_refuses_the_file_and_the_next_one_is_read(file: RawFile, how: str, word: str) -> None:
    with pytest.raises(BadInputError, match=word) as met:
        call("go_wrong", file, how)
    assert met.value.finding.code == Code.BAD_HEADER
    assert met.value.finding.file == "s/a.h5"
    np.testing.assert_array_equal(collect(open_image(file.path))[:, :, 0, 0].T, voxels((30, 40)))


def test_silence_refuses_the_file(file: RawFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(isolated, "PATIENCE_S", 0.2)
    with pytest.raises(BadInputError, match="silent"):
        call("go_wrong", file, "hang")


def test_a_refusal_comes_as_it_is_and_the_helper_stays(file: RawFile) -> None:
    call("pid", file)
    idle = list(isolated._idle)
    with pytest.raises(BadInputError, match="short") as met:
        call("go_wrong", file, "refusal")
    assert met.value.finding.code == Code.TRUNCATED
    assert isolated._idle == idle


def test_a_fault_of_ours_is_no_bad_input(file: RawFile) -> None:
    with pytest.raises(isolated.ReaderFaultError, match="ZeroDivisionError: ours"):
        call("go_wrong", file, "fault")


def test_helpers_are_used_again_and_are_another_process(file: RawFile) -> None:
    first, second = call("pid", file), call("pid", file)
    assert first == second != os.getpid()


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
