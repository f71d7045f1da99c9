from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from pydicom.dataset import Dataset
from pydicom.uid import RTStructureSetStorage

from resources.findings import BadInputError, Code
from resources.readers.dicom.contours import fill_polygon
from resources.readers.dicom.rtstruct import Contour, Roi, StructureSet, rasterise, read_rtstruct
from resources.readers.dicom.seg_grid import Grid
from resources.readers.dicom.series import open_series
from tests.readers.dicom.makers import scan, uid, write

SHAPE = (40, 30, 6)
AFFINE = np.array([[-0.5, 0, 0, 10], [0, -0.75, 0, 11], [0, 0, 2, -4], [0, 0, 0, 1]], np.float64)
GRID = Grid(AFFINE, SHAPE)


def to_ras(points: Any, k: float, affine: npt.NDArray[np.float64] = AFFINE) -> npt.NDArray[np.float64]:
    """Points in voxel coordinates of slice k."""
    points = np.asarray(points, np.float64)
    voxels = np.column_stack([points, np.full(len(points), k), np.ones(len(points))])
    return np.asarray((voxels @ affine.T)[:, :3])


def drawn(*contours: tuple[Any, float], kind: str = "CLOSED_PLANAR", affine: npt.NDArray[np.float64] = AFFINE) -> Roi:
    return Roi(1, "organ", "", None, "", tuple(Contour(kind, to_ras(points, k, affine), "") for points, k in contours))


def mask(roi: Roi, grid: Grid = GRID) -> tuple[npt.NDArray[np.bool_], list[str]]:
    found = rasterise(StructureSet("s", (roi,), (), ()), roi, grid)
    assert {finding.code for finding in found.findings} <= {Code.CONTOUR_SKIPPED}
    return found.voxels, [finding.detail for finding in found.findings]


def square(low: float, high: float) -> list[tuple[float, float]]:
    return [(low, low), (high, low), (high, high), (low, high)]


def circle(radius: float, n: int = 400) -> npt.NDArray[np.float64]:
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    return np.column_stack([20 + radius * np.cos(angle), 15 + radius * np.sin(angle)])


def inside(condition: Any) -> npt.NDArray[np.bool_]:
    i, j = np.mgrid[: SHAPE[0], : SHAPE[1]]
    return np.asarray(condition(i, j))


def test_a_square_holds_the_centres_inside_it() -> None:
    found, said = mask(drawn((square(2.5, 7.5), 3)))
    assert np.argwhere(found).min(axis=0).tolist() == [3, 3, 3]
    assert np.argwhere(found).max(axis=0).tolist() == [7, 7, 3]
    assert found.sum() == 25
    assert said == []


def test_squares_that_meet_share_no_voxel_and_leave_none_out() -> None:
    left, _ = mask(drawn(([(2, 2), (5, 2), (5, 9), (2, 9)], 0)))
    right, _ = mask(drawn(([(5, 2), (8, 2), (8, 9), (5, 9)], 0)))
    assert not (left & right).any()
    assert (left | right).sum() == 6 * 7


@pytest.mark.parametrize("direction", [1, -1])
def test_circles_and_rings(direction: int) -> None:
    disc, _ = mask(drawn((circle(9.3), 2)))
    np.testing.assert_array_equal(disc[:, :, 2], inside(lambda i, j: (i - 20) ** 2 + (j - 15) ** 2 < 9.3**2))
    ring, _ = mask(drawn((circle(9.3), 2), (circle(4.2)[::direction], 2)))
    expected = inside(lambda i, j: ((i - 20) ** 2 + (j - 15) ** 2 < 9.3**2) & ((i - 20) ** 2 + (j - 15) ** 2 > 4.2**2))
    np.testing.assert_array_equal(ring[:, :, 2], expected)


def test_a_key_hole_is_a_hole() -> None:
    outer, inner = circle(9.3), circle(4.2)[::-1]
    key_hole = np.concatenate([outer, outer[:1], inner[-1:], inner])
    joined, _ = mask(drawn((key_hole, 2)))
    apart, _ = mask(drawn((circle(9.3), 2), (circle(4.2), 2)))
    np.testing.assert_array_equal(joined, apart)


def test_an_island_in_a_hole_is_filled_again() -> None:
    found, _ = mask(drawn((circle(12.2), 1), (circle(8.2), 1), (circle(3.2), 1)))
    assert found[20, 15, 1]
    assert not found[20 + 6, 15, 1]
    assert found[20 + 10, 15, 1]


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(3, 12))
def test_polygons_equal_those_of_pillow_away_from_their_edges(seed: int, count: int) -> None:
    """Star-shaped polygons; pixels on Pillow's thick edges, or in the gaps it leaves where two meet, are not compared."""
    random = np.random.default_rng(seed)
    angles = (np.arange(count) + random.uniform(0, 0.4, count)) * 2 * np.pi / count
    radii = random.uniform(3, 14, count)
    points = np.column_stack([20 + radii * np.cos(angles), 15 + radii * np.sin(angles)])
    ours = np.zeros((40, 30), np.bool_)
    fill_polygon(ours, points)
    picture, edges = Image.new("1", (40, 30)), Image.new("1", (40, 30))
    flat = [tuple(point) for point in points]
    ImageDraw.Draw(picture).polygon(flat, fill=1, outline=1)
    ImageDraw.Draw(edges).line([*flat, flat[0]], fill=1, width=3)
    starts, sides = points[:, None, None], (np.roll(points, -1, axis=0) - points)[:, None, None]
    pixels = np.moveaxis(np.indices((40, 30)), 0, -1) - starts
    along = np.clip((pixels * sides).sum(-1) / (sides**2).sum(-1), 0, 1)[..., None]
    distance = np.linalg.norm(pixels - along * sides, axis=-1).min(axis=0)
    clear = ~np.asarray(edges).T & (distance > 0.75)
    np.testing.assert_array_equal(ours[clear], np.asarray(picture).T[clear])


@given(seed=st.integers(0, 2**32 - 1))
def test_area_is_kept_on_fine_grids(seed: int) -> None:
    random = np.random.default_rng(seed)
    angles = (np.arange(7) + random.uniform(0, 0.4, 7)) * 2 * np.pi / 7
    points = 200 + np.column_stack([np.cos(angles), np.sin(angles)]) * random.uniform(120, 190, (7, 1))
    x, y = points[:, 0], points[:, 1]
    area = abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2
    found = np.zeros((400, 400), np.bool_)
    fill_polygon(found, points)
    assert found.sum() == pytest.approx(area, rel=0.005)


def test_contours_go_to_the_nearest_slice_of_an_oblique_grid() -> None:
    turn, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    affine = np.eye(4)
    affine[:3, :3] = turn * [0.5, 0.75, 2]
    affine[:3, 3] = [3, -40, 7]
    found, said = mask(drawn((square(2.5, 7.5), 2.2), (square(2.5, 7.5), 2.9), affine=affine), Grid(affine, SHAPE))
    assert found.any(axis=(0, 1)).nonzero()[0].tolist() == [2, 3]
    assert said == []


@pytest.mark.parametrize(
    ("contour", "words"),
    [
        ((square(2.2, 2.4), 3), "smaller than a voxel"),
        ((square(60, 70), 3), "outside of the image"),
        ((square(2, 7), 8.4), "outside of the 6 slices"),
        ((square(2, 7), -0.6), "outside of the 6 slices"),
        (([(1, 1), (5, 5)], 3), "2 points"),
    ],
)
def test_contours_that_give_nothing_are_told_and_the_rest_is_kept(contour: tuple[Any, float], words: str) -> None:
    found, said = mask(drawn((square(2.5, 7.5), 3), contour))
    assert found.sum() == 25
    assert len(said) == 1
    assert words in said[0]
    assert "organ" in said[0]


def test_contours_that_cross_slices_and_points_are_told() -> None:
    slanted = Roi(1, "organ", "", None, "", (Contour("CLOSED_PLANAR", np.array([[0, 0, 0], [5, 0, 3], [5, 5, 3.0]]), ""),))
    found, said = mask(slanted)
    assert not found.any()
    assert "not parallel" in said[0]
    _, said = mask(drawn(([(3, 3)], 1), kind="POINT"))
    assert "POINT" in said[0]


def test_slices_left_out_between_contours_are_told() -> None:
    found, said = mask(drawn((square(2.5, 7.5), 1), (square(2.5, 7.5), 4)))
    assert found.any(axis=(0, 1)).nonzero()[0].tolist() == [1, 4]
    assert "2 slices between its contours have none, the first is 2" in said[0]


def structure_set(*, data: Any = None) -> Dataset:
    ds = Dataset()
    ds.SOPClassUID, ds.SOPInstanceUID = RTStructureSetStorage, uid(4, 1)
    ds.StudyInstanceUID, ds.SeriesInstanceUID, ds.Modality = uid(9), uid(4), "RTSTRUCT"
    ds.PatientName = "Secret^Person"
    rois, contours, observations = [], [], []
    for number, title in ((1, "Lunge größe"), (2, "never drawn"), (3, "empty")):
        roi, drawing, observation, contour = Dataset(), Dataset(), Dataset(), Dataset()
        roi.ROINumber, roi.ROIName, roi.ReferencedFrameOfReferenceUID = number, title, uid(8)
        drawing.ReferencedROINumber = observation.ReferencedROINumber = number
        observation.RTROIInterpretedType = "ORGAN"
        contour.ContourGeometricType, contour.NumberOfContourPoints = "CLOSED_PLANAR", 4
        contour.ContourData = data or [1, 2, 3, 4, 2, 3, 4, 6.5, 3, 1, 6.5, 3]
        if number == 3:
            del contour.ContourData
        drawing.ROIDisplayColor = [255, 0, 10]
        drawing.ContourSequence = [contour]
        rois.append(roi)
        observations.append(observation)
        if number != 2:
            contours.append(drawing)
    ds.SpecificCharacterSet = "ISO_IR 192"
    ds.StructureSetROISequence, ds.ROIContourSequence, ds.RTROIObservationsSequence = rois, contours, observations
    return ds


def test_contours_are_in_ras(tmp_path: Path) -> None:
    found = read_rtstruct(write(tmp_path / "rt", structure_set()))
    first, second, third = found.rois
    assert (first.name, first.kind, first.colour, first.frame_of_reference) == ("Lunge größe", "ORGAN", (255, 0, 10), uid(8))
    assert first.contours[0].points_ras_mm.tolist() == [[-1, -2, 3], [-4, -2, 3], [-4, -6.5, 3], [-1, -6.5, 3]]
    assert second.contours == third.contours == ()
    told = " ".join(finding.detail for finding in found.findings)
    assert "never drawn" in told
    assert "contour 0 has no points" in told
    assert "Secret" not in repr(found)


@pytest.mark.parametrize("data", [b"1\\2\\3\\4", b"1\\2\\inf", b"1\\2\\x", b"1\\\\3"])
def test_points_that_are_none_are_refused(tmp_path: Path, data: bytes) -> None:
    path = write(tmp_path / "rt", structure_set(data=["0.5", "7.25", "9.125"] * 4))
    old = b"\\".join([b"0.5\\7.25\\9.125"] * 4)
    assert old in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old, data.ljust(len(old))))
    with pytest.raises(BadInputError) as caught:
        read_rtstruct(path)
    assert caught.value.finding.code == Code.BAD_HEADER


def test_the_structure_of_a_real_set_lies_on_its_image(shared_data: Path) -> None:
    """The structure of rt-utils' mock data is a square with a smaller one inside, in the first of two slices."""
    folder = shared_data / "seg/rt-utils/mock_data"
    (series,) = [series for series in scan(folder) if series.kind == "image"]
    image = open_series(series)
    found = read_rtstruct(folder / "rt.dcm")
    assert series.uid in found.series_uids
    (roi,) = found.rois
    result = rasterise(found, roi, Grid(image.affine_ras_mm, image.shape))
    assert result.findings == ()
    areas = []
    for contour in roi.contours:
        x, y = contour.points_ras_mm[:, 0], contour.points_ras_mm[:, 1]
        areas.append(abs(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))) / 2)
    assert result.voxels[:, :, 0].sum() * 0.488281**2 == pytest.approx(areas[0] - areas[1], rel=0.03)  # 49.15 pixels wide
    assert not result.voxels[:, :, 1].any()
    where = np.argwhere(result.voxels[:, :, 0]) @ image.affine_ras_mm[:2, :2].T + image.affine_ras_mm[:2, 3]
    assert where.min() >= 27
    assert where.max() <= 51
