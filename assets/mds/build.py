"""Makes all records of a dataset in a staging folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from assets.benchmark.mdsbench.files import picture_problem
from assets.dataset import Dataset
from assets.mds.json_text import json_text
from assets.mds.listing import read_listing
from assets.mds.meta import META_PATH, data_meta
from assets.mds.record import RecordMaker, image_path, record_path
from assets.mds.sample import Products, Sample, draw_sample
from assets.mds.target import Target
from assets.mds.targets import Refused, Targets, targets_of
from assets.raw import RawScan, RawTree
from assets.spec_mds import Mds
from assets.templates import UnknownFieldError
from resources.findings import Code, Finding, finding
from resources.layout import RECORDS
from resources.staging import Staging

Json = dict[str, Any]


@dataclass(frozen=True)
class Made:
    """What was made.

    Attributes:
        listed: How many targets there should be.
        listing: The list they were taken from; empty where there is none.
        records: Index -> record.
        findings: Why targets have none.
    """

    listed: int
    listing: str
    records: Mapping[int, Json]
    findings: tuple[Finding, ...]


def make_records(dataset: Dataset, mds: Mds, staging: Staging) -> Made:
    """Draw every target and write pictures, records and what is said of the dataset into `records/` of a staging folder.

    Raises:
        RawDataMissingError: There are no raw data.
        StoreDamagedError: A product is not what was written.
        NotPublishedError: A product is not recorded.
        OSError: The disk failed or is full.
    """
    tree = dataset.discover()
    products = _products(dataset)
    listing, refused = read_listing(mds, dataset.raw_root), _refused(dataset, tree)
    targets = targets_of(dataset.spec, mds, tree, listing, refused, products.objects)
    maker = RecordMaker(dataset.spec, mds, tree)
    findings = list(targets.findings)
    records = dict(_written(products, maker, tree, targets, staging, findings))
    n_valid = sum(not picture_problem(staging.folder / RECORDS / image_path(index)) for index in records)
    meta = data_meta(dataset.spec, mds, list(records.values()), n_valid=n_valid, synthetic=tree.synthetic)
    _write_json(staging, META_PATH, meta)
    return Made(targets.listed, targets.listing, records, tuple(findings))


def _written(
    products: Products, maker: RecordMaker, tree: RawTree, targets: Targets, staging: Staging, findings: list[Finding]
) -> Iterator[tuple[int, Json]]:
    """Index and record of every target of which one can be made, once it is written."""
    for target in targets.usable:
        sample = draw_sample(maker.spec, maker.mds, products, target, _scan_of(tree, target))
        try:
            record = maker.record(sample)
        except UnknownFieldError as error:
            findings.append(finding(Code.NO_RECORD, f"target {target.index} has no record: {error}", file=target.path))
            continue
        findings += _class_findings(maker, sample)
        staging.write_bytes(f"{RECORDS}/{image_path(target.index)}", sample.picture.png())
        _write_json(staging, record_path(target.index), record)
        yield target.index, record


def _class_findings(maker: RecordMaker, sample: Sample) -> Iterator[Finding]:
    """A class that is not told, unless the spec says that none is."""
    declared = maker.spec.classes
    if (
        maker.mds.task == "classification"
        and declared is not None
        and not declared.untold
        and (problem := maker.no_class(sample))
    ):
        detail = f"the record of target {sample.target.index} has no class: {problem}"
        yield finding(Code.CLASS_UNKNOWN, detail, file=sample.target.path)


def _write_json(staging: Staging, path: str, content: Json) -> None:
    staging.write_bytes(f"{RECORDS}/{path}", f"{json_text(content)}\n".encode())


def _scan_of(tree: RawTree, target: Target) -> RawScan:
    found = next((scan for scan in tree.subjects[target.subject].scans if scan.scan == target.scan), None)
    if found is None:
        raise LookupError(f"subject {target.subject} has no scan {target.scan!r} for target {target.index}")
    return found


def _products(dataset: Dataset) -> Products:
    store, spec = dataset.store, dataset.spec
    return Products(
        store.read_table("volumes"),
        store.read_table("classes") if spec.classes is not None else None,
        store.read_table("objects") if spec.objects is not None else None,
        store.open_volume,
        dataset.raw_root,
    )


def _refused(dataset: Dataset, tree: RawTree) -> Refused:
    """Subject -> why nothing of it is published, for every subject of the raw folder of which nothing is."""
    ledger = dataset.store.read_table("ledger").filter(kind="subject")
    states = {name: (state, reason) for name, state, reason in ledger.select("name", "state", "reason").iter_rows()}
    found = {subject: states.get(subject, ("not in the ledger", "it is new")) for subject in tree.subjects}
    return {subject: f"{state}, {reason}" for subject, (state, reason) in found.items() if state != "used"}
