"""Folders that say where, how or by whom images were taken: what differs between them is no class unless a person says so."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from assets.inspect.evidence import Unknown
from assets.inspect.grouping import Group, Variable
from assets.inspect.lexicon import CIRCUMSTANCES, PLACES, SPLITS, words_of
from assets.inspect.tokens import words

_YEAR = re.compile(r"(19[89]|20[0-3])\d")
_MAGNIFICATION = re.compile(r"\d{1,4}(\.\d)?[xX]")

_SIDES_AND_SEXES = words_of("m f male female man woman l r left right od os")


def is_no_class(values: Collection[str]) -> bool:
    """Whether the values of a column, or of files, say parts of a split, or sides and sexes."""
    said = {value.lower() for value in values}
    return said <= SPLITS or said <= _SIDES_AND_SEXES


def circumstance_of(folders: Sequence[str]) -> str:
    """What names of folders say of how images were taken; empty where they say anything else, such as what they show.

    All names say the same kind of thing: each in words of that meaning only, as `left` and `right` do, or with one such word at
    the beginning of all of them, as `Hospital_A` and `Hospital_B` have. Years and magnifications are told by their form.

    Args:
        folders: The different names.
    """
    names = [folder.strip("/").rpartition("/")[2] for folder in folders]
    if len(names) < 2:
        return ""
    for form, meaning in ((_YEAR, "a year"), (_MAGNIFICATION, "a magnification")):
        if all(form.fullmatch(name) for name in names):
            return meaning
    spoken = [[word for word in words(re.sub(r"\d+", " ", name)) if len(word) > 1] for name in names]
    if not all(spoken):
        return ""
    begin = {said[0] for said in spoken}
    for meaning, known in CIRCUMSTANCES.items():
        if all(set(said) <= known for said in spoken) or (len(begin) == 1 and begin <= known):
            return meaning
    return ""


def is_place(meaning: str) -> bool:
    """Whether images of equal names from two of these are of two people: hospitals and devices number anew."""
    return meaning in PLACES


def folder_texts(group: Group, variable: Variable) -> tuple[str, ...]:
    """The different names of the folder in which a variable stands; none where it stands in the file's name."""
    at = variable.at[0]
    if at >= group.name_at:
        return ()
    slashes = [-1, *(n for n, token in enumerate(group.rows[0]) if token.text == "/")]
    start, end = max(n for n in slashes if n < at) + 1, min(n for n in slashes if n > at)
    return tuple(sorted({"".join(token.text for token in row[start:end]) for row in group.rows}))


def told_of_circumstances(group: Group) -> tuple[Unknown, ...]:
    """That folders of images say how these were taken, for a person who wants just that as a class."""
    return told_of_folders([texts for variable in group.variables if (texts := folder_texts(group, variable))])


def told_of_folders(levels: Iterable[Sequence[str]]) -> tuple[Unknown, ...]:
    """The same of the names of folders, level by level."""
    found = {circumstance_of(texts): texts for texts in levels}
    return tuple(
        Unknown("classes", f"folders say {meaning}: {', '.join(texts[:6])}; whether that is a class only a person can say")
        for meaning, texts in found.items()
        if meaning
    )
