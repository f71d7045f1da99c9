"""What the tables of 2-D annotations have in common: where a row belongs, and that its slice and label exist."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assets.spec import DatasetSpec
from expectations.flatten import PLANE_AXES
from expectations.suite import Expectation, at_least, between, one_of, zero

SLICE_KEY = ("subject", "scan", "series", "plane", "slice", "label_id")
COMPONENT_KEY = (*SLICE_KEY, "component")
WHERE = ("scan", "series", "plane", "slice", "label")


def label_key() -> pl.Expr:
    """`<id>:<name>` of a row's label."""
    return (pl.col("label_id").cast(pl.String) + ":" + pl.col("label")).alias("label_key")


def wrong_plane() -> pl.Expr:
    """Whether the plane is not one of the row's space: time and pages are no direction in a patient."""
    return ((pl.col("plane") == "picture") != (pl.col("space") == "picture")).cast(pl.Int8).alias("wrong_plane")


def slice_holds() -> Iterator[Expectation]:
    """The plane is one of those its space has, and the slice is one of the image."""
    yield one_of("plane", PLANE_AXES, f"the plane is one of {', '.join(PLANE_AXES)}")
    yield zero("wrong_plane", "a picture has the plane `picture`, and a volume has not", shown=("plane", "space"))
    yield between("slice", "the slice number is not negative", 0)
    yield at_least("extent_slice", "slice", "the slice lies in the image", strictly=True)


def label_holds(spec: DatasetSpec, ids: tuple[int, ...]) -> Expectation:
    """The label is one of these of the spec, and has its name."""
    keys = [f"{n}:{spec.label_name(n)}" for n in ids]
    return one_of("label_key", keys, f"the label and its name are those of the spec: {', '.join(keys) or 'none'}")


def component_holds() -> Iterator[Expectation]:
    """The component is one of those counted."""
    yield between("component", "components are counted from 1", 1)
    yield at_least("n_components", "component", "the component is one of the n_components of its slice and label")
