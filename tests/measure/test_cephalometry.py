"""The clinical classes that the annotators of the cephalograms wrote below their landmarks, worked out from the landmarks.

Each file gives 19 points and the class of 8 measures. Definitions and limits are those of the ISBI 2014 and 2015 challenges; a
sign is that of a turn as the picture shows it, x rightward (the face looks right) and y downward.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from assets.annotations.landmarks.grid import SeriesGrid
from assets.annotations.landmarks.xy_lines import points_of_xy_lines
from assets.measure.angles import distance, folded_angle_deg, unfolded_angle_deg
from resources.geometry import closest_ras

N_FILES = 267
NAMES = [str(n) for n in range(1, 20)]
MEASURES = ("ANB", "SNB", "SNA", "ODI", "APDI", "FHI", "FMA", "MW")

Places = npt.NDArray[np.float64]
"""(files, landmarks, RAS+ mm); landmark 1 is at index 1."""


def cephalogram() -> SeriesGrid:
    """1935 x 2400 pixels of 0.1 mm, the face to the right: columns run to anterior, rows to inferior."""
    affine = np.array([[0, 0, 1, 0], [0.1, 0, 0, 0], [0, -0.1, 0, 0], [0, 0, 0, 1]], np.float64)
    to_ras, shape = closest_ras(affine), (1935, 2400, 1)
    return SeriesGrid("xray", to_ras.shape(shape), to_ras.affine(affine, shape), to_ras, "declared by the spec")


@pytest.fixture(scope="module")
def files(shared_data: Path) -> list[str]:
    paths = sorted((shared_data / "layouts/Ceph-Bio-400/AnnotationsByMD").glob("*/*.txt"))
    assert len(paths) == N_FILES
    return [path.read_text(encoding="ascii") for path in paths]


@pytest.fixture(scope="module")
def places(files: list[str]) -> Places:
    grid = cephalogram()
    read = [points_of_xy_lines(text, "", NAMES, grid).ras_mm for text in files]
    return np.stack([np.vstack([np.full(3, np.nan), points]) for points in read])


@pytest.fixture(scope="module")
def written(files: list[str]) -> npt.NDArray[np.int64]:
    """(files, 8) classes, from 1."""
    return np.array([[int(line) for line in text.split()[19:27]] for text in files])


def line(at: Places, first: int, second: int) -> Places:
    return at[:, second] - at[:, first]


def folded(at: Places, first: tuple[int, int], second: tuple[int, int]) -> Places:
    return folded_angle_deg(line(at, *first), line(at, *second))


def unfolded(at: Places, first: tuple[int, int], second: tuple[int, int]) -> Places:
    return unfolded_angle_deg(line(at, *first), line(at, *second))


def turn(at: Places, first: tuple[int, int], second: tuple[int, int]) -> Places:
    """1 where the lines themselves turn clockwise in the picture by less than 90 degrees, -1 where counterclockwise."""
    (_, a, s), (_, b, t) = line(at, *first).T, line(at, *second).T
    return np.asarray(-np.sign(a * t - s * b) * np.sign(a * b + s * t))


def sna(at: Places) -> Places:
    return 180 - unfolded(at, (1, 2), (2, 5))


def snb(at: Places) -> Places:
    return 180 - unfolded(at, (1, 2), (2, 6))


def anb(at: Places) -> Places:
    return sna(at) - snb(at)


def palate_to_frankfort(at: Places) -> Places:
    """Palatal plane against the Frankfort horizontal, with its sign."""
    return turn(at, (3, 4), (17, 18)) * folded(at, (3, 4), (17, 18))


def odi(at: Places) -> Places:
    return 180 - unfolded(at, (5, 6), (8, 10)) + palate_to_frankfort(at)


def apdi(at: Places) -> Places:
    facial_to_ab = turn(at, (2, 7), (5, 6)) * folded(at, (2, 7), (5, 6))
    return unfolded(at, (3, 4), (2, 7)) - facial_to_ab + palate_to_frankfort(at)


def fhi(at: Places) -> Places:
    return distance(at[:, 1], at[:, 10]) / distance(at[:, 2], at[:, 8])


def fma(at: Places) -> Places:
    """As the challenge has it, sella to nasion against gonion to gnathion."""
    return unfolded(at, (1, 2), (10, 9))


def mw(at: Places) -> Places:
    """Gap of the incisors' edges in mm; negative unless the upper is in front."""
    apart = distance(at[:, 11], at[:, 12])
    return np.where(at[:, 12, 1] > at[:, 11, 1], apart, -apart)


def three(low: float, high: float, below: int, above: int) -> Callable[[Places], npt.NDArray[np.int64]]:
    """Class 1 between the limits."""
    return lambda value: np.where(value < low, below, np.where(value > high, above, 1))


def of_mw(value: Places) -> npt.NDArray[np.int64]:
    """The published limits leave 0 to 2 mm without a class; the files count it as class 3."""
    return np.where(value == 0, 2, np.where(value < 2, 3, np.where(value > 4.5, 4, 1)))


RULES: dict[str, tuple[Callable[[Places], Places], Callable[[Places], npt.NDArray[np.int64]]]] = {
    "ANB": (anb, three(3.2, 5.7, 3, 2)),
    "SNB": (snb, three(74.6, 78.7, 2, 3)),
    "SNA": (sna, three(79.4, 83.2, 3, 2)),
    "ODI": (odi, three(68.4, 80.5, 3, 2)),
    "APDI": (apdi, three(77.6, 85.2, 2, 3)),
    "FHI": (fhi, three(0.65, 0.75, 3, 2)),
    "FMA": (fma, three(26.8, 31.4, 3, 2)),
    "MW": (mw, of_mw),
}


@pytest.mark.parametrize("measure", MEASURES)
def test_the_classes_of_every_file_come_out(measure: str, places: Places, written: npt.NDArray[np.int64]) -> None:
    value, class_of = RULES[measure]
    expected = written[:, MEASURES.index(measure)]
    assert len(np.unique(expected)) >= 3
    assert (class_of(value(places)) == expected).all()


def test_the_published_limits_of_the_incisors_gap_hold_wherever_they_give_a_class(
    places: Places, written: npt.NDArray[np.int64]
) -> None:
    value, expected = mw(places), written[:, MEASURES.index("MW")]
    has_class = (value <= 0) | (value >= 2)
    assert (of_mw(value)[has_class] == expected[has_class]).all()
    assert set(expected[~has_class]) == {3}


def test_the_calibration_decides_the_classes_in_mm(places: Places, written: npt.NDArray[np.int64]) -> None:
    """With a pixel a tenth larger or smaller the gap's classes do not come out: 0.1 mm is what the annotators counted with."""
    expected = written[:, MEASURES.index("MW")]
    for factor in (0.9, 1.1):
        assert (of_mw(factor * mw(places)) != expected).sum() > 10
