"""Memory that is lent out again, and a heap at rest."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

from resources.memory import Lender, heap_at_rest

MIB = 1 << 20


def test_what_was_given_back_is_lent_again() -> None:
    lender = Lender()
    with lender.lend(2, 4 * MIB) as first:
        places = {memory.ctypes.data for memory in first}
    with lender.lend(2, 4 * MIB) as second:
        assert {memory.ctypes.data for memory in second} == places


def test_memory_that_is_lent_is_nobody_elses() -> None:
    lender = Lender()
    with lender.lend(2, 4 * MIB) as first, lender.lend(2, 4 * MIB) as second:
        for value, memory in enumerate([*first, *second]):
            memory[:] = value
        assert [int(memory[0]) for memory in [*first, *second]] == [0, 1, 2, 3]


def test_a_little_less_is_cut_from_what_is_there_and_given_back_whole() -> None:
    lender = Lender()
    with lender.lend(1, 4 * MIB):
        pass
    with lender.lend(1, 3 * MIB) as (memory,):
        assert memory.nbytes == 3 * MIB
    assert lender.kept == 4 * MIB


def test_much_less_does_not_hold_a_large_stretch() -> None:
    lender = Lender()
    with lender.lend(1, 8 * MIB):
        pass
    with lender.lend(1, MIB):
        assert lender.kept == 8 * MIB


def test_no_more_is_kept_than_was_allowed_and_nothing_small() -> None:
    lender = Lender(kept_bytes=10 * MIB)
    with lender.lend(3, 4 * MIB), lender.lend(5, 1000):
        pass
    assert lender.kept == 8 * MIB


def test_memory_comes_back_when_the_work_fails() -> None:
    lender = Lender()

    def fail() -> None:
        with lender.lend(1, 2 * MIB) as (memory,):
            memory[:] = np.uint8(1)
            raise ValueError("a damaged file")

    with pytest.raises(ValueError, match="damaged"):
        fail()
    assert lender.kept == 2 * MIB


def test_objects_that_are_there_are_left_out_of_collections_until_the_end() -> None:
    with heap_at_rest():
        assert gc.get_freeze_count() > 0
        gone = weakref.ref(_Ring())
        gc.collect()
        assert gone() is None, "what is made meanwhile is collected as ever"
        with heap_at_rest():
            pass
        assert gc.get_freeze_count() > 0, "who did not freeze the heap does not thaw it"
    assert gc.get_freeze_count() == 0


class _Ring:
    """Garbage that only a collection finds."""

    def __init__(self) -> None:
        self.itself = self


_TWICE = """
import resource
from resources.memory import keep_freed_memory

def faults_of_much() -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    pieces = [b"x" * (8 << 20) for _ in range(20)]
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(keep_freed_memory(), faults_of_much(), faults_of_much())
"""


def test_what_is_freed_is_not_fetched_from_the_system_again() -> None:
    done = subprocess.run([sys.executable, "-c", _TWICE], check=True, capture_output=True, text=True)
    taken, first, second = done.stdout.split()
    if taken == "False":
        pytest.skip("only glibc can be told")
    assert int(first) > 10_000, "160 MB in pages of 4 kB"
    assert int(second) < int(first) / 10
