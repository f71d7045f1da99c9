"""The dataset's tables, put together from the subjects', and the ledger in which no file and no subject is missing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from assets.classes import classes_table
from assets.dataset import Dataset, hash_of_manifests
from assets.incremental import CODE_VERSION, digest, step_parameters, subject_steps
from assets.objects import objects_table
from assets.official_split import SplitUnknownError, official_split
from assets.people import PeopleUnknownError, people
from assets.raw import natural_key
from assets.same_images import same_image_findings, sharing_subjects
from assets.spec import DatasetSpec
from assets.splits import split_subjects
from assets.tables import FINDINGS, LEDGER, SUBJECT_TABLES, concatenate, frame, tables_of
from resources.findings import Code, Finding, finding
from resources.manifest import Manifest


class NotReadyError(Exception):
    """Something that must come first has not been made, or was refused; the message says what."""


@dataclass(frozen=True)
class Index:
    """The dataset-level tables before they are judged and committed.

    Attributes:
        key: Of the manifests, the raw table and the spec fields.
        tables: Table name -> rows.
        n_pending: Subjects of the raw folder that have not been computed yet.
    """

    key: str
    tables: Mapping[str, pl.DataFrame]
    n_pending: int


def index_tables(dataset: Dataset) -> list[str]:
    """Names of the tables that the index writes."""
    steps = [name for step in subject_steps(dataset.spec) for name in tables_of(step)]
    told = [name for name, part in (("classes", dataset.spec.classes), ("objects", dataset.spec.objects)) if part is not None]
    return [*steps, *told, "findings", "ledger"]


def former_tables(dataset: Dataset) -> list[str]:
    """Recorded tables that the index wrote by an earlier spec, and does not write by this one."""
    every = {*SUBJECT_TABLES, "classes", "objects"}
    return sorted(every & set(dataset.store.dataset_record().tables) - set(index_tables(dataset)))


def index_key(dataset: Dataset) -> str:
    """The key under which the dataset's tables are current.

    Raises:
        NotReadyError: The raw folder has not been surveyed.
    """
    record = dataset.store.dataset_record()
    if "raw" not in record.tables:
        raise NotReadyError(f"{dataset.spec.slug} has no table of raw files yet; materialize the asset {dataset.spec.slug} first")
    made_of = [record.keys.get("raw"), hash_of_manifests(dataset.store.manifests())]
    return digest([CODE_VERSION["index"], step_parameters(dataset.spec, "index"), index_tables(dataset), made_of])[:32]


def make_index(dataset: Dataset, dataset_findings: Sequence[Finding]) -> Index:
    """Gather the subjects' tables, findings and the ledger."""
    key = index_key(dataset)
    manifests = dataset.store.manifests()
    raw = dataset.store.read_table("raw")
    published = sorted((s for s, m in manifests.items() if m.state == "published"), key=natural_key)
    tables: dict[str, pl.DataFrame] = {}
    for step in subject_steps(dataset.spec):
        subjects = [s for s in published if step in manifests[s].steps]
        for name in tables_of(step):
            tables[name] = concatenate(SUBJECT_TABLES[name], [dataset.store.read_subject_table(name, s) for s in subjects])
    told, said = _told(dataset, set(published))
    tables |= told
    twice, synthetic = same_image_findings(tables["volumes"]), bool(raw["synthetic"].any())
    tables["findings"] = _findings(dataset, manifests, [*dataset_findings, *said], twice, synthetic=synthetic)
    tables["ledger"] = _ledger(dataset, manifests, raw)
    pending = tables["ledger"].filter(kind="subject", state="pending").height
    return Index(key, tables, pending)


def _told(dataset: Dataset, published: set[str]) -> tuple[dict[str, pl.DataFrame], list[Finding]]:
    """What the dataset itself says of its images: classes and marked objects."""
    spec = dataset.spec
    if spec.classes is None and spec.objects is None:
        return {}, []
    from resources.readers.dicom.tags import read_tag  # noqa: PLC0415 - loads pydicom, which takes a second

    tree = dataset.discover()
    tables: dict[str, pl.DataFrame] = {}
    findings: list[Finding] = []
    if spec.classes is not None:
        tables["classes"], found = classes_table(spec, tree, published, read_tag)
        findings += found
    if spec.objects is not None:
        tables["objects"], found = objects_table(spec, tree, published)
        findings += found
    return tables, findings


def _findings(
    dataset: Dataset,
    manifests: Mapping[str, Manifest],
    general: Sequence[Finding],
    compared: Mapping[str, Sequence[Finding]],
    *,
    synthetic: bool,
) -> pl.DataFrame:
    """Of the dataset, then of every subject: what its manifest holds, and what shows only beside the others."""
    rows = [_finding_row(dataset, None, f, synthetic=synthetic) for f in general]
    for subject in sorted(manifests, key=natural_key):
        found = [*(r.finding() for r in manifests[subject].findings), *compared.get(subject, ())]
        rows += [_finding_row(dataset, subject, f, synthetic=synthetic) for f in found]
    return frame(FINDINGS, rows)


def _finding_row(dataset: Dataset, subject: str | None, finding: Finding, *, synthetic: bool) -> dict[str, Any]:
    return {
        "dataset": dataset.spec.slug,
        "subject": subject,
        "code": finding.code.value,
        "severity": finding.severity.value,
        "file": finding.file or None,
        "detail": finding.detail,
        "synthetic": synthetic,
    }


def _ledger(dataset: Dataset, manifests: Mapping[str, Manifest], raw: pl.DataFrame) -> pl.DataFrame:
    """One row per subject and per raw file, each in exactly one state."""
    rows = []
    subjects = raw.filter(state="used")["subject"].unique().to_list()
    for subject in sorted(subjects, key=natural_key):
        state, code, reason = _verdict(manifests.get(subject))
        rows.append(_row(dataset, "subject", subject, subject, state, code, reason))
    states = {subject: _verdict(manifests.get(subject)) for subject in subjects}
    for file in raw.iter_rows(named=True):
        state, code, reason = file["state"], None, file["reason"]
        if state == "used":
            state, code, reason = states[file["subject"]]
        rows.append(_row(dataset, "file", file["path"], file["subject"], state, code, reason))
    return frame(LEDGER, rows).with_columns(synthetic=pl.lit(value=bool(raw["synthetic"].any())))


def _verdict(manifest: Manifest | None) -> tuple[str, str | None, str | None]:
    if manifest is None:
        return "pending", None, "not computed yet"
    if manifest.state == "published":
        return "used", None, None
    errors = [record.finding() for record in manifest.errors()]
    return "quarantined", errors[0].code.value, "; ".join(f"{f.file}: {f.detail}" if f.file else f.detail for f in errors)


def _row(
    dataset: Dataset, kind: str, name: str, subject: str | None, state: str, code: str | None, reason: str | None
) -> dict[str, Any]:
    return {
        "dataset": dataset.spec.slug,
        "kind": kind,
        "name": name,
        "subject": subject,
        "state": state,
        "code": code,
        "reason": reason,
        "synthetic": False,
    }


def splits_key(dataset: Dataset) -> str:
    """The key under which the splits are current."""
    record, root = dataset.store.dataset_record(), dataset.raw_root
    told_by = {file: file_digest(root / file) for file in split_files(dataset.spec)}
    made_of = [record.keys.get("index"), told_by]
    return digest([CODE_VERSION["splits"], step_parameters(dataset.spec, "splits"), made_of])[:32]


def split_files(spec: DatasetSpec) -> list[str]:
    """Raw files that say who the subjects are and how their authors divided them."""
    official = spec.split.official
    named = list(official.files.values()) if official else []
    named += [official.table.file] if official and official.table else []
    return sorted({*named, *(table.file for table in spec.people.all_tables)})


def file_digest(path: Path) -> str:
    """SHA-256 of a small file; empty where there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def require_gate(dataset: Dataset) -> None:
    """Refuse to go on unless the stored verdict of the gate is that of the present tables, and good.

    Raises:
        NotReadyError: There is no verdict, it is out of date, or it is bad.
    """
    slug, record = dataset.spec.slug, dataset.store.dataset_record()
    verdict = record.facts.get("gate")
    if verdict is None or record.keys.get("index") != index_key(dataset):
        raise NotReadyError(f"the tables of {slug} are not up to date; materialize {slug}/index first")
    if not verdict["passed"]:
        failed = "; ".join(check["detail"] for check in verdict["checks"] if not check["passed"])
        raise NotReadyError(f"the gate of {slug} is closed: {failed}")


def make_splits(dataset: Dataset) -> tuple[pl.DataFrame, list[Finding]]:
    """The `splits` table of the published subjects.

    Raises:
        NotReadyError: Who the subjects are, or an official split that is to be followed, cannot be read.
    """
    spec, root = dataset.spec, dataset.raw_root
    ledger = dataset.store.read_table("ledger").filter(state="used")
    subjects = ledger.filter(kind="subject")["subject"].to_list()
    paths: dict[str, list[str]] = {subject: [] for subject in subjects}
    for subject, path in ledger.filter(kind="file").select("subject", "name").iter_rows():
        paths[subject].append(path)
    findings: list[Finding] = []
    official: dict[str, str] = {}
    try:
        who = people(spec, root, subjects, dataset.discover)
        official = official_split(spec, root, paths)
    except PeopleUnknownError as error:
        raise NotReadyError(f"{error}; without it a person could be on both sides") from error
    except SplitUnknownError as error:
        if spec.split.official is not None and spec.split.official.follow:
            raise NotReadyError(str(error)) from error
        findings.append(finding(Code.OFFICIAL_SPLIT_UNKNOWN, str(error)))
    sharing, synthetic = sharing_subjects(dataset.store.read_table("volumes")), bool(ledger["synthetic"].any())
    table, more = split_subjects(spec, subjects, who, official, sharing, synthetic=synthetic)
    return table, findings + more
