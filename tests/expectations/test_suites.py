"""Every suite holds of a correct table, and every one of its expectations fails of a table that is wrong in that way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import polars as pl
import pytest
from scipy.spatial.transform import Rotation

from assets.spec import DatasetSpec
from assets.tables import BOXES, LESION_SIZES, MASK_SIZES, RAW, SPLITS, VOLUMES, Schema
from expectations import boxes, lesion_sizes, mask_sizes, raw, splits, volumes
from expectations.engine import run_suite
from expectations.results import ExpectationResult, SuiteResult
from expectations.suite import COLUMNS_TYPE, Suite
from tests.expectations import tables as made
from tests.expectations.tables import A, B, C, edit

SPEC = made.spec()
NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class Case:
    """A table, its suite and view."""

    schema: Schema
    table: pl.DataFrame
    suite: Suite
    view: Callable[[pl.DataFrame], pl.DataFrame]

    def run(self, table: pl.DataFrame) -> SuiteResult:
        return run_suite(self.suite, self.view(table))


CASES = {
    "raw": Case(RAW, made.raw(), raw.suite(SPEC), raw.view),
    "volumes": Case(VOLUMES, made.volumes(), volumes.suite(SPEC), volumes.view),
    "boxes": Case(BOXES, made.boxes(), boxes.suite(SPEC), partial(boxes.view, volumes=made.volumes())),
    "mask_sizes": Case(
        MASK_SIZES,
        made.mask_sizes(),
        mask_sizes.suite(SPEC, with_boxes=True),
        partial(mask_sizes.view, volumes=made.volumes(), boxes=made.boxes()),
    ),
    "lesion_sizes": Case(
        LESION_SIZES, made.lesion_sizes(), lesion_sizes.suite(SPEC), partial(lesion_sizes.view, volumes=made.volumes())
    ),
    "splits": Case(SPLITS, made.splits(), splits.suite(SPEC), partial(splits.view, volumes=made.copied())),
}

IMAGE, LABELS = {"subject": B, "kind": "image"}, {"subject": B, "kind": "labels"}
AXIAL = {"subject": B, "plane": "axial", "slice": 5}
FILE = {"subject": B}


def affine(**entries: float) -> list[float]:
    """The correct affine with other entries, by place: `m03` is row 0, column 3."""
    values = list(map(float, made.AFFINE))
    for place, value in entries.items():
        values[4 * int(place[1]) + int(place[2])] = float(value)
    return values


Wrong = tuple[str, dict[str, Any], dict[str, Any], str]

WRONG: list[Wrong] = [
    # table, row, other values, the column whose expectation must fail
    ("raw", FILE, {"path": f"{A}/ct.nii.gz"}, "path"),
    ("raw", FILE, {"path": None}, "unset"),
    ("raw", FILE, {"state": "lost"}, "state"),
    ("raw", FILE, {"size": 0}, "used_size"),
    ("raw", FILE, {"size": None}, "unset"),
    ("raw", FILE, {"subject": "case_1"}, "used_subject"),
    ("raw", FILE, {"subject": B + "\n"}, "used_subject"),
    ("raw", FILE, {"subject": None}, "used_subject"),
    ("raw", FILE, {"state": "quarantined", "reason": " "}, "reason_length"),
    ("raw", FILE, {"state": "unclaimed", "reason": None}, "reason_length"),
    ("volumes", IMAGE, {"shape_ijk": (0, 30, 10)}, "shape_ijk_0"),
    ("volumes", IMAGE, {"shape_ijk": (20, 0, 10)}, "shape_ijk_1"),
    ("volumes", IMAGE, {"shape_ijk": (20, 30, 0)}, "shape_ijk_2"),
    ("volumes", IMAGE, {"spacing_mm": (0.05, 0.75, 3), "affine_ras_mm": affine(m00=0.05)}, "spacing_least_mm"),
    ("volumes", IMAGE, {"spacing_mm": (0.5, 0.75, 11), "affine_ras_mm": affine(m22=11)}, "spacing_most_mm"),
    ("volumes", IMAGE, {"spacing_mm": (0.5, 0.75 * (1 + 2e-6), 3)}, "spacing_error"),
    ("volumes", IMAGE, {"affine_ras_mm": affine(m03=NAN)}, "unset"),
    ("volumes", IMAGE, {"affine_ras_mm": affine(m13=INF)}, "unset"),
    ("volumes", IMAGE, {"affine_ras_mm": affine(m32=1)}, "last_row_error"),
    ("volumes", IMAGE, {"affine_ras_mm": affine(m00=-0.5)}, "ras_margin"),
    ("volumes", IMAGE, {"affine_ras_mm": affine(m00=0, m10=0.5, m11=0, m01=0.75)}, "ras_margin"),
    ("volumes", IMAGE, {"shear_deg": 1.0}, "shear_deg"),
    ("volumes", IMAGE, {"kind": "mask"}, "kind"),
    ("volumes", {"subject": B, "kind": "labels"}, {"kind": "image", "labels_name": None}, "labels_name"),
    ("volumes", IMAGE, {"min": 401.0}, "max"),
    ("volumes", IMAGE, {"mean": 400.1}, "mean_excess"),
    ("volumes", IMAGE, {"mean": -1000.1}, "mean_excess"),
    ("volumes", IMAGE, {"min": -1000.5}, "min"),
    ("volumes", IMAGE, {"max": 3000.5}, "max"),
    ("volumes", IMAGE, {"max": NAN}, "unset"),
    ("volumes", IMAGE, {"mean": None}, "unset"),
    ("volumes", IMAGE, {"n_nonfinite": 1}, "n_nonfinite"),
    ("volumes", IMAGE, {"n_nonfinite": None}, "unset"),
    ("volumes", IMAGE, {"space": "world"}, "space"),
    ("volumes", IMAGE, {"third_axis": "depth"}, "third_axis"),
    ("volumes", IMAGE, {"spacing_mm": (0.5, 0.75, None)}, "unset"),
    ("volumes", IMAGE, {"affine_ras_mm": None}, "unset"),
    ("volumes", LABELS, {"label_ids": [1, 3]}, "label_id_text"),
    ("volumes", LABELS, {"label_ids": [1, 12]}, "label_id_text"),
    ("volumes", LABELS, {"label_ids": None}, "unset"),
    ("volumes", LABELS, {"label_ids": [2, 2]}, "n_distinct_label_ids"),
    ("volumes", LABELS, {"label_voxels": [65]}, "n_label_voxels"),
    ("volumes", LABELS, {"label_voxels": [65, 0]}, "label_voxels_least"),
    ("volumes", LABELS, {"dtype": "int16"}, "labels_dtype"),
    ("volumes", LABELS, {"grid_offset_voxels": 0.001}, "grid_offset_voxels"),
    ("volumes", LABELS, {"grid_offset_voxels": None}, "unset"),
    ("volumes", IMAGE, {"source_sha256": ["0" * 63]}, "source_sha256_text"),
    ("volumes", IMAGE, {"source_sha256": []}, "source_sha256_text"),
    ("volumes", IMAGE, {"source_sha256": None}, "source_sha256_text"),
    ("volumes", IMAGE, {"source_sha256": ["0" * 64, None], "source_paths": ["x", "y"]}, "source_sha256_text"),
    ("volumes", IMAGE, {"source_paths": ["x", "y"]}, "n_source_sha256"),
    ("volumes", IMAGE, {"content_xxh128": "F" * 32}, "content_xxh128"),
    ("boxes", AXIAL, {"slice": 4}, "component"),
    ("boxes", AXIAL, {"plane": "picture"}, "wrong_plane"),
    ("boxes", AXIAL, {"plane": "oblique"}, "plane"),
    ("boxes", AXIAL, {"plane": "oblique"}, "unset"),
    ("boxes", AXIAL, {"series": "pet"}, "unset"),
    ("boxes", AXIAL, {"pixel_count": None}, "unset"),
    ("boxes", AXIAL, {"min_px": (None, 3)}, "unset"),
    ("boxes", AXIAL, {"slice": -1}, "slice"),
    ("boxes", AXIAL, {"slice": 10}, "extent_slice"),
    ("boxes", AXIAL, {"label_id": 3}, "label_key"),
    ("boxes", AXIAL, {"label": "organ"}, "label_key"),
    ("boxes", AXIAL, {"component": 0}, "component"),
    ("boxes", AXIAL, {"component": 2}, "n_components"),
    ("boxes", AXIAL, {"n_components": 2}, "n_rows"),
    ("boxes", AXIAL, {"min_px": (6, 3)}, "max_px_0"),
    ("boxes", AXIAL, {"max_px": (5, 2)}, "max_px_1"),
    ("boxes", AXIAL, {"min_px": (-1, 3)}, "n_outside"),
    ("boxes", AXIAL, {"max_px": (20, 7)}, "n_outside"),
    ("boxes", AXIAL, {"max_px": (5, 30)}, "n_outside"),
    ("boxes", AXIAL, {"size_px": (4, 4)}, "size_px_error"),
    ("boxes", AXIAL, {"size_mm": (2.0, 2.0)}, "size_mm_error"),
    ("boxes", AXIAL, {"size_mm": (NAN, 3.75)}, "unset"),
    ("boxes", AXIAL, {"touches_border": True}, "border_error"),
    ("boxes", AXIAL, {"pixel_count": 0}, "pixel_count"),
    ("boxes", AXIAL, {"pixel_count": 21}, "pixels_most"),
    ("boxes", AXIAL, {"pixel_count": 7}, "pixels_least"),
    ("mask_sizes", AXIAL, {"slice": 6}, "slice"),
    ("mask_sizes", AXIAL, {"plane": "picture"}, "wrong_plane"),
    ("mask_sizes", AXIAL, {"plane": "oblique"}, "plane"),
    ("mask_sizes", AXIAL, {"scan": "1"}, "unset"),
    ("mask_sizes", AXIAL, {"slice": -1}, "slice"),
    ("mask_sizes", AXIAL, {"slice": 10}, "extent_slice"),
    ("mask_sizes", AXIAL, {"label": "organ"}, "label_key"),
    ("mask_sizes", AXIAL, {"pixel_count": 0}, "pixel_count"),
    ("mask_sizes", AXIAL, {"n_components": 0}, "n_components"),
    ("mask_sizes", AXIAL, {"area_mm2": 7.6}, "area_error"),
    ("mask_sizes", AXIAL, {"area_mm2": None}, "unset"),
    ("mask_sizes", AXIAL, {"pixel_count": 19, "area_mm2": 19 * 0.375}, "boxes_pixel_count"),
    ("mask_sizes", AXIAL, {"n_components": 2}, "boxes_n_components"),
    ("lesion_sizes", AXIAL, {"slice": 4}, "component"),
    ("lesion_sizes", AXIAL, {"plane": "picture"}, "wrong_plane"),
    ("lesion_sizes", AXIAL, {"plane": "oblique"}, "plane"),
    ("lesion_sizes", AXIAL, {"scan": "1"}, "unset"),
    ("lesion_sizes", AXIAL, {"slice": -1}, "slice"),
    ("lesion_sizes", AXIAL, {"slice": 10}, "extent_slice"),
    ("lesion_sizes", AXIAL, {"label_id": 1, "label": "organ"}, "label_key"),
    ("lesion_sizes", AXIAL, {"component": 0}, "component"),
    ("lesion_sizes", AXIAL, {"component": 2}, "n_components"),
    ("lesion_sizes", AXIAL, {"pixel_count": 0}, "pixel_count"),
    ("lesion_sizes", AXIAL, {"centre_px": (19.5, 5.0)}, "centre_outside"),
    ("lesion_sizes", AXIAL, {"centre_px": (3.5, None)}, "unset"),
    ("lesion_sizes", AXIAL, {"minor_mm": None}, "axes"),
    ("lesion_sizes", AXIAL, {"angle_deg": None}, "axes"),
    ("lesion_sizes", AXIAL, {"angle_deg": NAN}, "unset"),
    ("lesion_sizes", AXIAL, {"major_px": None}, "axes"),
    ("lesion_sizes", {"subject": B, "component": 2}, {"reliable": True}, "reliable_without_axes"),
    ("lesion_sizes", AXIAL, {"minor_mm": 9.0}, "minor_mm"),
    ("lesion_sizes", AXIAL, {"minor_mm": 0.0}, "minor_mm"),
    ("lesion_sizes", AXIAL, {"angle_deg": 180.0}, "angle_deg"),
    ("lesion_sizes", AXIAL, {"angle_deg": -1.0}, "angle_deg"),
    ("lesion_sizes", AXIAL, {"major_mm": 50.0}, "largest_mm"),
    ("lesion_sizes", AXIAL, {"major_px": [[3.5, 3.0], [3.5, 7.0]]}, "major_error"),
    ("lesion_sizes", AXIAL, {"minor_px": [[2.0, 5.0], [5.0, 5.0]]}, "minor_error"),
    ("splits", FILE, {"subject": A}, "subject"),
    ("splits", FILE, {"group": A}, "n_other_splits"),
    ("splits", FILE, {"group": None}, "unset"),
    ("splits", FILE, {"split": "validation"}, "split"),
    ("splits", {"subject": C}, {"subject": C, "split": "test", "group": C}, "same_image_across"),
]


def failing(result: SuiteResult, column: str) -> list[ExpectationResult]:
    return [r for r in result.failed if column in r.columns]


@pytest.mark.parametrize("name", CASES)
def test_a_correct_table_passes(name: str) -> None:
    case = CASES[name]
    result = case.run(case.table)
    assert [r.message for r in result.failed] == []
    assert result.success
    assert result.n_rows == case.table.height
    assert result.findings_by_subject() == {}


@cache
def outcome(number: int) -> SuiteResult:
    """What becomes of the table that is wrong as `WRONG[number]` says."""
    name, row, values, _ = WRONG[number]
    return CASES[name].run(edit(CASES[name].table, CASES[name].schema, row, **values))


@pytest.mark.parametrize("number", range(len(WRONG)), ids=[f"{name}-{column}" for name, _, _, column in WRONG])
def test_a_wrong_value_fails_and_names_the_subject(number: int) -> None:
    name, _, values, column = WRONG[number]
    result = outcome(number)
    assert not result.success
    found = failing(result, column)
    assert found, [r.message for r in result.failed]
    assert all(r.n_unexpected >= 1 and not r.problem for r in found if not r.expectation.whole_table)
    subject = values.get("subject", B) or ""
    assert all(subject in r.subjects for r in found)
    if "subject" not in values and name != "splits" and values.get("path") is None:
        assert {s for r in result.failed for s in r.subjects} == {B}
    findings = result.findings_by_subject()[subject]
    assert any(r.expectation.sentence in f.detail for r in found for f in findings)


def test_every_expectation_has_a_wrong_table_that_fails_it() -> None:
    never = {(n, e.sentence) for n, case in CASES.items() for e in case.suite.expectations}
    never -= {(n, e.sentence) for n, case in CASES.items() for e in case.suite.expectations if e.type == COLUMNS_TYPE}
    for number, (name, *_) in enumerate(WRONG):
        never -= {(name, r.expectation.sentence) for r in outcome(number).failed}
    assert never == set()


@pytest.mark.parametrize("name", CASES)
def test_an_empty_table_passes_what_is_asked_of_rows(name: str) -> None:
    case = CASES[name]
    empty = case.table.clear()
    if name == "mask_sizes":
        case = Case(case.schema, empty, case.suite, partial(mask_sizes.view, volumes=made.volumes(), boxes=made.boxes().clear()))
    result = case.run(empty)
    assert result.success
    assert [r.columns for r in result.failed] == ([("split",)] if name == "splits" else [])


@pytest.mark.parametrize("name", CASES)
def test_an_absent_column_fails_also_in_an_empty_table(name: str) -> None:
    case = CASES[name]
    column = case.table.columns[-2]
    for table in (case.table.drop(column), case.table.clear().drop(column)):
        result = case.run(table)
        assert not result.success
        assert not result.results[0].success
        assert f"{column} (absent)" in result.results[0].message
        assert all(len(found) == 1 for found in result.findings_by_subject().values())


@pytest.mark.parametrize("name", CASES)
def test_columns_in_another_order_fail(name: str) -> None:
    case = CASES[name]
    result = case.run(case.table.select(reversed(case.table.columns)))
    assert not result.success
    assert "in another order" in result.results[0].message


@pytest.mark.parametrize("name", CASES)
def test_an_unknown_column_fails(name: str) -> None:
    case = CASES[name]
    result = case.run(case.table.with_columns(more=pl.lit(1)))
    assert not result.success
    assert "more (unknown)" in result.results[0].message


def test_a_column_of_another_type_fails_and_the_message_says_which() -> None:
    case = CASES["boxes"]
    result = case.run(case.table.with_columns(pl.col("slice").cast(pl.Int64)))
    assert "slice (Int64, not Int32)" in result.results[0].message
    assert set(result.results[0].subjects) == {A, B}


def test_boxes_without_mask_sizes_fail_for_their_subject() -> None:
    case = CASES["mask_sizes"]
    result = case.run(case.table.filter(pl.col("subject") == A))
    assert set(result.findings_by_subject()) == {B}
    assert "pixel_count" in result.findings_by_subject()[B][0].detail


def test_series_have_ranges_of_their_own() -> None:
    spec = made.spec(intensity={"ct": [-1000, 3000]})
    assert run_suite(volumes.suite(spec), volumes.view(made.volumes())).success
    high = edit(made.volumes(), VOLUMES, IMAGE, max=3001.0)
    (said,) = run_suite(volumes.suite(spec), volumes.view(high)).findings_by_subject()[B]
    assert "no ct image value is above 3000" in said.detail
    with pytest.raises(ValueError, match=r"series that are not declared: \['pet'\]"):
        made.spec(intensity={"pet": [0, 1]})
    with pytest.raises(ValueError, match="a least and a greatest value"):
        made.spec(intensity=[3000, -1000])


def test_nonfinite_voxels_pass_where_the_spec_keeps_them() -> None:
    table = edit(made.volumes(), VOLUMES, IMAGE, n_nonfinite=6000, min=None, max=None, mean=None)
    assert run_suite(volumes.suite(made.spec(nonfinite_voxels="keep")), volumes.view(table)).success
    assert not run_suite(volumes.suite(SPEC), volumes.view(table)).success


def test_an_oblique_grid_with_two_axes_nearest_to_the_same_direction_passes() -> None:
    """A rotation by 50 degrees about (1, 1, 1) keeps the order; one by 70 degrees is closer to another order."""
    for degrees, holds in ((50, True), (70, False)):
        table = edit(made.volumes(), VOLUMES, IMAGE, spacing_mm=(1, 1, 1), affine_ras_mm=_about_diagonal(degrees))
        result = run_suite(volumes.suite(SPEC), volumes.view(table))
        assert result.success is holds


def _about_diagonal(degrees: float) -> list[float]:
    """Rodrigues' rotation about (1, 1, 1) / sqrt(3)."""
    turn = Rotation.from_rotvec([degrees / 3**0.5] * 3, degrees=True).as_matrix()
    return [float(v) for v in (*turn[0], 0, *turn[1], 0, *turn[2], 0, 0, 0, 0, 1)]


def test_a_lone_split_is_a_warning() -> None:
    result = CASES["splits"].run(made.splits().with_columns(split=pl.lit("train")))
    assert result.success
    assert [f.severity for found in result.findings_by_subject().values() for f in found] == ["warning"] * 3


def test_an_image_on_both_sides_is_named_and_a_warning_where_the_official_split_is_followed() -> None:
    torn = edit(made.splits(), SPLITS, {"subject": C}, split="test", group=C)
    view = splits.view(torn, made.copied())
    assert dict(view.select("subject", "same_image_across").iter_rows()) == {A: C, B: "", C: A}
    followed = made.spec().model_dump() | {"split": {"official": {"files": {"test": "test.txt"}, "follow": True}}}
    for spec, success in ((SPEC, False), (DatasetSpec.model_validate(followed), True)):
        result = run_suite(splits.suite(spec), view)
        assert result.success is success
        assert [r.columns for r in result.failed] == [("same_image_across",)]


def test_images_that_are_the_same_by_chance_may_be_in_both_splits() -> None:
    torn = edit(made.splits(), SPLITS, {"subject": C}, split="test", group=C)
    for values in ({"min": pl.lit(0.0), "max": pl.lit(0.0)}, {"shape_ijk": pl.lit([7, 9, 1], pl.Array(pl.Int32, 3))}):
        chance = made.copied().with_columns(**values)
        assert run_suite(splits.suite(SPEC), splits.view(torn, chance)).success


def test_splits_beside_volumes_that_cannot_be_compared_fail() -> None:
    result = run_suite(splits.suite(SPEC), splits.view(made.splits(), made.copied().drop("content_xxh128")))
    assert not result.success
    assert "content_xxh128 (absent)" in result.results[0].message


def test_a_message_shows_where_the_row_is_and_the_values_met() -> None:
    result = CASES["boxes"].run(edit(made.boxes(), BOXES, AXIAL, max_px=(20, 7)))
    detail = next(f.detail for f in result.findings_by_subject()[B] if "both corners" in f.detail)
    assert "1 row does not comply" in detail
    for part in ("plane 'axial'", "slice 5", "label 'tumor'", "max_px_0 20", "extent_0 20", "expect_column_values_to_be"):
        assert part in detail
