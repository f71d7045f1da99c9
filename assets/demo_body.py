"""The anatomy of the demo: an abdomen of ellipsoids with kidneys, tumours and cysts, in RAS+ millimetres."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from resources.phantoms import UPRIGHT, Ellipsoid, Matrix, Vector, as_matrix, rotation

KIDNEY, TUMOUR, CYST = 1, 2, 3
"""Label ids, as in KiTS23."""

_LONG = 4000.0
"""Half length in mm of what runs through the whole scan, so that its outline is the same in every slice."""


@dataclass(frozen=True, slots=True)
class Lesion:
    """What grows on a kidney.

    Attributes:
        side: Which kidney, by the patient's own right and left.
        kind: Solid or filled with water.
        size_mm: Its three full lengths before it is turned about the long axis of the body.
        height: Where on the kidney: -1 at its lower pole, 1 at its upper pole.
    """

    side: Literal["right", "left"]
    kind: Literal["tumour", "cyst"]
    size_mm: Vector
    height: float


def abdomen(lesions: tuple[Lesion, ...], random: np.random.Generator) -> tuple[Ellipsoid, ...]:
    """The structures of one adult, around the origin, in the order in which they are drawn."""
    shapes = [*_trunk(), *_organs(random)]
    for side in ("right", "left"):
        kidney = _kidney(side, random)
        shapes += [kidney, *_inside(kidney)]
        for lesion in lesions:
            if lesion.side == side:
                shapes += _grow(lesion, kidney, random)
    return tuple(shapes)


def place(shapes: tuple[Ellipsoid, ...], scale: float, centre_ras_mm: Vector) -> tuple[Ellipsoid, ...]:
    """The same structures at another size, around another position."""
    return tuple(
        replace(
            shape,
            centre_ras_mm=_vector(np.array(shape.centre_ras_mm) * scale + centre_ras_mm),
            semi_axes_mm=_vector(np.array(shape.semi_axes_mm) * scale),
        )
        for shape in shapes
    )


def _trunk() -> Iterator[Ellipsoid]:
    """Table, skin, fat, muscle, the fat around the organs, spine and ribs: the same in everybody."""
    yield Ellipsoid((0, -121, 0), (130, 5, _LONG), -60)
    yield Ellipsoid((0, 0, 0), (158, 112, _LONG), 25)
    yield Ellipsoid((0, 0, 0), (155, 109, _LONG), -105)
    yield Ellipsoid((0, -4, 0), (138, 92, _LONG), 55)
    yield Ellipsoid((0, 8, 0), (124, 74, _LONG), -90)
    for right in (-1, 1):
        yield Ellipsoid((38 * right, -46, 0), (19, 17, _LONG), 60)
        yield Ellipsoid((33 * right, -78, 0), (26, 16, _LONG), 58)
    yield Ellipsoid((0, -42, 0), (23, 18, _LONG), 420)
    yield Ellipsoid((0, -42, 0), (20, 15, _LONG), 190)
    yield Ellipsoid((0, -72, 0), (4, 19, _LONG), 380)
    yield Ellipsoid((0, -65, 0), (15, 10, _LONG), 400)
    yield Ellipsoid((0, -64, 0), (9, 7, _LONG), 35)
    for degrees in (-65, -35, -10, 15, 40, 140, 165, 190, 215, 245):
        x, y = 130 * np.cos(np.radians(degrees)), 84 * np.sin(np.radians(degrees)) - 1
        yield Ellipsoid((float(x), float(y), 0), (7, 4, _LONG), 450, rotation=rotation(2, degrees + 90))


def _organs(random: np.random.Generator) -> Iterator[Ellipsoid]:
    """Liver, spleen, stomach, vessels and bowel, each a little different in every subject."""
    jitter = random.uniform(-4, 4, (12, 3))
    yield Ellipsoid(_vector(jitter[0] + (64, 22, 45)), (58, 52, 88), 112)
    yield Ellipsoid(_vector(jitter[1] + (-92, -4, 60)), (28, 42, 58), 122)
    yield Ellipsoid(_vector(jitter[2] + (-45, 42, 70)), (42, 30, 55), 40)
    yield Ellipsoid(_vector(jitter[3] + (-50, 62, 62)), (26, 9, 30), -950)
    for n, (x, y, z) in enumerate([(-62, 35, -50), (-20, 48, -30), (25, 45, -75), (60, 30, -85), (-40, 20, -95), (5, 30, -110)]):
        yield Ellipsoid(_vector(jitter[4 + n] + (x, y, z)), (24, 17, 32), 38)
        yield Ellipsoid(_vector(jitter[4 + n] + (x, y + 6, z)), (11, 6, 18), -900 if n % 2 else 60)
    yield Ellipsoid((-9, -15, 0), (11, 11, _LONG), 230)
    yield Ellipsoid((14, -14, 0), (13, 10, _LONG), 150)


def _kidney(side: Literal["right", "left"], random: np.random.Generator) -> Ellipsoid:
    """One kidney: its poles lean outwards at the bottom and its hilum looks to the front and inwards."""
    outwards = 1 if side == "right" else -1
    centre = np.array((66 * outwards, -26, -12 if side == "right" else 2)) + random.uniform(-3, 3, 3)
    semi_axes = np.array((27, 22, 52)) * random.uniform(0.92, 1.08, 3)
    lean, facing = random.uniform(4, 10), random.uniform(15, 30)
    turn = np.array(rotation(1, -lean * outwards)) @ np.array(rotation(2, -facing * outwards))
    return Ellipsoid(_vector(centre), _vector(semi_axes), 195, KIDNEY, as_matrix(turn))


def _inside(kidney: Ellipsoid) -> Iterator[Ellipsoid]:
    """The medulla, paler than the cortex; to be seen in the image only."""
    inner = _vector(np.array(kidney.semi_axes_mm) * (0.62, 0.6, 0.74))
    yield replace(kidney, semi_axes_mm=inner, value=145, label=None)


def _grow(lesion: Lesion, kidney: Ellipsoid, random: np.random.Generator) -> Iterator[Ellipsoid]:
    """A lesion on the kidney's outer side, half in it; a large tumour is dead in its middle."""
    outwards = np.sign(kidney.centre_ras_mm[0])
    sine = np.sqrt(1 - lesion.height**2)
    on_surface = np.array((outwards * sine, 0.0, lesion.height)) * kidney.semi_axes_mm
    centre = np.array(kidney.centre_ras_mm) + 0.85 * np.array(kidney.rotation) @ on_surface
    half = np.array(lesion.size_mm) / 2
    turn: Matrix = rotation(2, float(random.uniform(-40, 40))) if lesion.kind == "tumour" else UPRIGHT
    if lesion.kind == "cyst":
        yield Ellipsoid(_vector(centre), _vector(half), 8, CYST, turn)
        return
    yield Ellipsoid(_vector(centre), _vector(half), 105, TUMOUR, turn)
    if half.min() > 15:
        yield Ellipsoid(_vector(centre), _vector(half * 0.45), 45, None, turn)


def _vector(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Vector:
    x, y, z = values.tolist()
    return x, y, z
