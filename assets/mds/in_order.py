"""Files that belong together by nothing but their order."""

from __future__ import annotations

from pathlib import PurePosixPath

from assets.mds.target import Target
from assets.mds.targets import prefixed
from assets.raw import RawTree
from assets.spec_mds import Mds


def file_in_order(mds: Mds, tree: RawTree, target: Target, glob: str) -> str | None:
    """The file that has the target's place, where a glob finds as many files as the target's series has.

    Both are in lexicographic order of their paths. None where their numbers differ: then one of them lacks a file, and which
    belong together cannot be told.

    Args:
        mds: The dataset's `mds` block.
        tree: Its raw folder.
        target: The target.
        glob: As records would call the files: with the prefix or without it, under the raw folder either way.
    """
    whole = prefixed(mds, glob)
    found = sorted(path for file in tree.files if PurePosixPath(path := prefixed(mds, file.path)).match(whole))
    scans = [scan for subject in tree.subjects.values() for scan in subject.scans]
    of_series = sorted({scan.series[target.name] for scan in scans if target.name in scan.series})
    if len(found) != len(of_series) or target.path not in of_series:
        return None
    path = found[of_series.index(target.path)]
    return path if glob.startswith(mds.prefix) else path.removeprefix(mds.prefix)
