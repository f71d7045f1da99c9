"""First bytes by which the formats are told whose readers stand on a library of their own, and the names of their files.

They are here and not with the readers, so that telling a NIfTI file loads none of those libraries.
"""

from __future__ import annotations

import re
import struct

_HDF5 = b"\x89HDF\r\n\x1a\n"
_PNM = re.compile(rb"P[1-6][\s#]")
BMP_HEADER_SIZES = frozenset({12, 40, 52, 56, 64, 108, 124})

NPY_SUFFIXES = frozenset({".npy"})
NPZ_SUFFIXES = frozenset({".npz"})
MAT_SUFFIXES = frozenset({".mat"})
TIFF_SUFFIXES = frozenset({".tif", ".tiff", ".btf", ".tf8", ".lsm", ".svs", ".stk"})
CZI_SUFFIXES = frozenset({".czi"})
VIDEO_SUFFIXES = frozenset({".avi", ".mp4", ".m4v", ".mov", ".mkv", ".webm"})
MINC1_SUFFIXES = frozenset({".mnc"})
MGH_SUFFIXES = frozenset({".mgh", ".mgz"})
PAR_SUFFIXES = frozenset({".par", ".rec"})
ENVI_SUFFIXES = frozenset({".hdr", ".dat", ".img", ".raw", ".bsq", ".bil", ".bip", ".envi"})
PARQUET_SUFFIXES = frozenset({".parquet", ".pq"})
PNG_SUFFIXES = frozenset({".png"})
JPEG_SUFFIXES = frozenset({".jpg", ".jpeg", ".jpe", ".jfif"})
GIF_SUFFIXES = frozenset({".gif"})
BMP_SUFFIXES = frozenset({".bmp", ".dib"})
PNM_SUFFIXES = frozenset({".pgm", ".ppm", ".pbm", ".pnm"})
HDF5_SUFFIXES = frozenset({".h5", ".hdf5", ".hdf", ".he5", ".mat", ".mnc"})


def is_hdf5(head: bytes) -> bool:
    """HDF5, MINC 2 and MATLAB 7.3: the signature stands at the start or behind a block of the user's."""
    return any(head[at : at + 8] == _HDF5 for at in (0, 512, 1024, 2048))


def is_png(head: bytes) -> bool:
    """The signature, whose line ends show a transfer as text."""
    return head.startswith(b"\x89PNG\r\n\x1a\n")


def is_jpeg(head: bytes) -> bool:
    """The start of an image and the next marker."""
    return head.startswith(b"\xff\xd8\xff")


def is_gif(head: bytes) -> bool:
    """Either version."""
    return head.startswith((b"GIF87a", b"GIF89a"))


def is_bmp(head: bytes) -> bool:
    """Two letters, and the size of one of the headers that follow them."""
    return head.startswith(b"BM") and int.from_bytes(head[14:18], "little") in BMP_HEADER_SIZES


def is_pnm(head: bytes) -> bool:
    """PBM, PGM or PPM, as text or bytes."""
    return _PNM.match(head) is not None


def is_npy(head: bytes) -> bool:
    """NumPy's magic."""
    return head.startswith(b"\x93NUMPY")


def is_npz(head: bytes) -> bool:
    """A ZIP archive whose first file is an array of NumPy's."""
    name_length = int.from_bytes(head[26:28], "little")
    return head.startswith(b"PK\x03\x04") and head[30 : 30 + name_length].endswith(b".npy")


def is_mat(head: bytes) -> bool:
    """Version 1.0 of the format that MATLAB calls 5, in either byte order; 7.3 says 2.0 there and is HDF5."""
    return head[124:128] in {b"\x00\x01IM", b"\x01\x00MI"}


def is_tiff(head: bytes) -> bool:
    """Classic or big, in either byte order."""
    return head[:4] in {b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"}


def is_czi(head: bytes) -> bool:
    """The first segment."""
    return head.startswith(b"ZISRAWFILE")


def is_video(head: bytes) -> bool:
    """AVI, MP4 and its kin, or Matroska."""
    return (head.startswith(b"RIFF") and head[8:12] == b"AVI ") or head[4:8] == b"ftyp" or head.startswith(b"\x1aE\xdf\xa3")


def is_netcdf(head: bytes) -> bool:
    """NetCDF classic, in which MINC 1 is stored."""
    return head.startswith((b"CDF\x01", b"CDF\x02"))


def is_mgh(head: bytes) -> bool:
    """Version 1, four sizes that can be, and a type that is known; the format has no signature."""
    if len(head) < 28 or head[:4] != b"\0\0\0\1":
        return False
    *sizes, kind = struct.unpack(">5i", head[4:24])
    return all(0 < size <= 1 << 24 for size in sizes) and kind in {0, 1, 2, 3, 4, 5, 6, 7, 10}


def is_par(head: bytes) -> bool:
    """The title that every PAR file has among its first lines."""
    return head.startswith(b"#") and b"DATA DESCRIPTION FILE" in head[:400]


def is_envi(head: bytes) -> bool:
    """A text header."""
    return head.startswith(b"ENVI") and head[4:5] in {b"\n", b"\r", b" "}


def is_parquet(head: bytes) -> bool:
    """The magic, which stands at the end, too."""
    return head.startswith(b"PAR1")
