"""Records as they are published: pictures, masks, boxes and classes against the formulas they were drawn from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from assets.benchmark.mdsbench.schema import metadata_violations, record_violations
from assets.mds.key import records_key
from assets.mds.palette import colour_of
from assets.mds.write import publish_records
from expectations.gate import GreatExpectationsGates
from resources.findings import Code
from resources.ome_zarr import open_volume
from resources.phantoms import Ellipsoid, Grid, draw_labels, draw_values, write_nifti
from tests.mds.made import FOLDER, Array, Records, decoded, index, publish, spec_of, write_picture, write_volume
from tests.mds.test_view import CODES
from tests.readers.dicom.makers import ramp, slice_of, write

THERE = f"/data3/someone/Agent_test/{FOLDER}"
ORGAN, TUMOUR = 1, 2
LABELS = {ORGAN: "organ", TUMOUR: "tumour"}
VOLUMES = {"subject": r"s\d\d", "series": {"ct": "{subject}.nii.gz"}, "labels": {"seg": "{subject}_seg.nii.gz"}}

# Off every centre, so that no voxel lies on a surface; the tumour's largest axial section is in slice 8 alone.
GRID = Grid.centred((30, 24, 13), (1.0, 1.5, 3.0))
SHAPES = (
    Ellipsoid((2.1, -1.3, 0.4), (10.2, 12.3, 15.1), 60, ORGAN),
    Ellipsoid((-2.2, 3.1, 6.3), (4.3, 5.2, 7.1), 140, TUMOUR),
)


def section(label: int, k: int, width: int, height: int, pixel: float) -> Array:
    """(height, width) of the ellipse in which slice `k` cuts a shape, the patient's right on the left, front up.

    Told in mm: the picture's middle is the middle of the grid; each pixel has the label of the nearest voxel's centre.
    """
    rows, columns = np.mgrid[:height, :width]
    x = -(columns - (width - 1) / 2) * pixel
    y = -(rows - (height - 1) / 2) * pixel
    near_x = np.rint((x / 1.0) + 0.5) - 0.5
    near_y = (np.ceil((y / 1.5) + 11.5 - 0.5 + 1e-9) - 11.5) * 1.5  # of two the upper, which is further to the front
    z = (k - 6) * 3.0
    marks = np.zeros((height, width), int)
    for shape in SHAPES:
        dx, dy, dz = near_x - shape.centre_ras_mm[0], near_y - shape.centre_ras_mm[1], z - shape.centre_ras_mm[2]
        a, b, c = shape.semi_axes_mm
        marks[(dx / a) ** 2 + (dy / b) ** 2 + (dz / c) ** 2 <= 1] = shape.label or 0
    return np.asarray(marks == label)


def write_phantoms(raw: Path, codes: list[str], *, lesion: bool = True) -> None:
    shapes = SHAPES if lesion else SHAPES[:1]
    image, labels = draw_values(shapes, GRID, background=-900).astype(np.int16), draw_labels(shapes, GRID)
    for number, code in enumerate(codes):
        write_nifti(raw / f"s{number:02d}.nii.gz", image, GRID.affine, code)
        write_nifti(raw / f"s{number:02d}_seg.nii.gz", labels, GRID.affine, code)


@pytest.fixture(scope="module")
def phantoms(tmp_path_factory: pytest.TempPathFactory) -> Records:
    """One phantom in all 48 orientations."""
    root = tmp_path_factory.mktemp("phantoms")
    write_phantoms(root / "raw" / "made_up", CODES)
    mds = {"targets": 48, "files": {"label_file": "labels:seg", "mask_file": "labels:seg", "seg_file": "labels:seg"}}
    return publish(spec_of(VOLUMES, mds, labels=LABELS, lesions=[TUMOUR]), root)


def test_every_orientation_gives_the_same_picture_and_masks(phantoms: Records) -> None:
    assert phantoms.published.verdict.passed
    assert phantoms.published.indices == tuple(range(48))
    first, tasks = phantoms.pixels(0), [phantoms.record(n)["tasks"]["segmentation"]["mask_3d"] for n in range(48)]
    for number in range(48):
        assert np.array_equal(phantoms.pixels(number), first)
        assert tasks[number]["annotations"] == tasks[0]["annotations"]
        assert tasks[number]["voxel_counts"] == tasks[0]["voxel_counts"]


def test_the_slice_is_the_one_in_which_the_tumour_is_largest(phantoms: Records) -> None:
    areas = [int(section(TUMOUR, k, 30, 36, 1.0).sum()) for k in range(13)]
    assert np.argmax(areas) == 8
    assert sorted(areas)[-2] < max(areas)
    for number, code in enumerate(CODES):
        locator = phantoms.block(number)["locator"]
        assert {k: locator[k] for k in ("kind", "plane", "axis", "index", "of", "reason")} == {
            "kind": "volume_slice", "plane": "axial", "axis": 2, "index": 8, "of": 13, "reason": "most lesion pixels",
        }  # fmt: skip
        axis = next(n for n, letter in enumerate(code) if letter in "SI")
        assert locator["in_file"] == {"axis": axis, "index": 8 if code[axis] == "S" else 12 - 8}


def test_masks_are_the_ellipses_of_the_formula(phantoms: Records) -> None:
    height, width, _ = phantoms.pixels(0).shape
    assert (width, height) == (30, 36)  # 30 x 1 mm, 24 x 1.5 mm: the aspect ratio of the slice
    told = phantoms.record(0)["tasks"]["segmentation"]
    assert told["classes"] == {"0": "background", "1": "organ", "2": "tumour"}
    annotations = {a["category_id"]: a for a in told["mask_3d"]["annotations"]}
    for label in (ORGAN, TUMOUR):
        expected = section(label, 8, width, height, 1.0)
        assert np.array_equal(decoded(annotations[label]), expected)
        assert annotations[label]["area_px"] == expected.sum()


def test_the_picture_shows_what_the_masks_mark(phantoms: Records) -> None:
    grey = phantoms.pixels(0)[..., 0].astype(int)
    window = phantoms.block(0)["window"]
    assert window == {"kind": "CT soft tissue", "low": -160.0, "high": 240.0}
    inside = section(TUMOUR, 8, 30, 36, 1.0)
    core = inside & np.roll(inside, 1, 0) & np.roll(inside, -1, 0) & np.roll(inside, 2, 0) & np.roll(inside, -2, 0)
    assert set(grey[core].tolist()) == {round((140 + 160) / 400 * 255)}
    assert grey[0, 0] == 0
    assert np.array_equal(grey, phantoms.pixels(0)[..., 2])


def test_the_record_says_where_everything_is(phantoms: Records) -> None:
    record = phantoms.record(5)
    spatial = record["media_geometry"]["spatial"]
    assert (spatial["common"], spatial["video"]) == ({}, {})
    three_d = spatial["three_d"]
    assert three_d["volume_shape_vox"] == [30, 24, 13]
    assert three_d["voxel_spacing_mm"] == pytest.approx([1.0, 1.5, 3.0])
    assert (three_d["rendered_axis"], three_d["rendered_index"], three_d["was_resampled"]) == (2, 8, True)
    block = three_d["picture"]
    assert (block["shows"], block["size_px"], block["grows"]) == ("image", [30, 36], "LP")
    assert block["pixel_mm"] == pytest.approx([1.0, 1.0])
    image = open_volume((phantoms.folder / block["zarr"]).resolve())
    voxel = np.argwhere(image.slice(2, 8) == 140).mean(axis=0)
    x, y = np.array(block["ijk_to_xy"]) @ [*voxel, 8, 1]
    assert phantoms.pixels(5)[round(y), round(x), 0] == round(300 / 400 * 255)
    masks = record["tasks"]["segmentation"]["mask_3d"]
    labels = open_volume((phantoms.folder / masks["zarr"]["seg"]).resolve()).voxels()
    assert masks["voxel_counts"] == {"1": int((labels == 1).sum()), "2": int((labels == 2).sum())}
    extra = record["context"]["sample"]["extra"]
    assert extra == {
        "source_file": "data/s05.nii.gz", "original_filename": "s05.nii.gz", "subject_id": "s05", "sample_dir": "data",
        "map_type": "pixel_mask",
        "label_file": "data/s05_seg.nii.gz", "mask_file": "data/s05_seg.nii.gz", "seg_file": "data/s05_seg.nii.gz",
    }  # fmt: skip
    assert record["context"]["sample"]["subject_id"] == "s05"
    assert record["provenance"] == {"timestamp_utc": "1970-01-01T00:00:00Z", "notes": "Converted from: data/s05.nii.gz"}


def test_records_and_metadata_validate_and_count_what_is_there(phantoms: Records) -> None:
    for number in range(48):
        assert record_violations(phantoms.record(number)) == []
    meta = phantoms.meta()
    assert metadata_violations(meta) == []
    assert meta["data_volume"] == {"total": 48, "train": None, "val": None, "test": None, "label": 48}
    assert meta["valid_image_n"] == {"total": 48}
    assert meta["num_classes_per_task"] == {"segmentation": {"num_classes": 3, "include_background": True}}
    assert (meta["modality_primary"], meta["anatomical_structure"], meta["license"]) == (["CT"], ["liver"], "CC0-1.0")


def test_declared_planes_and_windows_are_those_of_the_picture(tmp_path: Path) -> None:
    write_phantoms(tmp_path / "raw" / "made_up", ["LPS"])
    spec = spec_of(VOLUMES, {"plane": "coronal", "window": [0, 100]}, labels=LABELS, lesions=[TUMOUR])
    records = publish(spec, tmp_path)
    block = records.block(0)
    assert (block["locator"]["plane"], block["grows"], block["window"]["kind"]) == ("coronal", "LI", "declared")
    assert block["size_px"] == [30, 39]
    assert records.pixels(0).max() == 255


def test_a_label_map_that_is_all_there_is_is_drawn_as_one(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    write_phantoms(raw, ["IPL"])
    layout = {**VOLUMES, "series": {"map": "{subject}_seg.nii.gz"}, "ignore": {"s*.nii.gz": "the image"}}
    label_only = publish(spec_of(layout, {}, labels=LABELS, lesions=[TUMOUR]), tmp_path)
    block = label_only.block(0)
    assert (block["shows"], block["window"]) == ("label map", None)
    assert block["palette"] == {"1": list(colour_of(1)), "2": list(colour_of(2))}
    for label in (0, ORGAN, TUMOUR):
        marked = (label_only.pixels(0) == colour_of(label)).all(axis=2)
        both = section(ORGAN, 8, 30, 36, 1.0) | section(TUMOUR, 8, 30, 36, 1.0)
        assert np.array_equal(marked, section(label, 8, 30, 36, 1.0) if label else ~both)
    (named,) = {r["context"]["sample"]["extra"]["source_file"] for r in [label_only.record(0)]}
    assert named == "data/s00_seg.nii.gz"


def test_targets_that_are_label_maps_are_drawn_so_and_by_the_spec_as_their_image(tmp_path: Path) -> None:
    write_phantoms(tmp_path / "raw" / "made_up", ["LAS"])
    as_map = publish(spec_of(VOLUMES, {"target": "seg"}, labels=LABELS), tmp_path)
    assert as_map.block(0)["shows"] == "label map"
    mds = {"target": "seg", "files": {"source_file": "series:ct", "seg_file": "data/{path}"}}
    as_image = publish(spec_of(VOLUMES, mds, labels=LABELS), tmp_path)
    assert as_image.block(0)["shows"] == "image"
    extra = as_image.record(0)["context"]["sample"]["extra"]
    assert (extra["source_file"], extra["seg_file"]) == ("data/s00.nii.gz", "data/s00_seg.nii.gz")


def test_a_target_that_is_one_mask_shows_and_tells_of_that_label_alone(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    voxels = np.zeros((9, 8, 7), np.uint8)
    first, second = voxels.copy(), voxels.copy()
    first[2:7, 2:6, 1:3] = 1
    second[3:5, 3:5, 5] = 1
    write_volume(raw / "s00" / "ct.nii.gz", np.arange(9 * 8 * 7, dtype=np.int16).reshape(9, 8, 7))
    write_volume(raw / "s00" / "organ.nii.gz", first)
    write_volume(raw / "s00" / "tumour.nii.gz", second)
    (raw / "random.txt").write_text(f"0: {THERE}/data/s00/tumour.nii.gz\n1: {THERE}/data/s00/organ.nii.gz\n")
    layout = {
        "subject": r"s\d\d",
        "series": {"ct": "{subject}/ct.nii.gz"},
        "labels": {"all": {"masks": "{subject}/{label}.nii.gz"}},
    }
    mds = {"target": "all", "files": {"source_file": "series:ct", "seg_file": "data/{path}"}}
    records = publish(spec_of(layout, mds, labels=LABELS), tmp_path)
    assert [records.block(n)["locator"]["index"] for n in (0, 1)] == [5, 1]
    tumour = records.record(0)["tasks"]["segmentation"]["mask_3d"]
    assert (tumour["voxel_counts"], [a["category_id"] for a in tumour["annotations"]]) == ({"2": 4}, [2])
    assert records.record(0)["context"]["sample"]["extra"]["seg_file"] == "data/s00/tumour.nii.gz"


PICTURES = {
    "subject": r"p\d",
    "series": {"photo": "{subject}.png"},
    "labels": {"seg": {"path": "{subject}_m.png", "nonzero_is": 1}},
}
PHOTO: dict[str, Any] = {"variant": "2d_coco", "dimension": "2D", "modality": "Fundus", "classes": ["vessel"]}


def test_photographs_are_bit_for_bit_and_their_masks_lie_on_them(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    photo = np.random.default_rng(1).integers(0, 256, (14, 20, 3), np.uint8)
    mask = np.zeros((14, 20), np.uint8)
    mask[3:6, 10:17], mask[9, 2] = 255, 255
    write_picture(raw / "p0.png", photo)
    write_picture(raw / "p0_m.png", mask)
    write_picture(raw / "p1.png", photo[..., 0])
    write_picture(raw / "p1_m.png", np.zeros_like(mask))
    records = publish(spec_of(PICTURES, PHOTO, labels={1: "vessel"}, modality="Fundus"), tmp_path)
    assert np.array_equal(records.pixels(0), photo)
    assert np.array_equal(records.pixels(1), np.repeat(photo[..., :1], 3, axis=2))
    common = records.record(0)["media_geometry"]["spatial"]["common"]
    assert (common["pixel_size_px"], common["pixel_spacing_mm"], common["was_resampled"]) == ([20, 14], None, False)
    assert common["picture"]["window"] == {"kind": "as stored", "low": 0.0, "high": 255.0}
    assert (common["picture"]["channels"], common["picture"]["locator"]["kind"]) == ([0, 1, 2], "file")
    coco = records.record(0)["tasks"]["segmentation"]["coco_2d"]
    (annotation,) = coco["annotations"]
    assert np.array_equal(decoded(annotation), mask > 0)
    assert (annotation["category_id"], annotation["bbox_xywh"], annotation["area_px"]) == (0, [2, 3, 15, 7], 22)
    assert records.record(1)["tasks"]["segmentation"]["coco_2d"]["annotations"] == []
    assert records.meta()["data_volume"]["label"] == 1
    assert records.meta()["num_classes_per_task"] == {"segmentation": {"num_classes": 1, "include_background": False}}


def test_pictures_without_a_mask_say_so(tmp_path: Path) -> None:
    write_picture(tmp_path / "raw" / "made_up" / "p0.png", np.arange(12, dtype=np.uint8).reshape(3, 4))
    layout = {"subject": r"p\d", "series": {"photo": "{subject}.png"}}
    records = publish(spec_of(layout, PHOTO, modality="Fundus"), tmp_path)
    assert records.record(0)["tasks"]["segmentation"]["coco_2d"] == {
        "annotations": [], "reason_absent": "the dataset gives no mask of this image",
    }  # fmt: skip
    assert records.meta()["label_presence"] == "unlabeled"


def test_sixteen_bits_are_stretched_and_the_ends_are_told(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    raw.mkdir(parents=True)
    values = np.linspace(500, 60000, 40 * 50).reshape(40, 50).astype(np.uint16)
    Image.fromarray(values).save(raw / "p0.png")
    layout = {"subject": r"p\d", "series": {"photo": "{subject}.png"}}
    records = publish(spec_of(layout, PHOTO, modality="X-ray"), tmp_path)
    window = records.block(0)["window"]
    low, high = np.percentile(values, (0.5, 99.5))
    assert (window["kind"], window["low"], window["high"]) == ("percentiles", pytest.approx(low), pytest.approx(high))
    expected = np.rint(np.clip((values - low) / (high - low), 0, 1) * 255)
    assert np.array_equal(records.pixels(0)[..., 1], expected)


@pytest.mark.parametrize(("axes", "kind", "shown"), [("xyt", "video_frame", 3), (None, "volume_slice", 4)])
def test_films_show_their_middle_and_volumes_their_fullest_slice(
    tmp_path: Path, axes: str | None, kind: str, shown: int
) -> None:  # fmt: skip
    raw = tmp_path / "raw" / "made_up"
    film, drawn = np.zeros((8, 6, 6), np.uint8), np.zeros((8, 6, 6), np.uint8)
    film[:] = np.arange(6) * 40
    film[0, 0] = 255
    drawn[2:4, 2:4, 1:5], drawn[1:6, 1:5, 4] = 1, 1
    write_volume(raw / "p0.nii.gz", film)
    write_volume(raw / "p0_m.nii.gz", drawn)
    layout = {
        "subject": r"p\d",
        "series": {"us": {"path": "{subject}.nii.gz", **({"axes": axes} if axes else {})}},
        "labels": {"seg": {"path": "{subject}_m.nii.gz", **({"axes": axes} if axes else {})}},
    }
    mds = {"variant": "video_coco", "dimension": "video", "modality": "Ultrasound", "classes": ["organ"]}
    records = publish(spec_of(layout, mds, labels={1: "organ"}, modality="ultrasound"), tmp_path)
    assert (records.block(0)["locator"]["kind"], records.block(0)["locator"]["index"]) == (kind, shown)
    video = records.record(0)["media_geometry"]["spatial"]["video"]
    assert (video["frame_count"], video["frame_size_px"], video["rendered_frame_index"]) == (6, [8, 6], shown)
    (annotation,) = records.record(0)["tasks"]["segmentation"]["video_coco"]["annotations"]
    assert annotation["frame_index"] == shown
    if axes:
        assert np.array_equal(records.pixels(0)[..., 0], film[:, :, 3].T)
        assert np.array_equal(decoded(annotation), drawn[:, :, 3].T > 0)


def classified(raw: Path) -> Any:
    for name, value in (("InSitu/p1", 10), ("Benign/p2", 20), ("Odd/p3", 30)):
        write_picture(raw / f"{name}.png", np.full((5, 6, 3), value, np.uint8) + np.arange(6, dtype=np.uint8)[None, :, None])
    layout = {"subject": r"p\d", "fields": {"class": "[A-Za-z]+"}, "series": {"slide": "{class}/{subject}.png"}}
    mds = {
        "task": "classification", "variant": "multiclass", "dimension": "2D", "modality": "Microscopy", "subject_id": "NA",
        "classes": ["Benign", "InSitu"], "extra": {"stain": "{class}"},
    }  # fmt: skip
    return spec_of(layout, mds, modality="Microscopy", classes={"names": ["InSitu", "Benign"], "field": "{class}"})


def test_classes_are_those_of_the_table_in_the_published_order(tmp_path: Path) -> None:
    records = publish(classified(tmp_path / "raw" / "made_up"), tmp_path)
    assert records.published.indices == (0, 1, 2)  # Benign/p2, InSitu/p1, Odd/p3
    assert [(f.code, f.file) for f in records.published.findings] == [(Code.CLASS_UNKNOWN, "Odd/p3.png")]
    for number, name in enumerate(("Benign", "InSitu")):
        record = records.record(number)
        assert record["tasks"]["classification"] == {
            "schema_variant": "multiclass", "class_names": {"0": "Benign", "1": "InSitu"}, "label": number, "label_name": name,
        }  # fmt: skip
        assert (record["tasks"]["segmentation"], record["tasks"]["detection"]) == ({}, {})
        extra = record["context"]["sample"]["extra"]
        assert (extra["label_text"], extra["class_name"], extra["map_type"], extra["stain"]) == (name, name, "label", name)
        assert extra["sample_dir"] == name
        assert record["context"]["sample"]["subject_id"] == "NA"
        assert record_violations(record) == []
    assert records.meta()["num_classes_per_task"] == {"classification": {"num_classes": 2}}
    assert (records.meta()["data_volume"]["total"], records.meta()["data_volume"]["label"]) == (3, 2)
    odd = records.record(2)
    assert odd["tasks"]["classification"] == {
        "schema_variant": "multiclass", "class_names": {"0": "Benign", "1": "InSitu"}, "label": None, "label_name": None,
        "reason_absent": "the dataset tells no class of this image",
    }  # fmt: skip
    assert odd["context"]["sample"]["extra"]["label_text"] is None
    assert record_violations(odd) == []


def test_classes_that_nothing_tells_are_null_and_the_spec_says_why(tmp_path: Path) -> None:
    spec = classified(tmp_path / "raw" / "made_up")
    untold = spec.model_dump() | {"classes": {"names": ["InSitu", "Benign"], "untold": "a table that is not published"}}
    records = publish(spec.__class__.model_validate(untold), tmp_path)
    assert records.published.findings == ()
    assert {records.record(n)["tasks"]["classification"]["reason_absent"] for n in range(3)} == {"a table that is not published"}
    assert records.meta()["label_presence"] == "unlabeled"


def test_boxes_of_pictures_are_those_of_the_table_cut_at_the_edge(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    for name in ("p0", "p1"):
        write_picture(raw / f"{name}.png", np.arange(600, dtype=np.uint16).reshape(20, 30).astype(np.uint8))
    (raw / "boxes.csv").write_text(
        "file,x0,y0,x1,y1,what\np0.png,1,2,5.5,7,cell\np0.png,25,10,99,15,nucleus\np0.png,50,1,60,9,cell\n"
    )
    layout = {"subject": r"p\d", "series": {"photo": "{subject}.png"}}
    objects = {"file": "boxes.csv", "key": "file", "match": "{name}", "corners": ["x0", "y0", "x1", "y1"], "label": "what"}
    mds = {
        "task": "detection", "variant": "2d", "dimension": "2D", "modality": "Microscopy", "classes": ["nucleus", "cell"],
        "files": {"bbox_file": "data/boxes.csv"},
    }  # fmt: skip
    spec = spec_of(layout, mds, labels={1: "cell", 2: "nucleus"}, objects=objects, modality="Microscopy")
    records = publish(spec, tmp_path)
    assert records.record(0)["tasks"]["detection"] == {
        "schema_variant": "2d",
        "class_names": {"0": "nucleus", "1": "cell"},
        "boxes2d": [
            {"category_id": 1, "bbox_xyxy_px": [1.0, 2.0, 5.5, 7.0]},
            {"category_id": 0, "bbox_xyxy_px": [25.0, 10.0, 30.0, 15.0]},
        ],
    }
    extra = records.record(0)["context"]["sample"]["extra"]
    assert (extra["label_text"], extra["bbox_file"], extra["map_type"]) == ("nucleus|cell", "data/boxes.csv", "bbox")
    nothing = records.record(1)
    assert nothing["tasks"]["detection"]["boxes2d"] == []
    assert [nothing["context"]["sample"]["extra"][k] for k in ("label_text", "class_name", "bbox_file")] == [None] * 3
    assert record_violations(nothing) == []
    assert records.meta()["num_classes_per_task"]["detection"] == {"type": "multi-class", "num_classes": 2}


@pytest.mark.parametrize(("code", "box"), [("LPS", [2, 3, 5, 9]), ("RPS", [15, 3, 18, 9]), ("RAS", [15, 15, 18, 21])])
def test_boxes_on_a_slice_in_a_patient_turn_with_it(tmp_path: Path, code: str, box: list[int]) -> None:
    raw = tmp_path / "raw" / "made_up"
    values = np.arange(20 * 24, dtype=np.int16).reshape(20, 24, 1)
    write_nifti(raw / "s00.nii.gz", values, np.diag([1.0, 1.0, 3.0, 1.0]), code)
    (raw / "boxes.csv").write_text("x0,y0,x1,y1\n2,3,5,9\n")  # columns and rows of the array as it is stored
    layout = {"subject": r"s\d\d", "series": {"ct": "{subject}.nii.gz"}}
    objects = {"file": "boxes.csv", "corners": ["x0", "y0", "x1", "y1"]}
    mds = {"task": "detection", "variant": "2d", "dimension": "2D", "classes": ["mass"]}
    records = publish(spec_of(layout, mds, labels={1: "mass"}, objects=objects), tmp_path)
    assert records.block(0)["grows"] == "LP"
    assert records.record(0)["tasks"]["detection"]["boxes2d"] == [{"category_id": 0, "bbox_xyxy_px": box}]


def test_image_and_mask_of_one_container_are_an_image_with_its_mask(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    raw.mkdir(parents=True)
    photo = np.random.default_rng(3).integers(0, 256, (7, 9, 3), np.uint8)
    np.savez(raw / "p0.npz", image=photo, label=(photo[..., 0] > 128).astype(np.uint8))
    layout = {
        "subject": r"p\d",
        "series": {"photo": {"path": "{subject}.npz", "key": "image", "axes": "yxc"}},
        "labels": {"seg": {"path": "{subject}.npz", "key": "label", "axes": "yx"}},
    }
    records = publish(spec_of(layout, PHOTO, labels={1: "vessel"}, modality="Dermoscopy"), tmp_path)
    assert records.block(0)["shows"] == "image"
    assert records.block(0)["locator"]["key"] == "image"
    assert np.array_equal(records.pixels(0), photo)
    (annotation,) = records.record(0)["tasks"]["segmentation"]["coco_2d"]["annotations"]
    assert np.array_equal(decoded(annotation), photo[..., 0] > 128)


@pytest.mark.parametrize("code", ["LPS", "SRA"])
def test_nodules_are_in_the_slice_through_the_largest_and_their_circles_on_the_picture(tmp_path: Path, code: str) -> None:
    raw = tmp_path / "raw" / "made_up"
    grid = Grid.centred((20, 24, 16), (2.0, 1.0, 3.0), (10, -20, 30))
    i, j, k = np.indices(grid.shape)
    write_nifti(raw / "s00.nii.gz", (i + j * k).astype(np.int16), grid.affine, code)
    # RAS+ (13.2, -18.5, 36.1) and a smaller one elsewhere; the table is in DICOM's frame
    (raw / "nodules.csv").write_text("uid,x,y,z,d\ns00,-13.2,18.5,36.1,9.0\ns00,-8,20,20,4\n")
    layout = {"subject": r"s\d\d", "series": {"ct": "{subject}.nii.gz"}}
    objects = {"file": "nodules.csv", "key": "uid", "match": "{subject}", "centre_lps_mm": ["x", "y", "z"], "diameter_mm": "d"}
    mds = {"task": "detection", "variant": "3d", "classes": ["nodule"]}
    records = publish(spec_of(layout, mds, labels={1: "nodule"}, objects=objects), tmp_path)
    index = round((36.1 - 30) / 3 + 7.5)
    assert records.block(0)["locator"]["index"] == index
    boxes = records.record(0)["tasks"]["detection"]["boxes3d"]
    assert boxes[0]["center_world_mm"] == pytest.approx([13.2, -18.5, 36.1])
    assert (boxes[0]["size_mm"], boxes[0]["world"]) == ([9.0] * 3, "RAS+")
    away = (index - 7.5) * 3 + 30 - 36.1
    radius = (4.5**2 - away**2) ** 0.5
    width, height = records.block(0)["size_px"]
    assert (width, height) == (40, 24)
    x, y = width / 2 - (13.2 - 10), height / 2 - (-18.5 + 20)  # edges, 1 mm pixels, right on the left, front up
    assert boxes[0]["bbox_xyxy_px"] == pytest.approx([x - radius, y - radius, x + radius, y + radius], abs=1e-4)
    assert "bbox_xyxy_px" not in boxes[1]


def test_a_target_that_is_one_file_of_a_series_shows_that_slice(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    sagittal = (0.0, 1.0, 0.0, 0.0, 0.0, -1.0)  # columns to the back, rows to the foot
    for n, number in enumerate((3, 0, 4, 1, 2)):  # names in another order than heights
        pixels = ramp(number) + np.uint16(1000 * number)
        write(raw / "p1" / f"1-{n}.dcm", slice_of(pixels, (1, 2, 3.0 * number), number=n))
        turned = slice_of(pixels, (3.0 * number, 2, 9), number=n, series=2, ImageOrientationPatient=list(sagittal))
        write(raw / "p2" / f"1-{n}.dcm", turned)
    (raw / "random.txt").write_text("".join(f"{n} {THERE}/data/{name}\n" for n, name in enumerate(("p1/1-0.dcm", "p2/1-2.dcm"))))
    layout = {"subject": r"p\d", "series": {"ct": {"dicom": "{subject}/*.dcm"}}}
    mds = {"variant": "2d_coco", "dimension": "2D", "classes": ["x"]}
    records = publish(spec_of(layout, mds), tmp_path)
    assert records.published.findings == ()
    for n, (number, plane, axis) in enumerate(((3, "axial", 2), (4, "sagittal", 0))):
        locator = records.block(n)["locator"]
        assert (locator["plane"], locator["axis"], locator["reason"]) == (plane, axis, "the file that is the target")
        volume = open_volume((records.folder / records.block(n)["zarr"]).resolve())
        assert volume.slice(axis, locator["index"]).min() == 256 * number + 1000 * number
        assert "in_file" not in locator
    assert records.record(1)["context"]["sample"]["extra"]["source_file"] == "data/p2/1-2.dcm"


def test_a_quarantined_target_is_told_and_the_others_keep_their_indices(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    write_phantoms(raw, ["LPS", "RAS", "LAS"])
    content = (raw / "s01.nii.gz").read_bytes()
    (raw / "s01.nii.gz").write_bytes(content[: len(content) // 2])
    records = publish(spec_of(VOLUMES, {}, labels=LABELS), tmp_path)
    assert records.published.indices == (0, 2)
    assert records.record(2)["record"]["image_path"] == "images/2.png"
    (failed,) = records.published.verdict.failed
    assert (failed.severity, failed.detail) == ("warning", "1 of 3 targets have no record; the findings say why")
    (told,) = records.published.findings
    assert "target 1 has no record: nothing of subject s01 is published: quarantined" in told.detail
    assert records.meta()["data_volume"]["total"] == records.meta()["valid_image_n"]["total"] == 2
    assert not (records.folder / "images" / "1.png").exists()


def test_a_second_run_changes_nothing_and_a_changed_block_or_list_makes_them_anew(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    write_phantoms(raw, ["LPS", "RAS"])
    records = publish(spec_of(VOLUMES, {}, labels=LABELS), tmp_path)
    before = {p: p.stat().st_mtime_ns for p in records.folder.rglob("*")}
    again = publish(records.dataset.spec, tmp_path)
    assert again.published.unchanged
    assert (again.published.indices, again.published.findings) == (records.published.indices, records.published.findings)
    assert {p: p.stat().st_mtime_ns for p in records.folder.rglob("*")} == before
    key = records_key(records.dataset, records.dataset.spec.mds)  # type: ignore[arg-type]
    other = publish(spec_of(VOLUMES, {"name": "Other"}, labels=LABELS), tmp_path)
    assert not other.published.unchanged
    assert other.record(0)["record"]["dataset_name"] == "Other"
    (raw / "random.txt").write_text(f"4 {THERE}/data/s01.nii.gz\n")
    listed = publish(spec_of(VOLUMES, {}, labels=LABELS), tmp_path)
    assert listed.published.indices == (4,)
    assert sorted(listed.files()) == ["data_meta.json", "images/4.png", "standardized_annotations/4.json"]
    assert records_key(listed.dataset, listed.dataset.spec.mds) != key  # type: ignore[arg-type]
    assert list(listed.dataset.store.verify()) == []
    assert listed.dataset.store.clean() == []


def pictures(raw: Path, *names: str) -> None:
    for number, name in enumerate(names):
        write_picture(raw / name, np.random.default_rng(number).integers(0, 256, (8, 9, 3), np.uint8))


MANY_KINDS = {"subject": r"\w+", "series": {"eye": "data/{subject}.png"}, "ignore": {"data/fields/*.png": "where an eye is seen"}}
ONE_PICTURE = {"variant": "2d_coco", "dimension": "2D", "modality": "Ophthalmic", "classes": ["x"]}


def test_samples_of_one_set_may_be_of_several_modalities(tmp_path: Path) -> None:
    pictures(tmp_path / "raw" / "made_up", "data/OCT_1.png", "data/photo_1.png", "data/x.png")
    modalities = {"OCT": r".*/OCT_\d\.png", "Fundus": r"data/(?:OCT|photo).*"}
    records = publish(spec_of(MANY_KINDS, {**ONE_PICTURE, "modalities": modalities}), tmp_path)
    told = [records.record(n)["context"]["sample"]["modality_primary"] for n in range(3)]
    assert told == ["OCT", "Fundus", "Ophthalmic"]
    assert records.meta()["modality_primary"] == ["Ophthalmic"]


def test_files_that_only_their_order_joins_are_named_by_it(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    pictures(raw, "data/e1.png", "data/e2.png", "data/e10.png", *(f"data/fields/f_{name}.png" for name in ("02L", "01R", "01L")))
    files = {"mask_file": "order:fields/f_*.png", "seg_file": "order:data/fields/*.png"}
    records = publish(spec_of(MANY_KINDS, {**ONE_PICTURE, "files": files}), tmp_path)
    named = {}
    for n in range(3):
        extra = records.record(n)["context"]["sample"]["extra"]
        named[extra["source_file"]] = (extra["mask_file"], extra["seg_file"])
    assert named == {
        "data/e1.png": ("fields/f_01L.png", "data/fields/f_01L.png"),
        "data/e10.png": ("fields/f_01R.png", "data/fields/f_01R.png"),
        "data/e2.png": ("fields/f_02L.png", "data/fields/f_02L.png"),
    }
    (raw / "data/fields/f_01L.png").unlink()  # which belong together cannot be told any more
    fewer = publish(records.dataset.spec, tmp_path)
    assert {fewer.record(n)["context"]["sample"]["extra"]["mask_file"] for n in range(3)} == {None}


def test_a_picture_in_a_table_says_its_row(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    pictures(tmp_path, "b.png", "a.png")
    rows = [{"bytes": (tmp_path / name).read_bytes(), "path": name} for name in ("b.png", "a.png")]
    raw.mkdir(parents=True)
    pl.DataFrame({"image": rows}).write_parquet(raw / "t.parquet")
    layout = {"subject": "[a-z]", "rows": {"t.parquet": "image"}, "series": {"eye": "t.parquet/image/*/{subject}.png"}}
    records = publish(spec_of(layout, ONE_PICTURE), tmp_path)
    for number, name in enumerate(("b.png", "a.png")):
        locator = records.block(number)["locator"]
        assert (locator["kind"], locator["column"], locator["row"]) == ("file", "image", number)
        assert "file" not in locator
        with Image.open(tmp_path / name) as picture:
            assert np.array_equal(records.pixels(number), np.asarray(picture))


def test_made_up_data_are_called_so(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    write_phantoms(raw, ["LPS"])
    (raw / "SYNTHETIC.json").write_text("{}")
    records = publish(spec_of(VOLUMES, {}, labels=LABELS), tmp_path)
    assert records.record(0)["context"]["sample"]["extra"]["synthetic"] is True
    assert records.meta()["synthetic"] is True


def test_records_that_do_not_hold_are_not_put_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_phantoms(tmp_path / "raw" / "made_up", ["LPS"])
    good = publish(spec_of(VOLUMES, {}, labels=LABELS), tmp_path)
    before = good.files()
    monkeypatch.setattr("assets.mds.record._no_text", lambda: "no object")
    spec = spec_of(VOLUMES, {"name": "Other"}, labels=LABELS)
    assert spec.mds is not None
    done = publish_records(good.dataset.__class__(spec, good.dataset.layout), spec.mds, GreatExpectationsGates().records)
    assert not done.verdict.passed
    assert "context/text" in " ".join(c.detail for c in done.verdict.failed)
    assert good.files() == before


def test_when_the_tables_are_made_anew_older_records_go(tmp_path: Path) -> None:
    raw = tmp_path / "raw" / "made_up"
    write_phantoms(raw, ["LPS"])
    records = publish(spec_of(VOLUMES, {}, labels=LABELS), tmp_path)
    write_phantoms(raw, ["LPS", "RAS"])
    index(records.dataset)
    assert not records.folder.exists()
    assert publish(records.dataset.spec, tmp_path).published.indices == (0, 1)


@pytest.mark.slow
def test_two_processes_with_other_hash_seeds_write_the_same_bytes(tmp_path: Path) -> None:
    made = {}
    for seed in ("1", "2"):
        root = tmp_path / seed
        write_phantoms(root / "raw" / "made_up", ["LPS", "SAR"])
        code = (
            "import pathlib, sys; from tests.mds.made import publish, spec_of; from tests.mds import test_records; "
            "publish(spec_of(test_records.VOLUMES, {}, labels=test_records.LABELS, lesions=[2]), pathlib.Path(sys.argv[1]))"
        )
        repository = Path(__file__).resolve().parents[2]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, str(root)], cwd=repository, env=environment, check=True, timeout=300)
        folder = root / "products" / "made_up" / "records"
        made[seed] = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert made["1"] == made["2"]
    assert len(made["1"]) == 5
