"""Automation: index and splits follow their subjects without being asked."""

from __future__ import annotations

import dagster as dg


def follow_subjects() -> dg.AutomationConditionSensorDefinition:
    """Evaluates the automation conditions of all chains; on from the start."""
    return dg.AutomationConditionSensorDefinition(
        "follow_subjects", target=dg.AssetSelection.all(), default_status=dg.DefaultSensorStatus.RUNNING
    )
