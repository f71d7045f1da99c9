"""Jobs over a dataset's chain."""

from __future__ import annotations

import dagster as dg
from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

from assets.incremental import subject_steps
from assets.spec import DatasetSpec

AssetJob = UnresolvedAssetJobDefinition
"""What `define_asset_job` returns; Dagster does not export its name."""


def subjects_job(spec: DatasetSpec) -> AssetJob:
    """All per-subject steps of a dataset; index and splits follow by automation."""
    selection = dg.AssetSelection.assets(*([spec.slug, step] for step in subject_steps(spec)))
    return dg.define_asset_job(
        f"{spec.slug}_subjects_job",
        selection,
        description=f"Compute what is new or changed among the subjects of {spec.name}.",
        tags={"dataset": spec.slug},
    )
