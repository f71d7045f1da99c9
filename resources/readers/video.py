"""Reads films (AVI, MP4, MOV, Matroska, WebM) through PyAV, which is FFmpeg.

Frames are counted by decoding them: what a container says about their number is often wrong. Grey films have one channel, all
others become RGB as FFmpeg converts them, with 16 bits where the film has more than 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import av
import numpy as np
import numpy.typing as npt
from av.container import InputContainer
from av.video.frame import VideoFrame

from resources.findings import BadInputError, Code, Finding, Severity, finding
from resources.readers.arrays import IN_MEMORY, StoredArray, array_image, check_promise
from resources.readers.content import opened
from resources.readers.image import RawImage
from resources.readers.layout import Layout
from resources.readers.source import RawFile, ReadOptions
from resources.readers.video_structure import check_avi, check_mp4

_FAULTS = (
    av.FFmpegError, OSError, ValueError, TypeError, IndexError, KeyError, AttributeError, RuntimeError, EOFError, MemoryError,
    NotImplementedError, ArithmeticError, AssertionError,
)  # fmt: skip
_PLAIN_GREYS = {"gray": "gray", "gray16le": "gray16le", "gray16be": "gray16le"}


@dataclass(frozen=True, slots=True)
class _Kind:
    """What the frames of a film are.

    Attributes:
        width: Columns.
        height: Rows.
        pixels: FFmpeg's name of the format they are converted to.
    """

    width: int
    height: int
    pixels: str

    @classmethod
    def of(cls, frame: VideoFrame, file: RawFile) -> _Kind:
        form = frame.format
        if form.name in _PLAIN_GREYS:
            return cls(frame.width, frame.height, _PLAIN_GREYS[form.name])
        deepest = max(component.bits for component in form.components)
        if len(form.components) == 1 and form.name.startswith("gray"):
            raise file.bad(Code.UNSUPPORTED_DATA, f"the film is grey with {deepest} bits ({form.name}); 8 and 16 are taken")
        return cls(frame.width, frame.height, "rgb24" if deepest <= 8 else "rgb48le")

    @property
    def channels(self) -> int:
        """Colours of a pixel."""
        return 1 if self.pixels.startswith("gray") else 3

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of a sample."""
        return np.dtype(np.uint16 if "16" in self.pixels or "48" in self.pixels else np.uint8)

    @property
    def n_bytes(self) -> int:
        """Bytes of a frame."""
        return self.width * self.height * self.channels * self.dtype.itemsize


def open_video(file: RawFile, options: ReadOptions) -> RawImage:
    """Open a film; raises `BadInputError` as every reader does."""
    if options.key is not None:
        raise file.bad(Code.NO_SUCH_ARRAY, f"a film has no array {options.key!r}; it is read without a key")
    with opened(file, options) as content:
        _check_structure(content, file)
        kind, count, findings = _counted(content, file, options)
    extents = (count, kind.height, kind.width, kind.channels)[: 3 if kind.channels == 1 else 4]
    layout = Layout.of(options.axes or "tyxc"[: len(extents)], extents, file)

    @contextmanager
    def array() -> Iterator[_Film]:
        with opened(file, options) as again:
            yield _Film(again, file, kind, count)

    return array_image(StoredArray(file, kind.dtype, layout, array), "video", findings=findings)


@dataclass(slots=True)
class _Film:
    """The pixels of a film, decoded from its start to its end; going back decodes it once more."""

    content: BinaryIO
    file: RawFile
    kind: _Kind
    count: int
    frames: Iterator[VideoFrame] = field(default_factory=lambda: iter(()))
    position: int = -1
    whole: npt.NDArray[Any] | None = None

    def __getitem__(self, index: tuple[int | slice, ...], /) -> npt.NDArray[Any]:
        if self.kind.n_bytes * self.count <= IN_MEMORY:
            if self.whole is None:
                self.whole = self._decoded(0, self.count)
            return self.whole[index]
        first = index[0] if isinstance(index[0], slice) else slice(index[0], index[0] + 1)
        part = self._decoded(*first.indices(self.count)[:2])
        return part[(slice(None) if isinstance(index[0], slice) else 0, *index[1:])]

    def _decoded(self, start: int, stop: int) -> npt.NDArray[Any]:
        kind = self.kind
        extents = (stop - start, kind.height, kind.width, kind.channels)[: 3 if kind.channels == 1 else 4]
        pixels = np.empty(extents, kind.dtype)
        if start < self.position or self.position < 0:
            self.frames, self.position = _frames(self.content, self.file), 0
        while self.position < stop:
            frame = next(self.frames, None)
            if frame is None or _Kind.of(frame, self.file) != kind:
                raise self.file.bad(Code.BAD_HEADER, f"frame {self.position} of the film is not what it was at the first pass")
            if self.position >= start:
                pixels[self.position - start] = _pixels(frame, kind, self.file)
            self.position += 1
        return pixels


def _check_structure(content: BinaryIO, file: RawFile) -> None:
    if file.head.startswith(b"RIFF"):
        check_avi(content, file)
    elif file.head[4:8] == b"ftyp":
        check_mp4(content, file)


def _counted(content: BinaryIO, file: RawFile, options: ReadOptions) -> tuple[_Kind, int, list[Finding]]:
    """What the frames are, how many can be decoded, and what is odd about that."""
    kind, count, turned = None, 0, 0
    av.logging.set_level(av.logging.ERROR)
    with av.logging.Capture(local=False) as complaints:
        for frame in _frames(content, file):
            met = _Kind.of(frame, file)
            kind = kind or met
            if met != kind:
                raise file.bad(Code.UNSUPPORTED_DATA, f"frame {count} of the film is {met}, those before it are {kind}")
            turned = turned or frame.rotation
            count += 1
            check_promise(file, count * kind.n_bytes, options, expansion=None)
    if kind is None:
        raise file.bad(Code.BAD_HEADER, "the film has no frame that can be decoded")
    findings = _complaints([" ".join(said.split()) for _, _, said in complaints], file)
    stated = _stated_frames(content, file)
    if stated not in {0, count}:
        detail = f"the container states {stated} frames, {count} can be decoded; these are taken"
        findings.append(finding(Code.FRAME_COUNT, detail, file=file.name))
    if turned:
        detail = f"the film asks viewers to turn it by {turned} degrees; taken as it is stored"
        findings.append(finding(Code.EXIF_ORIENTATION, detail, file=file.name))
    return kind, count, findings


def _complaints(said: list[str], file: RawFile) -> list[Finding]:
    """What FFmpeg had to mend, which it only writes to its log.

    Raises:
        BadInputError: CHECKSUM_MISMATCH, when a checksum is wrong.
    """
    wrong = [line for line in said if "crc" in line.lower() or "checksum" in line.lower()]
    if wrong:
        raise file.bad(Code.CHECKSUM_MISMATCH, f"damaged film: FFmpeg says {wrong[0]!r}; download it again")
    if not said:
        return []
    detail = f"FFmpeg met damage and went on, {len(said)} times, first: {said[0]!r}; look at the film"
    return [finding(Code.CHECKSUM_MISMATCH, detail, file=file.name, severity=Severity.WARNING)]


@contextmanager
def _session(content: BinaryIO, file: RawFile) -> Iterator[InputContainer]:
    """The open film, with one picture stream; what FFmpeg says is wrong comes as `BadInputError`."""
    content.seek(0)
    # FFmpeg would also take lists of other files; so the format is dictated.
    form = "avi" if file.head.startswith(b"RIFF") else "mov" if file.head[4:8] == b"ftyp" else "matroska"
    try:
        with av.open(content, mode="r", format=form) as container:
            streams = len(container.streams.video)
            if streams != 1:
                raise file.bad(Code.UNSUPPORTED_DATA, f"the film has {streams} picture streams; one is taken")
            yield container
    except _FAULTS as error:
        raise _explained(error, file) from error


def _frames(content: BinaryIO, file: RawFile) -> Iterator[VideoFrame]:
    """The frames in the order in which they are shown; a damaged one is refused where FFmpeg can be made to say so."""
    with _session(content, file) as container:
        stream = container.streams.video[0]
        stream.codec_context.options = {"err_detect": "crccheck+bitstream+buffer+explode"}
        for number, frame in enumerate(container.decode(stream)):
            if frame.is_corrupt:
                raise file.bad(Code.CHECKSUM_MISMATCH, f"frame {number} of the film is damaged; download it again")
            yield frame


def _stated_frames(content: BinaryIO, file: RawFile) -> int:
    with _session(content, file) as container:
        return int(container.streams.video[0].frames)


def _pixels(frame: VideoFrame, kind: _Kind, file: RawFile) -> npt.NDArray[Any]:
    try:
        return np.asarray(frame.to_ndarray(format=kind.pixels))
    except _FAULTS as error:
        raise _explained(error, file) from error


def _explained(error: Exception, file: RawFile) -> BadInputError:
    said = " ".join(str(error).split()) or type(error).__name__
    return file.bad(Code.BAD_HEADER, f"the film cannot be decoded: {said}; download it again")
