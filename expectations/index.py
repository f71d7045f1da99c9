"""What must hold of a dataset as a whole, judged on one row of totals."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from assets.counts import counts
from assets.people import few
from assets.raw import natural_key
from assets.spec import DatasetSpec
from assets.tables import BOXES
from expectations.flatten import is_as_documented, with_unset
from expectations.raw import STATES
from expectations.suite import Expectation, Suite, between, columns_are, nothing_unset, same, zero
from resources.findings import Severity

_BASE = (
    "n_listed", "n_published", "n_quarantined", "quarantined_share", "n_published_without_volumes",
    "n_unpublished_with_volumes", "unpublished_with_volumes", "n_files", "n_files_accounted", "n_unlabelled_ids", "unlabelled",
)  # fmt: skip


def summary(
    spec: DatasetSpec, volumes: pl.DataFrame, boxes: pl.DataFrame, ledger: pl.DataFrame, objects: pl.DataFrame | None = None
) -> pl.DataFrame:
    """The one row of totals.

    Args:
        spec: The dataset.
        volumes: The dataset's `volumes`, published subjects only.
        boxes: Its `boxes`; a table with other columns counts as one without rows.
        ledger: Its `ledger`. A subject is published when its state is `used`. A file is accounted for when it is in one row,
            with a known state and, unless it is used, a reason.
        objects: Its `objects`, if any are marked: their labels occur there, and not in label maps.
    """
    subjects, files = (ledger.filter(pl.col("kind") == kind) for kind in ("subject", "file"))
    published = set(subjects.filter(pl.col("state") == "used")["name"])
    with_volumes = set(volumes["subject"])
    quarantined = subjects.filter(pl.col("state") == "quarantined").height
    reasoned = (pl.col("state") == "used") | (pl.col("reason").fill_null("").str.strip_chars() != "")
    accounted = files.filter(pl.col("state").is_in(STATES) & reasoned & pl.col("name").is_unique()).height
    unlabelled = [f"{n} ({spec.labels[n].name})" for n in _not_met(spec, volumes, objects)]
    totals = {
        "n_listed": subjects.height,
        "n_published": len(published),
        "n_quarantined": quarantined,
        "quarantined_share": quarantined / subjects.height if subjects.height else 0.0,
        "n_published_without_volumes": len(published - with_volumes),
        "n_unpublished_with_volumes": len(with_volumes - published),
        "unpublished_with_volumes": few(sorted(with_volumes - published, key=natural_key)),
        "n_files": files.height,
        "n_files_accounted": accounted,
        "n_unlabelled_ids": len(unlabelled),
        "unlabelled": ", ".join(unlabelled),
    }
    if not is_as_documented(boxes, BOXES):
        boxes = pl.DataFrame(schema=dict(BOXES))
    present = {_count_column(c.name, c.key): c.present for c in counts(spec, volumes, boxes)}
    return pl.DataFrame([totals | present])


def _not_met(spec: DatasetSpec, volumes: pl.DataFrame, objects: pl.DataFrame | None) -> list[int]:
    """Labels that occur in no label map and as no marked object; none where there is neither, as they cannot occur then."""
    if not spec.layout.labels and objects is None:
        return []
    met = set(volumes["label_ids"].drop_nulls().explode().to_list())
    met |= set(objects["label_id"].to_list()) if objects is not None else set()
    return [number for number in spec.labels if number not in met]


def is_whole_release(spec: DatasetSpec, totals: pl.DataFrame) -> bool:
    """Whether as many subjects are published as the full release has, so that its published counts must come out."""
    return bool(spec.expect.subjects is not None and totals["n_published"][0] == spec.expect.subjects)


def suite(spec: DatasetSpec, totals: pl.DataFrame) -> Suite:
    """The suite of a dataset whose `summary` is `totals`; published counts are part of it for a whole release."""
    published = tuple(_counts_hold(spec)) if is_whole_release(spec, totals) else ()
    count_columns = [_count_column(name, plane) for name, planes in spec.expect.counts.items() for plane in planes]
    limit = spec.expect.quarantined_share
    expectations = (
        columns_are([*_BASE, *count_columns, "n_settled", "unset"], "index"),
        nothing_unset(),
        *_completeness(),
        between("quarantined_share", f"no more than {limit:.0%} of the subjects are quarantined", 0, limit,
                shown=("n_quarantined", "n_listed")),
        zero("n_unlabelled_ids", "every declared label occurs in some subject", shown=("unlabelled",),
             severity=Severity.WARNING),
        *published,
    )  # fmt: skip
    return Suite(f"{spec.slug}/index", "index", expectations)


def view(totals: pl.DataFrame) -> pl.DataFrame:
    """The totals as Great Expectations sees them, with `n_settled`: published and quarantined subjects together."""
    if not {"n_published", "n_quarantined"} <= set(totals.columns):
        return totals
    settled = totals.with_columns(n_settled=pl.col("n_published") + pl.col("n_quarantined"))
    return with_unset(settled, settled.columns)


def _completeness() -> Iterator[Expectation]:
    yield same("n_listed", "n_settled", "every listed subject is published or quarantined")
    yield between("n_published", "a subject is published", 1)
    yield zero("n_published_without_volumes", "every published subject has volumes")
    yield zero("n_unpublished_with_volumes", "no subject has volumes that is not published", shown=("unpublished_with_volumes",))
    yield same("n_files", "n_files_accounted", "every raw file is in the ledger once, with its state and reason")


def _count_column(name: str, plane: str) -> str:
    return f"count_{name}_{plane}"


def _counts_hold(spec: DatasetSpec) -> Iterator[Expectation]:
    for name, planes in spec.expect.counts.items():
        for plane, n in planes.items():
            yield between(_count_column(name, plane), f"the release has {n} {name} ({plane}), as published", n, n)
