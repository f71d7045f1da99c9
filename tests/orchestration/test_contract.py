from __future__ import annotations

from pathlib import Path

import dagster as dg
import numpy as np
import numpy.typing as npt
import pytest
from pydantic import BaseModel

from assets.chain import build_chain
from assets.dataset import Dataset
from assets.incremental import subject_steps
from assets.spec import DatasetSpec
from expectations.gate import GreatExpectationsGates
from resources.layout import Layout
from tests import data_makers
from tests.data_makers import MadeSubject
from tests.orchestration.world import World, catalog, catalog_spec, reasons

CATALOG = sorted(catalog())


def _traits(spec: DatasetSpec) -> set[str]:
    """What makes the chain of one dataset another than that of the next: its family, its steps and the fields of its spec."""
    made_by = str(getattr(getattr(data_makers, spec.slug, None), "__module__", spec.slug))
    fields = {f"{name}.{field}" for name, part in _parts(spec) for field in part.model_fields_set}
    return {made_by, *subject_steps(spec), *fields}


def _parts(spec: DatasetSpec) -> list[tuple[str, BaseModel]]:
    named = ((name, getattr(spec, name)) for name in type(spec).model_fields)
    return [("spec", spec), *((name, part) for name, part in named if isinstance(part, BaseModel))]


def _run_again() -> list[str]:
    """The datasets whose chain runs a second time: all of MedVision, and of MDS-Bench the first that has some trait."""
    met: set[str] = set()
    chosen = []
    for spec in sorted(catalog().values(), key=lambda spec: (spec.slug.startswith("mds_"), spec.slug)):
        traits = _traits(spec)
        if not spec.slug.startswith("mds_") or traits - met:
            chosen.append(spec.slug)
        met |= traits
    return chosen


AGAIN = frozenset(_run_again())


def _is_annotated(made: MadeSubject) -> bool:
    """Whether any scan has landmarks, or label maps with something on them; else the tables of annotations have no row of it."""
    return any(scan.landmarks or (scan.labels and _is_labelled(scan.label_map())) for scan in made.scans)


def _is_labelled(ids: npt.NDArray[np.uint8] | None) -> bool:
    return ids is None or bool(ids.any())


@pytest.mark.parametrize("by_subject", [True, False])
@pytest.mark.parametrize("slug", CATALOG)
def test_every_spec_builds_its_chain(slug: str, tmp_path: Path, *, by_subject: bool) -> None:
    spec = catalog_spec(slug)
    chain = build_chain(Dataset(spec, Layout(tmp_path)), GreatExpectationsGates(), by_subject=by_subject)
    keys = {key.to_user_string() for asset in chain.assets for key in asset.keys}
    records = ["records", "score"] if spec.mds is not None else []
    assert keys == {slug, *(f"{slug}/{step}" for step in (*subject_steps(spec), "index", "splits", *records))}
    dg.Definitions.validate_loadable(dg.Definitions(assets=chain.assets))


@pytest.mark.parametrize("slug", CATALOG)
def test_every_spec_runs_on_the_miniature_of_its_layout(slug: str, tmp_path: Path) -> None:
    make = getattr(data_makers, slug, None)
    assert make is not None, f"tests/data_makers has no {slug}: add a maker of its true raw layout with the spec"
    made = make(tmp_path / "raw" / catalog_spec(slug).raw_name)
    with dg.DagsterInstance.ephemeral() as instance:
        world = World(tmp_path, catalog_spec(slug), instance)
        result = world.run()
        assert result.success, reasons(result)
        assert world.states() == dict.fromkeys(made, "used")
        assert world.partitions() == sorted(made)
        raw = world.dataset.store.read_table("raw")
        assert not raw.filter(state="unclaimed").height
        for step in subject_steps(world.spec):
            table = world.dataset.store.read_table(step)
            assert set(table["subject"]) == {name for name, one in made.items() if step == "volumes" or _is_annotated(one)}
            assert world.logged(step) == set(made)
        splits = world.dataset.store.read_table("splits")
        assert set(splits["split"]) == {"train", "test"} or splits["group"].n_unique() == 1
        if slug in AGAIN:
            before = world.files()
            assert world.run().success
            assert world.files() == before
