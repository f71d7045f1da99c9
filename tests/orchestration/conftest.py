"""A small KiTS23 that went through its chain once; every test works on a copy of its own."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from tests.data_makers import kits23
from tests.orchestration.world import World, catalog_spec, copied
from tests.sharing import made_once

SHAPE = (24, 26, 20)


@pytest.fixture(autouse=True)
def _preview_features() -> Iterator[None]:
    """`orchestration.definitions` allows these; the tests build chains without it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        yield


@pytest.fixture(scope="session")
def raw_four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the raw files of four subjects and nothing else."""
    return made_once(tmp_path_factory, "raw_four", _four)


@pytest.fixture(scope="session")
def built_four(raw_four: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The four, and everything made of them."""

    def make(root: Path) -> None:
        with dg.DagsterInstance.ephemeral() as instance, copied(World(raw_four, catalog_spec(), instance), root) as world:
            assert world.run().success

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.BetaWarning)
        warnings.simplefilter("ignore", dg.PreviewWarning)
        root = made_once(tmp_path_factory, "built_four", make)
    with dg.DagsterInstance.ephemeral() as instance:
        yield World(root, catalog_spec(), instance)


def _four(root: Path) -> None:
    kits23(root / "raw" / "kits23", 4, shape=SHAPE)


@pytest.fixture
def world(built_four: World, tmp_path: Path) -> Iterator[World]:
    """A built dataset of one's own, with a new event log."""
    with copied(built_four, tmp_path / "data") as own:
        yield own


@pytest.fixture
def fresh(raw_four: Path, tmp_path: Path) -> Iterator[World]:
    """Raw files of one's own, and nothing made of them."""
    with copied(World(raw_four, catalog_spec(), dg.DagsterInstance.ephemeral()), tmp_path / "data") as own:
        yield own


@pytest.fixture
def on_disk(fresh: World, tmp_path: Path) -> Iterator[World]:
    """The same with an event log on disk."""
    (tmp_path / "log").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "log")) as instance:
        yield World(fresh.root, fresh.spec, instance)
