"""Label maps that are drawn in colours: which colours stand in them, and what a file beside them calls these."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.labels import told_apart
from assets.inspect.peek import Opener
from assets.inspect.roles import Part
from assets.inspect.values import COLOURS, Colour

_KEPT = 12
"""Files that may still be opened after the colours of label maps have been looked at."""

_TRIED = 6
"""Label maps of a group that are opened to see whether they have colours at all."""

_ENOUGH = 0.5
"""Share of the colours that a file must name to be the one that names them."""

_MOST_TEXTS, _MOST_BYTES, _MOST_LINES, _DEEPEST = 8, 1 << 20, 400, 6
_BLACK: Colour = (0, 0, 0)
_GROUND = frozenset(("background", "bg", "back ground", "_background_", "void"))
_COLOUR_WORDS = frozenset(("color", "colour", "rgb", "colors", "colours", "color_rgb", "rgb_value", "hex"))
_NAME_WORDS = ("name", "title", "label", "class", "category", "id")


def drawn_in_colours(parts: Sequence[Part], opener: Opener) -> bool:
    """Whether label maps have colours; where those that were opened might, and are all grey or empty, more are opened."""
    own = [part for part in parts if part.role == "mask"]
    if any(peek.colours for part in own for peek in part.peeks):
        return True
    wide = [part for part in own if any(peek.channels in COLOURS and peek.values is not None for peek in part.peeks)]
    peeks = (opener.peek(path) for part in wide for path in part.group.paths[:: max(1, len(part.group.paths) // _TRIED)])
    return any(peek is not None and peek.colours for peek in peeks)


def labels_of(
    parts: Sequence[Part], opener: Opener, root: Path, texts: Iterable[str]
) -> tuple[dict[int, Colour], dict[int, str], Evidence | Unknown]:
    """Label id -> colour; label id -> name; why.

    As many label maps are looked at as may still be opened. Black is no label, and neither is what a file calls background. Of
    colours that a file names none is missing; of others those that only stand in files that were not looked at.

    Args:
        parts: The label maps.
        opener: Opens files below the folder.
        root: The folder.
        texts: Files below it that may name colours.
    """
    seen, about = _seen(parts, opener)
    labelled = [colour for colour in sorted(seen, reverse=True) if colour != _BLACK]
    named, where = _names(root, texts, labelled)
    ground = [] if _BLACK in seen else [colour for colour, name in named.items() if name.casefold() in _GROUND]
    named = {colour: name for colour, name in named.items() if colour not in (_BLACK, *ground)}
    order = dict.fromkeys([*named, *(colour for colour in labelled if colour not in ground)])
    ids = dict(enumerate(order, start=1))
    names = {number: named[colour] for number, colour in ids.items() if colour in named}
    told = told_apart({number: names.get(number, f"label {number}") for number in ids})
    return {0: ground[0], **ids} if ground else ids, told, _why(ids, names, about, where)


def _why(ids: Mapping[int, Colour], names: Mapping[int, str], about: str, where: str) -> Evidence | Unknown:
    if ids and set(ids) <= set(names):
        return Evidence("labels", f"{len(names)} names", 0.95, f"{where} names the colours")
    nameless = ", ".join(str(list(colour)) for number, colour in ids.items() if number not in names)
    return Unknown("labels", f"what {nameless or 'the colours'} stand for is said nowhere; they are the {about}")


def _seen(parts: Sequence[Part], opener: Opener) -> tuple[set[Colour], str]:
    """The colours of label maps, grey ones among them, and where they stand."""
    paths = [path for part in parts for path in part.group.paths]
    peeks = [peek for part in parts for peek in part.peeks]
    step = max(1, -(-len(paths) // max(1, opener.left - _KEPT)))
    peeks += [peek for path in paths[::step] if opener.left > _KEPT and (peek := opener.peek(path)) is not None]
    seen = {colour for peek in peeks for colour in peek.colours}
    seen |= {(value, value, value) for peek in peeks if not peek.colours for value in peek.values or ()}
    looked_at = len(paths[::step])
    left = len(paths) - looked_at
    about = f"colours of {looked_at} label map(s) such as {paths[0]}"
    return seen, about + (f"; colours that only the {left} others hold are missing" if left > 0 else "")


def _names(root: Path, texts: Iterable[str], colours: Sequence[Colour]) -> tuple[dict[Colour, str], str]:
    """What the first file that names enough of the colours calls them, and others besides; and which file it is."""
    for path in list(texts)[:_MOST_TEXTS]:
        try:
            if (root / path).stat().st_size > _MOST_BYTES:
                continue
            text = (root / path).read_text(encoding="utf-8-sig", errors="replace")
            named = dict(_in_json(json.loads(text))) if path.lower().endswith(".json") else _in_lines(text, colours)
        except (OSError, ValueError, RecursionError):
            continue
        if colours and sum(colour in named for colour in colours) >= _ENOUGH * len(colours):
            return named, path
    return {}, ""


def _in_json(content: Any, depth: int = 0) -> Iterator[tuple[Colour, str]]:
    """Colours and their names: `{name: [r, g, b]}`, `{"#rrggbb": name}`, or entries with a colour and a name."""
    if depth > _DEEPEST:
        return
    if isinstance(content, list):
        for entry in content:
            yield from _in_json(entry, depth + 1)
    if not isinstance(content, dict):
        return
    for key, value in content.items():
        if (colour := _colour(value)) is not None:
            name = _called(content) if str(key).casefold() in _COLOUR_WORDS else str(key)
            if name:
                yield colour, name
        elif (colour := _colour(key)) is not None and isinstance(value, str):
            yield colour, value.strip()
        else:
            yield from _in_json(value, depth + 1)


def _called(entry: Mapping[str, Any]) -> str:
    """The name in an entry that has a colour."""
    known = {str(key).casefold(): value for key, value in entry.items()}
    texts = (known.get(word) for word in _NAME_WORDS)
    return next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")


def _colour(value: Any) -> Colour | None:
    """A colour as three numbers of a byte, as such a text, or in hexadecimal digits."""
    if isinstance(value, str):
        if found := re.fullmatch(r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})", value.strip()):
            return (int(found[1], 16), int(found[2], 16), int(found[3], 16))
        if not re.fullmatch(r"[\[(]?\s*\d+(\s*[, ]\s*\d+){2}\s*[\])]?", value.strip()):
            return None
        value = [int(number) for number in re.findall(r"\d+", value)]
    if isinstance(value, list) and len(value) in (3, 4) and all(type(n) is int and 0 <= n < 256 for n in value):
        return (value[0], value[1], value[2])
    return None


def _in_lines(text: str, colours: Sequence[Colour]) -> dict[Colour, str]:
    """Names in lines that hold a colour among their numbers: `liver 255 0 0`, `255,0,0,liver`, `1 255 0 0 1 1 1 "liver"`.

    Where in a line the colour stands is told by those that are wanted; a line that has other numbers there names another.
    """
    rows = [_cells(line) for line in text.splitlines()[:_MOST_LINES]]
    rows = [(numbers, name) for numbers, name in rows if len(numbers) > 2 and name]
    places = {at for numbers, _ in rows for at in range(len(numbers) - 2) if _at(numbers, at) in colours}
    if not places:
        return {}

    def fitting(at: int) -> int:
        return len({_at(numbers, at) for numbers, _ in rows} & set(colours))

    best = max(sorted(places), key=fitting)
    return {colour: name for numbers, name in rows if (colour := _at(numbers, best)) is not None}


def _at(numbers: Sequence[int], place: int) -> Colour | None:
    found = numbers[place : place + 3]
    return (found[0], found[1], found[2]) if len(found) == 3 and max(found) < 256 else None


def _cells(line: str) -> tuple[list[int], str]:
    """The whole numbers of a line, a colour in hexadecimal digits being three, and the words between them."""
    spelled = re.sub(
        r"#([0-9a-fA-F]{2})([0-9a-fA-F]{2})([0-9a-fA-F]{2})\b",
        lambda found: " ".join(str(int(part, 16)) for part in found.groups()),
        line,
    )
    cells = [cell for cell in re.split(r"[\s,;:=()\[\]\"']+", spelled) if cell]
    numbers = [int(cell) for cell in cells if cell.isascii() and cell.isdecimal() and len(cell) < 6]
    return numbers, " ".join(cell for cell in cells if not re.fullmatch(r"[\d.+-]+", cell))
