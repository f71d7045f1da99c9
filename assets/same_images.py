"""Images that several subjects have in common: a copied folder, a scan under two names, a file packed anew.

Two images are the same when their `content_xxh128` is: shape, type and voxels, whatever the file. An image of one value, or of
next to no voxels, may be the same by chance and tells nothing.
"""

from __future__ import annotations

import polars as pl

from assets.people import few
from assets.raw import natural_key
from resources.findings import Code, Finding, finding

MIN_VOXELS = 64
"""An image of fewer voxels than 8 x 8 is not compared."""


def telling_images(volumes: pl.DataFrame) -> pl.DataFrame:
    """The rows of `volumes` that are images which are not the same by chance."""
    voxels = pl.lit(1, pl.Int64)
    for axis in range(3):
        voxels = voxels * pl.col("shape_ijk").arr.get(axis).cast(pl.Int64)
    return volumes.filter(pl.col("kind") == "image", pl.col("min") != pl.col("max"), voxels >= MIN_VOXELS)


def shared_images(volumes: pl.DataFrame) -> pl.DataFrame:
    """Those of `telling_images` that two subjects or more have."""
    return telling_images(volumes).filter(pl.col("subject").n_unique().over("content_xxh128") > 1)


def sharing_subjects(volumes: pl.DataFrame) -> list[tuple[str, ...]]:
    """For every image that several subjects have, those subjects; each set of subjects once, in order."""
    having = shared_images(volumes).group_by("content_xxh128").agg(pl.col("subject").unique())["subject"].to_list()
    return sorted({tuple(sorted(who, key=natural_key)) for who in having}, key=lambda who: [natural_key(s) for s in who])


def same_image_findings(volumes: pl.DataFrame) -> dict[str, list[Finding]]:
    """Subject -> a finding for every image that others have too."""
    shared = shared_images(volumes)
    having = {content: set(part["subject"]) for (content,), part in shared.group_by("content_xxh128")}
    found: dict[str, list[Finding]] = {}
    columns = ("subject", "scan", "series", "source_paths", "content_xxh128")
    for subject, scan, series, paths, content in shared.select(columns).iter_rows():
        others = sorted(having[content] - {subject}, key=natural_key)
        detail = f"{series} of scan {scan} has the same voxels as an image of {few(others)}: the same person, or a copy"
        said = finding(Code.SAME_IMAGE_TWICE, detail, file=paths[0] if paths else "")
        found.setdefault(subject, []).append(said)
    return found
