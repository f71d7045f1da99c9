"""The shared trouble cases through the real chain: raw folder in, Dagster assets materialized, products read by the store.

Every expected number and word comes from the cases' own `expected.json`. Where a case may be measured or refused, this
product refuses; what it says of each case is written down in `SAID`, and nothing else may be said.
"""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from resources.findings import Code
from tests.chain.checks import (
    check_boxes,
    check_counts,
    check_image,
    check_label,
    check_ledger,
    check_refusal,
    check_spacing,
    counts,
    rectangles,
)
from tests.chain.conftest import RunGroup
from tests.chain.groups import CHANNELS, GROUPS, KINDS, Cases
from tests.chain.product import Product, run_chain, spec_of

OK = ("value", "value_with_warning", "absent")

SAID: dict[str, set[Code]] = {
    "sform_without_scale": {Code.FORMS_DISAGREE},
    "both_codes_zero": {Code.ORIENTATION_UNKNOWN},
    "pixdim_zero": {Code.PIXDIM_IGNORED},
    "identity_affine_suspicious": {Code.IDENTITY_AFFINE},
    "rounding_shear": {Code.SHEAR},
    "gantry_tilt_15": {Code.SHEAR},
    "micron": {Code.UNITS_CONVERTED},
    "metre": {Code.UNITS_CONVERTED},
    "unknown": {Code.UNITS_UNKNOWN},
    "one_slice_short": {Code.GRID_MISMATCH},
    "label_identity_affine": {Code.GRID_MISMATCH, Code.IDENTITY_AFFINE},
    "no_overlap": {Code.GRID_MISMATCH},
    "label_of_other_scan": {Code.GRID_MISMATCH},
    "half_voxel": {Code.GRID_MISMATCH},
    "cropped_same_grid": {Code.GRID_MISMATCH},
    "interpolated": {Code.NOT_WHOLE_LABELS},
    "unexpected_id": {Code.UNKNOWN_LABEL},
    "image_in_label_folder": {Code.UNKNOWN_LABEL},
    "negative_ignore": {Code.UNKNOWN_LABEL},
    "slope_zero_inter_set": {Code.SLOPE_IGNORED},
    "empty": {Code.EMPTY_MASK},
    "one_voxel": {Code.LESION_WITHOUT_AXES},
    "line": {Code.LESION_WITHOUT_AXES},
    "cut_by_border": {Code.LESION_AT_BORDER},
    "time_series": {Code.UNEXPECTED_DIMENSIONS},
    "rgb24": {Code.UNSUPPORTED_DATA},
    # A disc of one slice is a line in the planes across it, and the ends of an ellipsoid are.
    **{id_: {Code.LESION_WITHOUT_AXES} for id_ in GROUPS["ellipses"].ids},
}
"""What is said of a case; of any other, nothing."""

REFUSED = {
    *(("forms", id_) for id_ in ("both_codes_zero",)),
    *(("shear", id_) for id_ in ("gantry_tilt_15",)),
    *(("geometry", id_) for id_ in GROUPS["geometry"].ids if id_ not in ("float_jitter", "other_axis_order")),
    *(("label_values", id_) for id_ in ("interpolated", "unexpected_id", "image_in_label_folder", "negative_ignore")),
    *(("dims", id_) for id_ in ("time_series", "rgb24")),
}

ALL = [(name, id_) for name, group in GROUPS.items() for id_ in group.ids]
MEASURED = [pair for pair in ALL if pair not in REFUSED]


def case_of(cases: Cases, group: str, id_: str) -> dict[str, Any]:
    return cases.kinds[GROUPS[group].kind][id_]


def test_every_case_is_tested(cases: Cases) -> None:
    run = {(GROUPS[group].kind, id_) for group, id_ in ALL}
    elsewhere = {(kind, id_) for kind in ("corrupt_files", "junk_files", "zarr_half_written") for id_ in cases.kinds[kind]}
    assert {(kind, id_) for kind in KINDS for id_ in cases.kinds[kind]} == run | elsewhere


@pytest.mark.parametrize("group", GROUPS)
def test_every_raw_file_is_accounted_for(run_group: RunGroup, group: str) -> None:
    check_ledger(run_group(group), GROUPS[group].ids)


@pytest.mark.parametrize(("group", "id_"), [pair for pair in ALL if pair != ("stated", "both_codes_zero")])
def test_outcome_and_what_is_said(cases: Cases, run_group: RunGroup, group: str, id_: str) -> None:
    product, case = run_group(group), case_of(cases, group, id_)
    findings = product.findings(id_)
    assert {f["code"] for f in findings} == {str(code) for code in SAID.get(id_, set())}
    assert {f["file"] for f in findings} <= set(GROUPS[group].inputs(case))
    if case["outcome"] not in OK:
        assert (group, id_) in REFUSED
        check_refusal(product, id_, case["error_must_mention_one_of"])
        return
    assert product.state(id_) == "used"
    if case["outcome"] == "value_with_warning":
        assert "warning" in {f["severity"] for f in findings}
    elif group != "ellipses":
        assert {f["severity"] for f in findings} <= {"info"}


@pytest.mark.parametrize(("group", "id_"), MEASURED)
def test_stated_values(cases: Cases, run_group: RunGroup, group: str, id_: str) -> None:
    product, facts = run_group(group), case_of(cases, group, id_)["expect"]
    if "shape_ras" in facts:
        for channel, series in enumerate(facts.get("channels", ["img"])):
            check_image(product, id_, facts, series=series, channel=channel)
    label = facts.get("label", facts)
    if "centroid_world_ras_mm" in label:
        check_label(product, id_, label, series=CHANNELS[0] if group == "channels" else "img")
    if "counts" in facts:
        check_counts(product, id_, {int(n): count for n, count in facts["counts"].items()})


def test_one_image_in_every_orientation_and_format_is_one_group_of_the_splits(run_group: RunGroup) -> None:
    product = run_group("orientations")
    alike = [id_ for id_ in GROUPS["orientations"].ids if id_ != "oblique"]
    assert set(alike) <= set(product.tables["findings"].filter(code=Code.SAME_IMAGE_TWICE.value)["subject"])
    splits = product.dataset.store.read_table("splits").filter(pl.col("subject").is_in(alike))
    assert splits.height == len(alike)
    assert splits["group"].n_unique() == splits["split"].n_unique() == 1


def test_a_stated_orientation_makes_an_unoriented_file_usable_and_flagged(cases: Cases, run_group: RunGroup) -> None:
    product, facts = run_group("stated"), case_of(cases, "stated", "both_codes_zero")["expect"]
    assert product.state("both_codes_zero") == "used"
    row = product.row("both_codes_zero", "image")
    assert row["source_orientation"] == "LPS"
    # In an axis order of LPS the stored and the RAS+ spacing are the same.
    check_spacing(product.image("both_codes_zero"), row, facts["spacing_mm_in_stored_axis_order"])
    check_label(product, "both_codes_zero", {key: facts[key] for key in ("voxel_count", "volume_mm3")})
    findings = product.findings("both_codes_zero")
    assert {f["file"] for f in findings} == {f"both_codes_zero/{n}" for n in ("image/zero_img.nii.gz", "label/zero_seg.nii.gz")}
    assert all(facts["must_flag"] in f["detail"] and f["severity"] == "warning" for f in findings)


def test_two_file_nifti_is_one_image_of_two_raw_files(run_group: RunGroup) -> None:
    product = run_group("pair")
    assert product.row("hdr_img_pair", "image")["source_paths"] == [
        f"hdr_img_pair/image/pair_img.{end}" for end in ("hdr", "img")
    ]
    assert product.rows("raw", "hdr_img_pair")["role"].to_list() == ["image", "companion"]


def test_channels_keep_their_names_and_share_the_label_map(cases: Cases, run_group: RunGroup) -> None:
    product, facts = run_group("channels"), case_of(cases, "channels", "four_channels")["expect"]
    images = product.rows("volumes", "four_channels").filter(kind="image")
    assert images["series"].to_list() == facts["channels"] == list(CHANNELS)
    (sidecar,) = product.tables["ledger"].filter(pl.col("name").str.ends_with(".json")).to_dicts()
    assert (sidecar["state"], sidecar["reason"]) == ("ignored", "names of the channels; they stand in the spec")


def test_two_dimensional_image_is_one_axial_slice(cases: Cases, run_group: RunGroup) -> None:
    product, facts = run_group("dims"), case_of(cases, "dims", "two_d")["expect"]
    np.testing.assert_allclose(product.row("two_d", "image")["spacing_mm"][:2], facts["spacing_in_plane_mm"], atol=1e-6)
    box = [*facts["label"]["box_index_inclusive_ras"], [0, 0]]
    check_boxes(product, "two_d", 1, [box], axes=[2])
    (size,) = product.rows("mask_sizes", "two_d").to_dicts()
    assert (size["plane"], size["slice"], size["pixel_count"]) == ("axial", 0, facts["label"]["voxel_count"])
    assert size["area_mm2"] == pytest.approx(facts["label"]["area_mm2"], rel=1e-6)


def test_empty_mask_keeps_the_subject_and_has_no_rows(cases: Cases, run_group: RunGroup) -> None:
    product = run_group("lesions")
    assert case_of(cases, "lesions", "empty")["expect"] == {"lesions": 0, "voxel_count": 0}
    assert counts(product, "empty") == {}
    assert not product.labels("empty").voxels().any()
    for table in ("boxes", "mask_sizes", "lesion_sizes"):
        assert product.rows(table, "empty").is_empty()
    assert product.rows("splits", "empty").height == 1


@pytest.mark.parametrize("id_", ["one_voxel", "line"])
def test_lesion_too_small_for_axes_has_boxes_and_null_axes(cases: Cases, run_group: RunGroup, id_: str) -> None:
    product = run_group("lesions")
    rows = product.rows("lesion_sizes", id_)
    keys = ["plane", "slice", "component", "pixel_count"]
    assert rows.select(keys).equals(product.rows("boxes", id_).select(keys))
    for column in ("major_mm", "minor_mm", "angle_deg"):
        assert rows[column].null_count() == rows.height
    assert not rows["reliable"].any()


def test_two_lesions_have_boxes_of_their_own(cases: Cases, run_group: RunGroup) -> None:
    product, facts = run_group("lesions"), case_of(cases, "lesions", "two_lesions")["expect"]
    parts = facts["components"]
    check_boxes(product, "two_lesions", 1, [part["box_index_inclusive_ras"] for part in parts])
    assert counts(product, "two_lesions") == {1: facts["voxel_count"]}
    boxes = product.rows("boxes", "two_lesions")
    for part in parts:
        own = rectangles([part["box_index_inclusive_ras"]])
        mine = [(r["plane"], r["slice"], tuple(r["min_px"]), tuple(r["max_px"])) in own for r in boxes.iter_rows(named=True)]
        assert boxes.filter(mine).filter(plane="axial")["pixel_count"].sum() == part["voxel_count"]
    assert product.rows("lesion_sizes", "two_lesions").height == boxes.height


def test_blocks_that_touch_at_a_corner_share_no_slice(cases: Cases, run_group: RunGroup) -> None:
    product, facts = run_group("lesions"), case_of(cases, "lesions", "corner_touch")["expect"]
    boxes = product.rows("boxes", "corner_touch")
    assert boxes["n_components"].unique().to_list() == [1]
    for plane, per_slice, slices in (("axial", 9, 4), ("coronal", 6, 6), ("sagittal", 6, 6)):
        rows = boxes.filter(plane=plane)
        assert rows["pixel_count"].to_list() == [per_slice] * slices
        assert per_slice * slices == facts["voxel_count"]
    sizes = product.rows("lesion_sizes", "corner_touch")
    # A rectangle of n pixels along an axis has the variance (n * spacing)^2 / 12 there.
    sides = {"axial": (1.5, 1.5), "coronal": (4.0, 1.5), "sagittal": (4.0, 1.5)}
    for row in sizes.iter_rows(named=True):
        expected = [4 * side / math.sqrt(12) for side in sides[row["plane"]]]
        assert [row["major_mm"], row["minor_mm"]] == pytest.approx(expected)


def test_lesion_cut_by_the_border_is_flagged_along_its_axes(cases: Cases, run_group: RunGroup) -> None:
    product, facts = run_group("lesions"), case_of(cases, "lesions", "cut_by_border")["expect"]
    (said,) = product.findings("cut_by_border")
    cut = ", ".join("ijk"[axis] for axis in facts["touches_border_axes"])
    assert f"along {cut}:" in said["detail"]
    for table in ("boxes", "lesion_sizes"):
        touching = product.rows(table, "cut_by_border").group_by("plane").agg(pl.col("touches_border").all())
        assert dict(touching.iter_rows()) == {"axial": True, "coronal": True, "sagittal": True}


def _lesion(product: Product, id_: str, plane: str, index: int) -> dict[str, Any]:
    (row,) = product.rows("lesion_sizes", id_).filter(pl.col("slice") == index, pl.col("plane") == plane).to_dicts()
    return row


def _area(product: Product, id_: str, plane: str, index: int) -> float:
    (area,) = product.rows("mask_sizes", id_).filter(pl.col("slice") == index, pl.col("plane") == plane)["area_mm2"]
    return float(area)


@pytest.mark.parametrize("id_", ["ellipse_0deg", "ellipse_30deg", "ellipse_60deg", "ellipse_90deg", "ring"])
def test_ellipse_sizes_with_unequal_spacing(cases: Cases, run_group: RunGroup, id_: str) -> None:
    product, case = run_group("ellipses"), case_of(cases, "ellipses", id_)
    facts, index = case["expect"], case["inputs"]["slice_k"]
    row = _lesion(product, id_, "axial", index)
    assert row["reliable"]
    assert row["has_holes"] == (id_ == "ring")
    assert [row["major_mm"], row["minor_mm"]] == pytest.approx([facts["major_mm"], facts["minor_mm"]], abs=facts["tolerance_mm"])
    area = facts.get("area_mm2") or facts["area_of_mask_mm2"]
    assert _area(product, id_, "axial", index) == pytest.approx(area, rel=facts["tolerance_area_rel"])
    if "angle_deg_from_x_mod_180" in facts:
        turn = (row["angle_deg"] - facts["angle_deg_from_x_mod_180"] + 90) % 180 - 90
        assert abs(turn) < 2.0


def test_rectangle_has_the_moments_of_a_rectangle(cases: Cases, run_group: RunGroup) -> None:
    product, case = run_group("ellipses"), case_of(cases, "ellipses", "rectangle")
    facts, index = case["expect"], case["inputs"]["slice_k"]
    row = _lesion(product, "rectangle", "axial", index)
    assert [row["major_mm"], row["minor_mm"]] == pytest.approx(facts["moment_ellipse_mm"], abs=1e-3)
    boxes = product.rows("boxes", "rectangle").filter(plane="axial")
    assert boxes["slice"].to_list() == [index]
    assert boxes["size_mm"].to_list() == [pytest.approx(facts["size_mm_edge_to_edge"])]


def test_largest_slices_of_an_ellipsoid(cases: Cases, run_group: RunGroup) -> None:
    product, facts = run_group("ellipses"), case_of(cases, "ellipses", "largest_slice")["expect"]
    shape, spacing = product.row("largest_slice", "labels")["shape_ijk"], product.row("largest_slice", "labels")["spacing_mm"]
    middle = {"sagittal": shape[0] // 2, "coronal": shape[1] // 2, "axial": facts["largest_axial_slice_k"]}
    sizes = product.rows("mask_sizes", "largest_slice")
    largest = sizes.filter(plane="axial").sort("area_mm2", descending=True)
    assert largest["slice"][0] == facts["largest_axial_slice_k"]
    for plane, tolerance in zip(("axial", "coronal", "sagittal"), facts["tolerance_mm"], strict=True):
        row = _lesion(product, "largest_slice", plane, middle[plane])
        assert [row["major_mm"], row["minor_mm"]] == pytest.approx(facts[f"{plane}_mm"], abs=tolerance)
    volume = sizes.filter(plane="axial")["area_mm2"].sum() * spacing[2]
    assert volume == pytest.approx(facts["volume_mm3"], rel=facts["tolerance_volume_rel"])


@pytest.fixture(scope="module")
def corrupt(cases: Cases, tmp_path_factory: pytest.TempPathFactory) -> Product:
    root = tmp_path_factory.mktemp("corrupt")
    shutil.copytree(cases.folder / "corrupt_files", root / "raw" / "corrupt")
    layout = {
        "subject": r"s\d\d",
        "series": {"img": "imgs/{subject}.*"},
        "labels": {"seg": "segs/{subject}.nii.gz"},
    }
    return run_chain(spec_of("corrupt", layout, {1: "organ"}), root)


def test_bad_files_are_refused_one_by_one_and_the_good_ones_delivered(cases: Cases, corrupt: Product) -> None:
    facts = cases.kinds["corrupt_files"]["dataset_run"]["expect"]
    good, bad = facts["subjects_ok"], facts["subjects_failed"]
    assert len(good) + len(bad) == facts["subjects_total"]
    check_ledger(corrupt, [*good, *bad])
    for subject in good:
        assert corrupt.state(subject) == "used"
        check_image(corrupt, subject, facts["ok_each"])
        check_label(corrupt, subject, facts["ok_each"]["label"])
    for subject, about in bad.items():
        assert corrupt.state(subject) == "quarantined"
        errors = [f for f in corrupt.findings(subject) if f["severity"] == "error"]
        assert any(word.lower() in f["detail"].lower() for f in errors for word in about), (subject, errors)
        assert all(subject in f["file"] for f in errors)
        assert not any(subject in path for path in corrupt.files() if not path.startswith("manifest/"))


def test_wrong_endings_are_warnings_and_an_absent_label_names_its_place(corrupt: Product) -> None:
    assert {(f["code"], f["severity"], f["file"]) for s in ("s01", "s08", "s09") for f in corrupt.findings(s)} == {
        ("wrong-extension", "warning", "imgs/s08.nii"),
        ("wrong-extension", "warning", "imgs/s09.nii.gz"),
    }
    (said,) = corrupt.findings("s11")
    assert (said["code"], said["file"]) == ("missing-labels", "segs/s11.nii.gz")


@pytest.fixture(scope="module")
def junk(cases: Cases, tmp_path_factory: pytest.TempPathFactory) -> Product:
    root = tmp_path_factory.mktemp("junk")
    shutil.copytree(cases.folder / "junk_files", root / "raw" / "junk")
    layout = {
        "subject": r"case_\d+",
        "series": {"img": "imagesTr/{subject}.nii.gz"},
        "labels": {"seg": "labelsTr/{subject}.nii.gz"},
        "ignore": {"imagesTs/**": "no labels published", "dataset.json": "the list of subjects is taken from it"},
        "listing": {"file": "dataset.json", "each": "training[].image"},
    }
    return run_chain(spec_of("junk", layout, {1: "organ"}), root)


def test_junk_is_set_aside_with_reasons_and_no_subject_is_invented(cases: Cases, junk: Product) -> None:
    facts = cases.kinds["junk_files"]["discover"]["expect"]
    check_ledger(junk, facts["train_subjects"])
    files = junk.tables["ledger"].filter(kind="file")
    assert files.filter(state="used").height == 2 * len(facts["train_subjects"])
    assert files.filter(state="unclaimed").is_empty()
    ignored = files.filter(state="ignored")
    (test,) = facts["test_subjects"]
    copies = [copy for _, copy in facts["exact_copies"]]
    known = {f"imagesTs/{test}.nii.gz", "dataset.json", *copies}
    partial = [name for name in ignored["name"] if name.endswith((".part", ".crdownload"))]
    assert len(set(ignored["name"]) - known - set(partial)) == facts["ignored_files"]


def test_junk_worth_knowing_is_a_finding(cases: Cases, junk: Product) -> None:
    facts = cases.kinds["junk_files"]["discover"]["expect"]
    found = junk.tables["findings"].to_dicts()
    of = {code: [f for f in found if f["code"] == code] for code in {f["code"] for f in found}}
    assert set(of) == {"incomplete-download", "exact-copy", "listed-but-absent", "same-image"}
    assert [Path(f["file"]).name.split(".")[0] for f in of["incomplete-download"]] == facts["incomplete_downloads"]
    assert [[f["detail"].removeprefix("a copy of "), f["file"]] for f in of["exact-copy"]] == facts["exact_copies"]
    (absent,) = of["listed-but-absent"]
    assert absent["file"] == "dataset.json"
    assert absent["detail"].endswith(": " + ", ".join(facts["missing_listed"]))
    assert all(f["severity"] == "warning" for code in ("incomplete-download", "listed-but-absent") for f in of[code])


def test_subjects_with_alike_names_stay_apart(junk: Product) -> None:
    paths = {s: junk.row(s, "image")["source_paths"] for s in ("case_1", "case_01", "case_10")}
    assert paths == {s: [f"imagesTr/{s}.nii.gz"] for s in paths}
