"""Classes under a key of JSON: in a file beside each image, or in one file that has an entry for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.inspect.annotations import Annotated, has_places
from assets.inspect.class_entries import Named, named_images
from assets.inspect.class_files import Values, may_be_classes, one_for_each, spread
from assets.inspect.classes import ClassRule
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.layout import Plan
from assets.inspect.lexicon import IMAGE, words_of
from assets.inspect.patterns import pattern
from assets.inspect.roles import Part
from assets.inspect.tables import Table
from assets.inspect.tokens import words
from assets.inspect.told_twice import Told
from assets.raw.json_values import parsed, text_of
from assets.raw.lines import bounded_text
from assets.templates import stem

_NEARLY_ALL, _DEEPEST, _MOST_KEYS, _SHOWN = 0.9, 3, 200, 8
_MOST_FILES, _MOST_BYTES = 12, 1 << 22
_CONFIDENCE = 0.6
_KINDS = words_of("type category")
_TAKEN = IMAGE | words_of("""
    acquisition camera coil contrast data device exam examination file files gradient lens media mime mracquisition protocol pulse
    sensor sequence series spoiling study view
    """)
"""`image_type` and `coil_type` say how an image was taken or stored, not what it shows."""

_Entries = Mapping[int, Any]


@dataclass(frozen=True, slots=True)
class Keys:
    """What keys of JSON say of classes.

    Attributes:
        rule: Where the class of each image is told; None where none is, or where several keys may tell it.
        told: What several keys make of the task.
        doubts: Why there is no rule, where something may tell a class.
    """

    rule: ClassRule | None = None
    told: Told | None = None
    doubts: tuple[Unknown, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """Values under a key, the file or files they stand in, the rule that reads them, and whether places are marked beside."""

    values: Values
    file: str
    rule: ClassRule
    marked: bool

    @property
    def said(self) -> str:
        classes, told = self.values.classes, self.values.told
        names = ", ".join(classes[:_SHOWN]) + (", ..." if len(classes) > _SHOWN else "")
        read = f", read in {len(told)} of them" if 0 < len(told) < len(self.values.group.paths) and self.rule.lines else ""
        return f"{f'key {self.values.key!r} of ' if self.values.key else ''}{self.file} ({names}{read})"


def class_keys(root: Path, parts: Sequence[Part], planned: Plan, marks: Callable[[], Annotated | None]) -> Keys:
    """Where JSON has one key that is called like a class and tells one of each image: that it is its class.

    Of several such keys none is chosen. Where objects are marked besides, in a way that no draft can use, a person must say what
    the images are for.

    Args:
        root: The folder.
        parts: Its groups of files.
        planned: Its layout. Of one with label maps, or with such as may belong to two images, nothing is asked.
        marks: Gives what marks objects.
    """
    if planned.labels or planned.is_unpaired:
        return Keys()
    found = [one for one in _found(root, parts, planned) if one.values.is_called and may_be_classes(one.values)]
    if not found:
        return Keys()
    said = " or ".join(one.said for one in found[:_SHOWN])
    marked = marks()
    places = marked.path if marked is not None else next((one.file for one in found if one.marked), "")
    if places:
        why = f"{said} tells a class of each image; {places} marks objects, and which is meant only a person can say"
        return Keys(doubts=(Unknown("classes", why),))
    if len(found) == 1:
        (only,) = found
        seen = f"{said} tells a class of each image, and no other key that is called like a class does"
        return Keys(replace(only.rule, evidence=replace(only.rule.evidence, seen=seen)))
    why = f"{said} tells a class of each image, and nothing says which is meant"
    task = Unknown("task", "several keys of JSON are called like a class, and nothing says which is meant")
    return Keys(told=Told(task), doubts=(Unknown("classes", why),))


def _found(root: Path, parts: Sequence[Part], planned: Plan) -> Iterator[_Found]:
    """Values by key, and the file or files that they stand in."""
    yield from _beside(root, parts, planned)
    paths = [path for part in parts if part.role == "text" for path in part.group.paths[:2] if path.lower().endswith(".json")]
    for path in paths[:_MOST_FILES]:
        yield from _in_one(path, _json(root / path), planned)


def _beside(root: Path, parts: Sequence[Part], planned: Plan) -> Iterator[_Found]:
    """Values in files of which nearly every image has one."""
    for group, where, share in one_for_each(parts, planned):
        if group.ending.lower() != ".json":
            continue
        entries = {number: _json(root / group.paths[number]) for number in spread(len(group.paths))}
        entries = {number: entry if isinstance(entry, dict) else None for number, entry in entries.items()}
        for key, told in _keyed(entries).items():
            values = Values(group, where, told, _words(key), share < 1, key)
            n_told = sum(text is not None for text in told.values())
            evidence = Evidence("classes", "lines", _CONFIDENCE, "")
            some = share < 1 or n_told < len(entries)
            doubts = tuple(_unread(len(group.paths), len(entries), n_told, key))
            rule = ClassRule(values.classes, evidence, value=key, lines=pattern(group, where), some=some, unknown=doubts)
            yield _Found(values, group.shape, rule, any(map(has_places, entries.values())))


def _unread(n_files: int, n_read: int, n_told: int, key: str) -> Iterator[Unknown]:
    if n_read < n_files:
        yield Unknown("classes", f"{n_files - n_read} of {n_files} files with a class were not read, and may say further ones")
    if n_told < n_read:
        yield Unknown("classes", f"{n_read - n_told} of {n_read} files that were read have no single value under the key {key!r}")


def _in_one(path: str, content: Any, planned: Plan) -> Iterator[_Found]:
    """Values of a file that has an entry for nearly every image, by its name, at its top or under one of its keys."""
    for above, listed in [("", content), *content.items()] if isinstance(content, dict) else ():
        named = named_images(planned, listed) if isinstance(listed, dict) and not set(above) & set(".[]{}") else None
        if named is not None:
            called = _words(above) | _words(stem(path.rpartition("/")[2]))
            yield from _entries(path, f"{above}{{}}", called, named, planned)
            return


def _entries(path: str, each: str, called: frozenset[str], named: Named, planned: Plan) -> Iterator[_Found]:
    group = planned.reference.group
    for key, told in _keyed(named.entries).items():
        n_told = sum(text is not None for text in told.values())
        some = not named.is_all or n_told < len(named.entries)
        values = Values(group, (), told, _words(key) or called, some, key)
        evidence = Evidence("classes", "table", _CONFIDENCE, "")
        table = Table(path, {}, ",", each)
        rule = ClassRule(
            values.classes, evidence, None, table, named.naming, named.keyed, key, some=some, names_by=named.template
        )  # fmt: skip
        yield _Found(values, path, rule, any(map(has_places, named.entries.values())))


def _keyed(entries: _Entries) -> dict[str, dict[int, str | None]]:
    """Key -> what nearly all entries say there; no key where they are values themselves, and points in those inside others."""
    flat = {number: dict(_flat(entry)) for number, entry in entries.items()}
    keys = dict.fromkeys(key for said in flat.values() for key in said)
    told = {key: {number: said[key] for number, said in flat.items() if key in said} for key in list(keys)[:_MOST_KEYS]}
    return {key: values for key, values in told.items() if len(values) >= _NEARLY_ALL * len(entries)}


def _flat(entry: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, str | None]]:
    """Every value by its key, as the reader of classes gives it; texts that are too long for it too."""
    if isinstance(entry, dict):
        for name, inner in entry.items() if depth < _DEEPEST else ():
            yield from _flat(inner, f"{key}.{name}" if key else str(name), depth + 1)
        return
    try:
        yield key, text_of(entry) or None
    except ValueError:
        if type(entry) is str:
            yield key, entry


def _words(text: str) -> frozenset[str]:
    """The words of the last part of a key, or of a name; without such as tell a kind, where it is one of how images are taken."""
    found = frozenset(words(text.rpartition(".")[2]))
    return found - _KINDS if found & _TAKEN else found


def _json(path: Path) -> Any:
    try:
        return parsed(bounded_text(path, _MOST_BYTES))
    except (OSError, ValueError):
        return None
