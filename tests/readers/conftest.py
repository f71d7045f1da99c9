from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CaseKind = Callable[[str], tuple[Path, dict[str, dict[str, Any]]]]


@pytest.fixture(scope="session")
def case_kind(shared_cases: Path, tmp_path_factory: pytest.TempPathFactory) -> CaseKind:
    """Builds one kind of the shared trouble cases: its folder, and its cases by id."""
    built: dict[str, tuple[Path, dict[str, dict[str, Any]]]] = {}

    def build(kind: str) -> tuple[Path, dict[str, dict[str, Any]]]:
        if kind not in built:
            out = tmp_path_factory.mktemp(kind)
            command = [sys.executable, str(shared_cases / "make_cases.py"), "--out", str(out), "--only", kind]
            subprocess.run(command, check=True, capture_output=True, cwd=shared_cases)
            expected = json.loads((out / "expected.json").read_text(encoding="utf-8"))
            built[kind] = (out / kind, {case["id"]: case for case in expected["kinds"][kind]["cases"]})
        return built[kind]

    return build
