"""A raw image whose header has been read, and where its voxels stand in RAS+ order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from assets.chosen import one_plane
from assets.flips_by_masks import flipped, flips_of
from assets.raw.rows import on_disk, row_of
from assets.spec_layout import FileSource, SeriesSource
from assets.templates import stem
from resources.findings import BadInputError, Code, Finding, finding
from resources.geometry import (
    GRID_TOLERANCE_VOXELS,
    FloatArray,
    Reorientation,
    closest_ras,
    grid_distance_voxels,
    obliquity_deg,
    shear_deg,
    spacing_mm,
)
from resources.ome_metadata import StoredAxes
from resources.readers.image import RawImage, Slab
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions

_FROM_LABELS = ReadOptions(assume_orientation="RAS", spacing_mm=(1.0, 1.0, 1.0))
"""Geometry that stands in until that of the label map is known."""


@dataclass(frozen=True)
class Opened:
    """A raw image and its place in RAS+ order; a picture keeps its own order.

    Attributes:
        path: The file, relative to the raw folder.
        image: The raw image.
        reorientation: Brings its stored axes to RAS+.
        shape_ijk: Shape in RAS+ order.
        affine_ras_mm: (4, 4) of the RAS+ array.
    """

    path: str
    image: RawImage
    reorientation: Reorientation
    shape_ijk: tuple[int, int, int]
    affine_ras_mm: FloatArray

    @classmethod
    def of(cls, path: str, image: RawImage) -> Opened:
        """Where the image's voxels stand."""
        reorientation = closest_ras(image.affine_ras_mm)
        affine = reorientation.affine(image.affine_ras_mm, image.shape)
        return cls(path, image, reorientation, reorientation.shape(image.shape), affine)

    @property
    def spacing_mm(self) -> tuple[float | None, float | None, float | None]:
        """Along i, j, k; None where the source does not state a length."""
        values = spacing_mm(self.affine_ras_mm).tolist()
        known = self.axes.spacing_known
        return (
            values[0] if known[0] else None,
            values[1] if known[1] else None,
            values[2] if known[2] else None,
        )

    @property
    def axes(self) -> StoredAxes:
        """What the stored axes are."""
        a, b, c = self.reorientation.axes
        known = self.image.spacing_known
        third = {"time": "t", "colour": "c"}.get(self.image.third_axis, "z")
        return StoredAxes(self.image.space, third, (known[a], known[b], known[c]))

    def geometry_row(self) -> dict[str, Any]:
        """The columns of a `volumes` row that say where the voxels are; null what a picture does not have."""
        in_patient = self.image.space == "patient"
        affine = self.affine_ras_mm
        return {
            "space": self.image.space,
            "third_axis": self.image.third_axis,
            "shape_ijk": list(self.shape_ijk),
            "spacing_mm": list(self.spacing_mm),
            "affine_ras_mm": affine.ravel().tolist() if in_patient else None,
            "source_orientation": self.reorientation.code() if in_patient else None,
            "obliquity_deg": obliquity_deg(affine) if in_patient else None,
            "shear_deg": shear_deg(affine) if in_patient else None,
        }

    def attributes(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """The `medfoundry` attributes of the stored volume."""
        same = ("dataset", "subject", "scan", "series", "kind", "dtype", "source_orientation", "content_xxh128", "synthetic",
                "space", "third_axis", "spacing_mm")  # fmt: skip
        pairs = zip(row["source_paths"], row["source_sha256"], strict=True)
        return {name: row[name] for name in same} | {
            "affine_ras_mm": self.affine_ras_mm.tolist(),
            "source_affine_ras_mm": self.image.affine_ras_mm.tolist(),
            "source_format": self.image.format,
            "source_shape": list(self.image.shape),
            "sources": [{"path": path, "sha256": digest} for path, digest in pairs],
        }


def open_source(raw_root: Path, path: str, source: FileSource) -> RawImage:
    """Open a file as its source in the spec says.

    Raises:
        BadInputError: The file cannot be used.
    """
    options = ReadOptions(
        assume_orientation=source.assume_orientation, key=_key(source, path), axes=source.axes, spacing_mm=source.spacing_mm
    )
    image = open_image(raw_root / on_disk(path), name=path, options=options)
    return image if source.plane is None else one_plane(image, source.plane, path)


def open_on_grid(raw_root: Path, path: str, source: SeriesSource, grid: Opened) -> RawImage:
    """Open an array of a container, which has no geometry, on the grid of another file.

    Raises:
        BadInputError: The file cannot be used, its stored shape is another, or it cannot be told which way it lies.
    """
    options = replace(_FROM_LABELS, key=_key(source, path), axes=source.axes)
    image = open_image(raw_root / path, name=path, options=options)
    if image.shape != grid.image.shape:
        detail = f"the array is {image.shape}, but {grid.path}, whose geometry it takes, is {grid.image.shape} as stored"
        raise BadInputError(Code.GRID_MISMATCH, detail, file=path)
    affine = grid.image.affine_ras_mm
    if source.lies_as:
        flips = flips_of(raw_root, path, source.lies_as, source.axes or "xyz", grid.path)
        affine = flipped(affine, image.shape, flips)
        if any(flips):
            against = " and ".join(axis for axis, flip in zip("xyz", flips, strict=True) if flip)
            detail = (
                f"{source.key} runs against {grid.path} along {against}, as {source.lies_as} tells; it is laid the way it lies"
            )
            image = _remarked(image, finding(Code.REPAIRED, detail, file=path))
    return replace(
        image,
        affine_ras_mm=affine,
        space=grid.image.space,
        third_axis=grid.image.third_axis,
        spacing_known=grid.image.spacing_known,
        findings=(),
    )


def _remarked(image: RawImage, remark: Finding) -> RawImage:
    """The same image, of which something more is said once it has been read."""
    said: list[Finding] = []

    def stream(bounds: Sequence[tuple[int, int]]) -> Iterator[Slab]:
        yield from image.stream(bounds)
        said.extend((*image.stream_findings, remark))

    return replace(image, stream=stream, stream_findings=said)


def _key(source: FileSource, path: str) -> str | None:
    """The array a source names; some containers call their arrays after the file, and a table has one in each row."""
    key = source.key and source.key.replace("{stem}", stem(PurePosixPath(path).name))
    row = row_of(path)
    return key if row is None else "/".join(filter(None, (row.key, key)))


def grid_offset_voxels(image: Opened, label: Opened) -> float:
    """How far the grids lie apart, in voxels; pictures lie on one another by their pixels."""
    if image.image.space == "picture":
        return 0.0
    return grid_distance_voxels(image.affine_ras_mm, label.affine_ras_mm, label.shape_ijk)


def require_same_grid(image: Opened, label: Opened) -> None:
    """Shapes must be equal, and no corner further apart than a thousandth of a voxel.

    Raises:
        BadInputError: They are not.
    """
    if image.image.space != label.image.space:
        detail = f"it is in {label.image.space} space, but {image.path} is in {image.image.space} space"
        raise BadInputError(Code.GRID_MISMATCH, detail, file=label.path)
    expected = (*image.shape_ijk[:2], 1) if image.image.third_axis == "colour" else image.shape_ijk
    if expected[:2] == label.shape_ijk[:2] and expected[2] == 1 < label.shape_ijk[2]:
        detail = (
            f"the label map has {label.shape_ijk[2]} pages, and {image.path} is a single picture: say which pages are meant, "
            "with a label map of its own and `plane` for each"
        )
        raise BadInputError(Code.GRID_MISMATCH, detail, file=label.path)
    if expected != label.shape_ijk:
        detail = (
            f"label shape {label.shape_ijk} (RAS+) differs from the image's shape {image.shape_ijk} of {image.path}; "
            f"spacing {_numbers(spacing_mm(label.affine_ras_mm))} against {_numbers(spacing_mm(image.affine_ras_mm))} mm"
        )
        raise BadInputError(Code.GRID_MISMATCH, detail, file=label.path)
    if image.image.space == "picture":
        return
    distance = grid_distance_voxels(image.affine_ras_mm, label.affine_ras_mm, image.shape_ijk)
    if distance > GRID_TOLERANCE_VOXELS:
        shift = label.affine_ras_mm[:3, 3] - image.affine_ras_mm[:3, 3]
        detail = (
            f"label geometry differs from that of {image.path}: corners lie up to {distance:.4g} voxels apart "
            f"(affine origin shifted by {_numbers(shift)} mm, spacing {_numbers(spacing_mm(label.affine_ras_mm))} against "
            f"{_numbers(spacing_mm(image.affine_ras_mm))} mm)"
        )
        raise BadInputError(Code.GRID_MISMATCH, detail, file=label.path)


def _numbers(values: FloatArray) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in values) + ")"
