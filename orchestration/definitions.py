"""The code location that Dagster loads."""

from __future__ import annotations

import logging
import warnings

import dagster as dg

# Partitioned checks and backfill policies are preview features of the pinned Dagster; we use them knowingly.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)

from assets.spec import read_catalog  # noqa: E402
from orchestration import scope  # noqa: E402
from orchestration.build import build_definitions  # noqa: E402
from resources.layout import Layout  # noqa: E402

_catalog = read_catalog()
for _name, _error in _catalog.broken.items():
    logging.getLogger("medfoundry").warning("%s has no chain: %s", _name, _error.short)
defs = build_definitions(
    _catalog.specs.values(), Layout.from_environment(), by_subject=scope.by_subject(), broken=_catalog.broken
)
