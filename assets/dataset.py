"""One dataset at work: its spec, its folders, what its raw folder holds and what has been made of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import polars as pl

from assets.incremental import Fingerprints, SubjectPlan, digest, plan_subject
from assets.raw import RawTree, discover
from assets.raw.identities import CACHE_NAME
from assets.raw.seen import CACHE_NAME as SEEN
from assets.raw.seen import Seen
from assets.spec import DatasetSpec
from assets.tables import RAW, frame
from resources.findings import Code
from resources.layout import Layout, safe_name
from resources.manifest import Manifest
from resources.ome_zarr import StoreDamagedError
from resources.store import DatasetStore, NotPublishedError


@dataclass(frozen=True)
class Dataset:
    """A spec and the data root it is applied to."""

    spec: DatasetSpec
    layout: Layout

    @cached_property
    def store(self) -> DatasetStore:
        """Its products."""
        return DatasetStore(self.layout, self.spec.slug)

    @property
    def raw_root(self) -> Path:
        """Its raw folder."""
        return self.layout.raw(self.spec.raw_name)

    def discover(self) -> RawTree:
        """Look at the raw folder; DICOM files that the last survey knew are not opened again.

        Raises:
            RawDataMissingError: There are no raw data.
        """
        return discover(self.spec, self.raw_root, self.store.root / CACHE_NAME)


@dataclass(frozen=True)
class Survey:
    """A dataset as it is now.

    Attributes:
        dataset: The dataset.
        tree: What the raw folder holds.
        manifests: Subject -> what is recorded of it.
        plans: Subject -> what has to be done, for every subject of the raw folder.
        unreadable: Manifests that cannot be read, by the names of their files.
        vanished: Subjects that have products but no raw files any more; none while a folder or link cannot be looked into.
        rehashed: Content hashes of files that were touched, which no manifest vouches for: (path, size, mtime_ns) -> sha256.
        seen: Which raw files something was done to since their content was last compared.
    """

    dataset: Dataset
    tree: RawTree
    manifests: Mapping[str, Manifest]
    plans: Mapping[str, SubjectPlan]
    unreadable: frozenset[str]
    vanished: tuple[str, ...]
    rehashed: Mapping[tuple[str, int, int], str]
    seen: Seen

    @property
    def stale(self) -> list[SubjectPlan]:
        """What has to be done, in order of the subjects."""
        return [plan for plan in self.plans.values() if plan.stale]

    def raw_table(self) -> pl.DataFrame:
        """The `raw` table: every file of the raw folder."""
        slug = self.dataset.spec.slug
        rows = [
            {
                "dataset": slug,
                "path": f.path,
                "subject": f.subject or None,
                "scan": f.scan or None,
                "role": f.role or None,
                "state": f.state,
                "reason": f.reason or None,
                "size": f.size,
                "mtime_ns": f.mtime_ns,
                "sha256": self.rehashed.get((f.path, f.size, f.mtime_ns)),
                "synthetic": self.tree.synthetic,
            }
            for f in self.tree.files
        ]
        return frame(RAW, rows)

    def keep_seen(self, built: Collection[str] = ()) -> None:
        """Write down when the raw files last changed, so that the next survey tells to which something was done since.

        Args:
            built: Subjects whose volumes were made anew since this survey.

        Raises:
            OSError: The disk failed or is full.
        """
        files = [entry for raw in self.tree.subjects.values() for entry in raw.files]
        recorded = {source.path for manifest in self.manifests.values() for source in manifest.sources}
        read = {entry.path for subject in built for entry in self.tree.subjects[subject].files}
        self.seen.keep(files, recorded, read)

    def raw_key(self) -> str:
        """Changes when the raw table or what was found does; what is made of the files leaves it alone."""
        return digest([self.raw_table().rows(), [str(f) for f in self.tree.findings]])


def survey(dataset: Dataset, only: tuple[str, ...] | None = None) -> Survey:
    """Look at the raw folder and the manifests, and decide what is stale.

    Args:
        dataset: The dataset.
        only: Plan these subjects alone; None means all.

    Raises:
        RawDataMissingError: There are no raw data.
    """
    tree = dataset.discover()
    manifests = dataset.store.manifests()
    unreadable = dataset.store.unreadable(manifests)
    rehashed = _recorded_hashes(dataset)
    fingerprints = Fingerprints(dataset.raw_root, dict(rehashed), Seen(dataset.store.root / SEEN))
    for recorded in manifests.values():
        fingerprints.learn(recorded.sources)
    vouched = set(fingerprints.known)
    plans = {}
    for subject, raw in tree.subjects.items():
        if only is not None and subject not in only:
            continue
        manifest = manifests.get(subject)
        plans[subject] = plan_subject(
            dataset.spec,
            raw,
            manifest,
            fingerprints,
            partial(dataset.store.is_intact, manifest) if manifest else lambda _: False,
            synthetic=tree.synthetic,
            unreadable=safe_name(subject) in unreadable,
        )
    rehashed |= {mark: content for mark, content in fingerprints.known.items() if mark not in vouched or mark in rehashed}
    return Survey(dataset, tree, manifests, plans, unreadable, vanished(tree, manifests, unreadable), rehashed, fingerprints.seen)


def vanished(tree: RawTree, manifests: Mapping[str, Manifest], unreadable: frozenset[str]) -> tuple[str, ...]:
    """Subjects that have products but no raw files any more; none while a folder or link cannot be looked into.

    Args:
        tree: What the raw folder holds.
        manifests: Subject -> what is recorded of it.
        unreadable: Manifests that cannot be read, by the names of their files. These are the subjects' names, save for names that
            make no file name; such a subject is not told from its file, and is left to `verify`.
    """
    if any(f.code is Code.UNREADABLE for f in tree.findings):
        return ()
    lost = unreadable - {safe_name(subject) for subject in tree.subjects}
    return tuple(sorted((set(manifests) - set(tree.subjects)) | {name for name in lost if safe_name(name) == name}))


def _recorded_hashes(dataset: Dataset) -> dict[tuple[str, int, int], str]:
    """Hashes that an earlier survey took of touched files; none where the table that kept them is gone or damaged."""
    try:
        table = dataset.store.read_table("raw").filter(pl.col("sha256").is_not_null())
    except (NotPublishedError, StoreDamagedError):
        return {}
    return {(p, s, m): h for p, s, m, h in table.select("path", "size", "mtime_ns", "sha256").iter_rows()}


def hash_of_manifests(manifests: Mapping[str, Manifest]) -> str:
    """Changes when anything recorded of any subject does."""
    return digest({name: hashlib.sha256(m.to_bytes()).hexdigest() for name, m in manifests.items()})
