from __future__ import annotations

from pathlib import Path

import pytest

from resources.download.budget import Limits
from resources.download.errors import StoppedError
from tests.download.boxes import NOISE, Box, Killed, refuses
from tests.download.packing import KINDS, pack, regular, tar_of


def nested(root: Path) -> tuple[Path, dict[str, bytes]]:
    inner = pack(root / "inner.tar.gz", {"x.txt": b"x", "deep.zip": pack(root / "deep.zip", {"y.txt": b"y"}).read_bytes()})
    outer = {"top.txt": b"t", "cases/one.tar.gz": inner.read_bytes(), "cases/two.zip": (root / "deep.zip").read_bytes()}
    return pack(root / "outer.zip", outer), outer


def test_archives_inside_are_opened_as_deep_as_asked(tmp_path: Path) -> None:
    path, outer = nested(tmp_path)
    assert Box(tmp_path / "0").unpack(path) == outer
    once = Box(tmp_path / "1").unpack(path, nested=1)
    assert set(once) == {"top.txt", "cases/one/x.txt", "cases/one/deep.zip", "cases/two/y.txt"}
    twice = Box(tmp_path / "2").unpack(path, nested=2)
    assert twice == {"top.txt": b"t", "cases/one/x.txt": b"x", "cases/one/deep/y.txt": b"y", "cases/two/y.txt": b"y"}


def test_dangers_inside_are_met_as_outside(tmp_path: Path) -> None:
    bad = tar_of(tmp_path / "bad.tar", [regular("../../../evil", b"1")]).read_bytes()
    refuses(Box(tmp_path / "a"), pack(tmp_path / "a.zip", {"x/bad.tar": bad, "fine": b"1"}), "leads out", nested=1)
    bomb = pack(tmp_path / "bomb.zip", {"zeros": bytes(3_000_000)}).read_bytes()
    outer = pack(tmp_path / "b.zip", {f"{n}.zip": bomb for n in range(3)})
    refuses(Box(tmp_path / "b", Limits(ratio_floor=4_000_000)), outer, "would unpack to more than", nested=1)
    clash = pack(tmp_path / "c.zip", {"a.zip": bomb, "a/zeros": b"1"})
    refuses(Box(tmp_path / "c"), clash, "two files are called", nested=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_stopped_goes_on_with_the_member_it_was_at(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {f"{n:03}.bin": NOISE.randbytes(100) for n in range(40)}
    path = pack(tmp_path / kind, files)
    box = Box(tmp_path / "box")
    monkeypatch.setattr("resources.download.members._BATCH_FILES", 4)
    seen: list[Path] = []

    def stop_after_some(operation: str, at: Path) -> None:
        seen.extend([at] if operation == "write" and at.suffix == ".bin" else [])
        if len(seen) == 17:
            box.stop.set()

    monkeypatch.setattr("resources.durable.observe", stop_after_some)
    with pytest.raises(StoppedError):
        box.unpack(path)
    written = len(seen)
    box.stop.clear()
    assert box.unpack(path) == files
    assert len(seen) - written == 40 - 16
    before = len(seen)
    assert box.unpack(path) == files
    assert len(seen) == before


@pytest.mark.parametrize("kind", ["a.zip", "a.tar.gz", "a.7z"])
def test_wherever_it_is_killed_the_next_run_finishes(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = pack(tmp_path / "i.zip", {"x": b"x", "y": b"y" * 50}).read_bytes()
    path = pack(tmp_path / kind, {"a/1": b"1" * 10, "a/2": b"2" * 20, "b.zip": inner})
    expected = {"a/1": b"1" * 10, "a/2": b"2" * 20, "b/x": b"x", "b/y": b"y" * 50}
    monkeypatch.setattr("resources.download.members._BATCH_FILES", 2)
    for point in range(1, 200):
        box = Box(tmp_path / str(point))
        calls = 0

        def kill(_operation: str, _path: Path, point: int = point) -> None:
            nonlocal calls
            calls += 1
            if calls >= point:
                raise Killed

        with monkeypatch.context() as patch:
            patch.setattr("resources.durable.observe", kill)
            try:
                box.unpack(path, nested=1)
            except Killed:
                pass
            else:
                break
        assert Box(tmp_path / str(point)).unpack(path, nested=1) == expected, point
    assert 20 < point < 199
