"""Automation: index, splits, records and score follow their subjects without being asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import dagster as dg

from assets.dataset import Dataset


def follow_subjects() -> dg.AutomationConditionSensorDefinition:
    """Evaluates the automation conditions of all chains that have them; on from the start."""
    return dg.AutomationConditionSensorDefinition(
        "follow_subjects", target=dg.AssetSelection.all(), default_status=dg.DefaultSensorStatus.RUNNING
    )


def waking(dataset: Dataset, assets: Iterable[dg.AssetsDefinition]) -> Iterator[dg.AssetsDefinition]:
    """The assets of a dataset as they are where it has data, without their automation conditions where it has none.

    Conditions are evaluated twice a minute, which for every dataset of the catalog took seconds of a processor each time; most
    users have a few. The definitions have to be loaded again after the first data of a dataset have come.
    """
    if dataset.raw_root.exists() or dataset.store.root.exists():
        yield from assets
        return
    for asset in assets:
        yield asset.map_asset_specs(lambda spec: spec.replace_attributes(automation_condition=None))
