"""Which of several label maps of an image may be what a set is for, where nothing tells it: each alone, to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from assets.inspect.candidates import Candidate
from assets.inspect.layout import Plan

_MOST = 8
_LEFT = "label maps of something else"


def target_candidates(planned: Plan, content: Mapping[str, Any]) -> Iterator[Candidate]:
    """The draft's layout and labels with label maps of one sort alone, for each sort; none where there is one, or very many.

    Args:
        planned: The layout.
        content: The draft, as a mapping of the dataset language.
    """
    sorts = list(dict.fromkeys(source.sort for source in planned.labels if source.sort))
    if not 1 < len(sorts) <= _MOST:
        return
    layout, names = content["layout"], content["labels"]
    own = {source.nonzero_is for source in planned.labels if source.nonzero_is is not None}
    for sort in sorts:
        meant = [source for source in planned.labels if source.sort == sort]
        kept = {source.name: layout["labels"][source.name] for source in meant}
        left = {pattern: _LEFT for name, said in layout["labels"].items() if name not in kept for pattern in _patterns(said)}
        ids = {source.nonzero_is for source in meant} if meant[0].nonzero_is is not None else set(names) - own
        fields = {
            "layout": {**layout, "labels": kept, "ignore": {**layout.get("ignore", {}), **left}},
            "labels": {number: name for number, name in names.items() if number in ids},
        }
        yield Candidate(fields, f"{' and '.join(kept)} alone of the label maps")


def _patterns(said: Any) -> list[str]:
    path = said["path"] if isinstance(said, dict) else said
    return [path] if isinstance(path, str) else list(path)
