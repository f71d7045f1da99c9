from __future__ import annotations

import re
import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from tests.datasets.built import CATALOG, Miniature, build, check_built, check_found, check_label, make

TOP = "TopCoW2024_Data_Release"
OTHER = {"ct": "mr", "mr": "ct"}


def ignored(miniature: Miniature, other: str) -> dict[str, str]:
    top = miniature.raw_root / TOP
    reasons = {miniature.path(p): "a dataset of its own" for p in top.rglob(f"topcow_{other}_*")}
    for folder, why in (("roi_loc_labelsTr", "boxes around"), ("antpos_edges_labelsTr", "connections")):
        reasons |= {miniature.path(p): why for p in (top / folder).iterdir()}
    return reasons


@pytest.fixture(params=["ct", "mr"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_half_is_found_as_made(kind: str, tmp_path: Path) -> None:
    miniature = make(f"topcow24_{kind}", tmp_path)
    expected = ignored(miniature, OTHER[kind])
    assert len(expected) == 3 * (2 + 2 * 2)
    check_found(miniature, expected)


def test_a_half_is_built_as_drawn(kind: str, tmp_path: Path) -> None:
    miniature = make(f"topcow24_{kind}", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        scan = made.only_scan
        absent = {8, 9} if subject.endswith("014") else {15}
        for label in set(miniature.spec.labels) - absent:
            check_label(built, subject, scan, label)
        (row,) = built.rows("volumes", subject).filter(kind="labels").to_dicts()
        assert set(row["label_ids"]) == {*range(1, 13), 15} - absent


def test_both_halves_read_one_folder_and_know_their_people(tmp_path: Path) -> None:
    ct, mr = (make(f"topcow24_{kind}", tmp_path) for kind in ("ct", "mr"))
    assert ct.raw_root == mr.raw_root
    assert ct.spec.people_pool == mr.spec.people_pool == "topcow24"
    numbers = []
    for half in (ct, mr):
        assert half.spec.people.id is not None
        found = [re.search(half.spec.people.id, subject) for subject in half.tree().subjects]
        numbers.append([match.group() for match in found if match])
    assert numbers == [["003", "014", "024"]] * 2


@pytest.mark.parametrize(("kind", "subjects"), [("ct", ["topcow_ct_003", "topcow_ct_014"]), ("mr", ["topcow_mr_003"])])
def test_real_label_maps_are_built_beside_made_images(kind: str, subjects: list[str], shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "layouts" / "TopCoW24" / "cow_seg_labelsTr"
    raw = tmp_path / "raw" / "topcow24" / TOP
    shutil.copytree(source, raw / source.name)
    (raw / "imagesTr").mkdir()
    for path in source.iterdir():
        labels = nib.load(path)
        image = (np.asarray(labels.dataobj) * 50 + np.arange(labels.shape[2])).astype(np.int16)
        nib.save(nib.Nifti1Image(image, labels.affine), raw / "imagesTr" / path.name.replace(".nii.gz", "_0000.nii.gz"))
    built = build(CATALOG[f"topcow24_{kind}"], tmp_path)
    assert {s: m.state for s, m in built.manifests.items()} == dict.fromkeys(subjects, "published")
    assert not [f for f in built.survey.tree.files if f.state == "unclaimed"]
    for subject in subjects:
        stored = nib.as_closest_canonical(nib.load(source / f"{subject}.nii.gz"))
        (series,) = CATALOG[f"topcow24_{kind}"].layout.series
        np.testing.assert_array_equal(built.voxels(subject, "labels", "0", series), np.asarray(stored.dataobj))
