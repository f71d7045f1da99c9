"""The overview of all datasets, for `medfoundry list` and `docs/datasets.md`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from assets.incremental import subject_steps
from assets.spec import DatasetSpec

_MADE = {
    "boxes": "boxes",
    "mask_sizes": "mask sizes",
    "lesion_sizes": "lesion sizes",
    "landmarks": "landmarks",
}

_HEAD = """# Datasets

Made from the specs in `assets/catalog/` by `medfoundry list --markdown`; a test keeps it so, so do not edit it by hand.

*Made* names what there is beside volumes and splits. *Checked on* says what the spec has been run on: `miniature` is a small
data set in the raw layout as it is published, `labels` the real label files, `real data` real images and labels.
"""


def overview(spec: DatasetSpec) -> dict[str, Any]:
    """What a user wants to know of a dataset before fetching it, as plain values."""
    distances = sum(m.distance is not None for m in spec.measurements)
    angles = len(spec.measurements) - distances
    made = [_MADE[step] for step in subject_steps(spec) if step in _MADE]
    made += [f"{n} {what}" for n, what in ((distances, "distances"), (angles, "angles")) if n]
    return {
        "slug": spec.slug,
        "name": spec.name,
        "version": spec.version,
        "modality": spec.modality,
        "anatomy": spec.anatomy,
        "made": made,
        "labels": len(spec.labels),
        "subjects": spec.expect.subjects or 0,
        "licence": spec.licence,
        "access": spec.access,
        "checked_on": spec.checked_on,
        "shares_people_with": sorted({o.dataset for o in spec.people.overlaps}),
    }


def markdown(catalog: Mapping[str, DatasetSpec]) -> str:
    """The page of all datasets, in order of modality and slug."""
    rows = sorted((overview(spec) for spec in catalog.values()), key=lambda r: (r["modality"], r["slug"]))
    table = [
        ("dataset", "what it is", "modality", "anatomy", "made", "labels", "subjects", "licence", "access", "checked on"),
        ("---",) * 10,
        *(_cells(row) for row in rows),
    ]
    lines = "\n".join("| " + " | ".join(cells) + " |" for cells in table)
    shared = "\n".join(_overlap_lines(catalog.values()))
    return f"{_HEAD}\n{len(rows)} datasets.\n\n{lines}\n\n## People in more than one dataset\n\n{shared}\n"


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    subjects = str(row["subjects"] or "not stated")
    return (
        f"`{row['slug']}`",
        f"{row['name']} {row['version']}",
        row["modality"],
        row["anatomy"],
        ", ".join(row["made"]),
        str(row["labels"] or ""),
        subjects,
        row["licence"],
        row["access"],
        row["checked_on"],
    )


def _overlap_lines(specs: Iterable[DatasetSpec]) -> Iterable[str]:
    """Which datasets name people alike, and which share some that names cannot join."""
    specs = list(specs)
    pools: dict[str, list[str]] = {}
    for spec in specs:
        pools.setdefault(spec.people_pool, []).append(spec.slug)
    yield "The same person is on the same side of the split in all datasets of one pool:\n"
    for pool, slugs in sorted(pools.items()):
        if len(slugs) > 1:
            yield f"- {pool}: {', '.join(f'`{slug}`' for slug in slugs)}"
    yield "\nThese hold people of other datasets as well:\n"
    for spec in specs:
        for other in spec.people.overlaps:
            yield f"- `{spec.slug}` and {other.dataset}: {other.rule}"
