from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from tests.data_makers import kits23
from tests.orchestration.world import World, catalog_spec

SHAPE = (24, 26, 20)


@pytest.fixture
def preview_features() -> Iterator[None]:
    """Chains use features of Dagster that warn when they are first used."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        yield


@pytest.fixture
def world(preview_features: None, tmp_path: Path) -> Iterator[World]:
    """The raw files of three subjects of KiTS23, and an event log."""
    kits23(tmp_path / "raw" / "kits23", 3, shape=SHAPE)
    with dg.DagsterInstance.ephemeral() as instance:
        yield World(tmp_path, catalog_spec(), instance)
