"""The benchmark's own list of a dataset's targets, `random.txt`: one line per target, `<index> <path>` or `<index>: <path>`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assets.spec_mds import Mds
from resources.findings import Code, Finding, finding

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


def find_listing(mds: Mds, raw_root: Path) -> Path | None:
    """The list in the raw folder; else, where the raw folder is the `data/` of a dataset's folder, the one beside it."""
    inside = raw_root / mds.manifest
    if inside.is_file():
        return inside
    whole = raw_root.resolve()
    beside = whole.parent / mds.manifest
    return beside if whole.name == mds.prefix.strip("/") and beside.is_file() else None


def read_listing(mds: Mds, raw_root: Path) -> Listing:
    """The targets the list names; lines that cannot be read are findings, and the indices of the others stay as they are.

    Paths are those of the authors' machines: all up to `/<group>/<folder>/` is cut off. Blanks, commas and colons within them
    are kept.
    """
    path = find_listing(mds, raw_root)
    if path is None:
        return Listing()
    try:
        content = path.read_bytes()
        lines = content.decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        detail = f"the list of targets cannot be read: {error}; {_INSTEAD}"
        return Listing(findings=(finding(Code.NO_RECORD, detail, file=mds.manifest),))
    paths: dict[int, str] = {}
    findings = list(_take(mds, lines, paths))
    if not paths:
        findings.append(finding(Code.NO_RECORD, f"the list of targets names none; {_INSTEAD}", file=mds.manifest))
        return Listing(findings=tuple(findings), content=content)
    return Listing(mds.manifest, paths, tuple(findings), content)


def _take(mds: Mds, lines: list[str], paths: dict[int, str]) -> Iterator[Finding]:
    for number, line in enumerate(lines, 1):
        match = _LINE.fullmatch(line)
        if match is None:
            if line.strip():
                detail = f"line {number} is {line[:200]!r}, not an index and a path; no target is taken from it"
                yield finding(Code.NO_RECORD, detail, file=mds.manifest)
            continue
        index, path = int(match[1]), after_folder(match[2], mds.folder)
        if index in paths:
            detail = f"line {number} gives index {index} again; {paths[index]} keeps it, {path} has no record"
            yield finding(Code.NO_RECORD, detail, file=mds.manifest)
            continue
        paths[index] = path


def after_folder(path: str, folder: str) -> str:
    """The part of an absolute path behind `/<group>/<folder>/`; the path itself where that does not occur."""
    _, found, rest = path.replace("\\", "/").partition(f"/{folder.strip('/')}/")
    return rest if found else path
