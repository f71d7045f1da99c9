"""Opens what a spec chooses among DICOM files.

A series becomes one image; a segmentation or a structure set becomes a label map on the grid of its series.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from assets.opened import Opened
from assets.spec import DatasetSpec
from assets.spec_layout import LabelsSource, SeriesSource
from assets.structures import open_contours, open_segments
from resources.findings import BadInputError, Code
from resources.readers.dicom.identity import identify
from resources.readers.dicom.kinds import Identity
from resources.readers.dicom.seg_grid import Grid
from resources.readers.dicom.series import open_series, scan_folder
from resources.readers.image import RawImage
from resources.readers.source import ReadOptions


def open_whole_series(raw_root: Path, files: Sequence[str], source: SeriesSource) -> RawImage:
    """The image that the files of one series make.

    Args:
        raw_root: The raw folder.
        files: All files of the series.
        source: What the spec says of it.

    Raises:
        BadInputError: They make none.
    """
    found = scan_folder(raw_root, files)
    for series in found:
        if series.kind == "unreadable" and series.refusal is not None:
            raise BadInputError(series.refusal.code, series.refusal.detail, file=series.refusal.file)
    if len(found) != 1 or len(found[0].files) != len(files):
        detail = f"{len(files)} files were one series and are {len(found)} now: they changed while they were read; run again"
        raise BadInputError(Code.FILE_CHANGED, detail, file=files[0])
    return open_series(found[0], options=ReadOptions(source.assume_orientation, spacing_mm=source.spacing_mm))


def open_structures(spec: DatasetSpec, raw_root: Path, path: str, source: LabelsSource, series: Mapping[str, Opened]) -> RawImage:
    """A label map of an annotation, on the grid of the series it was drawn on.

    Args:
        spec: Says which structure is which label.
        raw_root: The raw folder.
        path: The annotation.
        source: What the spec says of it.
        series: Series it may lie on, by name.

    Raises:
        BadInputError: GRID_MISMATCH when it lies on none of them, and what reading it finds.
    """
    identity = identify(raw_root / path, path)
    if identity is None or identity.problem is not None:
        problem = identity.problem if identity is not None else None
        raise BadInputError(problem.code if problem else Code.WRONG_MAGIC, problem.detail if problem else "no DICOM", file=path)
    image = _drawn_on(raw_root, path, identity, series)
    if image.image.space != "patient":
        detail = f"it lies in a patient, but {image.path} is a picture"
        raise BadInputError(Code.GRID_MISMATCH, detail, file=path)
    grid = Grid(image.image.affine_ras_mm, image.image.shape)
    opener = open_contours if source.kind == "rtstruct" else open_segments
    return opener(spec, source, raw_root / path, path, grid)


def _drawn_on(raw_root: Path, path: str, drawn: Identity, series: Mapping[str, Opened]) -> Opened:
    """The series an annotation names; else one in the same coordinate system."""
    of = {name: identify(raw_root / opened.path, opened.path) for name, opened in series.items()}
    for name, identity in of.items():
        if identity is not None and identity.key.series_uid in drawn.refers_to:
            return series[name]
    for name, identity in of.items():
        frames = {drawn.frame_of_reference, identity.frame_of_reference if identity is not None else ""} - {""}
        if not (drawn.refers_to and len(frames) > 1):
            return series[name]
    shown = ", ".join(f"{name} ({identity.key.series_uid})" for name, identity in of.items() if identity is not None)
    detail = f"it was drawn on series {', '.join(drawn.refers_to)}, which lies in another space than {shown}"
    raise BadInputError(Code.GRID_MISMATCH, detail, file=path)
