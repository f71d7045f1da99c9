"""First bytes by which the formats are told whose readers stand on a library of their own, and the names of their files.

They are here and not with the readers, so that telling a NIfTI file loads none of those libraries.
"""

from __future__ import annotations

_HDF5 = b"\x89HDF\r\n\x1a\n"
HDF5_SUFFIXES = frozenset({".h5", ".hdf5", ".hdf", ".he5", ".mat", ".mnc"})


def is_hdf5(head: bytes) -> bool:
    """HDF5, MINC 2 and MATLAB 7.3: the signature stands at the start or behind a block of the user's."""
    return any(head[at : at + 8] == _HDF5 for at in (0, 512, 1024, 2048))
