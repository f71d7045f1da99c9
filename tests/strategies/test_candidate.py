"""Records of a draft: made elsewhere than the raw folder, by the machinery of the catalog's datasets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from assets.inspect import inspect_folder
from assets.inspect.draft import as_spec
from assets.mds.audit import audit
from assets.spec import DatasetSpec
from assets.strategies.candidate import CandidateError, make_candidate, records_of
from assets.strategies.place import PlaceError, place_of
from tests.strategies.folders import boxes, class_folders, volumes, write_volume


def draft(raw: Path) -> DatasetSpec:
    return as_spec(inspect_folder(raw), "draft")


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize(
    ("make", "task", "variant", "n"),
    [(volumes, "segmentation", "3d_mask", 4), (class_folders, "classification", "multiclass", 6), (boxes, "detection", "2d", 4)],
)
def test_a_draft_without_an_mds_block_gives_records_that_hold(
    tmp_path: Path, make: Callable[[Path], Path], task: str, variant: str, n: int
) -> None:
    raw = make(tmp_path / "group" / "Some_Set")
    before = files(raw)
    folder = records_of(draft(raw), raw, tmp_path / "work")
    assert files(raw) == before
    table = audit(folder)
    assert table.height == n
    assert [row for row in table.select("violations", "picture_problem", "bad_masks", "bad_boxes").rows() if any(row)] == []
    record = json.loads((folder / "standardized_annotations/0.json").read_bytes())
    assert record["record"]["dataset_name"] == "Some_Set"
    assert (record["media_geometry"]["media"]["task_type"], record["tasks"][task]["schema_variant"]) == (task, variant)


def test_the_same_draft_gives_the_same_bytes_wherever_the_work_is_done(tmp_path: Path) -> None:
    raw = volumes(tmp_path / "set")
    one, two, again = (files(records_of(draft(raw), raw, tmp_path / name)) for name in ("one", "two", "one"))
    assert one == two == again


def test_a_record_names_the_label_map_of_the_image_it_shows(tmp_path: Path) -> None:
    raw = tmp_path / "set"
    for person in ("sub-01", "sub-02", "sub-03"):
        for suffix in ("T1w", "FLAIR"):
            write_volume(raw / f"{person}/anat/{person}_{suffix}.nii.gz")
            write_volume(raw / f"derivatives/made/{person}/anat/{person}_{suffix}_mask.nii.gz", mask=True, ids=(1,))
    folder = records_of(draft(raw), raw, tmp_path / "work")
    named = {
        extra["source_file"].rpartition("_")[2]: extra["mask_file"].partition("_")[2]
        for path in (folder / "standardized_annotations").iterdir()
        if (extra := json.loads(path.read_bytes())["context"]["sample"]["extra"])
    }
    assert named == {"T1w.nii.gz": "T1w_mask.nii.gz", "FLAIR.nii.gz": "FLAIR_mask.nii.gz"}


def test_objects_are_named_by_their_table(tmp_path: Path) -> None:
    raw = boxes(tmp_path / "set")
    candidate = make_candidate(draft(raw), place_of(raw), tmp_path / "work")
    assert [label.name for label in candidate.spec.labels.values()] == ["mass", "nodule"]
    assert [candidate.records[n]["context"]["sample"]["extra"]["label_text"] for n in range(4)] == ["nodule", "mass"] * 2
    assert candidate.records[0]["context"]["sample"]["extra"]["bbox_file"] == "data/boxes.csv"


def test_only_subjects_of_the_sample_are_read(tmp_path: Path) -> None:
    raw = volumes(tmp_path / "set" / "data")
    (tmp_path / "set" / "random.txt").write_text("0 /there/some_group/the set/data/imagesTr/ct_003.nii.gz\n", encoding="utf-8")
    candidate = make_candidate(draft(raw), place_of(tmp_path / "set"), tmp_path / "work")
    assert candidate.spec.mds is not None
    assert candidate.spec.mds.folder == "some_group/the set"
    assert list(candidate.records) == [0]
    assert candidate.records[0]["context"]["sample"]["extra"]["source_file"] == "data/imagesTr/ct_003.nii.gz"
    assert len(list((tmp_path / "work").rglob("manifest/*.json"))) == 1


def test_ground_truths_are_never_looked_at(tmp_path: Path) -> None:
    volumes(tmp_path / "set" / "data")
    (tmp_path / "set" / "VLM").mkdir()
    assert place_of(tmp_path / "set").raw == tmp_path / "set" / "data"
    (tmp_path / "set" / "data" / "VLM").mkdir()
    with pytest.raises(PlaceError, match="ground truths"):
        place_of(tmp_path / "set" / "data")


def test_the_raw_folder_is_no_place_to_work_in(tmp_path: Path) -> None:
    raw = volumes(tmp_path / "set")
    with pytest.raises(CandidateError, match="never written to"):
        records_of(draft(raw), raw, raw / "work")


def test_a_subject_may_not_be_nobody(tmp_path: Path) -> None:
    raw = class_folders(tmp_path / "set")
    content = draft(raw).model_dump(mode="python", exclude_defaults=True)
    content["layout"]["subject"] = "|sub"
    content["layout"]["series"] = {"photo": "fundus/{class}/{subject}b_000.png"}
    with pytest.raises(ValidationError, match="matches an empty text too, which is nobody's name"):
        DatasetSpec.model_validate(content)
