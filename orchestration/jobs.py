"""Jobs over a dataset's chain."""

from __future__ import annotations

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from assets.incremental import subject_steps
from assets.spec import DatasetSpec

AssetJob = UnresolvedAssetJobDefinition
"""What `define_asset_job` returns; Dagster does not export its name."""


def subjects_job_name(spec: DatasetSpec) -> str:
    """The name of the job below."""
    return f"{spec.slug}_subjects_job"


def subject_keys(spec: DatasetSpec) -> list[dg.AssetKey]:
    """The keys of the per-subject steps."""
    return [dg.AssetKey([spec.slug, step]) for step in subject_steps(spec)]


def subjects_job(spec: DatasetSpec) -> AssetJob:
    """The raw folder and all per-subject steps of a dataset; index and splits follow by automation."""
    return dg.define_asset_job(
        subjects_job_name(spec),
        dg.AssetSelection.assets([spec.slug], *subject_keys(spec)),
        description=f"Compute what is new or changed among the subjects of {spec.name}; withdraw those without raw files.",
        tags={"dataset": spec.slug},
    )
