"""Parts of an official split that files lie in; what they are called does not say whether ours is to follow them."""

from __future__ import annotations

from collections.abc import Iterator

from assets.inspect.evidence import Unknown
from assets.inspect.layout import Plan


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
