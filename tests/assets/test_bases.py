"""Specs that are laid over others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from assets.spec import DatasetSpec

_TOP = {
    "slug": "toy", "name": "Toy", "licence": "CC0-1.0", "modality": "CT", "anatomy": "none", "description": "made up",
    "sources": [], "layout": {"subject": "s1", "series": {"ct": "{subject}.nii.gz"}},
}  # fmt: skip


def _write(folder: Path, **files: dict[str, Any]) -> Path:
    for name, content in files.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return folder / "toy.yaml"


def test_a_base_lies_on_its_own_base_and_a_later_one_over_an_earlier(tmp_path: Path) -> None:
    path = _write(
        tmp_path,
        _ground={"version": "1", "access": "open", "layout": {"ignore": {"a": "ground", "b": "ground", "c": "ground"}}},
        _shared={"base": "ground", "layout": {"ignore": {"b": "shared", "c": "shared"}}},
        _other={"version": "2", "layout": {"ignore": {"c": "other"}}},
        toy=_TOP | {"base": ["shared", "other"]},
    )
    spec = DatasetSpec.from_yaml(path)
    assert spec.layout.ignore == {"a": "ground", "b": "shared", "c": "other"}
    assert (spec.version, spec.access) == ("2", "open")


def test_bases_that_lie_on_one_another_are_refused(tmp_path: Path) -> None:
    path = _write(tmp_path, _one={"base": "two"}, _two={"base": "one"}, toy=_TOP | {"base": "one"})
    with pytest.raises(ValueError, match=r"_one.yaml is a base of itself, by way of toy.yaml, _one.yaml, _two.yaml"):
        DatasetSpec.from_yaml(path)
