"""A hash of voxels that does not depend on how they are stored."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_128_digest, xxh3_128_hexdigest

HASH_BLOCK = 64
"""Side of the blocks that the content hash is made of."""


class ContentHash:
    """XXH128 (the 128-bit XXH3) of RAS+ voxels.

    The hash of `"<dtype> <ni> <nj> <nk>"` followed by the XXH128 of every block of 64 x 64 x 64 voxels (less at the far
    ends). Blocks follow one another, and voxels inside a block, with i fastest, then j, then k; voxels are little-endian.
    Equal hashes mean equal bits: -0.0 and 0.0 differ, and so do two NaNs with other payloads.

    Blocks may be added in any order and from several threads; hashing releases the GIL.

    Args:
        shape_ijk: Shape of the volume.
        dtype: Type of its voxels.
    """

    def __init__(self, shape_ijk: tuple[int, int, int], dtype: np.dtype[Any]) -> None:
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._shape = tuple(int(n) for n in shape_ijk[::-1])
        self._head = " ".join([np.dtype(dtype).name, *(str(int(n)) for n in shape_ijk)]).encode()
        self._blocks: dict[tuple[int, ...], bytes] = {}

    def add(self, start_kji: tuple[int, int, int], block_kji: npt.NDArray[Any]) -> None:
        """Add a part of the volume, `[k, j, i]`.

        Raises:
            ValueError: The part does not begin at multiples of 64, or ends elsewhere than at one or at the volume's end.
        """
        for start, count, extent in zip(start_kji, block_kji.shape, self._shape, strict=True):
            stop = start + count
            if start % HASH_BLOCK or (stop % HASH_BLOCK and stop != extent) or not 0 <= start < stop <= extent:
                raise ValueError(f"planes {start} to {stop} of {extent} are no whole blocks of {HASH_BLOCK}")
        counts = [-(-n // HASH_BLOCK) for n in block_kji.shape]
        in_order = np.empty(HASH_BLOCK**3, self._dtype)
        for at in np.ndindex(*counts):
            part = block_kji[tuple(slice(n * HASH_BLOCK, (n + 1) * HASH_BLOCK) for n in at)]
            place = tuple(n + start // HASH_BLOCK for n, start in zip(at, start_kji, strict=True))
            in_order[: part.size].reshape(part.shape)[...] = part
            self._blocks[place] = xxh3_128_digest(in_order[: part.size].data)

    def add_zeros(self) -> None:
        """Take every block that has not been added for zero; a digest is computed once per size."""
        for place in product(*(range(-(-n // HASH_BLOCK)) for n in self._shape)):
            if place not in self._blocks:
                sides = (min(HASH_BLOCK, n - HASH_BLOCK * at) for at, n in zip(place, self._shape, strict=True))
                self._blocks[place] = _digest_of_zeros(prod(sides) * self._dtype.itemsize)

    def hexdigest(self) -> str:
        """The hash, once every block has been added.

        Raises:
            ValueError: Blocks are missing.
        """
        expected = prod(-(-n // HASH_BLOCK) for n in self._shape)
        if len(self._blocks) != expected:
            raise ValueError(f"only {len(self._blocks)} of {expected} blocks have been added")
        return xxh3_128_hexdigest(self._head + b"".join(self._blocks[at] for at in sorted(self._blocks)))


@lru_cache(maxsize=64)
def _digest_of_zeros(n_bytes: int) -> bytes:
    return xxh3_128_digest(bytes(n_bytes))
