from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assets.measure.angles import distance, unfolded_angle_deg
from assets.official_split import official_split
from tests.data_makers.ceph_bio_400 import PIXEL_MM, POINTS, SIZE
from tests.datasets.built import CATALOG, Built, Miniature, build, check_found, make

SPEC = CATALOG["ceph_bio_400"]
MEASUREMENTS = {m.name: m for m in SPEC.measurements}
PUBLISHED_LINES = {
    (2, 5), (2, 6), (1, 2), (5, 6), (8, 10), (3, 4), (2, 7), (17, 18), (9, 10), (1, 10), (2, 8),
}  # fmt: skip
"""The lines of the published measurements, by the numbers of their landmarks."""

PUBLISHED_ANGLES = {
    ((2, 5), (2, 6)), ((1, 2), (2, 6)), ((1, 2), (2, 5)), ((5, 6), (8, 10)), ((2, 7), (3, 4)), ((3, 4), (17, 18)),
    ((2, 7), (5, 6)), ((1, 2), (9, 10)),
}  # fmt: skip


@pytest.fixture
def miniature(tmp_path: Path) -> Miniature:
    return make("ceph_bio_400", tmp_path)


@pytest.fixture
def built(miniature: Miniature) -> Built:
    return build(SPEC, miniature.root)


def number(landmark: str) -> int:
    return SPEC.landmarks.index(landmark) + 1


def test_the_measurements_are_the_published_ones() -> None:
    distances = {tuple(sorted(map(number, m.distance))) for m in SPEC.measurements if m.distance}
    assert distances == PUBLISHED_LINES
    angles = [tuple(sorted(tuple(sorted(map(number, line))) for line in m.angle)) for m in SPEC.measurements if m.angle]
    assert set(angles) == PUBLISHED_ANGLES
    assert (len(distances), len(angles)) == (11, 8)
    assert tuple(POINTS) == SPEC.landmarks


def test_the_dataset_is_found_as_made(miniature: Miniature) -> None:
    junior = {f"AnnotationsByMD/400_junior/{s}.txt": "second, younger doctor" for s in miniature.made}
    check_found(miniature, junior, also_used=[f"AnnotationsByMD/400_senior/{s}.txt" for s in miniature.made])


def test_the_folders_are_the_official_split(miniature: Miniature) -> None:
    files = {name: [f.path for f in raw.files] for name, raw in miniature.tree().subjects.items()}
    split = official_split(SPEC, miniature.raw_root, files)
    assert split == {"001": "train", "002": "train", "151": "test1", "301": "test2"}


def test_pictures_are_sagittal_slices_of_declared_pixels_with_the_face_to_the_front(miniature: Miniature, built: Built) -> None:
    assert {s: m.state for s, m in built.manifests.items()} == dict.fromkeys(miniature.made, "published")
    for subject, made in miniature.made.items():
        (row,) = built.rows("volumes", subject).to_dicts()
        assert (row["space"], row["shape_ijk"]) == ("patient", [1, *SIZE])
        assert row["spacing_mm"] == [None, PIXEL_MM, PIXEL_MM]
        grey = np.asarray(Image.open(made.only_scan.series["ceph"]))[:, :, 0]
        # Columns run to the front, rows down.
        np.testing.assert_array_equal(built.voxels(subject, "image", "0", "ceph")[0], grey[::-1].T)


def test_landmarks_are_where_the_picture_shows_them(miniature: Miniature, built: Built) -> None:
    for subject, made in miniature.made.items():
        voxels = built.voxels(subject, "image", "0", "ceph")
        rows = built.rows("landmarks", subject).to_dicts()
        assert [row["name"] for row in rows] == list(SPEC.landmarks)
        for row in rows:
            x, y, _ = made.only_scan.landmarks[row["name"]]
            assert row["ijk"] == [0, x, SIZE[1] - 1 - y]
            assert voxels[tuple(int(n) for n in row["ijk"])] == 255
            assert row["ras_mm"][1:] == pytest.approx([x * PIXEL_MM, -y * PIXEL_MM])
            assert row["plane"] == "sagittal"


def test_distances_and_angles_are_those_of_the_points(miniature: Miniature, built: Built) -> None:
    for subject in miniature.made:
        rows = {row["name"]: row for row in built.rows("measurements", subject).to_dicts()}
        assert set(rows) == set(MEASUREMENTS)
        # The face is shifted from subject to subject, which changes no length and no angle.
        for name, measurement in MEASUREMENTS.items():
            row = rows[name]
            if measurement.distance:
                assert (row["kind"], row["unit"]) == ("distance", "mm")
                assert row["value"] == pytest.approx(length_mm(*measurement.distance), rel=1e-12)
            else:
                assert measurement.angle is not None
                assert (row["kind"], row["unit"]) == ("angle", "degree")
                first, second = (direction_deg(*line) for line in measurement.angle)
                apart = abs(first - second) % 360
                apart = min(apart, 360 - apart)
                assert row["unfolded_value"] == pytest.approx(apart, abs=1e-9)
                assert row["value"] == pytest.approx(min(apart, 180 - apart), abs=1e-9)
        assert rows["sella to nasion"]["value"] == pytest.approx(6.0)
        assert rows["SNA"]["unfolded_value"] == pytest.approx(90 - math.degrees(math.atan2(7, 48)))


def length_mm(a: str, b: str) -> float:
    return PIXEL_MM * math.hypot(POINTS[a][0] - POINTS[b][0], POINTS[a][1] - POINTS[b][1])


def direction_deg(a: str, b: str) -> float:
    return math.degrees(math.atan2(POINTS[b][1] - POINTS[a][1], POINTS[b][0] - POINTS[a][0]))


def read(path: Path) -> tuple[dict[str, np.ndarray], list[int]]:
    lines = path.read_text().split()
    points = {name: np.array([float(n) for n in line.split(",")]) for name, line in zip(SPEC.landmarks, lines, strict=False)}
    return points, [int(line) for line in lines[19:27]]


def measured(name: str, points: dict[str, np.ndarray]) -> float:
    measurement = MEASUREMENTS[name]
    if measurement.distance:
        a, b = measurement.distance
        return float(distance(points[a], points[b]))
    assert measurement.angle is not None
    (a, b), (c, d) = measurement.angle
    return float(unfolded_angle_deg(points[b] - points[a], points[d] - points[c]))


def in_class(value: float, low: float, high: float) -> int:
    """1 within, 2 and 3 beyond; which of them is which differs from measure to measure."""
    return 1 if low <= value <= high else 2 if value > high else 3


def test_real_faces_look_to_the_front_and_downward_is_inferior(shared_data: Path) -> None:
    files = sorted((shared_data / "layouts/Ceph-Bio-400/AnnotationsByMD/rater_a").iterdir())
    assert len(files) == 267
    for path in files:
        points, _ = read(path)
        assert points["nasion"][0] > points["sella"][0] > points["porion"][0]
        assert points["menton"][1] > points["nasion"][1]


def test_the_doctors_own_classes_follow_from_our_measurements(shared_data: Path) -> None:
    swapped = {1: 1, 2: 3, 3: 2}
    for path in sorted((shared_data / "layouts/Ceph-Bio-400/AnnotationsByMD/rater_a").iterdir()):
        points, classes = read(path)
        sna, snb = measured("SNA", points), measured("SNB", points)
        height = measured("sella to gonion", points) / measured("nasion to menton", points)
        slope = measured("anterior cranial base to mandibular line", points)
        assert in_class(sna - snb, 3.2, 5.7) == classes[0], path.name
        assert swapped[in_class(snb, 74.6, 78.7)] == classes[1], path.name
        assert in_class(sna, 79.4, 83.2) == classes[2], path.name
        assert in_class(height, 0.65, 0.75) == classes[5], path.name
        assert in_class(slope, 26.8, 31.4) == classes[6], path.name
        # The angle at nasion has no sign; with it, it is the difference of the two others.
        assert measured("ANB", points) == pytest.approx(abs(sna - snb), abs=1e-9)


@pytest.mark.slow
def test_real_cephalograms_are_found_and_built(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "layouts" / "Ceph-Bio-400"
    raw = tmp_path / "raw" / "ceph_bio_400"
    parts = {"001": "TrainingData", "151": "Test1Data"}
    (raw / "AnnotationsByMD/400_senior").mkdir(parents=True)
    for subject, part in parts.items():
        picture = raw / "RawImage" / part / f"{subject}.bmp"
        picture.parent.mkdir(parents=True)
        Image.open(source / "RawImage" / part / f"{subject}.jpg").save(picture)
        shutil.copyfile(source / "AnnotationsByMD/rater_a" / f"{subject}.txt", raw / f"AnnotationsByMD/400_senior/{subject}.txt")
    built = build(SPEC, tmp_path)
    assert {f.state for f in built.survey.tree.files} == {"used"}
    assert {s: m.state for s, m in built.manifests.items()} == dict.fromkeys(parts, "published")
    for subject, part in parts.items():
        (row,) = built.rows("volumes", subject).to_dicts()
        assert row["shape_ijk"] == [1, 1935, 2400]
        grey = np.asarray(Image.open(raw / "RawImage" / part / f"{subject}.bmp"))[:, :, 0]
        np.testing.assert_array_equal(built.voxels(subject, "image", "0", "ceph")[0], grey[::-1].T)
        points, _ = read(source / "AnnotationsByMD/rater_a" / f"{subject}.txt")
        values = {r["name"]: r for r in built.rows("measurements", subject).to_dicts()}
        for name, measurement in MEASUREMENTS.items():
            expected = measured(name, points) * (PIXEL_MM if measurement.distance else 1)
            told = values[name]["value" if measurement.distance else "unfolded_value"]
            assert told == pytest.approx(expected, rel=1e-9)
