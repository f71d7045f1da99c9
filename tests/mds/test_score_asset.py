"""The asset `<slug>/score` in its chain: with a ground truth, without one, and when either changes."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import pytest

from assets.chain import build_chain
from assets.dataset import Dataset
from expectations.gate import GreatExpectationsGates
from orchestration.status import why_dataset
from resources.layout import Layout
from tests.benchmark.made import ground_truth, truth_sample, write_truth
from tests.orchestration.world import World, altered, catalog_spec, reasons

CASES = ("case_00000", "case_00001", "case_00002")


def truth(name: str = "KiTS23") -> dict[str, object]:
    samples = []
    for case in CASES:
        path = f"data/dataset/{case}/segmentation.nii.gz"
        extra = {"subject_id": case, "source_file": path, "original_filename": "segmentation.nii.gz"}
        extra |= dict.fromkeys(("label_file", "mask_file", "seg_file"), path)
        block = {"schema_variant": "3d_mask"}
        samples.append(truth_sample(name, "CT", "segmentation", "pixel_mask", case, "a sentence", extra, block))
    return ground_truth(name, "CT", "segmentation", "3d", "3d_mask", ["background", "kidney", "tumor", "cyst"], samples)


def materialized(result: dg.ExecuteInProcessResult) -> dg.AssetMaterialization | None:
    found = [e for e in result.get_asset_materialization_events() if e.asset_key and e.asset_key.path[-1] == "score"]
    return found[0].step_materialization_data.materialization if found else None


def version(event: dg.AssetMaterialization) -> str:
    return str((event.tags or {})["dagster/data_version"])


def checked(result: dg.ExecuteInProcessResult) -> dg.AssetCheckEvaluation:
    (check,) = [c for c in result.get_asset_check_evaluations() if c.asset_key.path[-1] == "score"]
    return check


def test_without_a_ground_truth_it_is_skipped_and_says_what_was_looked_for(world: World) -> None:
    result = world.run()
    assert result.success, reasons(result)
    assert materialized(result) is None
    check = checked(result)
    assert (check.passed, check.severity, check.blocking) == (True, dg.AssetCheckSeverity.WARN, False)
    assert str(check.description).startswith("nothing to score: no ground_truth*.json in ")
    assert str(world.root / "raw" / "kits23" / "VLM") in str(check.description)
    assert "\n" not in str(check.description)
    assert not [name for name in world.files() if name.startswith("score")]


def test_why_says_that_a_score_is_of_another_ground_truth(world: World) -> None:
    path = write_truth(world.root / "raw" / "mdsbench" / "forth_dataset" / "kits23", truth())
    assert world.run().success
    assert why_dataset(world.dataset) == []
    path.write_text(json.dumps(truth("KiTS 23")))
    assert [list(entry["stale"]) for entry in why_dataset(world.dataset)] == [["score"]]


@pytest.mark.parametrize("place", ["raw/kits23", "raw/mdsbench/forth_dataset/kits23"])
def test_a_ground_truth_with_the_data_gives_the_eleven_and_a_second_run_computes_nothing(world: World, place: str) -> None:
    write_truth(world.root / place, truth())
    first = world.run()
    assert first.success, reasons(first)
    event = materialized(first)
    assert event is not None
    values = {name: event.metadata[name].value for name in ("SV", "SC", "INR", "CF", "MSC", "MSJ", "SCJ", "E2E", "samples")}
    assert {**values, "INR": 0} == {
        "SV": 1, "SC": 0.895, "INR": 0, "CF": 1, "MSC": 1, "MSJ": 1, "SCJ": 1, "E2E": 1, "samples": 3,
    }  # fmt: skip
    table = event.metadata["lost"]
    assert isinstance(table, dg.TableMetadataValue)
    lost = [record.data for record in table.records]
    assert {(row["metric"], row["times"]) for row in lost} >= {("SC", 3), ("INR", 3)}
    assert checked(first).description == f"below 1: SSC 0.8950, SC 0.8950, INR {values['INR']:.4f}"
    assert world.dataset.store.read_table("score")["E2E"].to_list() == [1.0]
    assert set(world.dataset.store.read_table("score_samples")["sample"]) == {"0", "1", "2"}
    before = world.files()
    assert {"score.parquet", "score_samples.parquet", "score_deductions.parquet"} < set(before)
    again = materialized(world.run())
    assert again is not None
    assert again.metadata["unchanged"].value is True
    assert version(again) == version(event)
    assert world.files() == before


def test_another_ground_truth_scores_anew_and_makes_no_records_anew(world: World) -> None:
    folder = world.root / "raw" / "mdsbench" / "forth_dataset" / "kits23"
    write_truth(folder, truth())
    first = materialized(world.run())
    before = world.files()
    write_truth(folder, truth("Another name"))
    second = materialized(world.run())
    assert first is not None
    assert second is not None
    assert version(first) != version(second)
    assert second.metadata["MSC"].value == pytest.approx(3 / 5)
    after = world.files()
    assert {name for name in before if name.startswith("records/") and before[name] != after[name]} == set()


def test_a_named_folder_of_ground_truths_goes_first(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_truth(world.root / "raw" / "kits23", truth("Another name"))
    write_truth(tmp_path / "clone" / "datasets" / "forth_dataset" / "kits23", truth())
    monkeypatch.setenv("MEDFOUNDRY_GROUND_TRUTHS", str(tmp_path / "clone"))
    event = materialized(world.run())
    assert event is not None
    assert event.metadata["MSC"].value == 1.0


@pytest.mark.parametrize("content", ["[", json.dumps({"samples": {}})])
def test_a_ground_truth_that_says_nothing_gives_no_figure_and_takes_the_old_ones_away(world: World, content: str) -> None:
    path = write_truth(world.root / "raw" / "kits23", truth())
    assert materialized(world.run()) is not None
    path.write_text(content)
    result = world.run()
    assert result.success, reasons(result)
    assert materialized(result) is None
    assert not checked(result).passed
    assert str(checked(result).description).startswith(f"nothing to score: {path} ")
    assert not [name for name in world.files() if name.startswith("score")]
    files = world.files()
    world.run()
    assert world.files() == files


def test_new_tables_of_the_dataset_take_the_score_away(world: World) -> None:
    write_truth(world.root / "raw" / "kits23", truth())
    assert world.run().success
    world.rewrite_mask("case_00001")
    assert world.run("volumes", "boxes", "mask_sizes", "lesion_sizes", "index").success
    assert not [name for name in world.files() if name.startswith("score")]
    alone = world.run("score")
    assert not alone.success
    assert "materialize kits23/records first" in reasons(alone)


@pytest.mark.usefixtures("preview_features")
def test_a_dataset_without_records_has_no_score(tmp_path: Path) -> None:
    dataset = Dataset(altered(catalog_spec(), mds=None), Layout(tmp_path))
    chain = build_chain(dataset, GreatExpectationsGates(), by_subject=False)
    assert "score" not in {key.path[-1] for asset in chain.assets for key in asset.keys}
