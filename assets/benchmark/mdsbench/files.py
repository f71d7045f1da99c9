"""Reading a folder of predictions that may hold anything.

Nothing here trusts a name, a size or a link: files are regular files inside the folder that was given, JSON is bounded in
size and depth, and an image is opened by its header alone. Whatever is wrong comes back as a sentence, never as an error.
"""

from __future__ import annotations

import json
import stat
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image, JpegImagePlugin, PngImagePlugin

from assets.benchmark.mdsbench.values import printable

MAX_JSON_BYTES = 16 * 2**20
"""A record is a few kilobytes; what is larger than this is not read."""

MAX_JSON_DEPTH = 64
"""A record is about eight levels deep; what is nested deeper than this is not looked at."""

MAX_IMAGE_BYTES = 2**30
"""What is larger than this is not opened as an image."""

IMAGE_EXTENSIONS = (".png", ".jpg", ".jpeg")
"""The order in which the evaluator looks for the image of an index."""

PICTURE_ERRORS = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RuntimeError,
    MemoryError,
    AssertionError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
"""What Pillow's plugins raise over broken bytes."""


@dataclass(frozen=True, slots=True)
class JsonFile:
    """A JSON object, or why there is none."""

    value: dict[str, Any] | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ImageFile:
    """The image of one index.

    Attributes:
        relative: `images/<index>.<ext>` as it lies in the folder; empty when there is none.
        valid: Whether it opens and has a size.
        problem: Why not.
        path: The file, when it is there.
    """

    relative: str
    valid: bool
    problem: str = ""
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Folder:
    """One standardized dataset: `images/`, `standardized_annotations/`, `data_meta.json`.

    Attributes:
        root: The folder that holds them.
        boundary: The folder the user named, resolved; a link that leads out of it is not followed.
    """

    root: Path
    boundary: Path

    def locate(self, *parts: str) -> tuple[Path | None, str]:
        """A regular file below the root, or None and why it is not used (empty when it is simply not there)."""
        name = "/".join(parts)
        try:
            real = self.root.joinpath(*parts).resolve(strict=True)
            mode = real.stat().st_mode
        except FileNotFoundError:
            return None, ""
        except (OSError, RuntimeError, ValueError) as error:
            return None, f"{printable(name)} cannot be reached: {printable(str(error))}"
        if not real.is_relative_to(self.boundary):
            return None, f"{printable(name)} is a link that leads out of the folder of predictions; it is not followed"
        if not stat.S_ISREG(mode):
            return None, f"{printable(name)} is not a regular file"
        return real, ""

    def annotations(self) -> tuple[str, ...]:
        """Names without `.json` of the annotation files, in order of their number, then of their name."""
        folder = self.root / "standardized_annotations"
        try:
            inside = folder.resolve(strict=True).is_relative_to(self.boundary)
            names = [path.name for path in folder.iterdir()] if inside else []
        except (OSError, RuntimeError):
            return ()
        return tuple(sorted((Path(name).stem for name in names if name.endswith(".json")), key=number_first))

    def annotation(self, name: str) -> JsonFile:
        """The annotation of that name."""
        return self._json("standardized_annotations", f"{name}.json")

    def metadata(self) -> JsonFile:
        """The dataset's `data_meta.json`."""
        return self._json("data_meta.json")

    def _json(self, *parts: str) -> JsonFile:
        path, problem = self.locate(*parts)
        if path is None:
            return JsonFile(None, problem or f"{printable('/'.join(parts))} is missing")
        return read_object(path)

    def image(self, index: str) -> ImageFile:
        """The image of an index: png before jpg before jpeg."""
        refused = ImageFile("", valid=False, problem=f"there is no images/{printable(index)} as png, jpg or jpeg")
        for extension in IMAGE_EXTENSIONS:
            relative = f"images/{index}{extension}"
            path, problem = self.locate("images", f"{index}{extension}")
            if path is not None:
                problem = picture_problem(path)
                return ImageFile(relative, valid=not problem, problem=problem, path=path)
            if problem:
                refused = ImageFile("", valid=False, problem=problem)
        return refused


def number_first(name: str) -> tuple[int, str]:
    """Sort key: by number, names that are no number first; ties by name."""
    is_number = name.isascii() and name.isdigit() and len(name) < 19
    return (int(name) if is_number else -1, name)


def read_object(path: Path) -> JsonFile:
    """Read one JSON object from a file that may hold anything."""
    try:
        size = path.stat().st_size
        if size > MAX_JSON_BYTES:
            return JsonFile(None, f"{size} bytes are more than the {MAX_JSON_BYTES} that are read of a JSON file")
        value = json.loads(path.read_bytes().decode("utf-8"))
    except RecursionError:
        return JsonFile(None, "nested too deeply to be read")
    except (OSError, ValueError) as error:
        return JsonFile(None, f"no valid JSON: {printable(str(error))[:200]}")
    if not isinstance(value, dict):
        return JsonFile(None, f"the top level is a {type(value).__name__}, not an object")
    if _depth_exceeds(value, MAX_JSON_DEPTH):
        return JsonFile(None, f"nested deeper than {MAX_JSON_DEPTH} levels")
    return JsonFile(value)


def _depth_exceeds(value: object, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [item for parent in level for item in _children(parent)]
        if not level:
            return False
    return True


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def picture_problem(path: Path) -> str:
    """Why a file is no image, by opening and verifying it; empty when it is one. Pixels are not decoded."""
    try:
        size = path.stat().st_size
        if not 0 < size <= MAX_IMAGE_BYTES:
            return f"{size} bytes: an image has 1 to {MAX_IMAGE_BYTES}"
        with open_picture(path) as picture:
            picture.verify()
        with open_picture(path) as picture:
            width, height = picture.size
    except PICTURE_ERRORS as error:
        return f"does not open as an image: {printable(str(error))[:200] or type(error).__name__}"
    return "" if width and height else f"an image of {width} x {height} pixels"


@contextmanager
def open_picture(path: Path) -> Iterator[Image.Image]:
    """Open an image by its header.

    Pillow's guard against many pixels stays in force except for PNG and JPEG, of which the evaluator allows any size.

    Raises:
        PICTURE_ERRORS: The bytes are no image.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with path.open("rb") as stream:
            signature = stream.read(8)
            stream.seek(0)
            if signature == b"\x89PNG\r\n\x1a\n":
                picture: Image.Image = PngImagePlugin.PngImageFile(stream)
            elif signature.startswith(b"\xff\xd8\xff"):
                picture = JpegImagePlugin.JpegImageFile(stream)
            else:
                picture = Image.open(stream)
            with picture:
                yield picture
