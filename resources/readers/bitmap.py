"""Reads pictures: PNG, JPEG, GIF through Pillow, BMP and PNM by themselves or through Pillow where they are compressed.

Values are the numbers in the file: 16 bits stay 16, grey of 1, 2 or 4 bits is not stretched. A palette picture is its colours,
or its grey values where the palette holds nothing else; with the key `index` it is the indices, as label maps need. Resolution
in dots per inch is that of a print or a screen, never of a body, so it is not read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import numpy.typing as npt

from resources.findings import Code, Finding, finding
from resources.readers import bmp, pnm
from resources.readers.arrays import StoredArray, array_image, check_promise
from resources.readers.bitmap_structure import Structure, walk_gif, walk_jpeg, walk_png
from resources.readers.content import content_size, opened
from resources.readers.image import RawImage
from resources.readers.layout import Layout
from resources.readers.picture import INDEX, Bitmap, coloured, with_palette
from resources.readers.plane import check_plane
from resources.readers.source import RawFile, ReadOptions

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS_A_BYTE = 4096
"""No code of the compressed formats stands for more: a progressive JPEG spends one bit on 64 pixels of each of its components,
and GIF 12 bits on a string of at most 4096."""

_MOST_GIF_PIXELS = 89_478_485
"""Pillow's own limit, which it keeps for GIF whatever it is asked."""

_FAULTS = (
    OSError, SyntaxError, ValueError, TypeError, IndexError, KeyError, EOFError, OverflowError, AttributeError,
    RuntimeError, struct.error, zlib.error, UserWarning,
)  # fmt: skip
"""What Pillow and imagecodecs raise for damaged files; the last where warnings are made errors."""


def open_bitmap(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a picture of any of these formats; raises `BadInputError` as every reader does."""
    with opened(file, options) as content:
        bitmap = bitmap_in(content, file, options)

    @contextmanager
    def decoded() -> Iterator[npt.NDArray[Any]]:
        with opened(file, options) as again:
            yield pixels_of(bitmap, again, file)

    layout = Layout.of(options.axes or bitmap.axes, bitmap.extents, file)
    return array_image(StoredArray(file, bitmap.dtype, layout, decoded), bitmap.format, findings=bitmap.findings)


def bitmap_in(content: BinaryIO, file: RawFile, options: ReadOptions) -> Bitmap:
    """What a content that begins like one of these formats holds, without its pixels where that can be.

    Raises:
        BadInputError: As every reader does; NO_SUCH_ARRAY for a key that is not `index`.
    """
    if options.key not in {None, INDEX}:
        raise file.bad(Code.NO_SUCH_ARRAY, f"a picture has no array {options.key!r}; the one key it knows is {INDEX!r}")
    content.seek(0)
    head = content.read(8)
    content.seek(0)
    bitmap = next(read for magic, read in _FORMATS.items() if head.startswith(magic))(content, file, options)
    size = content_size(content)
    surplus = [f"{size - bitmap.end} bytes follow the {bitmap.end} of the picture"] if size > bitmap.end else []
    return bitmap.saying(*(finding(Code.TRAILING_BYTES, what, file=file.name) for what in surplus))


def pixels_of(bitmap: Bitmap, content: BinaryIO, file: RawFile) -> npt.NDArray[Any]:
    """The pixels of a bitmap, which are as many and of the type that its header promises.

    Raises:
        BadInputError: TRUNCATED or BAD_HEADER.
    """
    pixels = bitmap.decode(content)
    if pixels.shape != bitmap.extents or pixels.dtype.newbyteorder("=") != bitmap.dtype:
        raise file.bad(
            Code.BAD_HEADER,
            f"the header promises pixels {bitmap.extents} of {bitmap.dtype}, decoded are {pixels.shape} of {pixels.dtype}",
        )
    return pixels


@dataclass(frozen=True, slots=True)
class _Task:
    """One content, what its blocks say, and who asks."""

    content: BinaryIO
    file: RawFile
    options: ReadOptions
    facts: Structure

    def check(self, channels: int, *, frames: int = 1) -> None:
        """Refuse what is too much; raises as `check_promise` and `check_plane`."""
        facts = self.facts
        pixels, depth = facts.width * facts.height * frames, 2 if facts.depth > 8 else 1
        n_bytes = pixels * channels * depth
        most = MOST_PIXELS_A_BYTE * channels * 2
        check_promise(self.file, n_bytes, self.options, size=content_size(self.content), expansion=most)
        check_plane((facts.width, facts.height), depth, channels, self.file.name)

    def findings(self) -> tuple[Finding, ...]:
        facts, found = self.facts, []
        if facts.transparent:
            detail = "a colour or palette entry is declared transparent; it is taken as a colour like the others"
            found.append(finding(Code.TRANSPARENCY, detail, file=self.file.name))
        if facts.orientation != 1:
            detail = f"EXIF asks viewers to turn or mirror the picture (orientation {facts.orientation}); taken as it is stored"
            found.append(finding(Code.EXIF_ORIENTATION, detail, file=self.file.name))
        return tuple(found)

    def bitmap(self, name: str, channels: int, decode: Callable[[BinaryIO], npt.NDArray[Any]]) -> Bitmap:
        facts = self.facts
        dtype = np.dtype(np.uint16 if facts.depth > 8 else np.uint8)
        return coloured(name, (facts.height, facts.width), channels, dtype, facts.end, decode).saying(*self.findings())


def _png(content: BinaryIO, file: RawFile, options: ReadOptions) -> Bitmap:
    facts = walk_png(content, file)
    task = _Task(content, file, options, facts)
    task.check(3 if facts.palette else facts.samples)
    if facts.palette:
        return _indexed(task, "PNG", lambda source: _pillow("Png", source, file))

    def decode(source: BinaryIO) -> npt.NDArray[Any]:
        if facts.depth == 16 and facts.samples > 1:
            return _deep_png(source, file)
        pixels = np.asarray(_pillow("Png", source, file))
        stretched = {2: 85, 4: 17}.get(facts.depth, 1)
        return pixels.astype(np.uint8) // np.uint8(stretched) if facts.depth < 8 else pixels

    bitmap = task.bitmap("PNG", facts.samples, decode)
    return bitmap if facts.samples in {1, 3} else _without_alpha(bitmap, task)


def _without_alpha(bitmap: Bitmap, task: _Task) -> Bitmap:
    """The same without its last channel, when that is opaque everywhere; with a finding otherwise."""
    alpha = bitmap.decode(task.content)[..., -1]
    clear = int(np.count_nonzero(alpha != np.iinfo(bitmap.dtype).max))
    if clear:
        detail = f"{clear} of {alpha.size} pixels are transparent to some degree; the last channel says how much they are not"
        return bitmap.saying(finding(Code.TRANSPARENCY, detail, file=task.file.name))
    samples = task.facts.samples - 1
    return task.bitmap(bitmap.format, samples, lambda source: bitmap.decode(source)[..., 0 if samples == 1 else slice(samples)])


def _jpeg(content: BinaryIO, file: RawFile, options: ReadOptions) -> Bitmap:
    facts = walk_jpeg(content, file)
    if facts.depth != 8 or facts.samples not in {1, 3}:
        raise file.bad(
            Code.UNSUPPORTED_DATA,
            f"the JPEG has {facts.samples} components of {facts.depth} bits; grey or three colours of 8 bits are taken",
        )
    task = _Task(content, file, options, facts)
    task.check(facts.samples)
    return task.bitmap("JPEG", facts.samples, lambda source: np.asarray(_pillow("Jpeg", source, file)))


def _gif(content: BinaryIO, file: RawFile, options: ReadOptions) -> Bitmap:
    facts = walk_gif(content, file)
    if facts.width * facts.height > _MOST_GIF_PIXELS:
        size = f"{facts.width} x {facts.height}"
        raise file.bad(Code.TOO_LARGE, f"the GIF has {size} pixels; at most {_MOST_GIF_PIXELS} are taken")
    task = _Task(content, file, options, facts)
    task.check(3, frames=facts.frames)
    if facts.frames == 1:
        return _indexed(task, "GIF", lambda source: _pillow("Gif", source, file))

    def decode(source: BinaryIO) -> npt.NDArray[Any]:
        film = np.empty((facts.frames, facts.height, facts.width, 3), np.uint8)
        with _faults(file):
            image = _plugin("Gif", source)
            for number in range(facts.frames):
                image.seek(number)
                film[number] = np.asarray(image.convert("RGB"))
        return film

    film = Bitmap("GIF", "tyxc", (facts.frames, facts.height, facts.width, 3), np.dtype(np.uint8), facts.end, decode)
    return film.saying(*task.findings())


def _bmp(content: BinaryIO, file: RawFile, options: ReadOptions) -> Bitmap:
    header = bmp.parse(content, file)
    task = _Task(content, file, options, Structure(header.width, header.height, 4, 8, content_size(content), header.bits <= 8))
    task.check(4)
    if header.plain:
        return bmp.plain(header, options)
    if task.facts.palette:
        return _indexed(task, "BMP", lambda source: _pillow("Bmp", source, file))
    with _faults(file):
        clear = _plugin("Bmp", content).mode == "RGBA"
    bitmap = task.bitmap("BMP", 4 if clear else 3, lambda source: np.asarray(_pillow("Bmp", source, file)))
    return _without_alpha(bitmap, task) if clear else bitmap


def _indexed(task: _Task, name: str, load: Callable[[BinaryIO], Image]) -> Bitmap:
    """A picture that Pillow gives as indices and a palette, or as grey where the palette is the identity."""
    task.content.seek(0)
    with _faults(task.file):
        image = _plugin(name.capitalize(), task.content)
        palette = image.getpalette("RGB") if image.mode == "P" else None
    if image.mode not in {"P", "L"}:
        raise task.file.bad(Code.UNSUPPORTED_DATA, f"this kind of compressed {name} (mode {image.mode}) is not taken")
    table = np.arange(256, dtype=np.uint8)[:, None].repeat(3, axis=1)
    if palette is not None:
        table[:] = 0
        table[: len(palette) // 3] = np.reshape(palette, (-1, 3))

    def indices(source: BinaryIO) -> npt.NDArray[Any]:
        return np.asarray(load(source))

    shape = (task.facts.height, task.facts.width)
    bitmap = with_palette(name, shape, table, task.facts.end, indices, index=task.options.key == INDEX)
    return bitmap.saying(*task.findings())


def _pillow(plugin: str, content: BinaryIO, file: RawFile) -> Image:
    """The decoded picture."""
    content.seek(0)
    with _faults(file):
        image: Image = _plugin(plugin, content)
        image.load()
        return image


def _plugin(name: str, content: BinaryIO) -> Any:
    """Pillow's own class for a format: `Image.open` guesses at formats, and its limit on large pictures is a global one."""
    from PIL import BmpImagePlugin, GifImagePlugin, JpegImagePlugin, PngImagePlugin  # noqa: PLC0415  # loaded when needed

    content.seek(0)
    classes: dict[str, Any] = {
        "Png": PngImagePlugin.PngImageFile,
        "Jpeg": JpegImagePlugin.JpegImageFile,
        "Gif": GifImagePlugin.GifImageFile,
        "Bmp": BmpImagePlugin.BmpImageFile,
    }
    return classes[name](content)


def _deep_png(content: BinaryIO, file: RawFile) -> npt.NDArray[Any]:
    """The pixels of a PNG with 16 bits a colour, of which Pillow keeps 8."""
    import imagecodecs  # noqa: PLC0415  # loaded when needed

    content.seek(0)
    with _faults(file):
        return np.asarray(imagecodecs.png_decode(content.read()))


@contextmanager
def _faults(file: RawFile) -> Iterator[None]:
    try:
        yield
    except _FAULTS as error:
        said = str(error) or type(error).__name__
        code = Code.TRUNCATED if "truncated" in said else Code.BAD_HEADER
        raise file.bad(code, f"the picture cannot be decoded: {said}; download it again") from error


_FORMATS: dict[bytes, Callable[[BinaryIO, RawFile, ReadOptions], Bitmap]] = {
    b"\x89PNG": _png,
    b"\xff\xd8": _jpeg,
    b"GIF8": _gif,
    b"BM": _bmp,
    b"P": pnm.read_header,
}
