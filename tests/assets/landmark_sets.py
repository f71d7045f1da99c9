"""Specs with landmarks, raw subjects and `volumes` rows, made by hand."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import polars as pl

from assets.annotations.landmarks.tables import SubjectLandmarks, subject_landmarks
from assets.raw import RawScan, RawSubject
from assets.spec import DatasetSpec
from assets.tables import VOLUMES, frame
from resources.geometry import closest_ras, spacing_mm

Affine = Any

CEPH_POINTS = (
    "sella", "nasion", "orbitale", "porion", "subspinale", "supramentale", "pogonion", "menton", "gnathion", "gonion",
    "incision inferius", "incision superius", "upper lip", "lower lip", "subnasale", "soft tissue pogonion",
    "posterior nasal spine", "anterior nasal spine", "articulare",
)  # fmt: skip
CEPH_LINES = ((1, 2), (1, 10), (2, 5), (2, 6), (2, 7), (2, 8), (3, 4), (5, 6), (8, 10), (9, 10), (17, 18))
CEPH_ANGLES = (
    ((2, 5), (2, 6)), ((1, 2), (2, 6)), ((1, 2), (2, 5)), ((5, 6), (8, 10)), ((3, 4), (2, 7)), ((3, 4), (17, 18)),
    ((2, 7), (5, 6)), ((1, 2), (9, 10)),
)  # fmt: skip

FETA_PAIRS = {
    1: (("corpus callosum front", "corpus callosum back"), "A"),
    2: (("vermis top", "vermis bottom"), "S"),
    3: (("brain right", "brain left"), "R"),
}


def _spec(slug: str, **more: Any) -> DatasetSpec:
    common = {
        "slug": slug, "name": slug, "version": "1", "licence": "CC0-1.0", "access": "open", "modality": "X-ray",
        "anatomy": "head", "description": "made up", "sources": [],
    }  # fmt: skip
    return DatasetSpec.model_validate(common | more)


def line_name(line: tuple[int, int]) -> str:
    return f"L{line[0]}-{line[1]}"


def ceph_spec(**changes: Any) -> DatasetSpec:
    """Nineteen points of pixels on a picture whose orientation and scale the spec declares."""

    def ends(line: tuple[int, int]) -> list[str]:
        return [CEPH_POINTS[n - 1] for n in line]

    distances = [{"name": line_name(line), "distance": ends(line)} for line in CEPH_LINES]
    angles = [{"name": "/".join(map(line_name, pair)), "angle": [ends(line) for line in pair]} for pair in CEPH_ANGLES]
    image = {"path": "images/{subject}.nii", "assume_orientation": "AIR", "spacing_mm": [0.1, 0.1, 0.1]}
    source = {"path": "points/{subject}.txt", "of": "xray", "reader": "xy_lines"} | changes.pop("source", {})
    return _spec(
        "cephlike",
        layout={"subject": r"\d{3}", "series": {"xray": image}, "landmarks": {"senior": source}},
        landmarks=list(CEPH_POINTS),
        measurements=distances + angles,
        **changes,
    )


def feta_spec(*, transform: bool = True, **changes: Any) -> DatasetSpec:
    """Three lengths between pairs of voxels, set in a space of their own."""
    source = {
        "path": "{subject}/meas.nii.gz",
        "of": "t2w",
        "reader": "label_pairs",
        "pairs": {value: {"points": list(points), "along": along} for value, (points, along) in FETA_PAIRS.items()},
        **({"transform": "{subject}/to_series.txt"} if transform else {}),
        **changes.pop("source", {}),
    }
    names = [name for points, _ in FETA_PAIRS.values() for name in points]
    lengths = [{"name": f"length {value}", "distance": list(points)} for value, (points, _) in FETA_PAIRS.items()]
    return _spec(
        "fetalike",
        layout={"subject": r"sub-\d{3}", "series": {"t2w": "{subject}/t2w.nii.gz"}, "landmarks": {"biometry": source}},
        landmarks=names,
        measurements=lengths,
        **changes,
    )


def volumes_row(series: str, shape: tuple[int, int, int], affine: Affine, /, subject: str = "001", **more: Any) -> pl.DataFrame:
    """The row of an image with these stored voxels."""
    turn = closest_ras(np.asarray(affine, np.float64))
    ras = turn.affine(np.asarray(affine, np.float64), shape)
    row = {
        "dataset": "made", "subject": subject, "scan": "0", "series": series, "kind": "image", "space": "patient",
        "third_axis": "space", "shape_ijk": turn.shape(shape), "spacing_mm": spacing_mm(ras).tolist(),
        "affine_ras_mm": ras.ravel().tolist(), "source_orientation": turn.code(), "source_paths": ["image.nii"],
        "synthetic": False,
    }  # fmt: skip
    return frame(VOLUMES, [dict.fromkeys(VOLUMES) | row | more])


def pair_map(shape: tuple[int, int, int], points: Mapping[int, list[tuple[int, int, int]]]) -> Any:
    """Stored voxels of a label map."""
    voxels = np.zeros(shape, np.uint8)
    for value, places in points.items():
        for place in places:
            voxels[place] = value
    return voxels


def save(path: Path, voxels: Any, affine: Affine) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = nib.Nifti1Header()
    header.set_xyzt_units("mm", "sec")
    image = nib.Nifti1Image(voxels, affine, header)
    image.set_sform(affine, 1)
    image.set_qform(None, 0)
    nib.save(image, path)
    return path


def read_subject(
    spec: DatasetSpec,
    root: Path,
    volumes: pl.DataFrame,
    landmarks: Mapping[str, str],
    transforms: Mapping[str, str] | None = None,
) -> SubjectLandmarks:
    """Run the step on one scan whose files lie under `root`."""
    scan = RawScan("0", landmarks=dict(landmarks), transforms=dict(transforms or {}))
    paths = [*scan.landmarks.values(), *scan.transforms.values()]
    recorded = {path: hashlib.sha256((root / path).read_bytes()).hexdigest() for path in paths}
    subject = str(volumes["subject"][0])
    return subject_landmarks(spec, root, RawSubject(subject, (scan,), (), ()), volumes, recorded)
