"""Landmarks as lines of pixels: places in RAS+ by hand, everything that can be wrong with a line, and the real files."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assets.annotations.landmarks.tables import subject_landmarks
from assets.raw import RawScan, RawSubject
from resources.findings import Code, Severity
from tests.assets.landmark_sets import CEPH_ANGLES, CEPH_LINES, CEPH_POINTS, ceph_spec, line_name, read_subject, volumes_row

SHAPE = (40, 50, 1)
AIR = np.array([[0, 0, 0.1, 0], [0.1, 0, 0, 0], [0, -0.1, 0, 0], [0, 0, 0, 1]])
"""Columns run to anterior, rows to inferior, the one plane to the right."""

VOLUMES = volumes_row("xray", SHAPE, AIR)
PIXELS = [(2 * n + 1, (7 * n) % 50) for n in range(19)]
CLASSES = "3\n3\n2\n3\n3\n1\n2\n3\n"


def text_of(points: Any) -> str:
    return "".join(f"{x},{y}\n" for x, y in points)


def read(tmp_path: Path, text: str | bytes, **changes: Any) -> Any:
    (tmp_path / "001.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    volumes = changes.pop("volumes", VOLUMES)
    return read_subject(ceph_spec(**changes), tmp_path, volumes, {"senior": "001.txt"})


def refusal(made: Any) -> Any:
    (found,) = made.findings
    assert found.severity is Severity.ERROR
    assert not made.landmarks
    assert not made.measurements
    return found


def test_pixels_become_voxels_of_the_ras_array(tmp_path: Path) -> None:
    """Columns run to anterior, so x is j; y is inferior, so k counts the other way; the one sagittal slice is 0."""
    made = read(tmp_path, text_of(PIXELS) + CLASSES)
    assert made.findings == []
    assert [row["name"] for row in made.landmarks] == list(CEPH_POINTS)
    assert [row["landmark"] for row in made.landmarks] == list(range(1, 20))
    for row, (x, y) in zip(made.landmarks, PIXELS, strict=True):
        assert row["ijk"] == pytest.approx([0, x, 49 - y])
        assert row["ras_mm"] == pytest.approx([0, 0.1 * x, -0.1 * y])
        assert row["source_ras_mm"] == row["ras_mm"]
        assert (row["plane"], row["slice"], row["set"], row["series"]) == ("sagittal", 0, "senior", "xray")


@pytest.mark.parametrize(
    ("code", "ijk"),
    [
        ("AIR", (0, 3, 42)), ("PSL", (0, 36, 7)),
        ("RAS", (3, 7, 0)), ("LPS", (36, 42, 0)), ("SAR", (0, 7, 3)), ("IRA", (7, 0, 36)),
    ],
)  # fmt: skip
def test_every_way_a_picture_may_lie(code: str, ijk: tuple[float, ...], tmp_path: Path) -> None:
    affine = np.zeros((4, 4))
    affine[3, 3] = 1
    for axis, letter in enumerate(code):
        world = next(n for n, pair in enumerate(("RL", "AP", "SI")) if letter in pair)
        affine[world, axis] = 0.1 if letter in "RAS" else -0.1
    made = read(tmp_path, text_of([(3, 7), *PIXELS[1:]]), volumes=volumes_row("xray", SHAPE, affine))
    assert made.landmarks[0]["ijk"] == pytest.approx(ijk)
    assert made.landmarks[0]["ras_mm"] == pytest.approx(affine[:3, :3] @ [3, 7, 0])


def test_distances_and_angles_are_those_of_the_pixels(tmp_path: Path) -> None:
    made = read(tmp_path, text_of(PIXELS))
    rows = {row["name"]: row for row in made.measurements}
    assert len(rows) == 19
    for line in CEPH_LINES:
        row = rows[line_name(line)]
        (x, y), (u, v) = (PIXELS[n - 1] for n in line)
        assert row["value"] == pytest.approx(0.1 * math.hypot(u - x, v - y))
        assert (row["kind"], row["unit"], row["unfolded_value"]) == ("distance", "mm", None)
        assert row["landmarks"] == [CEPH_POINTS[n - 1] for n in line]
    for pair in CEPH_ANGLES:
        row = rows["/".join(map(line_name, pair))]
        turns = [math.atan2(PIXELS[b - 1][1] - PIXELS[a - 1][1], PIXELS[b - 1][0] - PIXELS[a - 1][0]) for a, b in pair]
        unfolded = abs((math.degrees(turns[1] - turns[0]) + 180) % 360 - 180)
        assert row["unfolded_value"] == pytest.approx(unfolded)
        assert row["value"] == pytest.approx(min(unfolded, 180 - unfolded))
        assert (row["kind"], row["unit"]) == ("angle", "degree")
        assert row["landmarks"] == [CEPH_POINTS[n - 1] for line in pair for n in line]


def test_the_table_says_that_the_spec_declares_the_millimetre(tmp_path: Path) -> None:
    declared = {row["calibration"] for row in read(tmp_path, text_of(PIXELS)).measurements}
    assert declared == {"declared by the spec"}
    other = volumes_row("xray", SHAPE, np.diag([2.0, 2.0, 1.0, 1.0]) @ AIR)
    assert {row["calibration"] for row in read(tmp_path, text_of(PIXELS), volumes=other).measurements} == {"header"}


@pytest.mark.parametrize(
    "text",
    [
        text_of(PIXELS),
        text_of(PIXELS).replace("\n", "\r\n"),
        "\ufeff" + text_of(PIXELS) + "\n\n",
        text_of(PIXELS).replace(",", " , ").replace("\n", "\n\n"),
        text_of([(f"{x}.0", f"{y}e0") for x, y in PIXELS]) + "anything\n",
    ],
)
def test_what_does_not_matter_in_a_text(text: str, tmp_path: Path) -> None:
    made = read(tmp_path, text)
    assert made.findings == []
    assert [row["ijk"][1] for row in made.landmarks] == [x for x, _ in PIXELS]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (text_of(PIXELS[:18]), "18 points, but the spec names 19"),
        (text_of([*PIXELS, (3, 3)]), "20 points, but the spec names 19"),
        (text_of(PIXELS) + CLASSES + "3,3\n", "20 points"),
        (text_of(PIXELS[:17]) + CLASSES, "line 18 should give anterior nasal spine as x,y in pixels, but reads '3'"),
        (text_of([*PIXELS[:4], ("nan", 3), *PIXELS[5:]]), "line 5 should give subspinale"),
        (text_of([*PIXELS[:4], ("1_0", 3), *PIXELS[5:]]), "line 5"),
        (text_of([*PIXELS[:4], ("1;0", 3), *PIXELS[5:]]), "line 5"),
        (text_of([*PIXELS[:4], ("1,0", 3), *PIXELS[5:]]), "line 5"),
        (text_of([(40, 3), *PIXELS[1:]]), r"sella, pixel \(40, 3\), is at \(0, 40, 46\)"),
        (text_of([(-0.6, 3), *PIXELS[1:]]), r"outside of xray, which has the shape \(1, 40, 50\)"),
        (text_of([(3, 49.6), (3, 51), (3, 52), (99, 1), *PIXELS[4:]]), "sella.*nasion.*orbitale.*and 1 more"),
        (text_of([(3, "1e90"), *PIXELS[1:]]), "outside of xray.*sella"),
        (text_of([(3, "1e999"), *PIXELS[1:]]), "line 1 should give sella"),
    ],
)
def test_a_text_that_is_wrong_is_refused(text: str, said: str, tmp_path: Path) -> None:
    found = refusal(read(tmp_path, text))
    assert found.code is Code.BAD_LANDMARKS
    assert found.file == "001.txt"
    assert re.search(said, found.detail), found.detail


@pytest.mark.parametrize("edge", [(-0.5, -0.5), (39.5, 49.5), (0, 0), (39, 49)])
def test_the_edge_of_the_picture_is_inside(edge: tuple[float, float], tmp_path: Path) -> None:
    made = read(tmp_path, text_of([edge, *PIXELS[1:]]))
    assert made.findings == []
    assert made.landmarks[0]["slice"] == 0


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", Code.EMPTY_FILE),
        (b"<!DOCTYPE html><html>", Code.HTML_PAGE),
        (b"version https://git-lfs.github.com/spec/v1\n", Code.GIT_LFS_POINTER),
        (b"\xff\xfe\x00\x01" * 40, Code.WRONG_MAGIC),
        (b"1,1\n" * 300_000, Code.TOO_LARGE),
    ],
)
def test_a_file_that_is_no_text_of_points_is_refused(content: bytes, code: Code, tmp_path: Path) -> None:
    assert refusal(read(tmp_path, content)).code is code


def test_two_landmarks_in_one_place_are_told_and_their_line_has_no_angle(tmp_path: Path) -> None:
    points = list(PIXELS)
    points[1] = points[4]
    made = read(tmp_path, text_of(points))
    (found,) = made.findings
    assert (found.code, found.severity) == (Code.BAD_LANDMARKS, Severity.WARNING)
    assert "nasion and subspinale lie in one place, pixel (9, 28)" in found.detail
    rows = {row["name"]: row for row in made.measurements}
    assert rows["L2-5"]["value"] == 0
    assert rows["L2-5/L2-6"]["value"] is None
    assert rows["L2-5/L2-6"]["unfolded_value"] is None
    assert rows["L1-2/L2-6"]["value"] is not None


def test_an_excluded_subject_has_no_landmarks_and_says_why(tmp_path: Path) -> None:
    made = read(tmp_path, "nonsense", source={"exclude": {"001": "its points lie in the neck"}})
    (found,) = made.findings
    assert (found.code, found.severity, found.file) == (Code.LANDMARKS_EXCLUDED, Severity.INFO, "001.txt")
    assert "its points lie in the neck" in found.detail
    assert made.tables()["landmarks"].is_empty()
    assert made.tables()["measurements"].is_empty()


def test_a_scan_without_its_file_is_told(tmp_path: Path) -> None:
    made = read_subject(ceph_spec(), tmp_path, VOLUMES, {})
    (found,) = made.findings
    assert (found.code, found.severity) == (Code.MISSING_LANDMARKS, Severity.WARNING)
    assert "senior" in found.detail
    assert "points/{subject}.txt" in found.detail


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"affine_ras_mm": None, "source_orientation": None, "space": "picture"}, Code.ORIENTATION_UNKNOWN, "assume_orientation"),
        ({"spacing_mm": (None, 0.1, None)}, Code.BAD_AFFINE, "spacing_mm"),
        ({"series": "other"}, Code.MISSING_IMAGE, "xray"),
    ],
)
def test_a_picture_without_a_place_or_scale_is_refused(changes: Any, code: Code, said: str, tmp_path: Path) -> None:
    volumes = volumes_row("xray", SHAPE, AIR, **changes)
    found = refusal(read(tmp_path, text_of(PIXELS), volumes=volumes))
    assert found.code is code
    assert said in found.detail


def test_an_unknown_spacing_across_the_one_plane_does_not_matter(tmp_path: Path) -> None:
    made = read(tmp_path, text_of(PIXELS), volumes=volumes_row("xray", SHAPE, AIR, spacing_mm=(None, 0.1, 0.1)))
    assert made.findings == []


def test_pixels_on_a_volume_of_many_planes_are_refused(tmp_path: Path) -> None:
    found = refusal(read(tmp_path, text_of(PIXELS), volumes=volumes_row("xray", (40, 50, 3), AIR)))
    assert found.code is Code.UNEXPECTED_DIMENSIONS


def test_a_file_that_is_not_the_recorded_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "001.txt").write_text(text_of(PIXELS), encoding="ascii")
    raw = RawSubject("001", (RawScan("0", landmarks={"senior": "001.txt"}),), (), ())
    made = subject_landmarks(ceph_spec(), tmp_path, raw, VOLUMES, {"001.txt": "0" * 64})
    assert refusal(made).code is Code.FILE_CHANGED


def test_the_real_files_are_read_and_measured(shared_data: Path) -> None:
    """Every file, on pictures of 1935 x 2400; one patient's incisors touch, edge to edge, in one pixel."""
    folder = shared_data / "layouts/Ceph-Bio-400/AnnotationsByMD/rater_a"
    spec, volumes = ceph_spec(), volumes_row("xray", (1935, 2400, 1), AIR)
    names = sorted(path.name for path in folder.glob("*.txt"))
    assert len(names) == 267
    for name in names:
        made = read_subject(spec, folder, volumes, {"senior": name})
        tables = made.tables()
        expected = [(Code.BAD_LANDMARKS, Severity.WARNING)] if name == "085.txt" else []
        assert [(f.code, f.severity) for f in made.findings] == expected, name
        assert tables["landmarks"].height == 19
        assert tables["measurements"].height == 19
        assert not tables["measurements"]["value"].null_count()
        points = [tuple(map(float, line.split(","))) for line in (folder / name).read_text(encoding="ascii").split()[:19]]
        found = {row["name"]: row["value"] for row in made.measurements}
        assert found["L1-2"] == pytest.approx(0.1 * math.dist(points[0], points[1]))
        assert found["L17-18"] == pytest.approx(0.1 * math.dist(points[16], points[17]))
