"""What a draft might say besides, such as a class where nothing says what it is: for a person to choose from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from assets.inspect.circumstances import circumstance_of
from assets.inspect.dicom_sets import DicomSet
from assets.inspect.grouping import escaped
from assets.templates import stem

_MOST_CLASSES = 30
_MOST_SINGLE = 12
"""Classes of one image each are offered only where the images are this few."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """Fields of a spec that might stand in a draft.

    Attributes:
        fields: What would take the place of the draft's.
        why: What it goes by.
    """

    fields: dict[str, Any]
    why: str


def class_candidates(paths: Sequence[str], instances: DicomSet | None) -> tuple[Candidate, ...]:
    """Ways to tell classes of images that have no label of any kind, the likeliest first.

    Args:
        paths: The images.
        instances: Where they are DICOM instances.
    """
    called = [one for one in _names(paths) if instances is None or not _is_of_people(one, instances)]
    return (*(_descriptions(instances) if instances is not None else ()), *called)


def _is_of_people(candidate: Candidate, instances: DicomSet) -> bool:
    """Whether each of its classes stands in the names of one patient's files only, as what he is called does."""
    if instances.scan is None:
        return False
    told = candidate.fields["classes"]
    matches = told.get("matches", {name: escaped(name) for name in told["names"]})
    stems = [stem(PurePosixPath(path).name) for path in instances.paths]
    files = list(zip(stems, instances.subjects, strict=True))
    return all(len({whose for name, whose in files if re.fullmatch(how, name)}) == 1 for how in matches.values())


def _descriptions(instances: DicomSet) -> Iterator[Candidate]:
    said = sorted({one.description for one in instances.seen if one.kind == "image" and one.description})
    if 2 <= len(said) <= _MOST_CLASSES:
        yield _classes({"names": said, "tag": "SeriesDescription"}, "the description of the series in DICOM headers")


def _names(paths: Sequence[str]) -> Iterator[Candidate]:
    """The folder; what files are called; without the numbers behind; the first word of it, if that says more."""
    folders = [PurePosixPath(path).parent.name for path in paths]
    if _fit(folders) or circumstance_of(sorted(set(folders))):
        yield _classes({"names": sorted(set(folders)), "field": "{folder}"}, "the folder they lie in")
    names = [stem(PurePosixPath(path).name) for path in paths]
    if _fit(names):
        yield _classes({"names": sorted(set(names)), "field": "{stem}"}, "what files are called")
    bare = [re.sub(r"(?:[ _.-]*\d+)+$", "", name) for name in names]
    if _fit(bare) and len(set(bare)) < len(set(names)):
        how = {name: rf"{escaped(name)}(?:[ _.-]*\d+)*" for name in sorted(set(bare), key=lambda name: (len(name), name))}
        yield _classes({"names": sorted(set(bare)), "field": "{stem}", "matches": how}, "what files are called before a number")
    first = [found[0].lower() if (found := re.match(r"[A-Za-z]+", name)) else "" for name in names]
    if _fit(first) and len(set(first)) < len({name.lower() for name in bare}):
        how = {word: rf"(?i:{word})(?![A-Za-z]).*" for word in sorted(set(first))}
        yield _classes({"names": sorted(set(first)), "field": "{stem}", "matches": how}, "the first word that files are called")


def _classes(told: dict[str, Any], why: str) -> Candidate:
    return Candidate({"classes": told}, why)


def _fit(told: Sequence[str]) -> bool:
    """Whether texts may be classes: few, of letters and short numbers, different in more than numbers, and often the same.

    Where images are few each may have a class of its own.
    """
    different = set(told)
    if len({re.sub(r"\d+", "#", text) for text in different}) < 2:
        return False
    lettered = all(re.search("[A-Za-z]{2}", text) and not re.search(r"\d{4}", text) for text in different)
    several = 2 * len(different) <= len(told) or len(told) <= _MOST_SINGLE
    return lettered and 2 <= len(different) <= _MOST_CLASSES and several
