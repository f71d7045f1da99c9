"""Numbers beside images of containers that may be their class: no spec can read them, but they say what a set may be for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assets.inspect.arrays import in_file
from assets.inspect.peek import Opener

_GREATEST = 30


@dataclass(frozen=True, slots=True)
class ClassNumber:
    """A number in the group of an image and its label map.

    Attributes:
        key: Its key.
        values: File -> the number, of those that were looked at and whose number can be read.
    """

    key: str
    values: Mapping[str, int]


def read_numbers(keys: Iterable[str], paths: Sequence[str], opener: Opener) -> Iterator[ClassNumber]:
    """The numbers that may be classes: small and whole wherever they can be read.

    Args:
        keys: Arrays of one element that are called like a class.
        paths: Files that hold them all.
        opener: Opens them.
    """
    for key in keys:
        peeks = {path: opener.peek(path, in_file(key, path)) for path in paths}
        read = {path: peek for path, peek in peeks.items() if peek is not None and not peek.trouble}
        values = {path: peek.values[0] for path, peek in read.items() if peek.values is not None and peek.values[0] <= _GREATEST}
        if len(values) == len(read):
            yield ClassNumber(key, values)
