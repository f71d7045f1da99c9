"""Jobs over a dataset's chain."""

from __future__ import annotations

import dagster as dg

from assets.incremental import subject_steps
from assets.spec import DatasetSpec


def subjects_job(spec: DatasetSpec, partitions: dg.PartitionsDefinition[str]) -> dg.UnresolvedAssetJobDefinition:
    """All per-subject steps of a dataset; index and splits follow by automation."""
    selection = dg.AssetSelection.assets(*([spec.slug, step] for step in subject_steps(spec)))
    description = f"Compute what is new or changed among the subjects of {spec.name}."
    return dg.define_asset_job(f"{spec.slug}_subjects_job", selection, description=description, partitions_def=partitions, tags={"dataset": spec.slug})
