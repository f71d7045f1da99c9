"""Parts of an official split, in folders or in tables; what they are called does not say whether ours is to follow them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from assets.inspect.evidence import Unknown
from assets.inspect.layout import Plan
from assets.inspect.lexicon import SPLITS
from assets.inspect.tables import Table


def told_of_parts(planned: Plan) -> Iterator[Unknown]:
    """A line where images lie in two parts or more, which a draft divides anew."""
    found = {
        value: None
        for source in planned.series
        for part, _ in source.parts
        for variable in part.group.variables
        if variable.kind == "split"
        for value in variable.distinct
    }
    if len(found) > 1:
        why = f"images lie in {', '.join(found)}; the draft divides anew, `split.official` says what the authors divided"
        yield Unknown("split", why)


def told_in_tables(tables: Sequence[Table]) -> Iterator[Unknown]:
    """A line for each column that says nothing but parts of a split."""
    for table in tables:
        for column, cells in table.columns.items():
            found = sorted({cell for cell in cells if cell})
            if len(found) > 1 and {cell.lower() for cell in found} <= SPLITS:
                why = f"{table.path}: column {column!r} says {', '.join(found)}; the draft divides anew"
                yield Unknown("split", f"{why}, `split.official` says what the authors divided")
