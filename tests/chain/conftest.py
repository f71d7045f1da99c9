from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from assets.dataset import Dataset
from resources.layout import Layout
from tests.chain.groups import GROUPS, Cases, made_cases, make_cases
from tests.chain.product import Product, run_chain
from tests.sharing import made_once

RunGroup = Callable[[str], Product]


@pytest.fixture(scope="session")
def cases(shared_cases: Path, tmp_path_factory: pytest.TempPathFactory) -> Cases:
    """Every case of the kinds that are tested here."""
    return made_cases(made_once(tmp_path_factory, "cases", lambda folder: make_cases(shared_cases, folder)))


@pytest.fixture(scope="session")
def run_group(cases: Cases, tmp_path_factory: pytest.TempPathFactory) -> RunGroup:
    """Runs the whole chain over a group of cases, once a session."""
    done: dict[str, Product] = {}

    def run(name: str) -> Product:
        def make(root: Path) -> None:
            GROUPS[name].fill(root / "raw" / name, cases)
            run_chain(GROUPS[name].spec(name), root)

        if name not in done:
            root = made_once(tmp_path_factory, f"group_{name}", make)
            done[name] = Product(Dataset(GROUPS[name].spec(name), Layout(root)))
        return done[name]

    return run
