"""One target of the sample with everything its record is made from: what is shown, masks, class and marked objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from assets.mds.choice import Choice, LabelledPart, Marked, choose_frame, choose_slice, plane_axis
from assets.mds.instance import slice_of_file
from assets.mds.marks import Frame, spheres
from assets.mds.masks import MapOnPicture
from assets.mds.picture import Grid, Picture, Style, draw_image, draw_labels, labels_on
from assets.mds.target import Role, Target
from assets.raw import RawScan
from assets.spec import DatasetSpec
from assets.spec_mds import Mds
from assets.templates import fields_of
from resources.ome_zarr import StoredVolume

Row = Mapping[str, Any]
OpenVolume = Callable[[str, str], StoredVolume]
"""Subject and path of a published volume -> the volume."""


@dataclass(frozen=True)
class Products:
    """What is published of a dataset.

    Attributes:
        volumes: The `volumes` table.
        classes: The `classes` table; None where no classes are told.
        objects: The `objects` table; None where none are marked.
        open_volume: Opens a published volume.
        raw_root: The raw folder.
    """

    volumes: pl.DataFrame
    classes: pl.DataFrame | None
    objects: pl.DataFrame | None
    open_volume: OpenVolume
    raw_root: Path


@dataclass(frozen=True)
class Sample:
    """A target, drawn.

    Attributes:
        target: The target.
        scan: Its scan.
        row: The `volumes` row of what is shown.
        volume: What is shown.
        picture: Its picture.
        maps: The label maps its record tells of.
        class_row: Its row of `classes`, if it has one.
        objects: Its rows of `objects`.
    """

    target: Target
    scan: RawScan
    row: Row
    volume: StoredVolume
    picture: Picture
    maps: tuple[MapOnPicture, ...]
    class_row: Row | None
    objects: tuple[Row, ...]

    @cached_property
    def fields(self) -> dict[str, str]:
        """What templates may name."""
        return fields_of(self.target.path, self.target.subject, self.target.scan, self.scan.fields)

    @property
    def shows_labels(self) -> bool:
        """Whether the picture is that of a label map by itself."""
        return bool(self.row["kind"] == "labels")

    @property
    def shown_path(self) -> str:
        """The raw file that is shown, or the first of many; of a table also which row."""
        if self.shows_labels:
            return self.scan.labels[self.row["labels_name"]][0].path
        return self.scan.series[self.row["series"]]

    @property
    def is_of_many_files(self) -> bool:
        """Whether what is shown was put together from many files, so that none of them has its slices in order."""
        if self.shows_labels:
            return len(self.scan.labels[self.row["labels_name"]]) > 1
        return len(self.scan.series_files.get(self.row["series"], ())) > 1

    @property
    def frame(self) -> Frame:
        """What takes positions of tables to the stored array."""
        return Frame.of(self.volume)


def draw_sample(spec: DatasetSpec, mds: Mds, products: Products, target: Target, scan: RawScan) -> Sample:
    """Choose the slice of a target, draw it, and bring its masks onto the picture.

    Raises:
        StoreDamagedError: A volume is not what was written.
        NotPublishedError: A volume is not recorded.
    """
    return _Drawing(spec, mds, products, target, scan).sample()


@dataclass(frozen=True)
class _Drawing:
    spec: DatasetSpec
    mds: Mds
    products: Products
    target: Target
    scan: RawScan

    def sample(self) -> Sample:
        row = self._shown_row
        volume = self._open(row)
        maps = [(label_row, _part_of(self._open(label_row), self._only(label_row))) for label_row in self._label_rows(row)]
        objects = tuple(self._rows_about(self.products.objects, row))
        deciding = [part for label_row, part in maps if self.target.label_id is None or self._is_told(label_row)]
        choice = self._choice(volume, deciding, spheres(objects, Frame.of(volume)))
        if row["kind"] == "labels":
            picture = draw_labels(maps[0][1], Grid.of(volume), choice)
        else:
            style = Style(self.spec.modality, (self.spec.anatomy, *self.mds.meta.anatomical_structure), self.mds.window)
            picture = draw_image(volume, choice, style, row["min"])
        shown = tuple(self._on_picture(picture, label_row, part) for label_row, part in maps if self._is_told(label_row))
        classes = self._rows_about(self.products.classes, row)
        return Sample(self.target, self.scan, row, volume, picture, shown, classes[0] if classes else None, objects)

    @cached_property
    def _rows(self) -> Sequence[Row]:
        of_scan = self.products.volumes.filter(subject=self.target.subject, scan=self.target.scan)
        return of_scan.to_dicts()

    @property
    def _source(self) -> tuple[Role, str]:
        """What the source file is: the target, or what the spec names instead."""
        kind, _, names = self.mds.files.get("source_file", "").partition(":")
        for name in names.split("|"):
            if kind == "series" and name in self.scan.series:
                return "series", name
            if kind == "labels" and name in self.scan.labels:
                return "labels", name
        return self.target.role, self.target.name

    @property
    def _shown(self) -> tuple[Role, str]:
        """What is drawn: the source file; as a label map where it is one, though the spec has it for want of an image too."""
        role, name = self._source
        if role == "series":
            path, key = self.scan.series[name], self.spec.layout.series[name].key
            for labels, files in self.scan.labels.items():
                if self.spec.layout.labels[labels].key == key and path in {file.path for file in files}:
                    return "labels", labels
        return role, name

    @cached_property
    def _shown_row(self) -> Row:
        role, name = self._shown
        kind, column = ("image", "series") if role == "series" else ("labels", "labels_name")
        found = next((row for row in self._rows if row["kind"] == kind and row[column] == name), None)
        if found is None:
            raise LookupError(f"no {kind} {name!r} of {self.target.path} is published")
        return found

    def _label_rows(self, shown: Row) -> list[Row]:
        """The label maps on the grid of what is shown; a label map that is shown comes first."""
        of = {name: source.of for name, source in self.spec.layout.labels.items()}
        rows = [row for row in self._rows if row["kind"] == "labels"]
        rows = [row for row in rows if of[row["labels_name"]] is None or shown["series"] in (of[row["labels_name"]] or ())]
        return sorted(rows, key=lambda row: row is not shown)

    def _is_told(self, row: Row) -> bool:
        """Whether the record tells of a label map: those the spec names as its files; else the target; else all of them."""
        named = {name for kind, name in self.mds.references if kind == "labels"}
        if not named and self.target.role == "labels":
            named = {self.target.name}
        return not named or row["labels_name"] in named

    def _only(self, row: Row) -> int | None:
        """The one label that counts, where the target is a mask of one label."""
        of_target = self.target.role == "labels" and row["labels_name"] == self.target.name
        return self.target.label_id if of_target else None

    def _open(self, row: Row) -> StoredVolume:
        return self.products.open_volume(self.target.subject, row["path"])

    def _rows_about(self, table: pl.DataFrame | None, shown: Row) -> list[Row]:
        """The rows of a table about the series that is shown; where a label map is, of the scan's first series that has any."""
        if table is None:
            return []
        rows = table.filter(subject=self.target.subject, scan=self.target.scan).to_dicts()
        series = [shown["series"], *(self.scan.series if shown["kind"] == "labels" else ())]
        chosen = next((name for name in series if any(row["series"] == name for row in rows)), None)
        return [row for row in rows if row["series"] == chosen]

    def _choice(self, volume: StoredVolume, parts: Sequence[LabelledPart], marked: Sequence[Marked]) -> Choice:
        grid = Grid.of(volume)
        if self._is_one_of_many_files and grid.in_patient:
            found = slice_of_file(self.products.raw_root / self.target.path, volume.affine_ras_mm, volume.shape_ijk)
            if found is not None:
                return found
        if grid.third_axis == "colour":
            return Choice(2, 0, "all of it")
        axis = plane_axis(grid.shape_ijk, self.mds.plane) if grid.in_patient else 2
        n_slices = grid.shape_ijk[axis]
        if n_slices == 1:
            return Choice(axis, 0, "all of it")
        lesions = set(self.spec.lesions)
        if grid.third_axis == "time":
            return choose_frame(n_slices, parts, lesions)
        return choose_slice(axis, n_slices, parts, lesions, marked)

    @property
    def _is_one_of_many_files(self) -> bool:
        """Whether the target is one slice of what is shown: a DICOM file of a series."""
        return self._source == (self.target.role, self.target.name) and len(self.scan.series_files.get(self.target.name, ())) > 1

    def _on_picture(self, picture: Picture, row: Row, part: LabelledPart) -> MapOnPicture:
        only = self._only(row)
        voxels = dict(zip(row["label_ids"], row["label_voxels"], strict=True))
        kept = {label: n for label, n in voxels.items() if only in (None, label)}
        return MapOnPicture(row["labels_name"], row["path"], kept, labels_on(picture.view, part))


def _part_of(labels: StoredVolume, only: int | None) -> LabelledPart:
    """What is labelled in a stored label map, or the part of it with one label."""
    start, stop = labels.attributes["labelled_box"]
    offset = (int(start[0]), int(start[1]), int(start[2]))
    crop = labels.crop(offset, (int(stop[0]), int(stop[1]), int(stop[2])))
    return LabelledPart(crop if only is None else np.where(crop == only, crop, 0), offset)
