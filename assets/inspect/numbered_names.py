"""Tables that name images by a number without the zeros that stand before it in names: `7` for `007.png`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from assets.inspect.lexicon import words_of
from assets.inspect.person_columns import is_person_column
from assets.inspect.tables import Naming, Table
from assets.inspect.tokens import words

_NAMING = words_of("id ids image images file files filename name case scan number no nr index")


def bare_namings(columns: Sequence[Sequence[str]], table: Table) -> Iterator[tuple[int, Naming]]:
    """Ways in which the table names images without the zeros before a number, in columns called like names.

    Args:
        columns: What may name an image: parts of the names of all images that vary.
        table: The table.
    """
    if table.each:  # entries of a list have numbers of their own, as marks in COCO do
        return
    called = {c: cells for c, cells in table.columns.items() if is_person_column(c) or set(words(c)) & _NAMING}
    bare = replace(table, columns=called).namings([without_zeros(values) for values in columns])
    yield from ((number, naming) for number, naming in bare if not naming.before + naming.behind)


def without_zeros(values: Sequence[str]) -> tuple[str, ...]:
    """Numbers without the zeros before them; nothing where these tell numbers apart, or none has any."""
    if not all(re.fullmatch("[0-9]+", value) for value in values) or not any(value[0] == "0" for value in values):
        return ()
    found = tuple(value.lstrip("0") or "0" for value in values)
    return found if len(set(found)) == len(set(values)) else ()
