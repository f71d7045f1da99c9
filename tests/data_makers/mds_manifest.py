"""What lies beside the data in MDS-Bench's public copy: the list of targets, and answers of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from assets.raw import natural_key
from tests.data_makers.made import MadePicture, MadeScan, MadeSubject
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


def gathered(
    raw_root: Path, scans: Mapping[str, Sequence[MadePicture | MadeScan]], targets: Sequence[str] = ()
) -> dict[str, MadeSubject]:
    """Subjects and scans in natural order of their names; writes the list of targets, depth-first by their paths.

    Args:
        raw_root: The dataset's raw folder.
        scans: Subject -> its scans.
        targets: Series, or label maps, whose files are targets; every series if not given.
    """
    made = {
        name: MadeSubject(name, tuple(sorted(scans[name], key=lambda scan: natural_key(scan.scan))))
        for name in sorted(scans, key=natural_key)
    }
    files = set()
    for scan in (scan for one in made.values() for scan in one.scans):
        files |= {path for name, path in scan.series.items() if name in targets or not targets}
        files |= {path for name, paths in scan.labels.items() if name in targets for path in paths}
    write_manifest(raw_root, sorted(files, key=lambda path: path.parts)[:20])
    return made
