"""When a subject's product is current, and why it is not.

A step is current when its recorded key equals the key that would be recorded now: a hash of the step's code version, the spec
fields it depends on, and what it is made from (the content of the raw files, or the key of the step before it). The truth lies in
the manifest beside the product; Dagster's event log only mirrors it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from assets.raw import FileEntry, RawSubject
from assets.raw.rows import on_disk
from assets.raw.seen import Seen
from assets.spec import DatasetSpec
from assets.spec_parts import Part
from resources.findings import RETRIED
from resources.manifest import Manifest, SourceRecord

CODE_VERSION: Mapping[str, int] = {
    "volumes": 3,
    "boxes": 1,
    "mask_sizes": 1,
    "lesion_sizes": 1,
    "landmarks": 1,
    "index": 5,
    "splits": 3,
    "records": 2,
}
"""Raised by hand when a step's code changes what it writes."""


NEVER = "never computed"
UNREADABLE = "what is recorded of it cannot be read (damaged, or written by another version), so that it is made anew"


def subject_steps(spec: DatasetSpec) -> tuple[str, ...]:
    """The per-subject steps of a dataset, in order; a step without anything to measure does not exist."""
    of_labels = ("boxes", "mask_sizes", *(("lesion_sizes",) if spec.lesions else ())) if spec.layout.labels else ()
    return ("volumes", *of_labels, *(("landmarks",) if spec.layout.landmarks else ()))


def step_parameters(spec: DatasetSpec, step: str) -> dict[str, Any]:
    """The spec fields a step depends on; what is not here can change without recomputing it."""
    names = {str(number): label.name for number, label in sorted(spec.labels.items())}
    if step == "volumes":
        layout, expect = spec.layout, spec.expect
        drawn = any(source.dicom for source in layout.labels.values())
        return {
            **({"structures": {str(n): [label.name, label.file_name] for n, label in spec.labels.items()}} if drawn else {}),
            "series": {name: _said(source) for name, source in layout.series.items()},
            "labels": {name: _said(source) for name, source in layout.labels.items()},
            "label_ids": sorted(spec.labels),
            "intensity": expect.model_dump(mode="json")["intensity"],
            "spacing_mm": list(expect.spacing_mm),
            "nonfinite_voxels": expect.nonfinite_voxels,
        }
    if step in {"boxes", "mask_sizes", "lesion_sizes"}:
        return {"label_names": names} | ({"lesions": list(spec.lesions)} if step == "lesion_sizes" else {})
    if step == "landmarks":
        return {
            "sets": {name: _said(source) for name, source in spec.layout.landmarks.items()},
            "landmarks": list(spec.landmarks),
            "measurements": [m.model_dump(mode="json", exclude={"description"}) for m in spec.measurements],
        }
    if step == "splits":
        people = {name: said for name, said in _said(spec.people).items() if name != "overlaps"}  # which are only told
        field = {"field": {**spec.layout.fields, **spec.layout.tags}[spec.people.field]} if spec.people.field else {}
        return {"split": _said(spec.split), "people": people, "pool": spec.people_pool, **field}
    if step == "records":
        return _records_parameters(spec)
    told = {name: _said(part) for name, part in (("classes", spec.classes), ("objects", spec.objects)) if part is not None}
    return {"label_names": names, "expect": spec.expect.model_dump(mode="json"), **told}


def _records_parameters(spec: DatasetSpec) -> dict[str, Any]:
    said = ("name", "homepage", "licence", "modality", "anatomy", "description")
    return {
        **{name: getattr(spec, name) for name in said},
        "mds": _said(spec.mds) if spec.mds is not None else None,
        "class_of": {str(label): place for label, place in spec.mds_classes().items()},
        "classes": list(spec.classes.names) if spec.classes is not None else None,
        "lesions": list(spec.lesions),
    }


def _said(part: Part) -> dict[str, Any]:
    """What a spec says explicitly: a key that the language learns later leaves the products of older specs current."""
    return part.model_dump(mode="json", exclude_defaults=True)


def code_version(spec: DatasetSpec, step: str) -> str:
    """What Dagster shows as the code version of an asset: the hand-kept number and a hash of the declared parameters."""
    return f"{CODE_VERSION[step]}-{digest(step_parameters(spec, step))[:12]}"


def digest(content: Any) -> str:
    """SHA-256 of anything JSON can say, in canonical form."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def volumes_key(spec: DatasetSpec, sources: Sequence[SourceRecord], *, synthetic: bool) -> str:
    """Key of a subject's volumes, from the content of its raw files."""
    inputs = {s.path: s.sha256 or f"{s.size}@{s.mtime_ns}" for s in sources}
    return _key(spec, "volumes", {"sources": inputs, "synthetic": synthetic})


def derived_key(spec: DatasetSpec, step: str, upstream: str) -> str:
    """Key of what is derived from a subject's volumes."""
    return _key(spec, step, {"volumes": upstream})


def _key(spec: DatasetSpec, step: str, inputs: Mapping[str, Any]) -> str:
    made_by = [spec.slug, step, CODE_VERSION[step], step_parameters(spec, step)]
    return digest([made_by, inputs])[:32]


@dataclass(frozen=True)
class SubjectPlan:
    """What has to be done for one subject.

    Attributes:
        subject: Subject.
        stale: Step -> why it must be computed, in order of the steps; empty when everything is current.
    """

    subject: str
    stale: Mapping[str, str]

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps to compute."""
        return tuple(self.stale)


@dataclass
class Fingerprints:
    """Content hashes of raw files, computed only when a time gives reason to doubt the recorded one.

    Attributes:
        root: The raw folder.
        known: Recorded or taken hashes: (path, size, mtime_ns) -> sha256.
        seen: Which files something was done to; these are in doubt whatever is known of their size and modification time.
    """

    root: Path
    known: dict[tuple[str, int, int], str]
    seen: Seen = field(default_factory=Seen)

    def doubts(self, entry: FileEntry) -> bool:
        """Whether size and modification time do not tell that a file is the one that they are recorded of."""
        return self.seen.doubts(entry) or self.seen.content_of(entry) is not None

    def content_of(self, entry: FileEntry) -> str:
        """SHA-256 of the file as it is now.

        Raises:
            OSError: The file cannot be read.
        """
        mark = (entry.path, entry.size, entry.mtime_ns)
        content = self.seen.content_of(entry)
        if content is not None:
            self.known[mark] = content
        elif self.seen.doubts(entry):
            self.known[mark] = self._take(entry)
            self.seen.learn(entry, self.known[mark])
        elif mark not in self.known:
            self.known[mark] = self._take(entry)
        return self.known[mark]

    def _take(self, entry: FileEntry) -> str:
        return _sha256_of(self.root / on_disk(entry.path), entry.mtime_ns, entry.ctime_ns)

    def learn(self, sources: Sequence[SourceRecord]) -> None:
        """Remember what a manifest says of files that have not been touched since."""
        self.known.update({(s.path, s.size, s.mtime_ns): s.sha256 for s in sources if s.sha256})


@lru_cache(maxsize=1 << 17)
def _sha256_of(file: Path, _mtime_ns: int, _ctime_ns: int) -> str:
    """SHA-256 of a file: once for all rows of a table, and once for a process that looks every minute, as sensors do."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def plan_subject(
    spec: DatasetSpec,
    raw: RawSubject,
    manifest: Manifest | None,
    fingerprints: Fingerprints,
    is_intact: Callable[[str], bool],
    *,
    synthetic: bool,
    unreadable: bool = False,
) -> SubjectPlan:
    """Compare a subject's manifest with its raw files, the spec and the code.

    Args:
        spec: The dataset.
        raw: The subject's files as they are now.
        manifest: What is recorded of its products; None when there are none.
        fingerprints: Hashes raw files that were touched.
        is_intact: Whether the recorded files of a step are there with their recorded sizes.
        synthetic: Whether the raw data are made up.
        unreadable: Whether something is recorded that cannot be read, and so is no manifest.
    """
    steps = subject_steps(spec)
    if manifest is None:
        return SubjectPlan(raw.subject, dict.fromkeys(steps, UNREADABLE if unreadable else NEVER))
    reason = _changed_sources(raw, manifest, fingerprints)
    if reason is None and manifest.state == "quarantined" and any(f.code in RETRIED for f in manifest.findings):
        reason = "was quarantined for a reason that may have passed"
    if reason is not None:
        return SubjectPlan(raw.subject, dict.fromkeys(steps, reason))
    stale: dict[str, str] = {}
    upstream = volumes_key(spec, manifest.sources, synthetic=synthetic)
    for step in steps:
        key = upstream if step == "volumes" else derived_key(spec, step, upstream)
        reason = _why_stale(spec, step, key, manifest, is_intact)
        if reason is None and step != "volumes" and "volumes" in stale:
            reason = "the volumes are computed anew"
        if reason is not None:
            stale[step] = reason
    if stale and manifest.state == "quarantined":
        return SubjectPlan(raw.subject, dict.fromkeys(steps, next(iter(stale.values()))))
    return SubjectPlan(raw.subject, stale)


def _changed_sources(raw: RawSubject, manifest: Manifest, fingerprints: Fingerprints) -> str | None:
    recorded = {s.path: s for s in manifest.sources}
    present = {f.path: f for f in raw.files}
    for path in sorted(recorded.keys() | present.keys()):
        if path not in recorded:
            return f"{path} is new"
        if path not in present:
            return f"{path} is gone"
        if (reason := _changed(present[path], recorded[path], fingerprints)) is not None:
            return reason
    return None


def _changed(now: FileEntry, then: SourceRecord, fingerprints: Fingerprints) -> str | None:
    if now.size != then.size:
        return f"{now.path} changed: {then.size} -> {now.size} bytes"
    touched = now.mtime_ns != then.mtime_ns
    if not touched and not fingerprints.doubts(now):
        return None
    if not then.sha256:
        return f"{now.path} was modified" if touched or fingerprints.seen.doubts(now) else None
    try:
        content = fingerprints.content_of(now)
    except OSError as error:
        return f"{now.path} cannot be read to see whether it changed: {error.strerror}"
    return None if content == then.sha256 else f"{now.path} changed: content {then.sha256[:12]} -> {content[:12]}"


def _why_stale(spec: DatasetSpec, step: str, key: str, manifest: Manifest, is_intact: Callable[[str], bool]) -> str | None:
    record = manifest.steps.get(step)
    if record is None:
        return NEVER
    if record.key != key:
        return _what_differs(spec, step, record.code_version, record.parameters)
    if manifest.state == "published" and not is_intact(step):
        return "files of the product are missing or have another size"
    return None


def _what_differs(spec: DatasetSpec, step: str, version: int, parameters: Mapping[str, Any]) -> str:
    if version != CODE_VERSION[step]:
        return f"code version {version} -> {CODE_VERSION[step]}"
    now = json.loads(json.dumps(step_parameters(spec, step)))
    fields = [name for name in sorted(now.keys() | parameters.keys()) if now.get(name) != parameters.get(name)]
    if fields:
        changes = "; ".join(f"{n}: {json.dumps(parameters.get(n))} -> {json.dumps(now.get(n))}" for n in fields)
        return f"the spec changed: {changes}"
    return "what it is made from changed"
