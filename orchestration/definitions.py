"""The code location that Dagster loads."""

from __future__ import annotations

import warnings

import dagster as dg

# Partitioned checks and backfill policies are preview features of the pinned Dagster; we use them knowingly.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

from assets.spec import load_catalog  # noqa: E402
from orchestration import scope  # noqa: E402
from orchestration.build import build_definitions  # noqa: E402
from resources.layout import Layout  # noqa: E402

defs = build_definitions(load_catalog().values(), Layout.from_environment(), by_subject=scope.by_subject())
