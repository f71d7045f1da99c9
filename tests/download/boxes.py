"""A place to unpack archives to, as tests see it."""

from __future__ import annotations

import hashlib
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from resources.download.archives import Archive, Extractor
from resources.download.budget import Limits
from resources.download.errors import ArchiveError
from resources.download.members import MemberRecord
from resources.download.values import Rule
from resources.download.watch import Unwatched
from tests.download.common import files_below

NOISE = random.Random(5)


FILES = {
    "imagesTr/case_001.nii.gz": NOISE.randbytes(300_000),
    "imagesTr/case_002.nii.gz": NOISE.randbytes(20),
    "labelsTr/case_001.nii.gz": bytes(10_000),
    "dataset.json": b'{"name": "x"}',
    "empty/nothing.txt": b"",
    "ä b/数据.txt": b"unicode",
}


class Box:
    """A place to unpack to."""

    def __init__(self, root: Path, limits: Limits | None = None) -> None:
        self.folder = root / "staging"
        self.record_path = root / "a.members.jsonl"
        self.stop = threading.Event()
        self.extractor = Extractor(Unwatched(), self.stop, limits)

    def unpack(self, *paths: Path, name: str = "", **rule: Any) -> dict[str, bytes]:
        identity = hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()
        archive = Archive(name or paths[0].name, paths, identity, Rule(**rule))
        self.record = MemberRecord(self.record_path, identity)
        self.extractor.unpack(archive, self.folder, self.record)
        return self.files()

    def files(self) -> dict[str, bytes]:
        return files_below(self.folder)


def refuses(box: Box, path: Path, why: str, **rule: Any) -> None:
    """Nothing is left of an archive that is refused, inside its folder or outside."""
    root = box.folder.parent
    root.mkdir(exist_ok=True)
    above = set(root.iterdir())
    with pytest.raises(ArchiveError, match=why):
        box.unpack(path, **rule)
    assert not box.folder.exists()
    assert set(root.iterdir()) == above


class Killed(BaseException):
    """Nothing handles it, as nothing handles a lost process."""
