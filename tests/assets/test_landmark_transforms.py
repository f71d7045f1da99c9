"""ITK's text transforms against ITK itself, and damaged texts, on some of which ITK's own reader ends the process."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk  # noqa: N813  # the name its manual uses

from assets.annotations.landmarks.transform import itk_affine_ras
from resources.findings import BadInputError, Code

RNG = np.random.default_rng(11)
POINTS = RNG.uniform(-90, 90, (7, 3))
LPS = np.array([-1, -1, 1])


def _with(transform: Any, parameters: list[float], centre: list[float]) -> Any:
    transform.SetFixedParameters(centre)
    transform.SetParameters(parameters)
    return transform


def _matrix() -> list[float]:
    return [0.9, -0.3, 0.1, 0.25, 1.1, 0.05, -0.1, 0.2, 0.95, 4.0, -5.0, 6.5]


MADE: dict[str, Callable[[], Any]] = {
    "affine": lambda: _with(sitk.AffineTransform(3), _matrix(), [10.0, 20.0, -30.0]),
    "euler": lambda: sitk.Euler3DTransform((1, 2, 3), 0.1, -0.2, 0.3, (4, 5, 6)),
    "euler zyx": lambda: _with(sitk.Euler3DTransform(), [0.1, -0.2, 0.3, 4, 5, 6], [1, 2, 3, 1]),
    "versor": lambda: _with(sitk.VersorTransform(), [0.1, 0.2, 0.3], [3, 4, 5]),
    "versor rigid": lambda: _with(sitk.VersorRigid3DTransform(), [0.1, 0.2, 0.3, 7, 8, 9], [3, 4, 5]),
    "similarity": lambda: _with(sitk.Similarity3DTransform(), [0.1, 0.2, 0.3, 7, 8, 9, 1.2], [3, 4, 5]),
    "scale": lambda: _with(sitk.ScaleTransform(3), [0.5, 1.5, 2], [3, 4, 5]),
    "scale versor": lambda: _with(sitk.ScaleVersor3DTransform(), [0.1, 0.2, 0.3, 7, 8, 9, 1.1, 0.9, 1.2], [3, 4, 5]),
    "scale skew": lambda: _with(
        sitk.ScaleSkewVersor3DTransform(), [0.1, 0.2, 0.3, 7, 8, 9, 1, 1, 1.2, 0, 0.1, 0, 0.2, 0, 0], [3, 4, 5]
    ),
    "compose scale skew": lambda: _with(
        sitk.ComposeScaleSkewVersor3DTransform(), [0.1, 0.2, 0.3, 7, 8, 9, 1, 1.1, 1.2, 0.1, 0, 0.2], [3, 4, 5]
    ),
    "translation": lambda: sitk.TranslationTransform(3, (1.5, -2.5, 3.5)),
    "identity": lambda: sitk.Transform(3, sitk.sitkIdentity),
    "composite": lambda: sitk.CompositeTransform([MADE["euler"](), MADE["affine"]()]),
    "composite of one": lambda: sitk.CompositeTransform([MADE["versor rigid"]()]),
}


def moved_by_itk(transform: Any, ras: Any) -> Any:
    return np.array([transform.TransformPoint(tuple(map(float, p * LPS))) for p in ras]) * LPS


def moved(matrix: Any, ras: Any) -> Any:
    return ras @ matrix[:3, :3].T + matrix[:3, 3]


@pytest.mark.parametrize("ending", ["txt", "tfm"])
@pytest.mark.parametrize("name", MADE)
def test_points_go_where_itk_takes_them(name: str, ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"a.{ending}"
    sitk.WriteTransform(MADE[name](), str(file))
    found = itk_affine_ras(file.read_text(encoding="ascii"), "a")
    np.testing.assert_allclose(moved(found, POINTS), moved_by_itk(MADE[name](), POINTS), atol=1e-9)


HEAD = "#Insight Transform File V1.0\n#Transform 0\n"
TURN = "0 -1 0 1 0 0 0 0 1 5 6 7"
"""A quarter turn about z and a shift, in LPS."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Transform: MatrixOffsetTransformBase_double_3_3\nParameters: {TURN}\nFixedParameters: 0 0 0\n", (-7, -5, 10)),
        (f"Transform: MatrixOffsetTransformBase_double_3_3\nParameters: {TURN}\nFixedParameters: 1 0 0\n", (-8, -4, 10)),
        (f"Transform: AffineTransform_float_3_3\nParameters: {TURN}\nFixedParameters: 0 0 0\n", (-7, -5, 10)),
        (f"Transform: AffineTransform_double_3_3\nParameters: {TURN}\n", (-7, -5, 10)),
        ("Transform: Euler3DTransform_double_3_3\nParameters: 0 0 0 5 6 7\nFixedParameters: 1 2 3\n", (-4, -4, 10)),
    ],
)
def test_by_hand(text: str, expected: tuple[float, ...]) -> None:
    """RAS (1, 2, 3) is LPS (-1, -2, 3); the turn takes (x, y) to (-y, x), so to (2, -1), and the shift to (7, 5, 10)."""
    point = np.array([[1.0, 2.0, 3.0]])
    found = moved(itk_affine_ras(HEAD + text, "a"), point)[0]
    assert found == pytest.approx(expected, abs=1e-12)


GOOD = HEAD + f"Transform: AffineTransform_double_3_3\nParameters: {TURN}\nFixedParameters: 0 0 0\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        (GOOD.replace("-1 0", "nan 0"), Code.BAD_HEADER, "not finite"),
        (GOOD.replace("-1 0", "1e999 0"), Code.BAD_HEADER, "not finite"),
        (GOOD.replace("-1 0", "minus 0"), Code.BAD_HEADER, "no numbers"),
        (GOOD.replace(" 5 6 7", ""), Code.BAD_HEADER, "12 Parameters, not 9"),
        (GOOD.replace("Parameters: " + TURN + "\n", ""), Code.BAD_HEADER, "12 Parameters, not 0"),
        (GOOD.replace("FixedParameters: 0 0 0", "FixedParameters: 0 0"), Code.BAD_HEADER, "3 FixedParameters, not 2"),
        (GOOD.replace("AffineTransform", "CenteredAffineTransform"), Code.UNSUPPORTED_DATA, "CenteredAffineTransform"),
        (GOOD.replace("AffineTransform", "BSplineTransform"), Code.UNSUPPORTED_DATA, "BSplineTransform"),
        (GOOD.replace("_3_3", "_2_2"), Code.UNSUPPORTED_DATA, "_2_2"),
        (GOOD.replace("0 -1 0 1 0 0 0 0 1", "1 0 0 0 1 0 1 1 0"), Code.BAD_AFFINE, "singular"),
        (GOOD.replace("0 -1 0 1 0 0 0 0 1", "0 0 0 0 0 0 0 0 0"), Code.BAD_AFFINE, "singular"),
        (GOOD + GOOD, Code.BAD_HEADER, "2 transforms"),
        (HEAD, Code.BAD_HEADER, "0 transforms"),
        ("832,994\n1469,1032\n", Code.BAD_HEADER, "832,994"),
        (HEAD + "Parameters: 1 2 3\n", Code.BAD_HEADER, "Parameters"),
        (HEAD + "Transform: CompositeTransform_double_3_3\n" * 2, Code.UNSUPPORTED_DATA, "inside of another"),
        ("", Code.BAD_HEADER, "0 transforms"),
    ],
)
def test_a_text_that_is_no_sound_transform_is_refused(text: str, code: Code, said: str) -> None:
    with pytest.raises(BadInputError, match=said) as caught:
        itk_affine_ras(text, "t.txt")
    assert caught.value.finding.code is code
    assert caught.value.finding.file == "t.txt"


def test_every_beginning_of_a_file_is_read_or_refused() -> None:
    whole = itk_affine_ras(GOOD, "a")
    for n in range(len(GOOD)):
        try:
            found = itk_affine_ras(GOOD[:n], "a")
        except BadInputError:
            continue
        assert math.isfinite(found.sum())
        assert n >= GOOD.index(TURN) + len(TURN)
        np.testing.assert_allclose(found, whole)


def test_a_text_of_itksnap_means_what_itk_reads_in_it(tmp_path: Path) -> None:
    """ITK-SNAP writes the name of the base class, which SimpleITK writes for none of its own."""
    text = f"Transform: MatrixOffsetTransformBase_double_3_3\nParameters: {TURN}\nFixedParameters: 3 -4 5\n"
    (tmp_path / "a.txt").write_text(HEAD + text, encoding="ascii")
    expected = moved_by_itk(sitk.ReadTransform(str(tmp_path / "a.txt")), POINTS)
    np.testing.assert_allclose(moved(itk_affine_ras(HEAD + text, "a"), POINTS), expected, atol=1e-9)
