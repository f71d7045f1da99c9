"""What must hold of the splits' table: every subject once, and neither a person nor an image on both sides."""

from __future__ import annotations

import polars as pl

from assets.same_images import telling_images
from assets.spec import DatasetSpec
from assets.tables import SPLITS, VOLUMES
from expectations.flatten import is_as_documented, malformed, with_unset
from expectations.suite import Suite, columns_are, contains, nothing_unset, one_of, unique, zero
from resources.findings import Severity

SPLIT_NAMES = ("train", "test")


def view(table: pl.DataFrame, volumes: pl.DataFrame) -> pl.DataFrame:
    """The `splits` table as Great Expectations sees it.

    `n_other_splits` counts the other splits its group is in; `same_image_across` names subjects of another split that have an
    image of this one, by its voxels.
    """
    for found, schema in ((table, SPLITS), (volumes, VOLUMES)):
        if not is_as_documented(found, schema):
            return malformed(found, schema)
    others = pl.col("split").n_unique().over("group").cast(pl.Int64) - 1
    flat = with_unset(table, ["dataset", "subject", "group", "split", "reason"])
    flat = flat.join(_across(table, volumes), on="subject", how="left", maintain_order="left")
    return flat.select(
        "subject", "group", "split", "unset", pl.col("same_image_across").fill_null(""), n_other_splits=others
    )  # fmt: skip


def _across(table: pl.DataFrame, volumes: pl.DataFrame) -> pl.DataFrame:
    """Subjects with an image that is in another split too, and in `same_image_across` the subjects it is there in."""
    images = telling_images(volumes).select("subject", "image").unique()
    placed = images.join(table.select("subject", "split").unique(), on="subject")
    torn = placed.filter(pl.col("split").n_unique().over("image") > 1)
    pairs = torn.join(torn, on="image", suffix="_other").filter(pl.col("split") != pl.col("split_other"))
    return pairs.group_by("subject").agg(same_image_across=pl.col("subject_other").unique().sort().str.join(", "))


def suite(spec: DatasetSpec) -> Suite:
    """The suite of `splits`, for tables that went through `view`.

    Where the spec follows the official split, an image on both sides of it is its authors' doing, and a warning.
    """
    followed = spec.split.official is not None and spec.split.official.follow
    leak = Severity.WARNING if followed else Severity.ERROR
    columns = view(pl.DataFrame(schema=dict(SPLITS)), pl.DataFrame(schema=dict(VOLUMES))).columns
    expectations = (
        columns_are(columns, "splits"),
        nothing_unset(),
        unique(["subject"], "a subject is in one row"),
        one_of("split", SPLIT_NAMES, f"the split is one of {', '.join(SPLIT_NAMES)}"),
        zero("n_other_splits", "a group of subjects that stay together is in one split", shown=("group", "split")),
        one_of("same_image_across", [""], "an image is in one split, whatever its subjects are called", severity=leak),
        contains("split", SPLIT_NAMES, "neither split is empty", Severity.WARNING),
    )
    return Suite(f"{spec.slug}/splits", "splits", expectations, ("group",))
