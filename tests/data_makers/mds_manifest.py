"""What lies beside the data in MDS-Bench's public copy: the list of targets, and answers of models."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.data_makers.nifti_sets import write_unread


def write_manifest(raw_root: Path, targets: Iterable[Path], *, colon: bool = False) -> None:
    """Write `random.txt`: an index and the path on the authors' machine, with a colon in some of the datasets.

    Args:
        raw_root: The dataset's raw folder, which ends in the group and the folder of the public copy.
        targets: The files, in order of their indices.
        colon: Whether a colon stands behind the index.
    """
    there = "/".join(["/data3/chenxin/Agent_test", *raw_root.parts[-2:]])
    lines = [f"{n}{':' if colon else ''} {there}/{target.relative_to(raw_root).as_posix()}" for n, target in enumerate(targets)]
    write_unread(raw_root / "random.txt", content="\n".join([*lines, ""]).encode())
    write_unread(raw_root / "VLM" / "some-model" / "agent1_data_organization" / "data_meta.json", content=b"{}")
