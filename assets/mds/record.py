"""The JSON record of one target, in the benchmark's template 1.0.1; `docs/records.md` tells what the template leaves open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from assets.mds.in_order import file_in_order
from assets.mds.marks import box3d, box_on_picture
from assets.mds.masks import on_picture, whole
from assets.mds.sample import Sample
from assets.mds.targets import prefixed
from assets.raw import RawTree
from assets.raw.rows import row_of
from assets.spec import DatasetSpec
from assets.spec_mds import Mds
from assets.templates import fill, stem

Json = dict[str, Any]

SCHEMA_VERSION = "1.0.1"
UNKNOWN, NOT_GIVEN = "unknown", "NA"
"""What stands where the benchmark's checks refuse null."""

_MAP_TYPES = {"classification": "label", "segmentation": "pixel_mask", "detection": "bbox"}
_BRANCHES = {"2D": "common", "3D": "three_d", "video": "video"}
_THIRD_AXIS = {"time": "video_frame", "page": "multipage_page"}


@dataclass(frozen=True)
class RecordMaker:
    """Makes the records of one dataset.

    Attributes:
        spec: The dataset.
        mds: Its `mds` block.
        tree: Its raw folder.
    """

    spec: DatasetSpec
    mds: Mds
    tree: RawTree

    def record(self, sample: Sample) -> Json:
        """The record of a target.

        Raises:
            UnknownFieldError: A template of the spec names a field that the file does not have.
        """
        task = self._task(sample)
        tasks: Json = {"classification": {}, "segmentation": {}, "detection": {}}
        tasks[self.mds.task] = task
        spatial: Json = {"common": {}, "three_d": {}, "video": {}}
        spatial[_BRANCHES[self.mds.dimension]] = self._spatial(sample)
        extra = self._extra(sample, task)
        return {
            "record": {
                "schema_version": SCHEMA_VERSION,
                "dataset_name": self.mds.name,
                "image_path": image_path(sample.target.index),
            },
            "context": {"sample": self._context(sample, extra), "text": _no_text()},
            "media_geometry": {"media": self._media(), "spatial": spatial},
            "tasks": tasks,
            "provenance": {"timestamp_utc": timestamp(self.mds), "notes": f"Converted from: {extra['source_file']}"},
        }

    def _context(self, sample: Sample, extra: Json) -> Json:
        meta = self.mds.meta
        return {
            "subject_id": fill(self.mds.subject_id, sample.fields),
            "age_years": 0,
            "sex": UNKNOWN,
            "race_ethnicity": NOT_GIVEN,
            "site_id": NOT_GIVEN,
            "modality_primary": self._modality(sample),
            "modality_secondary": next(iter(meta.modality_secondary), NOT_GIVEN),
            "anatomical_structure": list(meta.anatomical_structure or (self.spec.anatomy,)),
            "modality_special_sample": NOT_GIVEN,
            "extra": extra,
        }

    def _modality(self, sample: Sample) -> str:
        fitting = (name for name, path in self.mds.modalities.items() if re.fullmatch(path, sample.target.path))
        return next(fitting, self.mds.modality)

    def _media(self) -> Json:
        return {
            "task_type": self.mds.task,
            "leaf_task": f"{self.spec.anatomy} {self.mds.task}",
            "annotation_type": self.mds.annotation_type or self.mds.variant,
            "dimension": self.mds.dimension,
            "confidence_global": 1.0,
        }

    def _extra(self, sample: Sample, task: Json) -> Json:
        source = self._source(sample)
        extra: Json = {"source_file": source, "original_filename": PurePosixPath(source).name}
        extra["subject_id"] = fill(self.mds.subject_id, sample.fields)
        if folder := PurePosixPath(source).parent.name:
            extra["sample_dir"] = folder
        extra["map_type"] = _MAP_TYPES[self.mds.task]
        if self.mds.task == "classification":
            extra["label_text"] = extra["class_name"] = task["label_name"]
        elif self.mds.task == "detection":
            extra["label_text"] = extra["class_name"] = self._names_of_objects(sample)
        for key, text in self.mds.files.items():
            if key == "bbox_file" and not sample.objects:
                extra[key] = None
            elif key != "source_file":
                extra[key] = self._file(text, sample)
        extra |= {key: fill(text, sample.fields) for key, text in self.mds.extra.items()}
        return extra | ({"synthetic": True} if self.tree.synthetic else {})

    def _source(self, sample: Sample) -> str:
        return self._file(self.mds.files.get("source_file", ""), sample) or sample.target.source

    def _file(self, text: str, sample: Sample) -> str | None:
        """The file a template stands for; None where the scan does not have it."""
        kind, _, names = text.partition(":")
        scan = sample.scan
        name = next((n for n in names.split("|") if n in scan.series or self._belongs(n, sample)), names)
        if kind == "series":
            return prefixed(self.mds, scan.series[name]) if name in scan.series else None
        if kind == "order":
            return file_in_order(self.mds, self.tree, sample.target, names)
        if kind == "labels":
            paths = [file.path for file in scan.labels.get(name, ())]
            if sample.target.path in paths:
                return sample.target.source
            if len(paths) > 1:
                return prefixed(self.mds, PurePosixPath(paths[0]).parent.as_posix())
            return prefixed(self.mds, paths[0]) if paths else None
        return fill(text, sample.fields)

    def _belongs(self, labels: str, sample: Sample) -> bool:
        """Whether the scan has a label map of this name, and it is of what is shown."""
        declared = self.spec.layout.labels.get(labels)
        return declared is not None and labels in sample.scan.labels and (not declared.of or sample.row["series"] in declared.of)

    def _names_of_objects(self, sample: Sample) -> str | None:
        """The classes of the marked objects, in the order of the classes; None where nothing is marked."""
        present = {self._class_of[row["label_id"]] for row in sample.objects if row["label_id"] in self._class_of}
        return "|".join(self.mds.classes[n] for n in sorted(present)) or None

    @property
    def _class_of(self) -> dict[int, int]:
        return self.spec.mds_classes()

    def _spatial(self, sample: Sample) -> Json:
        picture, row = sample.picture, sample.row
        view, shape = picture.view, [int(n) for n in row["shape_ijk"]]
        described = picture_block(self.spec, sample)
        if (file := prefixed(self.mds, row["source_paths"][0])) != self._source(sample) and not sample.is_of_many_files:
            described["locator"]["file"] = file
        if self.mds.dimension == "2D":
            return {
                "pixel_size_px": list(view.size),
                "pixel_spacing_mm": described["pixel_mm"],
                "was_resampled": view.resampled,
                "picture": described,
            }
        if self.mds.dimension == "video":
            return {
                "frame_count": shape[2],
                "fps": None,
                "frame_size_px": list(view.size),
                "rendered_frame_index": view.index,
                "picture": described,
            }
        known = None not in row["spacing_mm"]
        return {
            "volume_shape_vox": shape,
            "voxel_spacing_mm": list(row["spacing_mm"]) if known else None,
            "orientation": "RAS+" if view.in_patient else None,
            "rendered_axis": view.axis,
            "rendered_index": view.index,
            "was_resampled": view.resampled,
            "picture": described,
        }

    def _task(self, sample: Sample) -> Json:
        names = {str(number): name for number, name in enumerate(self.mds.classes)}
        if self.mds.task == "classification":
            return self._classification(sample, names)
        if self.mds.task == "segmentation":
            return {"schema_variant": self.mds.variant, "classes": names, **self._segmentation(sample)}
        return {"schema_variant": self.mds.variant, "class_names": names, **self._detection(sample)}

    def _classification(self, sample: Sample, names: Mapping[str, str]) -> Json:
        told: Json = {"schema_variant": self.mds.variant, "class_names": names}
        problem = self.no_class(sample)
        if problem or sample.class_row is None:
            return told | {"label": None, "label_name": None, "reason_absent": problem}
        label = self._class_of[sample.class_row["class_id"]]
        return told | {"label": label, "label_name": self.mds.classes[label]}

    def no_class(self, sample: Sample) -> str:
        """Why the record of a classification tells no class; empty where it tells one."""
        if sample.class_row is None:
            untold = self.spec.classes.untold if self.spec.classes is not None else ""
            return untold or "the dataset tells no class of this image"
        known = sample.class_row["class_id"] in self._class_of
        return "" if known else f"{sample.class_row['class']!r} is none of the published classes"

    def _segmentation(self, sample: Sample) -> Json:
        key = {"3d_mask": "mask_3d", "video_coco": "video_coco"}.get(self.mds.variant, "coco_2d")
        if not sample.maps:
            return {key: {"annotations": [], "reason_absent": "the dataset gives no mask of this image"}}
        drawn = on_picture(sample.maps, self._class_of)
        if key == "video_coco":
            drawn = [{"frame_index": sample.picture.view.index, **one} for one in drawn]
        return {key: {**whole(sample.maps, self._class_of), "annotations": drawn}}

    def _detection(self, sample: Sample) -> Json:
        key = {"3d": "boxes3d", "video": "frame_boxes2d"}.get(self.mds.variant, "boxes2d")
        boxes = []
        for row in sample.objects:
            if row["label_id"] not in self._class_of:
                continue
            box: Json = {"category_id": self._class_of[row["label_id"]]}
            corners = box_on_picture(row, sample.frame, sample.picture.view)
            if key == "boxes3d" and row["centre_ras_mm"] is not None:
                box |= box3d(row)
            elif corners is None:
                continue
            if corners is not None:
                box["bbox_xyxy_px"] = corners
            boxes.append(box)
        return {key: boxes}


def image_path(index: int) -> str:
    """Where the picture of a target lies, relative to the folder of records."""
    return f"images/{index}.png"


def record_path(index: int) -> str:
    """Where the record of a target lies, relative to the folder of records."""
    return f"standardized_annotations/{index}.json"


def timestamp(mds: Mds) -> str:
    """The day the dataset was released, or the epoch where that is not known: nothing of the day a record was made."""
    date = mds.meta.release_date or "1970-01-01"
    return f"{date if date.count('-') == 2 else f'{date}-01'}T00:00:00Z"


def _no_text() -> Json:
    return {"text_id": NOT_GIVEN, "text_path": NOT_GIVEN, "text_type": NOT_GIVEN, "language": NOT_GIVEN, "length_chars": 0}


def picture_block(spec: DatasetSpec, sample: Sample) -> Json:
    """What a picture shows and how: the inner field `picture` of the spatial branch."""
    picture = sample.picture
    view, window = picture.view, picture.window
    block: Json = {
        "shows": "label map" if sample.shows_labels else "image",
        "size_px": list(view.size),
        "pixel_mm": list(view.pixel_mm) if view.pixel_mm is not None else None,
        "was_resampled": view.resampled,
        "grows": view.grows,
        "locator": _locator(spec, sample),
        "window": None if window is None else {"kind": window.kind, "low": window.low, "high": window.high},
        "ijk_to_xy": view.matrix(),
        "zarr": f"../{sample.row['path']}",
    }
    if picture.palette is not None:
        block["palette"] = {str(label): list(colour) for label, colour in picture.palette.items()}
    if picture.channels:
        block["channels"] = list(picture.channels)
    return block


def _locator(spec: DatasetSpec, sample: Sample) -> Json:
    """Which slice, frame or page is shown: in the stored array, and in the file as it is read."""
    row, view = sample.row, sample.picture.view
    n_slices = row["shape_ijk"][view.axis]
    single = n_slices == 1 or row["third_axis"] == "colour"
    kind = "file" if single else _THIRD_AXIS.get(row["third_axis"], "volume_slice")
    plane = ("sagittal", "coronal", "axial")[view.axis] if view.in_patient else "picture"
    locator: Json = {"kind": kind, "plane": plane, "reason": sample.picture.reason}
    if not single:
        locator |= {"axis": view.axis, "index": view.index, "of": n_slices}
        if not sample.is_of_many_files:
            axis, index = _in_file(sample)
            locator["in_file"] = {"axis": axis, "index": index}
    if (place := row_of(sample.shown_path)) is not None:
        locator |= {"column": place.column, "row": place.number}
    layout = spec.layout
    source = layout.labels[row["labels_name"]] if sample.shows_labels else layout.series[row["series"]]
    if source.key is not None:
        locator["key"] = source.key.replace("{stem}", stem(PurePosixPath(row["source_paths"][0]).name))
    channel = getattr(source, "channel", None)
    return locator if channel is None else locator | {"channel": channel}


def _in_file(sample: Sample) -> tuple[int, int]:
    """Axis and index of the slice in the array as the file stores it."""
    view = sample.picture.view
    to_file = np.rint(np.linalg.inv(sample.frame.from_file))
    axis = int(np.argmax(np.abs(to_file[:3, view.axis])))
    at = [0, 0, 0, 1]
    at[view.axis] = view.index
    return axis, int(to_file[axis] @ at)
