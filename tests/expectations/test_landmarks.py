"""The suites of landmarks and measurements hold of what the step makes, and each of their expectations fails of a wrong table."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assets.tables import LANDMARKS, MEASUREMENTS, VOLUMES
from expectations import landmarks, measurements
from expectations.engine import run_suite
from expectations.gate import GreatExpectationsGates
from expectations.results import SuiteResult
from expectations.suite import COLUMNS_TYPE
from tests.assets.landmark_sets import CEPH_POINTS, ceph_spec, feta_spec, pair_map, read_subject, save, volumes_row
from tests.expectations.tables import edit

SPEC, PAIRS = ceph_spec(), feta_spec(transform=False)
AIR = np.array([[0, 0, 0.1, 0], [0.1, 0, 0, 0], [0, -0.1, 0, 0], [0, 0, 0, 1]])
NAN = float("nan")
A, B = "001", "002"

Tables = tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ceph")


@pytest.fixture(scope="module")
def made(root: Path) -> Tables:
    return ceph(root)


@cache
def ceph(root: Path) -> Tables:
    """Volumes, landmarks and measurements of two subjects, of nineteen points each."""
    volumes, places, values = [], [], []
    for subject in (A, B):
        points = [(3 + 2 * n, (7 * n + int(subject)) % 50) for n in range(19)]
        (root / f"{subject}.txt").write_text("".join(f"{x},{y}\n" for x, y in points), encoding="ascii")
        row = volumes_row("xray", (45, 50, 1), AIR, subject)
        tables = read_subject(SPEC, root, row, {"senior": f"{subject}.txt"}).tables()
        volumes.append(row)
        places.append(tables["landmarks"])
        values.append(tables["measurements"])
    return pl.concat(volumes), pl.concat(places), pl.concat(values)


NASION = {"subject": B, "name": "nasion"}
LENGTH = {"subject": B, "name": "L2-8"}
ANGLE = {"subject": B, "name": "L3-4/L2-7"}

Wrong = tuple[dict[str, Any], dict[str, Any], str]

WRONG_LANDMARKS: list[Wrong] = [
    (NASION, {"ijk": None}, "unset"),
    (NASION, {"ras_mm": (0.0, NAN, 0.0)}, "unset"),
    (NASION, {"source_ras_mm": (0.0, 0.0, None)}, "unset"),
    (NASION, {"series": "ct"}, "unset"),
    (NASION, {"landmark": 1, "name": "sella"}, "landmark"),
    (NASION, {"name": "sella"}, "landmark_key"),
    (NASION, {"landmark": 20}, "landmark_key"),
    (NASION, {"set": "junior"}, "set_size"),
    (NASION, {"plane": "oblique"}, "plane"),
    (NASION, {"plane": None}, "slice_without_plane"),
    (NASION, {"slice": None}, "slice_without_plane"),
    (NASION, {"slice": -1}, "slice"),
    (NASION, {"slice": 1}, "slice_extent"),
    (NASION, {"plane": "coronal", "slice": 9}, "slice_error"),
    (NASION, {"ijk": (0.0, 44.6, 9.0)}, "n_outside"),
    (NASION, {"ijk": (0.0, 3.0, -0.6)}, "n_outside"),
    (NASION, {"ras_mm": (0.0, 0.5001, 0.0)}, "ras_error"),
]

WRONG_MEASUREMENTS: list[Wrong] = [
    (LENGTH, {"value": None}, "unset"),
    (LENGTH, {"calibration": None}, "unset"),
    (LENGTH, {"scan": "1"}, "unset"),
    (ANGLE, {"unfolded_value": None}, "unset"),
    (ANGLE, {"value": NAN}, "unset"),
    (LENGTH, {"name": "L1-2"}, "name"),
    (LENGTH, {"name": "L9-9"}, "measurement_key"),
    (LENGTH, {"landmarks": ["menton", "nasion"]}, "measurement_key"),
    (LENGTH, {"set": "junior"}, "set_size"),
    (LENGTH, {"unit": "cm"}, "unit_key"),
    (ANGLE, {"unit": "mm"}, "unit_key"),
    (LENGTH, {"calibration": "guessed"}, "calibration"),
    (LENGTH, {"plane": "oblique"}, "plane"),
    (LENGTH, {"slice": None}, "slice_without_plane"),
    (LENGTH, {"slice": -1}, "slice"),
    (LENGTH, {"slice": 1}, "slice_extent"),
    (LENGTH, {"value": 0.0}, "distance_mm"),
    (LENGTH, {"value": 6.9}, "diagonal_mm"),
    (LENGTH, {"value": 3.0}, "ends_error"),
    (LENGTH, {"unfolded_value": 3.0}, "n_unfolded"),
    (ANGLE, {"value": 90.1}, "angle_deg"),
    (ANGLE, {"unfolded_value": 180.1}, "unfolded_deg"),
    (ANGLE, {"value": 44.0}, "fold_error"),
]


def run_landmarks(tables: Tables, table: pl.DataFrame) -> SuiteResult:
    return run_suite(landmarks.suite(SPEC), landmarks.view(table, tables[0]))


def run_measurements(tables: Tables, table: pl.DataFrame) -> SuiteResult:
    return run_suite(measurements.suite(SPEC), measurements.view(table, tables[0], tables[1]))


def failures(result: SuiteResult, column: str) -> list[Any]:
    return [r for r in result.failed if column in r.columns]


def test_what_the_step_makes_passes(made: Tables) -> None:
    for result in (run_landmarks(made, made[1]), run_measurements(made, made[2])):
        assert [r.message for r in result.failed] == []
        assert result.n_rows == 2 * 19


WRONG = {"landmarks": WRONG_LANDMARKS, "measurements": WRONG_MEASUREMENTS}


@cache
def outcome(root: Path, table: str, number: int) -> SuiteResult:
    """What becomes of the table that is wrong as `WRONG[table][number]` says."""
    row, values, _ = WRONG[table][number]
    tables = ceph(root)
    if table == "landmarks":
        return run_landmarks(tables, edit(tables[1], LANDMARKS, row, **values))
    return run_measurements(tables, edit(tables[2], MEASUREMENTS, row, **values))


@pytest.mark.parametrize(("table", "number"), [(table, n) for table, wrong in WRONG.items() for n in range(len(wrong))])
def test_a_wrong_value_fails_and_names_the_subject(table: str, number: int, root: Path) -> None:
    result = outcome(root, table, number)
    assert failures(result, WRONG[table][number][2]), [r.message for r in result.failed]
    assert {subject for r in result.failed for subject in r.subjects} == {B}


@pytest.mark.parametrize("table", WRONG)
def test_every_expectation_has_a_wrong_table_that_fails_it(table: str, root: Path) -> None:
    suite = (landmarks if table == "landmarks" else measurements).suite(SPEC)
    failed = {r.expectation.sentence for n in range(len(WRONG[table])) for r in outcome(root, table, n).failed}
    assert {e.sentence for e in suite.expectations if e.type != COLUMNS_TYPE} == failed


def test_a_missing_row_makes_a_set_incomplete(made: Tables) -> None:
    fewer = made[1].filter(~((pl.col("subject") == B) & (pl.col("name") == "menton")))
    assert failures(run_landmarks(made, fewer), "set_size")
    fewer = made[2].filter(~((pl.col("subject") == B) & (pl.col("name") == "L2-8")))
    assert failures(run_measurements(made, fewer), "set_size")


def test_a_distance_whose_landmark_is_not_there_fails(made: Tables) -> None:
    fewer = made[1].filter(pl.col("name") != "menton")
    result = run_suite(measurements.suite(SPEC), measurements.view(made[2], made[0], fewer))
    assert failures(result, "ends_error")


def test_empty_tables_pass_and_malformed_ones_do_not(made: Tables) -> None:
    assert run_landmarks(made, made[1].clear()).success
    assert run_measurements(made, made[2].clear()).success
    assert not run_landmarks(made, made[1].drop("ras_mm")).success
    assert not run_measurements(made, made[2].drop("unit")).success


def test_tables_that_are_unknown_beside_them_are_told_as_unset(made: Tables) -> None:
    no_volumes = pl.DataFrame(schema=dict(VOLUMES))
    result = run_suite(landmarks.suite(SPEC), landmarks.view(made[1], no_volumes))
    assert failures(result, "unset")


def test_the_gate_asks_both_suites(made: Tables) -> None:
    judge = GreatExpectationsGates().subjects(SPEC)
    tables = {"landmarks": made[1], "measurements": made[2]}
    assert judge(tables, made[0]) == {}
    wrong = edit(made[1], LANDMARKS, NASION, ijk=(0.0, 99.0, 9.0))
    assert set(judge(tables | {"landmarks": wrong}, made[0])) == {B}
    wrong = edit(made[2], MEASUREMENTS, ANGLE, value=91.0)
    assert set(judge(tables | {"measurements": wrong}, made[0])) == {B}


@pytest.mark.parametrize("n_pairs", [0, 1, 2, 3])
def test_a_set_of_pairs_may_lack_whole_pairs(n_pairs: int, tmp_path: Path) -> None:
    points = {1: [(20, 10, 17), (20, 33, 19)], 2: [(20, 25, 8), (20, 27, 20)], 3: [(6, 22, 15), (34, 22, 15)]}
    affine = np.diag([0.8, 0.8, 0.8, 1])
    save(tmp_path / "m.nii.gz", pair_map((40, 44, 36), {n: points[n] for n in range(1, n_pairs + 1)}), affine)
    volumes = volumes_row("t2w", (40, 44, 36), affine)
    tables = read_subject(PAIRS, tmp_path, volumes, {"biometry": "m.nii.gz"}).tables()
    of_landmarks = run_suite(landmarks.suite(PAIRS), landmarks.view(tables["landmarks"], volumes))
    view = measurements.view(tables["measurements"], volumes, tables["landmarks"])
    of_measurements = run_suite(measurements.suite(PAIRS), view)
    assert [r.message for r in (*of_landmarks.failed, *of_measurements.failed)] == []
    assert (of_landmarks.n_rows, of_measurements.n_rows) == (2 * n_pairs, n_pairs)
    if n_pairs:
        half = tables["landmarks"].head(2 * n_pairs - 1)
        assert failures(run_suite(landmarks.suite(PAIRS), landmarks.view(half, volumes)), "set_size")


def test_the_names_of_the_spec_are_all_in_the_suite() -> None:
    (keys,) = [e for e in landmarks.suite(SPEC).expectations if e.columns == ("landmark_key",)]
    assert keys.kwargs["value_set"] == [f"{n}:{name}" for n, name in enumerate(CEPH_POINTS, 1)]
