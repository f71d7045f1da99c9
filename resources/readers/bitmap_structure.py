"""Walks through PNG, JPEG and GIF files block by block: what they hold, and that they are whole.

Image libraries stop when the picture is full, and so see neither the end of a file nor the checksums on the way. Structures
after the PNG specification (third edition), ITU-T T.81 annex B and the GIF89a specification.
"""

from __future__ import annotations

import re
import struct
import zlib
from dataclasses import dataclass
from typing import BinaryIO

from resources.findings import BadInputError, Code
from resources.readers.bytestream import PIECE
from resources.readers.content import content_size
from resources.readers.source import RawFile

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"

_ORIENTATION_TAG = 0x0112
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_BARE = 0x01
_SCAN_END = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])", re.DOTALL)
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_PNG_METHODS = ([0, 0, 0], [0, 0, 1])
_PNG_DEPTHS = {0: {1, 2, 4, 8, 16}, 2: {8, 16}, 3: {1, 2, 4, 8}, 4: {8, 16}, 6: {8, 16}}


@dataclass(frozen=True, slots=True)
class Structure:
    """What the blocks of a file say.

    Attributes:
        width: Columns.
        height: Rows.
        samples: Numbers a pixel has in the file; 1 for an index into a palette.
        depth: Bits of each.
        end: Bytes up to the end of the last block.
        palette: Whether a sample is an index into a palette.
        transparent: Whether a colour or palette entry is declared transparent.
        orientation: How the EXIF block asks viewers to turn the picture; 1 is not at all.
        frames: Pictures in the file.
    """

    width: int
    height: int
    samples: int
    depth: int
    end: int
    palette: bool = False
    transparent: bool = False
    orientation: int = 1
    frames: int = 1


def walk_png(content: BinaryIO, file: RawFile) -> Structure:
    """Walk through a PNG file and compare the checksum of every chunk.

    Raises:
        BadInputError: TRUNCATED, CHECKSUM_MISMATCH, BAD_HEADER or UNSUPPORTED_DATA.
    """
    size, at = content_size(content), len(PNG_SIGNATURE)
    content.seek(at)
    header, small = b"", {b"tRNS": b"", b"eXIf": b"", b"acTL": b"", b"PLTE": b""}
    kind = b""
    while kind != b"IEND":
        start = content.read(8)
        length = int.from_bytes(start[:4], "big")
        if len(start) < 8 or at + length + 12 > size:
            raise _cut(file, size, "its chunks")
        kind = start[4:]
        data = _png_chunk(content, length, kind, file)
        if not header and (kind != b"IHDR" or length != 13):
            raise file.bad(Code.BAD_HEADER, f"a PNG file begins with the chunk IHDR of 13 bytes, not {kind!r} of {length}")
        header = header or data
        if kind in small:
            small[kind] = data or b"\0"
        at += length + 12
    width, height, depth, colour, *methods = struct.unpack(">IIBBBBB", header)
    if not width or not height or depth not in _PNG_DEPTHS.get(colour, set()) or methods not in _PNG_METHODS:
        raise file.bad(
            Code.BAD_HEADER, f"the PNG header says {width} x {height}, {depth} bits, colour type {colour}, methods {methods}"
        )
    if small[b"acTL"]:
        raise file.bad(Code.UNSUPPORTED_DATA, "the file is an animated PNG; only its pictures one by one are taken")
    if colour == 3 and not small[b"PLTE"]:
        raise file.bad(Code.BAD_HEADER, "the PNG header promises a palette, and there is none")
    turned, clear = exif_orientation(small[b"eXIf"]), bool(small[b"tRNS"])
    return Structure(width, height, _PNG_CHANNELS[colour], depth, at, colour == 3, clear, turned)


def walk_jpeg(content: BinaryIO, file: RawFile) -> Structure:
    """Walk through a JPEG file from marker to marker.

    Raises:
        BadInputError: TRUNCATED, BAD_HEADER.
    """
    data = content.read()
    at, frame, orientation = 2, b"", 1
    while True:
        found = _SCAN_END.match(data, at)
        if found is None:
            if not data[at : at + 2].strip(b"\xff"):
                raise _cut(file, len(data), "its markers")
            raise file.bad(Code.BAD_HEADER, f"a marker is due at byte {at} of the JPEG file, where {data[at : at + 2]!r} stands")
        marker, at = found[1][0], found.end()
        if marker == 0xD9:
            break
        if marker == _JPEG_BARE:
            continue
        length = int.from_bytes(data[at : at + 2], "big")
        segment = data[at + 2 : at + length]
        if length < 2 or len(segment) != length - 2:
            raise _cut(file, len(data), f"the segment of marker {marker:#x}")
        at += length
        if marker == 0xE1 and segment.startswith(b"Exif\0\0"):
            orientation = exif_orientation(segment[6:])
        elif marker in _JPEG_FRAMES:
            frame = frame or segment
        elif marker == 0xDA:
            at = _scan_end(data, at, file)
    return _jpeg_frame(frame, at, orientation, file)


def walk_gif(content: BinaryIO, file: RawFile) -> Structure:
    """Walk through a GIF file from block to block.

    Raises:
        BadInputError: TRUNCATED, BAD_HEADER.
    """
    data = content.read()
    if len(data) < 13:
        raise _cut(file, len(data), "its header")
    width, height, flags = struct.unpack("<HHB", data[6:11])
    at = 13 + _table_bytes(flags)
    frames, transparent = 0, False
    while data[at : at + 1] != b"\x3b":
        block = data[at : at + 1]
        if block == b"\x21":
            transparent |= data[at + 1 : at + 2] == b"\xf9" and bool(data[at + 3 : at + 4]) and bool(data[at + 3] & 1)
            at += 2
        elif block == b"\x2c" and at + 10 < len(data):
            frames += 1
            left, top, wide, high = struct.unpack("<HHHH", data[at + 1 : at + 9])
            if left + wide > width or top + high > height:
                met = f"{wide} x {high} at {left}, {top}"
                raise file.bad(Code.BAD_HEADER, f"a picture of the GIF file ({met}) lies outside of its {width} x {height}")
            at += 11 + _table_bytes(data[at + 9])
        elif len(data) - at < 11:
            raise _cut(file, len(data), "its blocks")
        else:
            raise file.bad(Code.BAD_HEADER, f"a block is due at byte {at} of the GIF file, where {block!r} stands")
        at = _behind_sub_blocks(data, at, file)
    if not frames or not width or not height:
        raise file.bad(Code.BAD_HEADER, f"the GIF file holds {frames} pictures of {width} x {height}")
    return Structure(width, height, 1, 8, at + 1, palette=True, transparent=transparent, frames=frames)


def exif_orientation(block: bytes) -> int:
    """The orientation an EXIF block states, 1 to 8; 1 where it states none (TIFF 6.0, section 2; EXIF 2.32, 4.6.4)."""
    order = {b"II": "<", b"MM": ">"}.get(block[:2])
    if order is None or len(block) < 10:
        return 1
    at = struct.unpack(f"{order}I", block[4:8])[0]
    count = struct.unpack(f"{order}H", block[at : at + 2])[0] if at + 2 <= len(block) else 0
    for number in range(count):
        entry = block[at + 2 + 12 * number :][:10]
        if len(entry) == 10 and struct.unpack(f"{order}H", entry[:2])[0] == _ORIENTATION_TAG:
            value = int(struct.unpack(f"{order}H", entry[8:])[0])
            return value if 1 <= value <= 8 else 1
    return 1


def _png_chunk(content: BinaryIO, length: int, kind: bytes, file: RawFile) -> bytes:
    """The data of a chunk, unless it is long; its checksum is right."""
    data = content.read(min(length, PIECE))
    checksum, left = zlib.crc32(data, zlib.crc32(kind)), length - len(data)
    while left:
        piece = content.read(min(left, PIECE))
        if not piece:
            raise file.bad(Code.TRUNCATED, "truncated: the PNG file ends within a chunk")
        checksum, left = zlib.crc32(piece, checksum), left - len(piece)
    stated = int.from_bytes(content.read(4), "big")
    if checksum != stated:
        raise file.bad(
            Code.CHECKSUM_MISMATCH,
            f"damaged PNG data: the checksum (CRC) of a chunk {kind!r} is {checksum:08x}, not {stated:08x}; download it again",
        )
    return data


def _scan_end(data: bytes, at: int, file: RawFile) -> int:
    """Where the marker stands that ends the compressed data beginning at `at`."""
    found = _SCAN_END.search(data, at)
    if found is None:
        raise _cut(file, len(data), "its compressed data")
    return found.start()


def _jpeg_frame(frame: bytes, end: int, orientation: int, file: RawFile) -> Structure:
    if len(frame) < 6:
        raise file.bad(Code.BAD_HEADER, "the JPEG file has no frame header")
    depth, height, width, components = struct.unpack(">BHHB", frame[:6])
    if not width or not height or not components:
        raise file.bad(Code.BAD_HEADER, f"the JPEG header says {width} x {height} with {components} components")
    return Structure(width, height, components, depth, end, orientation=orientation)


def _table_bytes(flags: int) -> int:
    """Bytes of the colour table that the flags of a GIF block announce."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _behind_sub_blocks(data: bytes, at: int, file: RawFile) -> int:
    while True:
        if at >= len(data):
            raise _cut(file, len(data), "its blocks")
        length = data[at]
        at += 1 + length
        if not length:
            return at


def _cut(file: RawFile, size: int, what: str) -> BadInputError:
    return file.bad(Code.TRUNCATED, f"truncated: {what} go on beyond the {size} bytes of the file; download it again")
