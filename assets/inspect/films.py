"""Films in colours, which the dataset language reads colour by colour: which of them is meant."""

from __future__ import annotations

from collections.abc import Iterator

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.layout import Plan, Source
from assets.inspect.peek import Peek


def grey_colours(source: Source) -> int:
    """How many colours the films of a source have, where any of these is the grey that is meant; else 0."""
    films = _films(source)
    counts = {film.channels for film in films}
    return counts.pop() if len(counts) == 1 and all(film.grey for film in films) else 0


def told_of_films(planned: Plan) -> Iterator[Evidence | Unknown]:
    """What is said of the colours of films, a line for each series that has any."""
    for source in planned.series:
        if not (films := _films(source)):
            continue
        where = f"such as {source.part.group.paths[0]}"
        if grey_colours(source):
            seen = f"in the {len(films)} films that were opened the {films[0].channels} colours are equal, {where}"
            yield Evidence(f"layout.series.{source.name}.channel", "0", 0.9, seen)
        else:
            why = f"{source.name} is a film in colours, {where}; `channel` and `channels` must say which is taken of how many"
            yield Unknown("layout", why)


def _films(source: Source) -> list[Peek]:
    return [peek for part, _ in source.parts for peek in part.peeks if peek.is_film_in_colours]
