"""The benchmark's own list of a dataset's targets, `random.txt`: one line per target, `<index> <path>` or `<index>: <path>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from assets.spec_mds import Mds
from resources.findings import Code, Finding, finding

WITH_TRUTHS = "VLM"
"""Folder of a dataset's ground truth, where the public repository has the list once more."""

_INSTEAD = "the first files in order of their paths are taken"
_LINE = re.compile(r"\s*(\d{1,9})(?:\s*:\s*|\s+)(\S.*)")


@dataclass(frozen=True)
class Listing:
    """What a list says.

    Attributes:
        file: Its name; empty where there is none that names a target.
        paths: Index -> path, as records have it: after the dataset's folder; None where there is no list.
        findings: What is wrong with it.
        content: Its bytes; what is made of it is out of date when they change.
    """

    file: str = ""
    paths: dict[int, str] | None = None
    findings: tuple[Finding, ...] = ()
    content: bytes = b""


def find_listings(mds: Mds, raw_root: Path) -> tuple[tuple[str, Path], ...]:
    """Name and path of every list that is there, the first choice first.

    A list lies in the raw folder, or in its `VLM/`; where the raw folder is the `data/` of a dataset's folder, beside it too.
    """
    whole = raw_root.resolve()
    folders = [raw_root, *([whole.parent] if whole.name == mds.prefix.strip("/") else [])]
    names = (mds.manifest, f"{WITH_TRUTHS}/{mds.manifest}")
    return tuple((name, folder / name) for name in names for folder in folders if (folder / name).is_file())


def read_listing(mds: Mds, raw_root: Path) -> Listing:
    """The targets the list names; lines that cannot be read are findings, and the indices of the others stay as they are.

    Paths are those of the authors' machines: all up to `/<group>/<folder>/` is cut off. Blanks, commas and colons within them
    are kept. Of several lists the first choice is taken, and that another names other targets is a finding.
    """
    lists = [_read(mds, name, path) for name, path in find_listings(mds, raw_root)]
    if not lists:
        return Listing()
    first, *others = lists
    content = b"\0".join([first.content, *(other.content for other in others if other.content != first.content)])
    findings = [*first.findings, *(_other_targets(first, other) for other in others if other.paths not in (None, first.paths))]
    return replace(first, findings=tuple(findings), content=content)


def _read(mds: Mds, name: str, path: Path) -> Listing:
    try:
        content = path.read_bytes()
        lines = content.decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        detail = f"the list of targets cannot be read: {error}; {_INSTEAD}"
        return Listing(findings=(finding(Code.NO_RECORD, detail, file=name),))
    paths: dict[int, str] = {}
    findings = list(_take(mds, name, lines, paths))
    if not paths:
        findings.append(finding(Code.NO_RECORD, f"the list of targets names none; {_INSTEAD}", file=name))
        return Listing(findings=tuple(findings), content=content)
    return Listing(name, paths, tuple(findings), content)


def _other_targets(taken: Listing, other: Listing) -> Finding:
    """That a second list does not say the same."""
    one, two = taken.paths or {}, other.paths or {}
    index = min(n for n in one.keys() | two.keys() if one.get(n) != two.get(n))
    met, wanted = two.get(index, "not there"), one.get(index, "not there")
    detail = f"it names other targets than {taken.file}, which is taken: target {index} is {met}, there it is {wanted}"
    return finding(Code.NO_RECORD, detail, file=other.file)


def _take(mds: Mds, name: str, lines: list[str], paths: dict[int, str]) -> Iterator[Finding]:
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            if line.strip():
                detail = f"line {number} is {line[:200]!r}, not an index and a path; no target is taken from it"
                yield finding(Code.NO_RECORD, detail, file=name)
            continue
        index, path = int(match[1]), after_folder(match[2], mds.folder)
        if index in paths:
            detail = f"line {number} gives index {index} again; {paths[index]} keeps it, {path} has no record"
            yield finding(Code.NO_RECORD, detail, file=name)
            continue
        paths[index] = path


def after_folder(path: str, folder: str) -> str:
    """The part of an absolute path behind `/<group>/<folder>/`; the path itself where that does not occur."""
    _, found, rest = path.replace("\\", "/").partition(f"/{folder.strip('/')}/")
    return rest if found else path
