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

- *made*: what there is beside volumes and splits ([tables](tables.md)): `boxes`, `mask sizes` and `lesion sizes` of label maps,
  `landmarks` with distances and angles, `classes` of images, `objects` marked by boxes, `records` of MDS-Bench.
- *subjects*: how many people (or scans or images, where nothing tells people apart) the full release has; empty where no source
  states it.
- *licence*: of the dataset, never of this code. `NOASSERTION` is SPDX's word for a licence that nobody states: ask the authors.
- *access*: `open` can be fetched by anybody; `registration` wants an account, or terms accepted, with its host; `restricted`
  wants an application. `medfoundry download DATASET --dry-run` says which steps are left to you ([downloading](downloading.md)).
- *checked on*: what the spec has been run on: `miniature` is a small made-up data set in the raw layout as it is published,
  `labels` the real label files beside made-up images, `real data` real images and labels. `miniature` may still meet surprises in
  the real files; they become findings.
"""

_OF_MDS_BENCH = "mds_"
_ABOUT_MDS = (
    "As they lie in the benchmark's public copy of the raw data; they become its records ([records](records.md)), as some of\n"
    "those above do as well."
)
_ABOUT_OVERLAPS = """
These hold people of other datasets as well, whom no pool brings together, or only in part: do not train on the one and judge on
the other. Datasets without a spec here are named in plain letters:
"""


def overview(spec: DatasetSpec) -> dict[str, Any]:
    """What a user wants to know of a dataset before fetching it, as plain values."""
    distances = sum(m.distance is not None for m in spec.measurements)
    angles = len(spec.measurements) - distances
    made = [_MADE[step] for step in subject_steps(spec) if step in _MADE]
    made += [f"{n} {what}" for n, what in ((distances, "distances"), (angles, "angles")) if n]
    told = (spec.classes is not None and not spec.classes.untold, spec.objects is not None, spec.mds is not None)
    made += [what for what, is_told in zip(("classes", "objects", "records"), told, strict=True) if is_told]
    return {
        "slug": spec.slug,
        "name": spec.name,
        "version": spec.version,
        "modality": spec.modality,
        "anatomy": spec.anatomy,
        "made": made,
        "labels": len(spec.labels),
        "homepage": spec.homepage,
        "subjects": spec.expect.subjects,
        "licence": spec.licence,
        "access": spec.access,
        "checked_on": spec.checked_on,
        "shares_people_with": sorted({o.dataset for o in spec.people.overlaps}),
    }


def markdown(catalog: Mapping[str, DatasetSpec]) -> str:
    """The page of all datasets, in order of modality and slug, those of MDS-Bench apart."""
    rows = sorted((overview(spec) for spec in catalog.values()), key=lambda r: (r["modality"].casefold(), r["slug"]))
    benchmark = [row for row in rows if row["slug"].startswith(_OF_MDS_BENCH)]
    others = [row for row in rows if row not in benchmark]
    shared = "\n".join(_overlap_lines(catalog))
    return (
        f"{_HEAD}\n{len(rows)} datasets.\n\n## Datasets for training and judging: {len(others)}\n\n{_table(others)}\n\n"
        f"## Datasets of MDS-Bench: {len(benchmark)}\n\n{_ABOUT_MDS}\n\n{_table(benchmark)}\n\n"
        f"## People in more than one dataset\n\n{shared}\n"
    )


def lines(catalog: Mapping[str, DatasetSpec]) -> Iterable[str]:
    """A line per dataset for a terminal, below one that says what stands where."""
    rows = [overview(spec) for spec in catalog.values()]
    shown = [(r["slug"], r["modality"], str(r["subjects"] or "?"), r["access"], f"{r['name']}  [{r['licence']}]") for r in rows]
    head = ("dataset", "modality", "subjects", "access", "what it is  [licence]")
    width = [max(len(row[column]) for row in (head, *shown)) for column in range(len(head) - 1)]
    for slug, modality, subjects, access, name in (head, *shown):
        yield f"{slug:<{width[0]}}  {modality:<{width[1]}}  {subjects:>{width[2]}}  {access:<{width[3]}}  {name}"


def _table(rows: Iterable[Mapping[str, Any]]) -> str:
    cells = (
        ("dataset", "what it is", "modality", "anatomy", "made", "labels", "subjects", "licence", "access", "checked on"),
        ("---",) * 10,
        *(_cells(row) for row in rows),
    )
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    name = f"{row['name']} {row['version']}"
    return (
        f"`{row['slug']}`",
        f"[{name}]({row['homepage']})" if row["homepage"] else name,
        row["modality"],
        row["anatomy"],
        ", ".join(row["made"]),
        str(row["labels"] or ""),
        str(row["subjects"] or ""),
        row["licence"],
        row["access"],
        row["checked_on"] or "unchecked",
    )


def _overlap_lines(catalog: Mapping[str, DatasetSpec]) -> Iterable[str]:
    """Which datasets name people alike, and which share some that names cannot join."""
    pools: dict[str, list[str]] = {}
    for spec in catalog.values():
        pools.setdefault(spec.people_pool, []).append(spec.slug)
    yield "The same person is on the same side of the split in all datasets of one pool:\n"
    for pool, slugs in sorted(pools.items()):
        if len(slugs) > 1:
            yield f"- {pool}: {', '.join(f'`{slug}`' for slug in slugs)}"
    yield _ABOUT_OVERLAPS
    for spec in catalog.values():
        for other in spec.people.overlaps:
            named = f"`{other.dataset}`" if other.dataset in catalog else other.dataset
            yield f"- `{spec.slug}` and {named}: {other.rule}"
