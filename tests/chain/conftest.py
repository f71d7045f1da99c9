from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chain.groups import GROUPS, Cases, make_cases
from tests.chain.product import Product, run_chain

RunGroup = Callable[[str], Product]


@pytest.fixture(scope="session")
def cases(shared_cases: Path, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Every case of the kinds that are tested here."""
    return make_cases(shared_cases, tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="session")
def run_group(cases: Cases, tmp_path_factory: pytest.TempPathFactory) -> RunGroup:
    """Runs the whole chain over a group of cases, once a session."""
    done: dict[str, Product] = {}

    def run(name: str) -> Product:
        if name not in done:
            root = tmp_path_factory.mktemp(name)
            GROUPS[name].fill(root / "raw" / name, cases)
            done[name] = run_chain(GROUPS[name].spec(name), root)
        return done[name]

    return run
