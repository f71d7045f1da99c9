"""The division a dataset's authors published."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from assets.people import PeopleUnknownError, read_columns
from assets.raw.claims import Claims
from assets.raw.listing import pick, whole
from assets.spec import DatasetSpec
from assets.spec_people import OfficialSplit


class SplitUnknownError(Exception):
    """The official split cannot be read; the message says why."""


def official_split(spec: DatasetSpec, raw_root: Path, files: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Subject -> the split its authors put it in; subjects they did not name are left out.

    Args:
        spec: The dataset.
        raw_root: Its raw folder.
        files: Subject -> its files, relative to the raw folder.

    Raises:
        SplitUnknownError: A file that says it is missing or names nobody, or a subject is named in two splits.
    """
    official = spec.split.official
    if official is None:
        return {}
    if official.roots:
        named = list(_by_root(spec, official, files))
    elif official.table is not None:
        named = _by_table(spec, official, raw_root)
    else:
        named = [(s, split) for split, file in official.files.items() for s in _listed(spec, official, raw_root / file)]
    found: dict[str, str] = {}
    for subject, split in named:
        if found.setdefault(subject, split) != split:
            raise SplitUnknownError(f"{spec.slug} names {subject} in two official splits: {found[subject]} and {split}")
    return {subject: split for subject, split in found.items() if subject in files}


def _by_root(spec: DatasetSpec, official: OfficialSplit, files: Mapping[str, Sequence[str]]) -> Iterable[tuple[str, str]]:
    claims = Claims(spec)
    for subject, paths in files.items():
        roots = {claim.root for path in paths for claim in claims.of(path) if claim.root is not None}
        yield from ((subject, official.roots[root]) for root in sorted(roots) if root in official.roots)


def _by_table(spec: DatasetSpec, official: OfficialSplit, raw_root: Path) -> list[tuple[str, str]]:
    table = official.table
    assert table is not None  # noqa: S101
    try:
        rows = read_columns(raw_root / table.file, table.separator, (table.subject, table.split))
    except PeopleUnknownError as error:
        raise SplitUnknownError(f"the official split of {spec.slug}: {error}") from error
    return [(str(subject), str(split)) for subject, split in rows if subject is not None and split is not None]


def _listed(spec: DatasetSpec, official: OfficialSplit, path: Path) -> set[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        values = [str(v) for v in pick(json.loads(text), official.each)] if official.each else text.splitlines()
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise SplitUnknownError(f"the official split of {spec.slug} cannot be read from {path}: {error}") from error
    names = {match.group() for value in values for match in re.finditer(whole(spec.layout.subject), value)}
    if not names:
        raise SplitUnknownError(f"{path} names no subject of {spec.slug}")
    return names
