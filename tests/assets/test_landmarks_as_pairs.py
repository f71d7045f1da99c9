"""Landmarks as pairs of voxels in a space of their own: against SimpleITK's resampling, closed forms, and damaged maps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813  # the name its manual uses
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from resources.findings import Code, Severity
from tests.assets.landmark_sets import FETA_PAIRS, feta_spec, pair_map, read_subject, save, volumes_row

SHAPE = (40, 44, 36)
LPS = np.array([-1.0, -1.0, 1.0])


def oblique(spacing: tuple[float, float, float] = (0.8, 0.8, 0.8), turn: tuple[float, ...] = (5, -8, 12)) -> Any:
    """A left-handed stored grid, tilted, with its centre near the world's."""
    affine = np.eye(4)
    affine[:3, :3] = Rotation.from_euler("xyz", turn, degrees=True).as_matrix() @ np.diag([-spacing[0], -spacing[1], spacing[2]])
    affine[:3, 3] = -affine[:3, :3] @ ((np.array(SHAPE) - 1) / 2) + [1.5, -2.5, 3.5]
    return affine


AFFINE = oblique()
STRAIGHT = np.array([[-0.8, 0, 0, 15], [0, -0.8, 0, 17], [0, 0, 0.8, -14], [0, 0, 0, 1]])
GOOD: dict[int, list[tuple[int, int, int]]] = {
    1: [(20, 10, 17), (20, 33, 19)],
    2: [(20, 25, 8), (20, 27, 20)],
    3: [(6, 22, 15), (34, 22, 15)],
}


def world(affine: Any, voxel: tuple[int, int, int]) -> Any:
    return np.asarray(affine[:3, :3] @ voxel + affine[:3, 3])


def place(root: Path, points: Any, affine: Any = AFFINE, transform: Any = None, **changes: Any) -> Any:
    """Write the files of one subject and read them."""
    save(root / "meas.nii.gz", points if isinstance(points, np.ndarray) else pair_map(SHAPE, points), affine)
    if transform is not None:
        sitk.WriteTransform(transform, str(root / "to_series.txt"))
    spec = feta_spec(transform=transform is not None, **changes)
    transforms = {} if transform is None else {"biometry": "to_series.txt"}
    return read_subject(spec, root, volumes_row("t2w", SHAPE, affine), {"biometry": "meas.nii.gz"}, transforms)


def rigid() -> Any:
    return sitk.Euler3DTransform((1, -2, 3), 0.12, -0.08, 0.2, (2.0, -1.5, 1.0))


def affine_transform() -> Any:
    transform = sitk.AffineTransform(3)
    transform.SetFixedParameters((3, 2, 1))
    transform.SetParameters((0.9, 0.1, 0, -0.1, 1.05, 0.05, 0, 0.02, 0.95, 1.0, -1.0, 0.5))
    return transform


def test_without_a_transform_places_are_those_of_the_voxels(tmp_path: Path) -> None:
    made = place(tmp_path, GOOD)
    assert made.findings == []
    rows = {row["name"]: row for row in made.landmarks}
    assert list(rows) == [name for points, _ in FETA_PAIRS.values() for name in points]
    for value, (names, _) in FETA_PAIRS.items():
        ends = sorted(tuple(world(AFFINE, v)) for v in GOOD[value])
        found = sorted(tuple(rows[name]["ras_mm"]) for name in names)
        np.testing.assert_allclose(found, ends, atol=1e-5)
    stored = GOOD[3][0]
    ijk = [SHAPE[0] - 1 - stored[0], SHAPE[1] - 1 - stored[1], stored[2]]
    assert any(row["ijk"] == pytest.approx(ijk, abs=1e-4) for row in rows.values())


@pytest.mark.parametrize("make", [rigid, affine_transform])
def test_places_go_through_the_transform_and_lengths_do_not(make: Any, tmp_path: Path) -> None:
    """The closed form: p' = T(p) in LPS, as the transform itself says; the length is that of the map's own space."""
    made = place(tmp_path, GOOD, transform=make())
    assert made.findings == []
    for row in made.landmarks:
        source = np.array(row["source_ras_mm"])
        there = np.array(make().TransformPoint(tuple(map(float, source * LPS)))) * LPS
        np.testing.assert_allclose(row["ras_mm"], there, atol=1e-5)
        assert min(np.linalg.norm(source - world(AFFINE, v)) for vs in GOOD.values() for v in vs) < 1e-5
    for row, voxels in zip(made.measurements, GOOD.values(), strict=True):
        assert row["value"] == pytest.approx(np.linalg.norm(world(AFFINE, voxels[0]) - world(AFFINE, voxels[1])), abs=1e-5)
        assert (row["unit"], row["calibration"], row["unfolded_value"]) == ("mm", "header", None)


def test_a_rigid_transform_keeps_lengths_in_the_series_and_an_affine_one_does_not(tmp_path: Path) -> None:
    for make, kept in ((rigid, True), (affine_transform, False)):
        made = place(tmp_path, GOOD, transform=make())
        at = {row["name"]: np.array(row["ras_mm"]) for row in made.landmarks}
        for row in made.measurements:
            first, second = row["landmarks"]
            same = np.linalg.norm(at[first] - at[second]) == pytest.approx(row["value"], abs=1e-4)
            assert same == kept


@pytest.mark.parametrize("make", [rigid, affine_transform])
def test_the_direction_is_that_of_resampling_the_image(make: Any, tmp_path: Path) -> None:
    """What the authors do: `Resample(im, im, trf)`, and set points where they see things. A spot of the series must come back."""
    reference = sitk.ReadImage(str(save(tmp_path / "t2w.nii.gz", np.zeros(SHAPE, np.float32), AFFINE)))
    spots = [world(AFFINE, v) for v in ((14, 18, 17), (25, 24, 19))]
    grid = np.stack(np.meshgrid(*map(np.arange, SHAPE), indexing="ij"), -1) @ AFFINE[:3, :3].T + AFFINE[:3, 3]
    seen = []
    for spot in spots:
        voxels = np.exp(-((grid - spot) ** 2).sum(-1) / (2 * 2.0**2)).astype(np.float32)
        image = sitk.GetImageFromArray(voxels.transpose(2, 1, 0))
        image.CopyInformation(reference)
        resampled = sitk.GetArrayFromImage(sitk.Resample(image, image, make())).transpose(2, 1, 0)
        seen.append(np.unravel_index(np.argmax(resampled), SHAPE))
    first, second = (tuple(map(int, v)) for v in seen)
    made = place(tmp_path, {3: [first, second]}, transform=make())
    found = np.array(sorted(row["ras_mm"] for row in made.landmarks))
    assert np.abs(found - np.array(sorted(map(list, spots)))).max() < 0.8
    unmoved = np.array(sorted(row["source_ras_mm"] for row in made.landmarks))
    assert np.abs(unmoved - np.array(sorted(map(list, spots)))).max() > 1.6


@settings(max_examples=20)
@given(
    turn=st.tuples(*[st.floats(-20, 20)] * 3),
    spacing=st.tuples(*[st.floats(0.3, 3.0)] * 3),
    ends=st.tuples(*[st.tuples(st.integers(0, 39), st.integers(0, 43), st.integers(0, 35))] * 2),
)
def test_the_length_is_euclid_in_mm_on_any_grid(turn: Any, spacing: Any, ends: Any, tmp_path_factory: Any) -> None:
    affine = oblique(spacing, turn)
    if abs((affine[:3, :3] @ np.subtract(*ends))[0]) < 1e-3:
        return
    made = place(tmp_path_factory.mktemp("any"), {3: list(ends)}, affine)
    (row,) = made.measurements
    assert row["value"] == pytest.approx(np.linalg.norm(np.subtract(*ends) * spacing), rel=1e-5)


@pytest.mark.parametrize(
    ("along", "first"),
    [("R", (6, 20, 10)), ("L", (30, 25, 20)), ("A", (6, 20, 10)), ("P", (30, 25, 20)), ("S", (30, 25, 20)), ("I", (6, 20, 10))],
)
def test_the_first_of_a_pair_is_the_one_further_along(along: str, first: tuple[int, int, int], tmp_path: Path) -> None:
    """Stored LPS: a smaller first index is further right, a smaller second one further front, a larger third one higher."""
    pairs = {3: {"points": ["brain right", "brain left"], "along": along}}
    made = place(tmp_path, {3: [(30, 25, 20), (6, 20, 10)]}, STRAIGHT, source={"pairs": pairs})
    rows = {row["name"]: row for row in made.landmarks}
    np.testing.assert_allclose(rows["brain right"]["ras_mm"], world(STRAIGHT, first), atol=1e-5)


def test_which_is_first_is_decided_in_the_space_of_the_map(tmp_path: Path) -> None:
    """Half a turn about the vertical puts the right end to the left of the series: its name stays."""
    turn = sitk.Euler3DTransform((0, 0, 0), 0, 0, np.pi, (0, 0, 0))
    made = place(tmp_path, {3: [(10, 22, 15), (28, 22, 15)]}, STRAIGHT, turn)
    rows = {row["name"]: row for row in made.landmarks}
    assert rows["brain right"]["source_ras_mm"][0] > rows["brain left"]["source_ras_mm"][0]
    assert rows["brain right"]["ras_mm"][0] < rows["brain left"]["ras_mm"][0]


@pytest.mark.parametrize(
    ("ends", "plane", "index"),
    [
        ([(20, 10, 17), (20, 33, 19)], "sagittal", 19),
        ([(6, 22, 15), (34, 22, 18)], "coronal", 21),
        ([(6, 21, 15), (34, 22, 15)], "axial", 15),
        ([(6, 21, 15), (34, 22, 16)], None, None),
        ([(20, 10, 17), (20, 33, 17)], "sagittal", 19),
    ],
)
def test_the_plane_is_one_that_holds_both_ends_in_one_slice(ends: Any, plane: Any, index: Any, tmp_path: Path) -> None:
    pairs = {1: {"points": ["corpus callosum front", "corpus callosum back"], "along": "A"}}
    if ends[0][1] == ends[1][1]:
        pairs[1]["along"] = "R"
    made = place(tmp_path, {1: ends}, STRAIGHT, source={"pairs": pairs})
    assert {(row["plane"], row["slice"]) for row in (*made.landmarks, *made.measurements)} == {(plane, index)}


def test_a_shift_of_less_than_half_a_slice_keeps_the_slice(tmp_path: Path) -> None:
    for shift, index in ((0.3, 19), (0.5, 20), (-0.5, 18)):
        made = place(tmp_path, {1: [(20, 10, 17), (20, 33, 19)]}, STRAIGHT, sitk.TranslationTransform(3, (-shift, 0, 0)))
        (row,) = made.measurements
        assert (row["plane"], row["slice"]) == ("sagittal", index)


WARNED: list[tuple[Any, Code, str]] = [
    ({1: GOOD[1], 3: GOOD[3]}, Code.MISSING_LANDMARKS, "value 2 (vermis top, vermis bottom) is not in the map"),
    ({**GOOD, 2: [(1, 1, 1)]}, Code.BAD_LANDMARKS, "in 1 voxels, not in two"),
    ({**GOOD, 2: [(1, 1, 1), (1, 1, 3), (2, 1, 1)]}, Code.BAD_LANDMARKS, "in 3 voxels, not in two"),
    ({**GOOD, 2: [(1, 1, 9), (7, 8, 9)]}, Code.BAD_LANDMARKS, "equally far to S"),
]


@pytest.mark.parametrize(("points", "code", "said"), WARNED)
def test_a_pair_that_cannot_be_used_is_left_out_and_told(points: Any, code: Code, said: str, tmp_path: Path) -> None:
    made = place(tmp_path, points, STRAIGHT)
    (found,) = made.findings
    assert (found.code, found.severity, found.file) == (code, Severity.WARNING, "meas.nii.gz")
    assert said in found.detail
    assert {row["name"] for row in made.measurements} == {"length 1", "length 3"}
    assert len(made.landmarks) == 4


def _with(value: float, dtype: Any) -> Any:
    voxels = pair_map(SHAPE, GOOD).astype(dtype)
    voxels[1, 2, 3] = value
    return voxels


REFUSED: list[tuple[Any, Any, Code, str]] = [
    (_with(4, np.uint8), None, Code.UNKNOWN_LABEL, r"4 \(1 voxels\); the spec's pairs are 1, 2, 3"),
    (_with(1.5, np.float32), None, Code.NOT_WHOLE_LABELS, "1.5"),
    (_with(-1, np.int16), None, Code.UNKNOWN_LABEL, "-1"),
    (np.ones(SHAPE, np.uint8), None, Code.BAD_LANDMARKS, "63360 voxels are labelled"),
    (np.zeros((*SHAPE, 2), np.uint8), None, Code.UNEXPECTED_DIMENSIONS, "2 channels"),
    (GOOD, sitk.TranslationTransform(3, (-8, 0, 0)), Code.BAD_LANDMARKS, "brain right, voxel .6, 22, 15. of value 3, is at"),
    (GOOD, sitk.Euler3DTransform((0, 0, 0), 0, 0, 0, (0, 300, 0)), Code.BAD_LANDMARKS, "and 3 more"),
    (GOOD, sitk.Euler2DTransform(), Code.UNSUPPORTED_DATA, "Euler2DTransform_double_2_2"),
]


@pytest.mark.parametrize(("points", "transform", "code", "said"), REFUSED)
def test_a_map_or_transform_that_cannot_be_trusted_is_refused(
    points: Any, transform: Any, code: Code, said: str, tmp_path: Path
) -> None:
    made = place(tmp_path, points, STRAIGHT, transform)
    errors = [f for f in made.findings if f.severity is Severity.ERROR]
    assert [f.code for f in errors] == [code]
    assert re.search(said, errors[0].detail), errors[0].detail
    assert not made.landmarks
    assert not made.measurements


def test_whole_numbers_stored_as_floats_are_values(tmp_path: Path) -> None:
    made = place(tmp_path, pair_map(SHAPE, GOOD).astype(np.float32) * np.float32(0.99999997), STRAIGHT)
    assert made.findings == []
    assert len(made.measurements) == 3


def test_a_damaged_map_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "meas.nii.gz", pair_map(SHAPE, GOOD), STRAIGHT)
    content = (tmp_path / "meas.nii.gz").read_bytes()
    (tmp_path / "meas.nii.gz").write_bytes(content[: len(content) // 2])
    made = read_subject(feta_spec(transform=False), tmp_path, volumes_row("t2w", SHAPE, STRAIGHT), {"biometry": "meas.nii.gz"})
    (found,) = made.findings
    assert found.code is Code.TRUNCATED
    assert not made.landmarks


def test_a_map_with_a_transform_on_another_grid_is_a_warning(tmp_path: Path) -> None:
    """The header of the map has lost its spacing: the lengths are wrong, and this alone tells."""
    lost = STRAIGHT.copy()
    lost[:3, :3] /= 0.8
    for series, said in ((lost, "voxels from those of t2w"), (None, "its shape is")):
        save(tmp_path / "meas.nii.gz", pair_map(SHAPE, {3: GOOD[3]}), STRAIGHT)
        sitk.WriteTransform(sitk.TranslationTransform(3), str(tmp_path / "to_series.txt"))
        row = volumes_row("t2w", SHAPE, series) if series is not None else volumes_row("t2w", (50, 50, 50), STRAIGHT)
        made = read_subject(feta_spec(), tmp_path, row, {"biometry": "meas.nii.gz"}, {"biometry": "to_series.txt"})
        (found,) = [f for f in made.findings if f.code is Code.GRID_MISMATCH]
        assert found.severity is Severity.WARNING
        assert said in found.detail
        assert len(made.measurements) == 1


def test_a_map_without_a_transform_may_lie_on_another_grid(tmp_path: Path) -> None:
    save(tmp_path / "meas.nii.gz", pair_map(SHAPE, {3: GOOD[3]}), STRAIGHT)
    fine = np.diag([0.5, 0.5, 0.5, 1]) @ STRAIGHT
    fine[:3, 3] = STRAIGHT[:3, 3]
    made = read_subject(
        feta_spec(transform=False), tmp_path, volumes_row("t2w", (100, 100, 100), fine), {"biometry": "meas.nii.gz"}
    )
    assert [f.code for f in made.findings] == [Code.MISSING_LANDMARKS, Code.MISSING_LANDMARKS]
    for row in made.landmarks:
        np.testing.assert_allclose(
            fine[:3, :3] @ [99 - row["ijk"][0], 99 - row["ijk"][1], row["ijk"][2]] + fine[:3, 3], row["ras_mm"]
        )
