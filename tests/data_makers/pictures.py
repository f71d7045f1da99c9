"""Pictures, films and arrays of miniatures, written by Pillow, tifffile, NumPy and SciPy, of content that is known beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tifffile
from PIL import Image
from scipy.io import savemat

from tests.data_makers.made import MadePicture

Array = npt.NDArray[Any]


def shades(rows: int, columns: int, seed: int, *, channels: int = 1, dtype: type[np.generic] = np.uint8) -> Array:
    """`[row, column]`, or `[row, column, channel]` where there are several: 7 a row, 3 a column, 40 a channel, modulo 251."""
    r, c, k = np.ogrid[:rows, :columns, :channels]
    values = (7 * r + 3 * c + 40 * k + 11 * seed) % 251
    return np.asarray(values if channels > 1 else values[..., 0]).astype(dtype)


def disc(rows: int, columns: int, centre: tuple[float, float], radius: float) -> npt.NDArray[np.bool_]:
    """`[row, column]` within `radius` of `centre` (row, column), border included."""
    r, c = np.ogrid[:rows, :columns]
    return np.asarray((r - centre[0]) ** 2 + (c - centre[1]) ** 2 <= radius**2)


def as_stored(picture: Array) -> Array:
    """`[row, column]` or `[row, column, channel]` -> `[i, j, k]` as the store has it: columns, rows, channels."""
    whole = picture if picture.ndim == 3 else picture[:, :, None]
    return np.ascontiguousarray(whole.swapaxes(0, 1))


def pages_as_stored(pages: Array) -> Array:
    """`[page, row, column]` -> `[i, j, k]` as the store has it: columns, rows, pages."""
    return np.ascontiguousarray(pages.transpose(2, 1, 0))


def write_picture(path: Path, picture: Array, **tiff: Any) -> Array:
    """Write `[row, column]`, `[row, column, colour]` or, as TIFF, `[page, row, column]` in the format of the file's ending.

    Args:
        path: The file.
        picture: Its pixels.
        tiff: Further arguments of `tifffile.imwrite`, for a TIFF file.

    Returns:
        The pixels as other programs read them: JPEG changes them.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    ending = path.suffix.lower()
    if ending in {".tif", ".tiff"}:
        kind = {"photometric": "rgb"} if picture.ndim == 3 and picture.shape[2] in {3, 4} else {"photometric": "minisblack"}
        tifffile.imwrite(path, picture, **({"metadata": None} | kind | tiff))
        return picture
    Image.fromarray(picture).save(path, format={".jpg": "JPEG", ".jpeg": "JPEG"}.get(ending))
    with Image.open(path) as image:
        return np.array(image)


def write_npy(path: Path, array: Array) -> Array:
    """Write an array as NPY."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, array)
    return array


def write_npz(path: Path, **arrays: Array) -> None:
    """Write arrays as compressed NPZ."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, allow_pickle=False, **arrays)


def write_mat(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays as MATLAB 5 file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, dict(arrays), do_compression=True)


def write_envi(path: Path, bands: Array) -> Path:
    """Write `[row, column, band]` of whole numbers of 16 bits as ENVI, line by line; the header lies beside it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows, columns, n = bands.shape
    said = {"samples": columns, "lines": rows, "bands": n, "data type": 12, "interleave": "bil", "byte order": 0}
    text = "".join(f"{name} = {value}\n" for name, value in said.items())
    path.with_suffix(".hdr").write_text(f"ENVI\n{text}")
    path.write_bytes(bands.astype("<u2").transpose(0, 2, 1).tobytes())
    return path


def photo(
    path: Path,
    seed: int,
    *,
    series: str = "photo",
    scan: str = "0",
    of_class: str = "",
    colours: int = 3,
    rows: int = 18,
    columns: int = 22,
) -> MadePicture:
    """Write one picture of `shades`, the one series of its scan."""
    stored = write_picture(path, shades(rows, columns, seed, channels=colours))
    classes = {series: of_class} if of_class else {}
    return MadePicture({series: path}, {series: as_stored(stored)}, classes=classes, scan=scan)


def masked(
    image: Path,
    picture: Array,
    masks: Mapping[str, tuple[Path, npt.NDArray[np.bool_], int]],
    *,
    series: str = "photo",
    scan: str = "0",
) -> MadePicture:
    """Write a picture, and masks on it with 255 inside.

    Args:
        image: The picture's file.
        picture: Its pixels.
        masks: Label map -> its file, what is inside, and the label id that this is.
        series: Name of the one series.
        scan: Name of the scan.

    Returns:
        What was written; its label map is that of the only mask, if there is one.
    """
    stored = as_stored(write_picture(image, picture))
    for path, inside, _ in masks.values():
        write_picture(path, np.where(inside, 255, 0).astype(np.uint8))
    ids = [as_stored(inside * np.uint8(label)) for _, inside, label in masks.values()]
    files = {name: (path,) for name, (path, _, _) in masks.items()}
    return MadePicture({series: image}, {series: stored}, files, ids[0] if len(ids) == 1 else None, scan=scan)
