"""Which of the arrays that files hold are an image and its label map, by the paths that they are called by."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from assets.inspect.lexicon import IMAGE, MASK, PERSON, SHARES, words_of
from assets.inspect.tokens import words
from assets.templates import stem
from resources.readers.arrays import ArrayInfo

STEM = "{stem}"
"""How the dataset language writes, in the name of an array, the file's name without its ending."""

_MASK = MASK | {"bw"}
"""MATLAB's own examples and its app for segmentation call a picture of zeros and ones `BW`."""
_FIRST = words_of("original orig")
_DERIVED = words_of("""
    masked cropped filtered enhanced processed preprocessed denoised smoothed normalized normalised overlay result output
    predicted prediction pred augmented
    """)
"""An image so called was made of another one."""
_CLASS_NUMBER = words_of("class classes label labels target category diagnosis grade")
_MOST_VIEWS, _MOST_MASKS = 8, 4

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """An image and its label map among the arrays of files.

    Attributes:
        image: Key of the image, as the dataset language has it.
        mask: Key of the label map.
        numbers: Keys of single numbers in the same group that are called like a class.
        views: Further groups alike, which some files hold.
        lesser: Arrays of equal extents that are called less like an image.
    """

    image: str
    mask: str
    numbers: tuple[str, ...] = ()
    views: tuple[str, ...] = ()
    lesser: tuple[str, ...] = ()


def in_file(key: str, path: str) -> str:
    """The name of an array in one file."""
    return key.replace(STEM, stem(PurePosixPath(path).name))


def planes(arrays: Iterable[ArrayInfo]) -> list[str]:
    """Names of the arrays that can be images: two of their axes or more have several elements."""
    return [array.name for array in arrays if _is_plane(array.shape)]


def choose(files: Mapping[str, Sequence[ArrayInfo]], holds_mask: Callable[[str], bool]) -> Chosen | None:
    """The image and its label map; None where names do not tell which arrays are meant.

    Both lie in one group of every file, or in two groups side by side that are called like what they hold. Of a few numbered
    groups the first that every file has is taken, unless they are called like people or like shares of a set.

    Args:
        files: Path of a file that was looked at -> its arrays.
        holds_mask: Tells by its content whether the array of a key may be a label map.
    """
    known = {path: dict(zip(keys, files[path], strict=True)) for path, keys in _keys(files)}
    common = [key for key in next(iter(known.values()), {}) if all(key in arrays for arrays in known.values())]
    large = [key for key in common if all(_is_plane(arrays[key].shape) for arrays in known.values())]
    every = list(dict.fromkeys(key for arrays in known.values() for key, array in arrays.items() if _is_plane(array.shape)))
    found = _record(large, every, n_files=len(files))
    if found is None:
        return None
    record, images, masks, views = found

    def equal(one: str, two: str) -> bool:
        return all(arrays[one].shape[:2] == arrays[two].shape[:2] for arrays in known.values())

    fitting = [mask for mask in masks if any(equal(image, mask) for image in images)]
    fitting = [mask for mask in fitting if holds_mask(mask)] if len(fitting) <= _MOST_MASKS else []
    if len(fitting) != 1:
        return None
    ranked = sorted((image for image in images if equal(image, fitting[0])), key=lambda image: -images[image])
    if not ranked or (len(ranked) > 1 and images[ranked[0]] == images[ranked[1]]):
        return None
    groups = {record, _group(ranked[0]), _group(fitting[0])}
    numbers = [
        key for key in common if _group(key) in groups and all(_may_be_class(key, arrays[key]) for arrays in known.values())
    ]
    return Chosen(ranked[0], fitting[0], tuple(numbers), views, tuple(ranked[1:]))


def _keys(files: Mapping[str, Sequence[ArrayInfo]]) -> Iterator[tuple[str, list[str]]]:
    """The keys of every file's arrays; groups called like the file they lie in are called `{stem}` where all files have one."""
    stems = {path: stem(PurePosixPath(path).name) for path in files}
    own = all(any(array.name.startswith(f"{stems[path]}/") for array in arrays) for path, arrays in files.items())
    own = own and (len(files) == 1 or len(set(stems.values())) > 1)
    for path, arrays in files.items():
        front = f"{stems[path]}/"
        yield path, [f"{STEM}/{a.name[len(front) :]}" if own and a.name.startswith(front) else a.name for a in arrays]


def _record(
    large: Sequence[str], every: Sequence[str], *, n_files: int
) -> tuple[str, dict[str, int], list[str], tuple[str, ...]] | None:
    """The group, how much each of its arrays is called like an image, those called like a label map, and groups alike.

    Args:
        large: Keys that all files have.
        every: Keys that some file has.
        n_files: How many files were looked at.
    """
    own = _by_group(large, _group)
    records = {group: found for group, keys in own.items() if all(found := _roles(keys, beside=False))}
    if not records:
        beside = _by_group(large, _around)
        records = {group: found for group, keys in beside.items() if all(found := _roles(keys, beside=True))}
        return next(((group, *found, ()) for group, found in records.items()), None) if len(records) == 1 else None
    first = min(records, key=_in_order)
    alike = [group for group in _by_group(every, _group) if _form(group) == _form(first) and group != first]
    if {_form(group) for group in records} != {_form(first)}:
        return None
    if alike and (n_files == 1 or len(alike) >= _MOST_VIEWS or not _counts_views(first)):
        return None
    return first, *records[first], tuple(sorted(alike, key=_in_order))


def _roles(keys: Sequence[str], *, beside: bool) -> tuple[dict[str, int], list[str]]:
    """How much arrays are called like an image, and those called like a label map; `beside` lets their groups say it too."""
    images, masks = {}, []
    for key in keys:
        own, group = set(words(_name(key))), set(words(_name(_group(key)))) if beside else set()
        if own & _MASK or (group & _MASK and not own & IMAGE):
            masks.append(key)
        elif own & IMAGE:
            images[key] = 0 if own & _DERIVED else 3 if own & _FIRST else 2
        elif group & IMAGE:
            images[key] = 1
    return images, masks


def _by_group(keys: Iterable[str], group_of: Callable[[str], str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        found[group_of(key)].append(key)
    return found


def _group(key: str) -> str:
    return key.rpartition("/")[0]


def _name(key: str) -> str:
    return key.rpartition("/")[2]


def _around(key: str) -> str:
    """The group of an array, or the one around it where its own is called like what it holds."""
    group = _group(key)
    return _group(group) if set(words(_name(group))) & (IMAGE | _MASK) else group


def _form(group: str) -> str:
    return re.sub(r"\d+", "#", group)


def _counts_views(group: str) -> bool:
    """Whether a word stands before each number of a group, and none that numbers people or shares of a set."""
    before = [set(words(run)) for run in re.findall(r"([^/\d]*)\d+", group)]
    return all(before) and not any(said & (PERSON | SHARES) for said in before)


def _in_order(group: str) -> list[tuple[str, int]]:
    """For sorting: numbers by their size."""
    return [(word, int(number or 0)) for word, number in re.findall(r"(\D*)(\d*)", group)]


def _is_plane(shape: Shape) -> bool:
    return sum(extent > 1 for extent in shape) > 1


def _may_be_class(key: str, array: ArrayInfo) -> bool:
    """Whether an array is one number and called like a class."""
    number = array.dtype.startswith(("int", "uint", "float", "bool"))
    return number and math.prod(array.shape) == 1 and bool(set(words(_name(key))) & _CLASS_NUMBER)
