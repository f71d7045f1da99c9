"""Images that several subjects have in common: a copied folder, a scan under two names, a file packed anew.

Two images are the same when their `content_xxh128` is: shape, type and voxels, whatever the file. Stored in another type, as when
integers were saved anew as floats, they are the same when shape, least, greatest and mean value are. An image of one value, or of
next to no voxels, may be the same by chance and tells nothing.
"""

from __future__ import annotations

import polars as pl

from assets.people import few
from assets.raw import natural_key
from resources.findings import Code, Finding, finding

MIN_VOXELS = 64
"""An image of fewer voxels than 8 x 8 is not compared."""

MIN_VOXELS_ACROSS_TYPES = 1 << 12
"""The mean of fewer voxels than 64 x 64 may be another's by chance."""


def telling_images(volumes: pl.DataFrame) -> pl.DataFrame:
    """The rows of `volumes` that are images which are not the same by chance; images with one value in `image` are the same."""
    extents = [pl.col("shape_ijk").arr.get(axis).cast(pl.Int64) for axis in range(3)]
    voxels = extents[0] * extents[1] * extents[2]
    told = volumes.filter(pl.col("kind") == "image", pl.col("min") != pl.col("max"), voxels >= MIN_VOXELS)
    look = pl.concat_str(*extents, "min", "max", "mean", "n_nonfinite", separator=" ")
    in_types = pl.col("dtype").n_unique().over(look) > 1
    alike = in_types & (voxels >= MIN_VOXELS_ACROSS_TYPES)
    return told.with_columns(image=pl.when(alike).then(look).otherwise(pl.col("content_xxh128")))


def shared_images(volumes: pl.DataFrame) -> pl.DataFrame:
    """Those of `telling_images` that two subjects or more have."""
    return telling_images(volumes).filter(pl.col("subject").n_unique().over("image") > 1)


def sharing_subjects(volumes: pl.DataFrame) -> list[tuple[str, ...]]:
    """For every image that several subjects have, those subjects; each set of subjects once, in order."""
    having = shared_images(volumes).group_by("image").agg(pl.col("subject").unique())["subject"].to_list()
    return sorted({tuple(sorted(who, key=natural_key)) for who in having}, key=lambda who: [natural_key(s) for s in who])


def same_image_findings(volumes: pl.DataFrame) -> dict[str, list[Finding]]:
    """Subject -> a finding for every image that others have too."""
    shared = shared_images(volumes)
    having: dict[str, dict[str, set[str]]] = {}
    for image, subject, content in shared.select("image", "subject", "content_xxh128").iter_rows():
        having.setdefault(image, {}).setdefault(subject, set()).add(content)
    found: dict[str, list[Finding]] = {}
    columns = ("subject", "scan", "series", "source_paths", "content_xxh128", "image")
    for subject, scan, series, paths, content, image in shared.select(columns).iter_rows():
        others = sorted(having[image].keys() - {subject}, key=natural_key)
        equal = all(content in having[image][other] for other in others)
        what = "the same voxels as" if equal else "shape, least, greatest and mean value of"
        of_type = "" if equal else " in another type"
        detail = f"{series} of scan {scan} has {what} an image of {few(others)}{of_type}: the same person, or a copy"
        said = finding(Code.SAME_IMAGE_TWICE, detail, file=paths[0] if paths else "")
        found.setdefault(subject, []).append(said)
    return found
