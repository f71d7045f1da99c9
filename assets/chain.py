"""Makes the Dagster assets of one dataset's chain.

    <slug> -> <slug>/volumes -> <slug>/boxes, mask_sizes, lesion_sizes, landmarks -> <slug>/index -> <slug>/splits
                                                                                               -> <slug>/records -> <slug>/score

Here are those of the raw folder and of the subjects; those of the dataset as a whole are in `assets/chain_dataset.py`.
All per-subject steps are one multi-asset: a subject goes through all of them with its label map read once, and one bad subject
never stops its siblings. The same factory builds the chain in two scopes (`docs/adr/003-two-run-modes.md`): by subject, with a
dynamic partition per subject, and as a whole, for a command without `--partition`. In both, what is current is not
computed again.

Annotations are real objects here, not strings, and `MaterializeResult` stays bare: Dagster looks at both.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg

from assets import events
from assets.chain_dataset import OWNERS, Gates, dataset_assets, tags
from assets.dataset import Dataset, Survey, survey
from assets.incremental import code_version, subject_steps
from assets.raw import RawDataMissingError

if TYPE_CHECKING:
    from assets.build import Outcome

SUBJECTS_PER_RUN = 256
"""Subjects of one backfill run: a run costs seconds, so that thousands of subjects should not be thousands of runs."""

_MOST_REMOVED = 5
"""Leavings of a crash that are named one by one in the log."""

STEP_DESCRIPTIONS = {
    "volumes": "RAS+ OME-Zarr volumes: every image and label map, axes permuted and flipped, never resampled.",
    "boxes": "2-D bounding boxes of every 4-connected component, per slice, label and plane.",
    "mask_sizes": "Pixels and area of every label, per slice and plane.",
    "lesion_sizes": "Major and minor axis of every lesion component in mm, by second moments.",
    "landmarks": "Places of the landmarks that experts set, and the distances and angles between them.",
}


@dataclass(frozen=True)
class Chain:
    """The assets of one dataset."""

    assets: tuple[dg.AssetsDefinition, ...]
    partitions: dg.DynamicPartitionsDefinition


def subject_partitions(slug: str) -> dg.DynamicPartitionsDefinition:
    """The partitions of a dataset: its subjects."""
    return dg.DynamicPartitionsDefinition(name=f"{slug}_subjects")


def build_chain(dataset: Dataset, gates: Gates, *, by_subject: bool) -> Chain:
    """The assets of a dataset, with subjects as partitions or, in the scope of a whole-dataset command, without."""
    partitions = subject_partitions(dataset.spec.slug)
    assets = (
        _raw_asset(dataset, gates, partitions),
        _subject_assets(dataset, gates, partitions if by_subject else None),
        *dataset_assets(dataset, gates),
    )
    return Chain(assets, partitions)


def _raw_asset(dataset: Dataset, gates: Gates, partitions: dg.DynamicPartitionsDefinition) -> dg.AssetsDefinition:
    spec = dataset.spec
    description = f"{spec.name} {spec.version}: {spec.description}. Licence {spec.licence}. Its raw files, fingerprinted."

    @dg.asset(
        key=[spec.slug],
        description=description,
        kinds={"raw", spec.modality.lower()[:20]},
        check_specs=[dg.AssetCheckSpec("raw_files", asset=[spec.slug], description="Every raw file has one known place.")],
        metadata={"homepage": spec.homepage, "licence": spec.licence, "citation": spec.citation},
        group_name=spec.slug,
        tags=tags(spec, "raw"),
        owners=OWNERS,
    )
    def raw(context: dg.AssetExecutionContext) -> dg.MaterializeResult:  # type: ignore[type-arg]
        found = _survey(dataset)
        found.tree.keep_headers()
        found.keep_seen()
        removed = dataset.store.clean()
        for path in removed[:_MOST_REMOVED]:
            context.log.info(f"{spec.slug}: removed {path}, which nothing records: a run was interrupted")
        if len(removed) > _MOST_REMOVED:
            context.log.info(f"{spec.slug}: removed {len(removed) - _MOST_REMOVED} more of the kind")
        _sync_partitions(context, found, partitions)
        table, key = found.raw_table(), found.raw_key()
        verdict = gates.raw(spec, table)
        if not dataset.store.tables_current("raw", key, ["raw"]):
            facts = {"findings": [events.finding_json(f) for f in found.tree.findings]}
            dataset.store.write_tables("raw", key, {"raw": table}, facts)
        for finding in found.tree.findings:
            context.log.info(f"{spec.slug}: {finding}")
        context.log.info(f"{spec.slug}: {len(found.tree.subjects)} subjects, {len(found.stale)} to compute")
        check = events.check_result(verdict, "raw_files", [spec.slug])
        version, metadata = dg.DataVersion(events.RAW_VERSION), events.raw_metadata(found, table)
        return dg.MaterializeResult(metadata=metadata, check_results=[check], data_version=version)

    return raw


def _survey(dataset: Dataset, only: tuple[str, ...] | None = None) -> Survey:
    try:
        return survey(dataset, only)
    except RawDataMissingError as error:
        raise dg.Failure(str(error), allow_retries=False) from error


def _sync_partitions(context: dg.AssetExecutionContext, found: Survey, partitions: dg.DynamicPartitionsDefinition) -> None:
    """Register new subjects as partitions; withdraw the products of subjects whose raw files are gone.

    A subject whose products stay, because something of the raw folder cannot be looked at, stays a partition too.
    """
    name = str(partitions.name)
    known = set(context.instance.get_dynamic_partitions(name))
    new = [subject for subject in found.tree.subjects if subject not in known]
    if new:
        context.instance.add_dynamic_partitions(name, new)
    for subject in found.vanished:
        _withdraw(context, found, subject)
    kept = {*found.tree.subjects, *found.manifests} - set(found.vanished)
    for subject in sorted(known - kept):
        context.instance.delete_dynamic_partition(name, subject)


def _withdraw(context: dg.AssetExecutionContext, found: Survey, subject: str) -> None:
    context.log.warning(f"{subject} has no raw files any more; its products are withdrawn")
    found.dataset.store.withdraw(subject)


def _subject_assets(dataset: Dataset, gates: Gates, partitions: dg.DynamicPartitionsDefinition | None) -> dg.AssetsDefinition:
    spec, steps = dataset.spec, subject_steps(dataset.spec)
    specs = [
        dg.AssetSpec(
            [spec.slug, step],
            deps=[[spec.slug]] if step == "volumes" else [[spec.slug, "volumes"]],
            description=STEP_DESCRIPTIONS[step],
            skippable=True,
            code_version=code_version(spec, step),
            kinds={"zarr"} if step == "volumes" else {"parquet"},
            partitions_def=partitions,
            metadata={"dagster/column_schema": events.column_schema(step)},
            group_name=spec.slug,
            tags=tags(spec, step),
            owners=OWNERS,
        )
        for step in steps
    ]
    checks = [
        dg.AssetCheckSpec(
            "suite", asset=[spec.slug, step], description=f"The {step} of every subject hold.", partitions_def=partitions
        )
        for step in steps
    ]

    @dg.multi_asset(
        name=f"{spec.slug}_subjects",
        specs=specs,
        check_specs=checks,
        can_subset=True,
        backfill_policy=dg.BackfillPolicy.multi_run(SUBJECTS_PER_RUN) if partitions else None,
    )
    def subjects(context: dg.AssetExecutionContext) -> Iterator[Any]:
        from assets.build import BuildFailedError  # noqa: PLC0415 - the definitions of all datasets load without it

        selected = [s for s in steps if dg.AssetKey([spec.slug, s]) in context.selected_asset_keys]
        only = tuple(context.partition_keys) if context.has_partition_key or context.has_partition_key_range else None
        found = _survey(dataset, only)
        present = _with_raw_files(context, found, only) if only is not None else None
        run = _SubjectRun(context, found, selected, gates)
        outcomes: list[Outcome] = []
        try:
            for outcome in run.build():
                outcomes.append(outcome)  # noqa: PERF402 - what was done must be known when the next one fails
        except BuildFailedError as error:
            _keep_seen(found, outcomes)
            yield from run.what_was_done(outcomes)
            raise dg.Failure(str(error), allow_retries=False) from error
        _keep_seen(found, outcomes)
        if present is None:
            yield from run.finish_whole(outcomes)
        else:
            yield from run.finish_keyed(present, outcomes, every=present == only)

    return subjects


def _keep_seen(found: Survey, outcomes: Sequence["Outcome"]) -> None:
    """Write down which raw files were read; where the disk is full they stay in doubt, and what was done is reported."""
    with suppress(OSError):
        found.keep_seen({outcome.subject for outcome in outcomes if "volumes" in outcome.steps})


def _with_raw_files(context: dg.AssetExecutionContext, found: Survey, only: tuple[str, ...]) -> tuple[str, ...]:
    """The partitions that can be computed; the others do not stop them, and are withdrawn if their raw files are gone."""
    present = tuple(subject for subject in only if subject in found.tree.subjects)
    if not present:
        raise dg.Failure(f"no raw files for {', '.join(only)} under {found.tree.root}", allow_retries=False)
    for subject in only:
        if subject in found.vanished:
            _withdraw(context, found, subject)
        elif subject not in present:
            context.log.warning(f"no raw files for {subject} under {found.tree.root}; it is left out")
    return present


@dataclass
class _SubjectRun:
    """One execution of the per-subject assets."""

    context: dg.AssetExecutionContext
    survey: Survey
    selected: list[str]
    gates: Gates

    def build(self) -> Iterator["Outcome"]:
        """Compute what is stale among the selected steps."""
        from assets.build import build_subjects  # noqa: PLC0415 - loads numba and every reader, which takes seconds

        spec = self.survey.dataset.spec
        plans = [events.restrict(plan, self.selected) for plan in self.survey.stale]
        plans = [plan for plan in plans if plan.stale]
        if not plans:
            self.context.log.info(f"{spec.slug}: everything is current")
        report = lambda line: self.context.log.info(f"{spec.slug}: {line}")  # noqa: E731
        for outcome in build_subjects(self.survey, plans, self.gates.subjects(spec), report):
            for error in outcome.manifest.errors():
                self.context.log.warning(f"{spec.slug}: {outcome.subject} is quarantined: {error.finding()}")
            yield outcome

    def what_was_done(self, outcomes: Sequence["Outcome"]) -> Iterator[Any]:
        """The events of the subjects that were finished before a run broke off."""
        for outcome in outcomes:
            for step in self.selected:
                if outcome.quarantined:
                    yield self._failed_check(step, outcome.subject, outcome.manifest)
                elif step in outcome.steps:
                    yield self._materialization(step, outcome.subject, outcome.manifest, outcome)

    def _manifests(self, outcomes: Sequence["Outcome"]) -> dict[str, Any]:
        now = {subject: self.survey.manifests.get(subject) for subject in self.survey.plans}
        return now | {o.subject: o.manifest for o in outcomes}

    def finish_keyed(self, only: Sequence[str], outcomes: Sequence["Outcome"], *, every: bool) -> Iterator[Any]:
        """Report a run for given partitions: good ones are materialized, and a bad one makes the run fail.

        Where they are not `every` partition of the run, each has an event of its own: a result would speak for all of them.
        """
        manifests, slug = self._manifests(outcomes), self.survey.dataset.spec.slug
        built = {o.subject: o for o in outcomes}
        bad = [s for s in only if manifests[s].state == "quarantined"]
        if every and not bad:
            for step in self.selected:
                for subject in only:
                    self._describe(step, subject, manifests[subject], built.get(subject))
                check = dg.AssetCheckResult(passed=True, check_name="suite", asset_key=[slug, step])
                version = dg.DataVersion(manifests[only[0]].steps[step].key) if len(only) == 1 else None
                yield dg.MaterializeResult(asset_key=[slug, step], check_results=[check], data_version=version)
            return
        for subject in only:
            for step in self.selected:
                if subject in bad:
                    yield self._failed_check(step, subject, manifests[subject])
                else:
                    yield self._materialization(step, subject, manifests[subject], built.get(subject))
        if not bad:
            return
        details = {s: "; ".join(str(e.finding()) for e in manifests[s].errors()) for s in bad}
        text = "\n".join(f"{subject}: {detail}" for subject, detail in details.items())
        raise dg.Failure(f"{len(bad)} of {len(only)} subjects are quarantined\n{text}", metadata=details, allow_retries=False)

    def _describe(self, step: str, subject: str, manifest: Any, outcome: "Outcome | None") -> None:
        metadata = events.subject_metadata(self.survey.dataset, step, manifest, outcome)
        key = dg.AssetKey([self.survey.dataset.spec.slug, step])
        self.context.add_asset_metadata(metadata, asset_key=key, partition_key=subject)

    def finish_whole(self, outcomes: Sequence["Outcome"]) -> Iterator[Any]:
        """Report a run for the whole dataset: an event per subject, then a summary; the gate decides about bad ones."""
        manifests, slug = self._manifests(outcomes), self.survey.dataset.spec.slug
        built = {o.subject: o for o in outcomes}
        bad = [s for s, m in manifests.items() if m is not None and m.state == "quarantined"]
        good = [s for s, m in manifests.items() if m is not None and m.state == "published"]
        for step in self.selected:
            known = self.context.instance.get_materialized_partitions(dg.AssetKey([slug, step]))
            for subject in good:
                if subject not in known or (subject in built and step in built[subject].steps):
                    yield self._materialization(step, subject, manifests[subject], built.get(subject))
            metadata = events.summary_metadata(self.survey, step, manifests, outcomes)
            check = events.quarantine_check([slug, step], manifests, bad)
            yield dg.MaterializeResult(asset_key=[slug, step], metadata=metadata, check_results=[check])
            for subject in bad:
                if subject in built:
                    yield self._failed_check(step, subject, manifests[subject])

    def _materialization(self, step: str, subject: str, manifest: Any, outcome: "Outcome | None") -> dg.AssetMaterialization:
        """To be yielded: what goes through `context.log_event` is lost when the step fails before it yields."""
        dataset = self.survey.dataset
        return dg.AssetMaterialization(
            [dataset.spec.slug, step],
            partition=subject,
            metadata=events.subject_metadata(dataset, step, manifest, outcome),
            tags=events.version_tags(dataset.spec, step, manifest),
        )

    def _failed_check(self, step: str, subject: str, manifest: Any) -> dg.AssetCheckEvaluation:
        key = dg.AssetKey([self.survey.dataset.spec.slug, step])
        return events.failed_evaluation(self.context.instance, key, subject, manifest)
