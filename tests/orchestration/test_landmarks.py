"""Landmarks through the whole chain: from raw files to the dataset's tables, bad beside good, and what a change touches."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
import pytest
import SimpleITK as sitk  # noqa: N813  # the name its manual uses

from assets.dataset import survey
from assets.incremental import subject_steps
from resources.findings import Code, Severity
from tests.assets.landmark_sets import CEPH_POINTS, FETA_PAIRS, ceph_spec, feta_spec, pair_map, save
from tests.orchestration.world import World, altered, changed, computed, copied, reasons

GOOD, BAD, ALONE, LEFT_OUT = ["001", "002", "003"], "004", "005", "006"
SPEC = ceph_spec(
    source={"exclude": {LEFT_OUT: "its points are those of another patient"}},
    expect={"quarantined_share": 0.5, "intensity": [0, 255]},
)
SHAPE = (40, 50, 1)


def pixels(subject: str) -> list[tuple[int, int]]:
    return [(2 * n + 1, (7 * n + int(subject)) % 50) for n in range(19)]


def write_points(root: Path, subject: str, points: Any) -> None:
    path = root / "raw/cephlike/points" / f"{subject}.txt"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{x},{y}\n" for x, y in points) + "1\n2\n3\n", encoding="ascii")


def write_picture(root: Path, subject: str) -> None:
    """A NIfTI file that says neither how it lies nor how large a pixel is."""
    voxels = np.random.default_rng(int(subject)).integers(0, 255, SHAPE).astype(np.uint8)
    path = save(root / "raw/cephlike/images" / f"{subject}.nii", voxels, np.eye(4))
    header = bytearray(path.read_bytes())
    header[252:256] = bytes(4)
    path.write_bytes(header)


@pytest.fixture(scope="module")
def ceph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("ceph")
    for subject in (*GOOD, BAD, ALONE, LEFT_OUT):
        write_picture(root, subject)
    for subject in (*GOOD, LEFT_OUT):
        write_points(root, subject, pixels(subject))
    write_points(root, BAD, pixels(BAD)[:18])
    with dg.DagsterInstance.ephemeral() as instance:
        world = World(root, SPEC, instance)
        result = world.run()
        assert result.success, reasons(result)
        yield world


def findings(world: World, subject: str) -> list[tuple[str, str]]:
    table = world.dataset.store.read_table("findings").filter(subject=subject)
    about = {Code.BAD_LANDMARKS, Code.MISSING_LANDMARKS, Code.LANDMARKS_EXCLUDED, Code.EXPECTATION_FAILED}
    return [(code, severity) for code, severity in table.select("code", "severity").iter_rows() if code in about]


def test_the_step_stands_beside_the_others(ceph: World) -> None:
    assert subject_steps(SPEC) == ("volumes", "landmarks")
    assert ceph.logged("landmarks") == {*GOOD, ALONE, LEFT_OUT}
    record = ceph.dataset.store.manifest("001")
    assert record is not None
    assert [f.path for f in record.steps["landmarks"].files] == ["landmarks/001.parquet", "measurements/001.parquet"]
    assert record.steps["landmarks"].n_rows == 19


def test_the_tables_of_the_dataset_hold_what_was_drawn(ceph: World) -> None:
    landmarks, measurements = (ceph.dataset.store.read_table(name) for name in ("landmarks", "measurements"))
    assert set(landmarks["subject"]) == set(measurements["subject"]) == set(GOOD)
    for subject in GOOD:
        rows = landmarks.filter(subject=subject)
        assert rows["name"].to_list() == list(CEPH_POINTS)
        assert rows["ijk"].to_list() == [[0, x, 49 - y] for x, y in pixels(subject)]
        (length,) = measurements.filter(subject=subject, name="L2-8")["value"]
        assert length == pytest.approx(0.1 * math.dist(pixels(subject)[1], pixels(subject)[7]))
    assert set(measurements["calibration"]) == {"declared by the spec"}
    assert set(measurements["plane"]) == {"sagittal"}


def test_bad_missing_and_excluded_landmarks(ceph: World) -> None:
    assert ceph.states() == dict.fromkeys([*GOOD, ALONE, LEFT_OUT], "used") | {BAD: "quarantined"}
    assert findings(ceph, BAD) == [(Code.BAD_LANDMARKS, Severity.ERROR)]
    assert findings(ceph, ALONE) == [(Code.MISSING_LANDMARKS, Severity.WARNING)]
    assert findings(ceph, LEFT_OUT) == [(Code.LANDMARKS_EXCLUDED, Severity.INFO)]
    ledger = ceph.dataset.store.read_table("ledger")
    (reason,) = ledger.filter(kind="file", name=f"points/{BAD}.txt")["reason"]
    assert "line 19 should give articulare" in reason


def test_the_record_vouches_for_the_landmark_file(ceph: World, tmp_path: Path) -> None:
    """A touched file with the same content is told by its hash, and nothing is computed."""
    record = ceph.dataset.store.manifest("001")
    assert record is not None
    assert all(source.sha256 for source in record.sources)
    with copied(ceph, tmp_path / "data") as world:
        path = world.root / "raw/cephlike/points/001.txt"
        before = path.stat()
        path.touch()
        assert path.stat().st_mtime_ns != before.st_mtime_ns
        assert survey(world.dataset).stale == []


def test_nothing_is_done_twice(ceph: World) -> None:
    before = ceph.files()
    assert ceph.run().success
    assert ceph.files() == before


def test_another_measurement_touches_its_step_alone(ceph: World, tmp_path: Path) -> None:
    more = [*SPEC.model_dump()["measurements"], {"name": "face", "distance": ("nasion", "menton")}]
    cases: list[tuple[dict[str, Any], int]] = [
        ({"measurements": [dict(m, description="said otherwise") for m in SPEC.model_dump()["measurements"]]}, 0),
        ({"measurements": more}, 5),
    ]
    for fields, n in cases:
        with copied(ceph, tmp_path / f"data{n}", altered(SPEC, **fields)) as world:
            before = world.files()
            result = world.run()
            assert result.success, reasons(result)
            assert computed(result)["landmarks"] == n + bool(n)
            touched = {path.split("/")[0] for path in changed(before, world.files()) if "/" in path} - {"manifest"}
            assert touched == ({"measurements", "landmarks"} if n else set())
    assert set(world.dataset.store.read_table("measurements").filter(name="face")["subject"]) == set(GOOD)


def test_a_reason_to_exclude_renews_what_was_found(ceph: World, tmp_path: Path) -> None:
    layout = SPEC.model_dump()["layout"]
    layout["landmarks"]["senior"]["exclude"] = {"001": "doubtful"}
    with copied(ceph, tmp_path / "data", altered(SPEC, layout=layout)) as world:
        assert world.run().success
        assert findings(world, "001") == [(Code.LANDMARKS_EXCLUDED, Severity.INFO)]
        assert findings(world, LEFT_OUT) == []
        assert set(world.dataset.store.read_table("landmarks")["subject"]) == {"002", "003", LEFT_OUT}


def test_a_changed_point_recomputes_its_subject(ceph: World, tmp_path: Path) -> None:
    with copied(ceph, tmp_path / "data") as world:
        write_points(world.root, "002", [(1, 1), *pixels("002")[1:]])
        plans = survey(world.dataset).stale
        assert [plan.subject for plan in plans] == ["002"]
        assert world.run().success
        (place,) = world.dataset.store.read_table("landmarks").filter(subject="002", name="sella")["ijk"]
        assert place.to_list() == [0, 1, 48]


def test_a_subject_by_itself(ceph: World, tmp_path: Path) -> None:
    shutil.copytree(ceph.root / "raw", tmp_path / "raw")
    with dg.DagsterInstance.ephemeral() as instance:
        world = World(tmp_path, SPEC, instance)
        world.register("001", BAD)
        assert world.run("volumes", "landmarks", partition="001").success
        assert world.dataset.store.read_subject_table("measurements", "001").height == 19
        failed = world.run("volumes", "landmarks", partition=BAD)
        assert not failed.success
        assert "line 19 should give articulare" in reasons(failed)


def test_pairs_with_a_transform_and_a_series_in_its_own_space(tmp_path: Path) -> None:
    affine = np.array([[-0.8, 0, 0, 15], [0, -0.8, 0, 17], [0, 0, 0.8, -14], [0, 0, 0, 1]])
    ends: Any = {1: [(20, 10, 17), (20, 33, 19)], 2: [(20, 25, 8), (20, 27, 20)], 3: [(6, 22, 15), (34, 22, 15)]}
    shape, transform = (40, 44, 36), sitk.Euler3DTransform((0, 0, 0), 0.05, -0.04, 0.1, (1.0, -0.5, 0.8))
    voxels = np.random.default_rng(1).normal(100, 5, shape).astype(np.float32)
    subjects = ["sub-001", "sub-002", "sub-003"]
    for subject in subjects:
        folder = tmp_path / "raw/fetalike" / subject
        save(folder / "t2w.nii.gz", voxels, affine)
        points = {n: e for n, e in ends.items() if (subject, n) != ("sub-002", 2)}
        save(folder / "meas.nii.gz", pair_map(shape, points), affine)
        if subject != "sub-003":
            sitk.WriteTransform(transform, str(folder / "to_series.txt"))
    with dg.DagsterInstance.ephemeral() as instance:
        world = World(tmp_path, feta_spec(expect={"quarantined_share": 0.5}), instance)
        result = world.run()
        assert result.success, reasons(result)
        assert world.states() == {"sub-001": "used", "sub-002": "used", "sub-003": "quarantined"}
        assert findings(world, "sub-002") == [(Code.MISSING_LANDMARKS, Severity.WARNING)]
        landmarks, measurements = (world.dataset.store.read_table(name) for name in ("landmarks", "measurements"))
    lengths = {n: 0.8 * math.dist(*e) for n, e in ends.items()}
    for n, length in lengths.items():
        rows = measurements.filter(name=f"length {n}")
        assert rows["subject"].to_list() == (["sub-001"] if n == 2 else subjects[:2])
        assert rows["value"].to_list() == pytest.approx([length] * rows.height, rel=1e-6)
        assert set(rows["calibration"]) == {"header"}
        assert rows["landmarks"].to_list() == [list(FETA_PAIRS[n][0])] * rows.height
    for row in landmarks.iter_rows(named=True):
        lps = np.array(row["source_ras_mm"]) * [-1, -1, 1]
        there = np.array(transform.TransformPoint(tuple(map(float, lps)))) * [-1, -1, 1]
        assert row["ras_mm"] == pytest.approx(there, abs=1e-4)
        stored = np.linalg.solve(affine[:3, :3], row["ras_mm"] - affine[:3, 3])
        assert row["ijk"] == pytest.approx([39 - stored[0], 43 - stored[1], stored[2]], abs=1e-4)
    assert not landmarks.filter(pl.col("ras_mm") == pl.col("source_ras_mm")).height
