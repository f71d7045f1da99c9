"""Raw folders for the benchmark: subjects taken from a KiTS23 tree, or a phantom of the same kind, and odd ones made of them."""

from __future__ import annotations

import os
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from isal import igzip

from assets.dataset import Dataset
from assets.demo_body import Lesion, abdomen, place
from assets.spec import load_catalog
from resources.layout import Layout
from resources.phantoms import Grid, draw_ct, draw_labels, to_stored

SLUG = "kits23"
LEAST_SLICES = 250
"""The targets speak of subjects of this many slices and more."""
LONG_SLICES = 1059
"""The longest subject of KiTS23."""
_GZIP_LEVEL = 2
_PHANTOM_SLICES = 270


@dataclass(frozen=True)
class Case:
    """One subject's raw files, in a data root of its own."""

    name: str
    root: Path
    drawn: bool = False

    @property
    def folder(self) -> Path:
        return Layout(self.root).raw(SLUG) / "dataset" / self.name

    @property
    def image(self) -> Path:
        return self.folder / "imaging.nii.gz"

    @property
    def labels(self) -> Path:
        return self.folder / "segmentation.nii.gz"

    def dataset(self) -> Dataset:
        return Dataset(load_catalog()[SLUG], Layout(self.root))


def add(root: Path, name: str, image: Path, labels: Path) -> Case:
    """Copy a subject into a data root, which brings it into the page cache too."""
    case = Case(name, root)
    case.folder.mkdir(parents=True)
    shutil.copyfile(image, case.image)
    shutil.copyfile(labels, case.labels)
    return case


def from_tree(tree: Path, scratch: Path, count: int) -> list[Case]:
    """The first subjects of a KiTS23 `dataset/` folder that are long enough; the longest ones where too few are.

    Raises:
        SystemExit: No subject has both files.
    """
    slices = {}
    for folder in sorted(tree.glob("case_*")):
        if (folder / "imaging.nii.gz").is_file() and (folder / "segmentation.nii.gz").is_file():
            slices[folder] = _shape(folder / "imaging.nii.gz")[0]
    if not slices:
        raise SystemExit(f"{tree} holds no case_* folder with imaging.nii.gz and segmentation.nii.gz")
    order = sorted(slices, key=lambda folder: -min(slices[folder], LEAST_SLICES))
    return [add(scratch / f.name, f.name, f / "imaging.nii.gz", f / "segmentation.nii.gz") for f in order[:count]]


def _shape(path: Path) -> tuple[int, ...]:
    header: Any = nib.Nifti1Header.from_fileobj(igzip.open(path), check=False)
    return tuple(int(n) for n in header.get_data_shape())


def phantom(scratch: Path, shape: tuple[int, int, int] = (512, 512, _PHANTOM_SLICES), name: str = "case_00000") -> Case:
    """A subject in KiTS23's layout and orientation: an abdomen of ellipsoids, CT-like noise, int16."""
    spacing = tuple(400 / n for n in shape)
    grid = Grid.centred(shape, (spacing[0], spacing[1], spacing[2]))
    lesions = (Lesion("right", "tumour", (46, 38, 42), 0.45), Lesion("left", "cyst", (24, 24, 22), -0.5))
    random = np.random.default_rng(2023)
    shapes = place(abdomen(lesions, random), 1.0, grid.centre_ras_mm())
    case = Case(name, scratch, drawn=True)
    image, affine = to_stored(draw_ct(shapes, grid, noise_hu=14, random=random), grid.affine, "IPL")
    labels, _ = to_stored(draw_labels(shapes, grid), grid.affine, "IPL")
    write(case.image, image, affine)
    write(case.labels, labels, affine)
    return case


def write(path: Path, stored: Any, affine: Any) -> None:
    """A NIfTI file of an array in stored order, at a fast gzip level."""
    image: Any = nib.Nifti1Image(np.asarray(stored), affine, dtype=stored.dtype)
    image.header.set_xyzt_units("mm")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(igzip.compress(image.to_bytes(), _GZIP_LEVEL))


def prolonged(case: Case, scratch: Path, slices: int = LONG_SLICES) -> Case:
    """The same subject again and again along its slices, until there are enough."""
    long = Case(case.name, scratch)
    for source, target in ((case.image, long.image), (case.labels, long.labels)):
        image: Any = nib.load(source)
        stored = np.asarray(image.dataobj)
        repeats = -(-slices // len(stored))
        write(target, np.concatenate([stored] * repeats)[:slices], image.affine)
    return long


def header_bomb(folder: Path, side: int = 30_000) -> Path:
    """A NIfTI file of a few bytes whose header promises `side` voxels along every axis."""
    header = nib.Nifti1Header()
    header.set_data_dtype(np.int16)
    header.set_data_shape((1, 1, 1))
    content = bytearray(header.binaryblock)
    struct.pack_into("<8h", content, 40, 3, side, side, side, 1, 1, 1, 1)
    struct.pack_into("<h", content, 254, 1)  # sform_code
    struct.pack_into("<12f", content, 280, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)
    struct.pack_into("<f", content, 108, 352.0)  # vox_offset
    path = folder / "bomb.nii.gz"
    path.write_bytes(igzip.compress(bytes(content) + bytes(4 + 1_000)))
    return path


def file_bytes(folder: Path, *, without: str = "") -> int:
    """Bytes of all files below a folder, but for those below a folder of the name `without`."""
    total = 0
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != without]
        total += sum((Path(parent) / name).stat().st_size for name in names)
    return total
