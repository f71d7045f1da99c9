"""The dataset as a whole: completeness, the quarantined share, labels and published counts."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from assets.spec import DatasetSpec
from assets.tables import LEDGER, VOLUMES
from expectations import index
from expectations.engine import run_suite
from expectations.results import SuiteResult
from tests.expectations import tables as made
from tests.expectations.tables import A, B, edit

SPEC = made.spec(quarantined_share=0.5)


def run(spec: DatasetSpec = SPEC, **parts: pl.DataFrame) -> SuiteResult:
    tables: dict[str, Any] = {"volumes": made.volumes(), "boxes": made.boxes(), "ledger": made.ledger()} | parts
    totals = index.summary(spec, **tables)
    return run_suite(index.suite(spec, totals), index.view(totals))


def test_the_totals_are_those_of_the_tables() -> None:
    totals = index.summary(SPEC, made.volumes(), made.boxes(), made.ledger()).row(0, named=True)
    assert totals["n_listed"] == 3
    assert totals["n_published"] == 2
    assert totals["n_quarantined"] == 1
    assert totals["quarantined_share"] == pytest.approx(1 / 3)
    assert totals["n_files"] == totals["n_files_accounted"] == 3
    assert totals["n_unlabelled_ids"] == 0


def test_a_complete_dataset_passes() -> None:
    result = run()
    assert [r.message for r in result.failed] == []
    assert result.success


LEDGERS = [
    ({"kind": "subject", "name": B}, {"state": "ignored", "reason": "why not"}, "n_listed"),
    ({"kind": "subject", "name": B}, {"name": "case_00009"}, "n_published_without_volumes"),
    ({"kind": "subject", "name": B}, {"state": "quarantined", "reason": "bad"}, "n_unpublished_with_volumes"),
    ({"kind": "subject", "name": B}, {"state": "quarantined", "reason": "bad"}, "quarantined_share"),
    ({"kind": "file", "name": "README"}, {"reason": None}, "n_files_accounted"),
    ({"kind": "file", "name": "README"}, {"state": "lost"}, "n_files_accounted"),
    ({"kind": "file", "name": "README"}, {"name": "a"}, "n_files_accounted"),
]


@pytest.mark.parametrize(("row", "values", "column"), LEDGERS)
def test_a_ledger_that_does_not_add_up_fails(row: dict[str, Any], values: dict[str, Any], column: str) -> None:
    result = run(ledger=edit(made.ledger(), LEDGER, row, **values))
    assert not result.success
    assert any(column in r.columns for r in result.failed)
    assert set(result.findings_by_subject()) == {""}


def test_a_subject_that_has_volumes_and_is_not_published_is_named() -> None:
    result = run(ledger=edit(made.ledger(), LEDGER, {"kind": "subject", "name": B}, state="quarantined", reason="bad"))
    said = [finding.detail for finding in result.findings_by_subject()[""]]
    assert any("no subject has volumes that is not published" in detail and B in detail for detail in said)


def test_no_published_subject_fails() -> None:
    nobody = made.ledger().filter(pl.col("kind") == "file")
    result = run(ledger=nobody, volumes=made.volumes().clear(), boxes=made.boxes().clear())
    assert [r.columns for r in result.failed if r.expectation.severity == "error"] == [("n_published",)]


def test_a_declared_label_that_never_occurs_is_a_warning() -> None:
    table = made.volumes()
    for subject in (A, B):
        row = {"subject": subject, "kind": "labels"}
        table = edit(table, VOLUMES, row, label_ids=[2], label_voxels=[60])
    result = run(volumes=table)
    assert result.success
    (warning,) = result.findings_by_subject()[""]
    assert warning.severity == "warning"
    assert "1 (organ)" in warning.detail


@pytest.mark.parametrize(("subjects", "n", "asked", "holds"), [(2, 25, True, True), (2, 24, True, False), (3, 24, False, True)])
def test_published_counts_must_come_out_for_a_whole_release_only(subjects: int, n: int, *, asked: bool, holds: bool) -> None:
    """The cuboid has 4 + 5 + 3 slices, and one more component in B: 12 + 13 boxes."""
    counts = {"boxes": {"axial": 7, "coronal": 10, "sagittal": n - 17}, "boxes_sample": {"axial": 0}}
    spec = made.spec(quarantined_share=0.5, subjects=subjects, counts=counts)
    result = run(spec)
    assert any("as published" in r.expectation.sentence for r in result.results) is asked
    assert result.success is holds


def test_sample_boxes_are_single_components_of_ten_pixels_a_side() -> None:
    spec = made.spec(counts={"boxes_sample": {"axial": 1}})
    sizes = [((10, 10), 1), ((9, 10), 1), ((10, 9), 1), ((12, 40), 2)]
    boxes = made.boxes().filter(pl.col("plane") == "axial").head(len(sizes))
    boxes = boxes.with_columns(
        size_px=pl.Series([s for s, _ in sizes], dtype=pl.Array(pl.Int32, 2)),
        n_components=pl.Series([n for _, n in sizes], dtype=pl.Int32),
    )
    assert index.summary(spec, made.volumes(), boxes, made.ledger())["count_boxes_sample_axial"].to_list() == [1]


def test_a_count_of_something_unknown_is_refused() -> None:
    spec = made.spec(counts={"teeth": {"axial": 32}})
    with pytest.raises(ValueError, match="teeth"):
        index.summary(spec, made.volumes(), made.boxes(), made.ledger())


def test_totals_without_a_column_fail() -> None:
    totals = index.summary(SPEC, made.volumes(), made.boxes(), made.ledger())
    for column in ("n_files", "n_published"):
        assert not run_suite(index.suite(SPEC, totals), index.view(totals.drop(column))).success


def test_a_dataset_without_boxes_has_none_of_the_published_boxes() -> None:
    spec = made.spec(quarantined_share=0.5, subjects=2, counts={"boxes": {"axial": 7}})
    result = run(spec, boxes=pl.DataFrame())
    assert [r.columns for r in result.failed] == [("count_boxes_axial",)]


def test_labels_of_marked_objects_occur_where_objects_are_marked() -> None:
    objects = pl.DataFrame({"label_id": [1, 1]}, schema={"label_id": pl.UInt16})
    nothing = made.volumes().with_columns(pl.lit(None, VOLUMES["label_ids"]).alias("label_ids"))
    spec = made.spec(quarantined_share=0.5)
    without = index.summary(spec, nothing, made.boxes(), made.ledger(), objects)
    assert "1 (" not in without["unlabelled"][0]
    assert without["n_unlabelled_ids"][0] == len(spec.labels) - 1


def test_a_dataset_without_label_maps_and_objects_is_not_asked_for_labels() -> None:
    spec = made.spec(quarantined_share=0.5)
    layout = spec.layout.model_copy(update={"labels": {}})
    pictures = spec.model_copy(update={"layout": layout})
    nothing = made.volumes().with_columns(pl.lit(None, VOLUMES["label_ids"]).alias("label_ids"))
    totals = index.summary(pictures, nothing, made.boxes(), made.ledger())
    assert (totals["n_unlabelled_ids"][0], totals["unlabelled"][0]) == (0, "")
