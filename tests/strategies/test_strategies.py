"""The five strategies on small folders, held against ground truths that were spelled out by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import yaml
from PIL import Image

from assets.strategies.endpoint import Endpoint, Limits, endpoint
from assets.strategies.place import place_of
from assets.strategies.report import lines, payload
from assets.strategies.run import STRATEGIES, NothingStandardizedError, Standardized, Strategy, standardize
from assets.strategies.validator import validate_folder
from tests.strategies.fake_model import KEY, FakeModel, Script, fake_model, raw, says, status
from tests.strategies.folders import boxes, class_folders, volumes, write_volume
from tests.strategies.truths import boxes_truth, class_folders_truth, scored, volumes_truth

Json = dict[str, Any]
QUICK = Limits(connect=2, silence=2, whole=4, attempts=1)

DRAFT: Json = {
    "task": "segmentation",
    "name": "Livers",
    "modality": "CT",
    "anatomy": "liver",
    "layout": {
        "subject": r"\d{3}",
        "series": {"ct": "imagesTr/ct_{subject}.nii.gz"},
        "labels": {"mask": "labelsTr/ct_{subject}.nii.gz"},
    },
    "labels": {1: "liver", 2: "tumour"},
}


def run(raw_folder: Path, work: Path, strategy: Strategy, model: Endpoint | None = None) -> Standardized:
    return standardize(place_of(raw_folder), strategy, work, model)


def asking(server: FakeModel) -> Endpoint:
    return endpoint(server.url, "some-model", KEY, QUICK)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    ("make", "truth"), [(volumes, volumes_truth), (class_folders, class_folders_truth), (boxes, boxes_truth)]
)  # fmt: skip
def test_plain_folders_are_standardized_end_to_end_by_rules_alone(
    tmp_path: Path, make: Callable[[Path], Path], truth: Callable[[str], Json], strategy: Strategy
) -> None:
    done = run(make(tmp_path / "Some_Set"), tmp_path / "work", strategy)
    done.chosen.write(tmp_path / "out")
    metrics = scored(tmp_path / "out", truth("Some_Set"), tmp_path / "truth")
    assert {name: metrics[name] for name in ("SV", "IC", "SCJ", "CF", "MSC", "E2E")} == dict.fromkeys(
        ("SV", "IC", "SCJ", "CF", "MSC", "E2E"), 1.0
    )
    found = validate_folder(tmp_path / "out", done.chosen.listed, done.is_there)
    assert found.complete
    assert found.total == done.chosen.validation(done.is_there).total
    assert found.total == (1.0 if make is not volumes or strategy in ("s2", "s3", "s4") else 0.91)  # no label_text, class_name


def test_a_self_check_finds_label_ids_that_the_draft_did_not_see(tmp_path: Path) -> None:
    for number in range(30):
        write_volume(tmp_path / f"set/imagesTr/ct_{number:03d}.nii.gz", seed=number)
        write_volume(tmp_path / f"set/labelsTr/ct_{number:03d}.nii.gz", mask=True)
    write_volume(tmp_path / "set/labelsTr/ct_013.nii.gz", mask=True, ids=(1, 7))
    direct, checked = (run(tmp_path / "set", tmp_path / name, name) for name in ("s0", "s1"))
    assert len(direct.chosen.records) < direct.chosen.listed == 20
    assert any("unknown-label" in line for line in direct.chosen.contradictions)
    assert len(checked.chosen.records) == 20
    assert checked.chosen.spec.labels[7].name == "label 7"
    assert [repair.check for repair in checked.chosen.repairs] == ["label ids are known"]


def test_a_self_check_gives_arrays_the_usual_axes(tmp_path: Path) -> None:
    for number in range(4):
        path = tmp_path / f"set/fundus/img_{number:03d}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, np.random.default_rng(number).integers(0, 255, (12, 10, 3), np.uint8))
    with pytest.raises(NothingStandardizedError, match="nothing says what its axes are"):
        run(tmp_path / "set", tmp_path / "s0", "s0")
    done = run(tmp_path / "set", tmp_path / "s1", "s1")
    assert len(done.chosen.records) == 4
    assert [(r.check.split()[0], r.done) for r in done.chosen.repairs] == [("axes", "taken as yxc, the usual order")]


def test_a_self_check_leaves_out_label_maps_that_lie_elsewhere(tmp_path: Path) -> None:
    for number in ("001", "002", "003", "004"):
        write_volume(tmp_path / f"set/imagesTr/ct_{number}.nii.gz")
        path = tmp_path / f"set/labelsTr/ct_{number}.nii.gz"
        write_volume(path, mask=True)
        image = nib.load(path)
        nib.save(nib.Nifti1Image(np.asarray(image.dataobj), image.affine + np.array([[0, 0, 0, 99]] * 3 + [[0] * 4])), path)
    with pytest.raises(NothingStandardizedError):
        run(tmp_path / "set", tmp_path / "s0", "s0")
    done = run(tmp_path / "set", tmp_path / "s1", "s1")
    assert len(done.chosen.records) == 4
    assert done.chosen.spec.mds is not None
    assert done.chosen.spec.mds.task == "classification"
    assert done.chosen.repairs[0].done == "label maps left out"


def test_a_second_reader_gets_a_candidate_of_its_own(tmp_path: Path) -> None:
    root = volumes(tmp_path / "set")
    for number in ("001", "002", "003"):
        write_volume(root / f"reader2_masks/ct_{number}.nii.gz", mask=True)
    done = run(root, tmp_path / "work", "s3")
    assert len(done.outcomes) >= 2
    files = {o.records[0]["context"]["sample"]["extra"].get("seg_file") for o in done.outcomes}
    assert {"data/labelsTr/ct_001.nii.gz", "data/reader2_masks/ct_001.nii.gz"} <= files


def test_a_model_names_what_no_folder_tells_and_fields_are_mixed(tmp_path: Path) -> None:
    root = volumes(tmp_path / "Some_Set")
    with fake_model(says(f"```yaml\n{yaml.safe_dump(DRAFT)}```")) as server:
        done = run(root, tmp_path / "work", "s4", asking(server))
    assert [outcome.draft.name for outcome in done.outcomes[:2]] == ["model 1", "rules"]
    assert done.chosen.validation(done.is_there).total == 1
    done.chosen.write(tmp_path / "out")
    metrics = scored(tmp_path / "out", volumes_truth("Some_Set"), tmp_path / "truth")
    assert metrics["E2E"] == metrics["SC"] == 1.0  # the rules alone do not know "liver|tumour"
    assert done.chosen.meta["anatomical_structure"] == ["liver"]
    assert "model 2: it says the same as an earlier one" in done.remarks


def test_what_a_model_says_cannot_command_a_terminal(tmp_path: Path) -> None:
    root = volumes(tmp_path / "set")
    with fake_model(says(json.dumps({**DRAFT, "labels": {1: "li\x1b[2Jver", 2: "tu\u202emour"}, "\x1b[31m": 1}))) as server:
        done = run(root, tmp_path / "work", "s4", asking(server))
    assert done.chosen.draft.name == "model 1"
    assert all(line.isprintable() for line in lines(done))


def test_a_model_may_correct_itself_once(tmp_path: Path) -> None:
    root = volumes(tmp_path / "set")
    wrong = {**DRAFT, "labels": {1: "liver"}}
    with fake_model(says(yaml.safe_dump(wrong)), says(yaml.safe_dump(DRAFT))) as server:
        done = run(root, tmp_path / "work", "s1", asking(server))
    first, second = server.asked
    assert [message["role"] for message in second.body["messages"]] == ["system", "user", "assistant", "user"]
    assert "unknown-label: 4 times" in second.text
    assert len(done.chosen.records) == 4
    assert done.chosen.spec.labels[2].name == "tumour"
    assert first.text in second.text


def test_a_model_that_corrects_itself_to_something_unusable_keeps_its_first_answer(tmp_path: Path) -> None:
    root = volumes(tmp_path / "set")
    (root / "imagesTr/ct_002.nii.gz").write_bytes(b"broken")
    with fake_model(says(yaml.safe_dump(DRAFT)), says("I give up.")) as server:
        done = run(root, tmp_path / "work", "s1", asking(server))
    assert len(done.chosen.records) == 3
    assert any("its first answer stands" in remark for remark in done.remarks)


@pytest.mark.parametrize(
    "script",
    [
        says("I cannot help with that."),
        says("layout: [unclosed"),
        says(yaml.safe_dump({**DRAFT, "layout": {**DRAFT["layout"], "series": {"ct": "../../etc/{subject}"}}})),
        says(yaml.safe_dump({**DRAFT, "layout": {**DRAFT["layout"], "subject": "(?:a+)+"}})),
        says(yaml.safe_dump({**DRAFT, "layout": {**DRAFT["layout"], "series": {"ct": "nothing/{subject}.nii"}}})),
        status(401),
        status(500),
        raw(b"<html></html>", "text/html"),
        raw(b'{"choices": []}'),
        raw(b" " * 10_000_000),
    ],
)
def test_an_answer_that_cannot_be_used_is_a_remark_and_the_rules_go_on(tmp_path: Path, script: Script) -> None:
    root = volumes(tmp_path / "set")
    with fake_model(script) as server:
        done = run(root, tmp_path / "work", "s3", asking(server))
    assert done.chosen.draft.name == "rules"
    assert len(done.chosen.records) == 4
    assert done.remarks or any(one.draft.name == "model 1" for one in done.failed)
    text = json.dumps(payload(done)) + "\n".join(lines(done))
    assert KEY not in text
    assert "model 1" in text


def test_what_is_sent_holds_names_and_no_values(tmp_path: Path) -> None:
    root = boxes(tmp_path / "set")
    (root / "patients.csv").write_text("image_id,patient,age\npic_000,Jane Roe,44\npic_001,John Doe,71\n", encoding="utf-8")
    with fake_model(says("no")) as server:
        run(root, tmp_path / "work", "s0", asking(server))
    (asked,) = server.asked
    assert "xray/pic_000.png" in asked.text
    assert "columns image_id, patient, age" in asked.text
    assert all(secret not in str(asked.body) for secret in ("Jane", "Roe", "John", "nodule", str(tmp_path), KEY))
    assert len(asked.text) < 20_000


def test_without_an_endpoint_nothing_is_contacted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something was contacted")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    assert run(class_folders(tmp_path / "set"), tmp_path / "work", "s4").remarks == ()


@pytest.mark.parametrize("strategy", ["s2", "s4"])
def test_the_same_folder_gives_the_same_bytes(tmp_path: Path, strategy: Strategy) -> None:
    root = boxes(tmp_path / "set")
    made = []
    for name in ("one", "two"):
        done = run(root, tmp_path / f"work {name}", strategy)
        done.chosen.write(tmp_path / name)
        files = {p.relative_to(tmp_path / name): p.read_bytes() for p in sorted((tmp_path / name).rglob("*.*"))}
        made.append((files, json.dumps(payload(done)), list(lines(done))))
    assert made[0] == made[1]


def test_a_self_check_gives_every_listed_target_a_record(tmp_path: Path) -> None:
    raw_folder = volumes(tmp_path / "set" / "data")
    write_volume(raw_folder / "imagesTr/ct_009.nii.gz")
    write_volume(raw_folder / "survey/topogram.nii.gz")
    listed = ("imagesTr/ct_002.nii.gz", "survey/topogram.nii.gz", "imagesTr/ct_009.nii.gz")
    text = "".join(f"{n} /home/x/group/set/data/{path}\n" for n, path in enumerate(listed))
    (tmp_path / "set/random.txt").write_text(text, encoding="utf-8")
    done = run(tmp_path / "set", tmp_path / "s1", "s1")
    sources = {n: record["context"]["sample"]["extra"]["source_file"] for n, record in done.chosen.records.items()}
    assert sources == {n: f"data/{path}" for n, path in enumerate(listed)}
    masks = [done.chosen.records[n]["context"]["sample"]["extra"]["mask_file"] for n in range(3)]
    assert masks == ["data/labelsTr/ct_002.nii.gz", None, None]


def test_a_self_check_takes_one_channel_of_a_film_in_colours(tmp_path: Path) -> None:
    for number in range(3):
        path = tmp_path / f"set/echocardiography/film_{number:03d}.tif"
        path.parent.mkdir(parents=True, exist_ok=True)
        frames = np.random.default_rng(number).integers(0, 255, (5, 12, 10, 3), np.uint8)
        first, *others = [Image.fromarray(frame) for frame in frames]
        first.save(path, save_all=True, append_images=others)
    done = run(tmp_path / "set", tmp_path / "s1", "s1")
    assert len(done.chosen.records) == 3
    assert any("first channel" in repair.done for repair in done.chosen.repairs)
