"""Makes the MDS-Bench records of one spec, by the machinery of the catalog's datasets, in a folder of its own.

Nothing is written to the raw folder, and nothing under the data root of real datasets. No gate is asked: what a draft is worth is
for the validator to say.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assets.build import BuildFailedError, build_subjects
from assets.dataset import Dataset, survey
from assets.incremental import SubjectPlan, digest
from assets.index import index_key, index_tables, make_index
from assets.mds.build import make_records
from assets.mds.listing import read_listing
from assets.mds.targets import targets_of
from assets.raw import RawDataMissingError
from assets.spec import DatasetSpec
from assets.strategies.mds_block import dimension_of, with_dimension, with_mds
from assets.strategies.place import Place, PlaceError, place_of
from resources.findings import Code, Finding, Severity
from resources.layout import RECORDS, Layout
from resources.ome_zarr import StoreDamagedError

Json = dict[str, Any]


class CandidateError(Exception):
    """No records can be made of a spec; the message says why."""


@dataclass(frozen=True)
class Candidate:
    """The records of one spec.

    Attributes:
        spec: What they were made by, its `mds` block included.
        folder: `images/`, `standardized_annotations/`, `data_meta.json`.
        listed: How many targets there should be.
        records: Index -> record.
        findings: Why other targets have none, and what was found wrong with the files of those subjects that were read.
    """

    spec: DatasetSpec
    folder: Path
    listed: int
    records: Mapping[int, Json]
    findings: tuple[Finding, ...]


def records_of(spec: DatasetSpec, raw: Path, work: Path) -> Path:
    """Write the records of a spec, and give their folder; see `make_candidate`.

    Args:
        spec: A draft, or any spec.
        raw: Its raw folder.
        work: A folder to work in, outside the raw folder; what an earlier call made in it is used again.

    Raises:
        CandidateError: No records can be made.
        PlaceError: The raw folder cannot be used.
        OSError: The disk failed or is full.
    """
    return make_candidate(spec, place_of(raw), work).folder


def make_candidate(spec: DatasetSpec, place: Place, work: Path, task: str = "") -> Candidate:
    """Make the records of a spec.

    Only subjects of which the sample has a target are read. A spec without an `mds` block is given one; its dimension is then
    that of the images that were read; one file of a DICOM series is a picture.

    Args:
        spec: A draft, or any spec.
        place: Its raw folder.
        work: A folder to work in, outside the raw folder; volumes that an earlier call made in it by an equal spec are used
            again.
        task: Of the records, for a spec without an `mds` block; by what it tells of its images if not given.

    Raises:
        CandidateError: No records can be made.
        OSError: The disk failed or is full.
    """
    work = work.resolve()
    if work.is_relative_to(place.raw):
        raise CandidateError(f"{work} lies in the raw folder {place.raw}, which is never written to; work elsewhere")
    try:
        complete = with_mds(spec, place, task=task).model_copy(update={"raw_folder": ""})
        dataset = Dataset(complete, Layout(work / _name(complete)))
        _link(dataset.raw_root, place.raw)
        _build(dataset)
        if spec.mds is None:
            slices = any(
                source.dicom for source in complete.layout.series.values()
            )  # a target is a file, and shows the slice it holds
            settled = with_dimension(complete, "2D" if slices else dimension_of(dataset.store.read_table("volumes")))
            dataset = Dataset(settled, dataset.layout)
        return _written(dataset)
    except (ValueError, RawDataMissingError, BuildFailedError, StoreDamagedError) as error:
        raise CandidateError(" ".join(str(error).split())) from error
    except LookupError as error:  # parts of a draft that do not fit together; a catalog's spec is tested
        raise CandidateError(f"its parts do not fit together ({error!r})") from error


def _name(spec: DatasetSpec) -> str:
    """Of the work folder of a spec: specs that differ do not meet in one."""
    return digest(spec.model_dump(mode="json", exclude={"mds"}))[:16]


def _link(link: Path, raw: Path) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    if not link.is_symlink():
        link.symlink_to(raw, target_is_directory=True)


def _build(dataset: Dataset) -> None:
    """Volumes of the subjects that the sample needs, and the tables made of them."""
    found = survey(dataset)
    wanted = _wanted(dataset)
    plans = [SubjectPlan(p.subject, {"volumes": p.stale["volumes"]}) for p in found.stale if "volumes" in p.stale]
    plans = [plan for plan in plans if plan.subject in wanted]
    for _ in build_subjects(found, plans, lambda _tables, _volumes: {}, lambda _line: None):
        pass
    found.keep_seen({plan.subject for plan in plans})
    store = dataset.store
    if not store.tables_current("raw", found.raw_key(), ["raw"]):
        store.write_tables("raw", found.raw_key(), {"raw": found.raw_table()}, {})
    if not store.tables_current("index", index_key(dataset), index_tables(dataset)):
        made = make_index(dataset, [])
        store.write_tables("index", made.key, made.tables, {}, outdated=("splits", RECORDS))


def _wanted(dataset: Dataset) -> set[str]:
    """The subjects of the sample's targets; all of them where reports may stand for any image."""
    spec, tree = dataset.spec, dataset.discover()
    if spec.mds is None or spec.mds.instead or (spec.objects is not None and spec.objects.format == "sr"):
        return set(tree.subjects)
    targets = targets_of(spec, spec.mds, tree, read_listing(spec.mds, dataset.raw_root), {})
    return {target.subject for target in targets.usable}


def _written(dataset: Dataset) -> Candidate:
    spec, store = dataset.spec, dataset.store
    if spec.mds is None:
        raise CandidateError("the spec has no `mds` block")
    folder = dataset.layout.root / f"{RECORDS}-{digest(spec.mds.model_dump(mode='json'))[:16]}"
    with store.staging() as staging:
        made = make_records(dataset, spec.mds, staging)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.move(staging.folder / RECORDS, folder)
    return Candidate(spec, folder, made.listed, made.records, (*made.findings, *_met(store.read_table("findings"))))


def _met(table: pl.DataFrame) -> tuple[Finding, ...]:
    rows = table.select("code", "severity", "file", "detail").iter_rows()
    return tuple(Finding(Code(code), Severity(severity), file or "", detail) for code, severity, file, detail in rows)


__all__ = ["Candidate", "CandidateError", "PlaceError", "make_candidate", "records_of"]
