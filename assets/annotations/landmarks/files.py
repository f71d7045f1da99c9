"""The small files landmarks come in, read whole, and held to the fingerprint that the subject's key was made with."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from assets.raw import RawSubject
from resources.findings import BadInputError, Code, Finding
from resources.readers.image import SourceFile
from resources.readers.source import Mark, examine, open_regular, unreadable

MAX_TEXT_BYTES = 1 << 20
"""Nineteen points are 200 bytes, an affine transform 400: what is larger is another kind of file."""

_PIECE = 1 << 20


def fingerprint(root: Path, path: str) -> SourceFile:
    """Hash a file of the raw folder.

    Raises:
        BadInputError: UNREADABLE, or FILE_CHANGED while it was read.
    """
    file, before = open_regular(root / path, path)
    with file:
        try:
            digest = hashlib.sha256()
            while piece := file.read(_PIECE):
                digest.update(piece)
            after = Mark.of(os.fstat(file.fileno()))
        except OSError as error:
            raise unreadable(path, error) from error
    if after != before:
        raise BadInputError(Code.FILE_CHANGED, "the file changed while it was read; read it again when it is complete", file=path)
    return SourceFile(root / path, before.size, before.mtime_ns, digest.hexdigest())


def landmark_sources(root: Path, raw: RawSubject) -> tuple[dict[str, SourceFile], list[Finding]]:
    """Fingerprints of a subject's landmark files and transforms, and what is wrong with those that cannot be read.

    They belong to the key of the subject's volumes like every file of it, though the volumes are not made of them.
    """
    sources: dict[str, SourceFile] = {}
    findings = []
    for path in sorted({p for scan in raw.scans for p in (*scan.landmarks.values(), *scan.transforms.values())}):
        try:
            sources[path] = fingerprint(root, path)
        except BadInputError as error:
            findings.append(error.finding)
    return sources, findings


def read_text(root: Path, path: str, sha256: Mapping[str, str]) -> str:
    """A small text file.

    Args:
        root: The raw folder.
        path: Relative to it.
        sha256: Path -> the recorded hash.

    Raises:
        BadInputError: It is empty, a stand-in, unreadable, no text, too large, or not what was recorded.
    """
    raw = examine(root / path, path)
    if raw.mark.size > MAX_TEXT_BYTES:
        raise raw.bad(Code.TOO_LARGE, f"a text file of landmarks or a transform has no {raw.mark.size} bytes")
    file, mark = open_regular(raw.path, path)
    with file:
        raw.check_mark(mark)
        try:
            content = file.read(MAX_TEXT_BYTES + 1)
        except OSError as error:
            raise unreadable(path, error) from error
    require_recorded(path, hashlib.sha256(content).hexdigest(), sha256)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise raw.bad(Code.WRONG_MAGIC, f"not a text file: it begins with {content[:8]!r}") from error


def require_recorded(path: str, found: str, sha256: Mapping[str, str]) -> None:
    """Refuse a file that is not the one that the subject's other products were made beside.

    Raises:
        BadInputError: FILE_CHANGED.
    """
    recorded = sha256.get(path)
    if recorded != found:
        detail = f"the file is not the one that was recorded: SHA-256 {found[:12]}, not {(recorded or 'none')[:12]}; run again"
        raise BadInputError(Code.FILE_CHANGED, detail, file=path)
