"""Files beside the images, one for each, that are nothing but a value: whether that is the image's class."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assets.inspect.circumstances import is_no_class
from assets.inspect.classes import CLASS_WORDS, MOST_CLASSES, ClassRule
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import Group
from assets.inspect.layout import Plan
from assets.inspect.lexicon import MODALITIES, SEQUENCES, WORD_MODALITIES, words_of
from assets.inspect.patterns import Stretch, pattern, read
from assets.inspect.person_columns import is_person_column
from assets.inspect.roles import Part
from assets.inspect.unmasked import fields_beside
from assets.raw.lines import only_value
from assets.templates import stem

OPENED = 40
"""Files of one group that are read; evenly spread, as files often stand in order of their classes."""

_NEARLY_ALL, _MOST_WORDS, _MOST_LETTERS, _MOST_DIGITS = 0.9, 6, 60, 3
_CALLED, _ALONE = 0.7, 0.5
"""How sure it is where files are called like a class, and where they alone are nothing but a value."""

_NO_CLASS = words_of("""
    age ages year years birth birthdate birthday dob sex gender height weight bmi race ethnicity site centre center hospital
    institution scanner vendor manufacturer model date time count counts number num length size spacing version seed index
    fold split side laterality modality sequence
    """)
"""What says something of a person, a place or a file, and not what an image shows."""

_ACQUISITIONS = SEQUENCES | frozenset(name.lower() for pair in (*MODALITIES, *WORD_MODALITIES.items()) for name in pair)
_WORDS = re.compile(r"[^\W_][\w .+()'&/-]*")
_FORMAL = re.compile(r"[\d ./:_-]+")
"""Of what is more than a whole number: dates, ranges, UIDs, several numbers."""


@dataclass(frozen=True, slots=True)
class Values:
    """A group of files, each of which is nothing but a value, or has one under a key.

    Attributes:
        group: The files.
        where: Where the fields of the images stand in their names.
        told: What those that were read say, by their numbers in the group; None where they say null.
        words: Words of their names and folders that the images do not have, or of the key.
        some: Whether some images have none.
        key: The key; empty where the value is all.
    """

    group: Group
    where: tuple[Stretch, ...]
    told: dict[int, str | None]
    words: frozenset[str]
    some: bool
    key: str = ""

    @property
    def is_called(self) -> bool:
        """Whether they are called like a class."""
        return bool(self.words & CLASS_WORDS) or self.group.ending.lower() == ".cls"

    @property
    def classes(self) -> tuple[str, ...]:
        """The values that were read, each once."""
        return tuple(sorted({value for value in self.told.values() if value is not None}))


def class_files(root: Path, parts: Sequence[Part], planned: Plan) -> ClassRule | Unknown | None:
    """Where files beside the images are nothing but a value, few values for many images: that it is their class.

    It is where they are called like a class. Others are only where no further files beside the images hold a value each, as of
    several nothing says which is the class.

    Args:
        root: The folder.
        parts: Its groups of files.
        planned: Its layout.
    """
    found = list(_values(root, parts, planned))
    likely = [one for one in found if may_be_classes(one)]
    chosen = [one for one in likely if one.is_called] or (likely if len(found) == 1 else [])
    if len(chosen) == 1:
        return _rule(chosen[0], _CALLED if chosen[0].is_called else _ALONE)
    if likely:
        shapes = ", ".join(one.group.shape for one in found[:4])
        return Unknown(
            "classes", f"several kinds of files beside the images are nothing but a value; any may be a class: {shapes}"
        )
    return None


def _rule(found: Values, confidence: float) -> ClassRule:
    names, n_read, n_files = found.classes, len(found.told), len(found.group.paths)
    seen = f"{n_read} of {n_files} files beside the images were read, each nothing but one of {len(names)} values: "
    doubt = Unknown("classes", f"{n_files - n_read} of {n_files} files with a class were not read, and may say further ones")
    return ClassRule(
        names,
        Evidence("classes", "lines", confidence, seen + found.group.shape),
        lines=pattern(found.group, found.where),
        some=found.some or None in found.told.values(),
        unknown=(doubt,) if n_read < n_files else (),
    )


def _values(root: Path, parts: Sequence[Part], planned: Plan) -> Iterator[Values]:
    """Groups of files, one for nearly each image, that are nothing but a value as far as they are read."""
    for group, where, share in one_for_each(parts, planned):
        told = _read(root, group)
        if told:
            yield Values(group, where, told, group.words - planned.reference.group.words, some=share < 1)


def one_for_each(parts: Sequence[Part], planned: Plan) -> Iterator[tuple[Group, tuple[Stretch, ...], float]]:
    """Groups of texts, and of files of no known kind, of which nearly every image has one; and what share of them has."""
    for part in parts:
        if part.role != "text" and part.group.family != "other":
            continue
        where = tuple(fields_beside(planned, part))
        images = _keys_of_images(planned, where)
        keys = _keys(part.group, where)
        share = len(images & set(keys)) / len(images) if images else 0
        if share >= _NEARLY_ALL and len(set(keys)) == len(keys):
            yield part.group, where, share


def _keys_of_images(planned: Plan, where: Sequence[Stretch]) -> set[tuple[str, ...]]:
    """What the fields read in all images; none where these are not the subject, or the subject and the scan."""
    if {stretch.field for stretch in where} not in ({"subject"}, {"subject", "scan"}):
        return set()
    names = sorted({stretch.field for stretch in where})
    sources = [pair for source in planned.series for pair in source.parts]
    return {key for part, own in sources for key in zip(*(read(part.group, own, name) for name in names), strict=True)}


def _keys(group: Group, where: Sequence[Stretch]) -> list[tuple[str, ...]]:
    names = sorted({stretch.field for stretch in where})
    return list(zip(*(read(group, where, name) for name in names), strict=True))


def _read(root: Path, group: Group) -> dict[int, str | None]:
    """What files say, by their numbers; nothing where one of them is no value."""
    told = {}
    for number in spread(len(group.paths)):
        try:
            told[number] = only_value(root / group.paths[number])
        except (OSError, ValueError):
            return {}
    return told


def spread(n_files: int) -> Sequence[int]:
    """Which files are read: all, or some that are evenly spread."""
    last = n_files - 1
    return [n * last // (OPENED - 1) for n in range(OPENED)] if last >= OPENED else range(last + 1)


def may_be_classes(found: Values) -> bool:
    """Whether the values are few for so many files, and words or small numbers that speak of the image."""
    if found.words & _NO_CLASS or is_person_column(found.key or stem(found.group.paths[0].rpartition("/")[2])):
        return False
    n_told = sum(value is not None for value in found.told.values())
    few = 2 <= len(found.classes) <= min(MOST_CLASSES, (n_told + 1) // 2)
    if not few or n_told < _NEARLY_ALL * len(found.told):
        return False
    longest = _MOST_DIGITS if found.is_called else 1
    return all(_is_class(value, longest) for value in found.classes) and not _speak_of_others(found)


def _is_class(value: str, longest: int) -> bool:
    """Whether a value is a whole number of few digits, or a few words that are neither numbers nor a path."""
    if value.isdecimal():
        return len(value) <= longest
    if len(value) > _MOST_LETTERS or len(value.split()) > _MOST_WORDS or ("/" in value and "." in value):
        return False
    return _WORDS.fullmatch(value) is not None and _FORMAL.fullmatch(value) is None and not _is_number(value)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _speak_of_others(found: Values) -> bool:
    """Whether the values say a part of a split, a kind of acquisition, a side or a sex, or what the paths say already."""
    said = {value.lower() for value in found.classes}
    if said <= _ACQUISITIONS or is_no_class(said):
        return True
    return all(_stands_in(value, found.group, number) for number, value in found.told.items() if value is not None)


def _stands_in(value: str, group: Group, number: int) -> bool:
    plain = value.lower().lstrip("0")
    parts = (*group.paths[number].split("/"), *(token.text for token in group.rows[number]))
    return any(part.lower().lstrip("0") == plain for part in parts)
