"""What is remembered of the raw files beside size and modification time."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

from assets.raw import FileEntry, discover
from assets.raw.seen import CACHE_NAME, Seen
from tests.assets.test_rows import TABLE, spec, write

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
"""SHA-256 of `abc`, from FIPS 180-2."""


def file(ctime_ns: int, path: str = "a.png", size: int = 3, mtime_ns: int = 7) -> FileEntry:
    return FileEntry(path, size, mtime_ns, "used", "image", "s", ctime_ns=ctime_ns)


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Knows a file that last changed at 100."""
    Seen(tmp_path / CACHE_NAME).keep([file(100)], {"a.png"})
    return tmp_path / CACHE_NAME


def test_a_file_that_was_never_seen_is_trusted_and_one_that_changed_since_is_not(cache: Path) -> None:
    seen = Seen(cache)
    assert not seen.doubts(file(100))
    assert seen.doubts(file(101))
    assert not seen.doubts(file(101, "b.png"))
    assert not Seen().doubts(file(101))


def test_a_file_whose_change_time_is_not_known_is_not_in_doubt_and_does_not_end_one(cache: Path) -> None:
    seen = Seen(cache)
    assert not seen.doubts(file(0))
    seen.keep([file(0)], {"a.png"})
    assert Seen(cache).doubts(file(101))


def test_a_time_that_went_and_came_back_is_a_doubt_too(cache: Path) -> None:
    Seen(cache).keep([file(101, mtime_ns=8)], {"a.png"})
    assert Seen(cache).doubts(file(102))


def test_a_doubt_lasts_until_the_content_is_known(cache: Path) -> None:
    for _ in range(2):
        seen = Seen(cache)
        assert seen.doubts(file(101))
        seen.keep([file(101)], {"a.png"})
    seen.learn(file(101), ABC)
    seen.keep([file(101)], {"a.png"})
    again = Seen(cache)
    assert (again.doubts(file(101)), again.content_of(file(101))) == (False, ABC)
    assert (again.doubts(file(102)), again.content_of(file(102))) == (True, None)


@pytest.mark.parametrize("end", [{"recorded": {"a.png"}, "read": {"a.png"}}, {"recorded": set()}])
def test_a_doubt_ends_when_the_product_is_made_anew_or_there_is_none(cache: Path, end: dict[str, set[str]]) -> None:
    Seen(cache).keep([file(101)], **end)
    assert not Seen(cache).doubts(file(101))
    assert Seen(cache).content_of(file(101)) is None


def test_a_file_that_is_away_is_remembered_as_long_as_products_of_it_are(cache: Path) -> None:
    Seen(cache).keep([], {"a.png"})
    assert Seen(cache).doubts(file(101))
    Seen(cache).keep([], set())
    assert not Seen(cache).doubts(file(101))


def test_nothing_is_written_when_nothing_is_new(cache: Path) -> None:
    before = cache.stat().st_ino
    Seen(cache).keep([file(100)], {"a.png"})
    Seen(cache).keep([file(101)], {"a.png"})
    assert cache.stat().st_ino == before


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "noise", "other", "later"])
def test_a_cache_that_is_lost_or_damaged_raises_no_doubt_and_is_made_again(cache: Path, damage: str) -> None:
    content = cache.read_bytes()
    if damage == "gone":
        cache.unlink()
    elif damage == "other":
        pl.DataFrame({"path": ["a.png"]}).write_ipc(cache)
    elif damage == "later":
        pl.read_ipc(content, use_pyarrow=False).with_columns(format=pl.lit(99, pl.Int64)).write_ipc(cache)
    else:
        cache.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "noise": b"damaged" * 100}[damage])
    seen = Seen(cache)
    assert not seen.doubts(file(101))
    seen.keep([file(101)], {"a.png"})
    assert Seen(cache).doubts(file(102))


def test_every_file_has_its_change_time_and_a_row_that_of_its_table(tmp_path: Path) -> None:
    write(tmp_path)
    os.utime(tmp_path / TABLE, ns=(1, 1))
    tree = discover(spec(), tmp_path)
    assert {f.ctime_ns for f in tree.files} == {(tmp_path / TABLE).stat().st_ctime_ns}
    assert {f.ctime_ns for raw in tree.subjects.values() for f in raw.files} == {(tmp_path / TABLE).stat().st_ctime_ns}
