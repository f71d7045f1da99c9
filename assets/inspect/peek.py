"""Opens a few files, and each of them once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from assets.inspect.values import Colour, Values
from assets.raw.rows import row_of
from resources.findings import BadInputError, Code
from resources.readers.arrays import ArrayInfo
from resources.readers.dicom.door import sniff as is_dicom
from resources.readers.dicom.files import read_file
from resources.readers.image import RawImage, ThirdAxis
from resources.readers.registry import companions, list_arrays, open_image
from resources.readers.source import ReadOptions, examine

MOST_FILES, MOST_VOXELS = 60, 1 << 25

LONGEST_FILM = 16 << 20
"""Bytes of a film that is decoded to see its colours."""


@dataclass(frozen=True, slots=True)
class Peek:
    """What one file says of itself.

    Attributes:
        format: Name of its format; empty where it cannot be read.
        shape: Stored extents.
        affine: Stored voxel index to RAS+ millimetres, (4, 4), row by row.
        channels: Extent of the fourth axis.
        patient: Whether it has a place in a patient.
        values: All values, where they are few whole numbers; else None.
        low: Least value seen; NaN where values were not read.
        high: Greatest value seen.
        arrays: The arrays of a container.
        modality: As a DICOM header says.
        kind: What a DICOM object is: image, SEG and others.
        trouble: Why it cannot be read.
        lies: Whether it says how it lies in the patient, where its format has a place for that.
        grey: Whether a film in colours was seen to show one grey in all of them.
        numbered: Whether many whole numbers from 0 lie in patches of one number each, as numbered cells do.
        third: What its third axis is: space, time, or pages of which nothing says what they are.
        around: What stands at all corners of its first two axes; None where that is not one value.
        blurred: Whether it is black and white but for values near these, as masks are that were packed as photographs.
        blobs: Whether what is not 0, or what is light, lies together as label maps do.
        colours: Its colours, where they are few and not all grey.
    """

    format: str = ""
    shape: tuple[int, ...] = ()
    affine: tuple[float, ...] = ()
    channels: int = 1
    patient: bool = False
    values: tuple[int, ...] | None = None
    low: float = math.nan
    high: float = math.nan
    arrays: tuple[ArrayInfo, ...] = ()
    modality: str = ""
    kind: str = ""
    trouble: str = ""
    lies: bool = True
    grey: bool = False
    numbered: bool = False
    blurred: bool = False
    around: float | None = None
    third: ThirdAxis = "space"
    blobs: bool = False
    colours: tuple[Colour, ...] = ()

    @property
    def is_film_in_colours(self) -> bool:
        """Whether it has frames or pages, and each of them several colours."""
        return not self.patient and self.channels > 1 and len(self.shape) > 2 and self.shape[2] > 1

    @property
    def is_probability(self) -> bool:
        """Whether it holds many values from 0 to 1, both of them among these."""
        return self.values is None and self.low == 0 and 0.5 < self.high <= 1

    @property
    def is_share(self) -> bool:
        """Whether all its values lie between 0 and 1, and some within."""
        return self.values is None and self.low >= 0 and 0 < self.high <= 1

    @property
    def is_mask(self) -> bool:
        """Whether it holds few whole numbers, 0 among them."""
        return self.values is not None and len(self.values) > 1 and self.values[0] == 0


@dataclass
class Opener:
    """Opens files of one folder until it has opened enough.

    Attributes:
        root: The folder.
        left: How many more files may be opened.
    """

    root: Path
    left: int = MOST_FILES
    _seen: dict[tuple[str, str], Peek | None] = field(default_factory=dict)

    def has_opened(self, path: str) -> bool:
        """Whether a file was looked into."""
        return self._seen.get((path, "")) is not None

    def is_short(self, path: str) -> bool:
        """Whether a film may be opened, which decodes all of it."""
        try:
            return (self.root / path).stat().st_size <= LONGEST_FILM
        except OSError:
            return False

    def peek(self, path: str, key: str = "") -> Peek | None:
        """What a file says; None when too many have been opened already.

        Args:
            path: The file, relative to the folder.
            key: Which array of a container; its list of arrays is what is told without one.
        """
        if (path, key) not in self._seen:
            if self.left == 0:
                return None
            self.left -= 1
            self._seen[path, key] = self._open(path, key)
        return self._seen[path, key]

    def _open(self, path: str, key: str) -> Peek:
        if (row := row_of(path)) is not None:
            path, key = row.table, row.key
        try:
            if row is None and (alone := self._of_no_arrays(path)) is not None:
                return alone
            arrays = () if key else list_arrays(self.root / path, name=path)
            if len(arrays) > 1:
                return Peek("container", arrays=arrays)
            if row is not None:
                return _image(open_image(self.root / path, name=path, options=ReadOptions(key=key)), ())
            shapes = {array.name: array.shape for array in list_arrays(self.root / path, name=path)} if key else {}
            shape = shapes.get(key) or (arrays[0].shape if arrays else None)
            axes = _axes(shape) if shape else None
            return self._image(path, ReadOptions(key=key or None, axes=axes), arrays)
        except BadInputError as error:
            several = error.finding.code is Code.NO_SUCH_ARRAY and not key
            return Peek("several arrays") if several else Peek(trouble=str(error))
        except ValueError as error:
            return Peek(trouble=str(error))

    def _of_no_arrays(self, path: str) -> Peek | None:
        """What an image in two files, or a DICOM object, says; None for other files."""
        if _in_two(self.root / path):
            return self._image(path, ReadOptions(), ())
        file = examine(self.root / path, path)
        if not is_dicom(file.head):
            return None
        header = read_file(file)
        return Peek("DICOM", modality=header.key.modality, kind=header.kind)

    def _image(self, path: str, options: ReadOptions, arrays: tuple[ArrayInfo, ...]) -> Peek:
        """What an image says; one that does not say how it lies is looked at as if it lay in some way."""
        try:
            return _image(open_image(self.root / path, name=path, options=options), arrays)
        except BadInputError as error:
            if error.finding.code is not Code.ORIENTATION_UNKNOWN:
                raise
        some = replace(options, assume_orientation="RAS")
        return replace(_image(open_image(self.root / path, name=path, options=some), arrays), lies=False)


def _in_two(path: Path) -> bool:
    """Whether a file is the header or the data of an image in two files; either opens it."""
    try:
        return bool(companions(path))
    except OSError:
        return False


def _axes(shape: tuple[int, ...]) -> str | None:
    """Some order of the axes: enough to look at the values, and never said in a draft."""
    return {2: "yx", 3: "zyx", 4: "tzyx"}.get(len(shape))


def _image(image: RawImage, arrays: tuple[ArrayInfo, ...]) -> Peek:
    peek = Peek(
        format=image.format,
        shape=image.shape,
        affine=tuple(image.affine_ras_mm.ravel().tolist()),
        channels=image.n_channels,
        patient=image.space == "patient",
        arrays=arrays,
        third=image.third_axis,
    )
    return peek if math.prod(image.shape) * image.n_channels > MOST_VOXELS else _with_values(peek, image)


def _with_values(peek: Peek, image: RawImage) -> Peek:
    """With few whole numbers or None, the least and the greatest, and what else the values look like."""
    seen = Values(in_picture=not peek.patient, n_channels=peek.channels)
    for slab in image.slabs([(0, image.shape[image.slab_axis])]):
        seen.add(np.asarray(slab.voxels), slab.channel)
    blurred = image.dtype == np.uint8 and seen.are_near_ends
    numbered = np.issubdtype(image.dtype, np.integer) and seen.are_patches and not blurred
    grey = peek.is_film_in_colours and seen.one_grey
    return replace(
        peek,
        around=seen.around,
        values=seen.whole,
        low=seen.low,
        high=seen.high,
        grey=grey,
        numbered=bool(numbered),
        blurred=bool(blurred),
        blobs=seen.are_blobs,
        colours=seen.colours,
    )
