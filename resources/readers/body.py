"""Where the voxels of a text-headed format lie, and proving them whole before a C++ reader is let near them.

SimpleITK's own complaints about cut files are misleading ("No such file"), and it does not look at every checksum; so
the stored bytes are read to their end here first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from isal import isal_zlib

from resources.findings import BadInputError, Code
from resources.readers.bytestream import EXPANSION, INFLATE_ERROR, PIECE, ByteStream, Ending
from resources.readers.source import RawFile, ReadOptions

MAX_TEXT_HEADER = 1 << 20
"""No header of MetaImage or NRRD is longer."""


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes of all voxels.

    Attributes:
        header: The file with the header.
        holder: The file with the voxels; the same where they follow the header.
        start: Stored bytes before them; -1 when they are the last bytes of the file.
        coding: How they are stored.
    """

    header: RawFile
    holder: RawFile
    start: int
    coding: Literal["plain", "gzip", "zlib"]

    def check_promise(self, n_bytes: int, options: ReadOptions) -> None:
        """Compare the voxel bytes a header promises with the file, before anything is allocated.

        Raises:
            BadInputError: TOO_LARGE or TRUNCATED.
        """
        size = self.holder.mark.size
        stored = size - max(self.start, 0)
        if n_bytes > options.max_bytes:
            raise self.holder.bad(
                Code.TOO_LARGE,
                f"{n_bytes} bytes of voxels are promised in a file of {size}; at most {options.max_bytes} are taken",
            )
        if self.coding == "plain" and n_bytes > stored:
            raise self._short(f"the header promises {n_bytes} bytes of voxels, the file holds {max(stored, 0)}")
        if n_bytes > EXPANSION * stored:
            raise self.holder.bad(
                Code.TOO_LARGE,
                f"the header promises {n_bytes} bytes, more than {stored} bytes can inflate to: truncated, or false",
            )

    def prove(self, n_bytes: int) -> Ending:
        """Read the holder to its end.

        Raises:
            BadInputError: TRUNCATED, CHECKSUM_MISMATCH, UNREADABLE, FILE_CHANGED or TOO_LARGE.
        """
        if self.coding == "zlib":
            return self._prove_zlib(n_bytes)
        start = self.holder.mark.size - n_bytes if self.start < 0 else self.start
        with ByteStream(self.holder, n_bytes, inflate=self.coding == "gzip", start=start) as stream:
            return stream.finish()

    def _prove_zlib(self, n_bytes: int) -> Ending:
        remaining = self.holder.mark.size - self.start
        inflater = isal_zlib.decompressobj()
        inflated = 0
        with ByteStream(self.holder, remaining, inflate=False, start=self.start) as stream:
            while stream.position < remaining and not inflater.eof:
                piece = bytearray(min(PIECE, remaining - stream.position))
                stream.fill(memoryview(piece))
                inflated += self._inflated(inflater, piece, n_bytes - inflated)
            if not inflater.eof:
                raise self._short(
                    f"the compressed voxels break off: {remaining} bytes inflate to {inflated} of {n_bytes} promised"
                )
            if inflated != n_bytes:
                raise self._short(f"the compressed voxels inflate to {inflated} bytes, the header promises {n_bytes}")
            return stream.finish()

    def _inflated(self, inflater: isal_zlib.Decompress, piece: bytes | bytearray, wanted: int) -> int:
        count = 0
        while piece and not inflater.eof:
            try:
                count += len(inflater.decompress(piece, PIECE))
            except INFLATE_ERROR as error:
                raise self.holder.bad(
                    Code.CHECKSUM_MISMATCH,
                    f"damaged compressed voxels: {error} (checksum or structure); download it again",
                ) from error
            if count > wanted:
                raise self.holder.bad(Code.BAD_HEADER, "the compressed voxels inflate to more bytes than the header promises")
            piece = inflater.unconsumed_tail
        return count

    def _short(self, what: str) -> BadInputError:
        return self.holder.bad(Code.TRUNCATED, f"truncated: {what}; download it again")


def text_header(file: RawFile) -> bytes:
    """The first `MAX_TEXT_HEADER` bytes of a file as stored.

    Raises:
        BadInputError: UNREADABLE, FILE_CHANGED, or UNSUPPORTED_DATA when the whole file is packed in gzip.
    """
    if file.compressed:
        raise file.bad(Code.UNSUPPORTED_DATA, "the file is packed in gzip as a whole, which its format does not know; unpack it")
    count = min(MAX_TEXT_HEADER, file.mark.size)
    start = memoryview(bytearray(count))
    with ByteStream(file, file.mark.size, inflate=False) as stream:
        stream.fill(start)
    return bytes(start)


def detached(header: RawFile, name: str) -> RawFile:
    """Examine the voxel file that a header names.

    Raises:
        BadInputError: BAD_HEADER when the name leads out of the header's folder or stands for several files;
            MISSING_IMAGE when there is no such file; as `examine` otherwise.
    """
    path = sibling_path(header.path, name)
    if path is None:
        raise header.bad(
            Code.BAD_HEADER, f"the header names {name!r} as its voxel file; only one file beside the header is taken"
        )
    if not path.is_file():
        raise header.bad(Code.MISSING_IMAGE, f"the voxel file {name!r} that the header names is not beside it")
    return header.sibling(path)


def sibling_path(header: Path, name: str) -> Path | None:
    """The path of the file that a header calls `name`; `None` when that is no plain name in the same folder."""
    name = name.removeprefix("./")
    plain = name not in {"", ".", ".."} and not any(sign in name for sign in "/\\%\0") and name.split()[0].upper() != "LIST"
    return header.with_name(name) if plain else None
