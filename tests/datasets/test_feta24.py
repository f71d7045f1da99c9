from __future__ import annotations

import math
import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from resources.findings import Code
from tests.data_makers.feta24 import EXCLUDED, PAIRS, SPACING_MM, WITHOUT
from tests.datasets.built import CATALOG, Built, Miniature, build, check_built, check_found, check_label, make

SPEC = CATALOG["feta24"]
BIOMETRY = "feta_2.4/derivatives/biometry"


@pytest.fixture
def miniature(tmp_path: Path) -> Miniature:
    return make("feta24", tmp_path)


@pytest.fixture
def built(miniature: Miniature) -> Built:
    return build(SPEC, miniature.root)


def stem(subject: str) -> str:
    return f"{subject}_rec-{'mial' if int(subject[-3:]) <= 40 else 'irtk'}"


def find(miniature: Miniature, without: tuple[str, ...] = ()) -> None:
    ignored = {
        "feta_2.4/participants.tsv": "gestational",
        "feta_2.4/dataset_description.json": "readers",
        f"{BIOMETRY}/biometry.tsv": "as published",
    } | {f"feta_2.4/{s}/anat/{stem(s)}_{what}.json": "acquisition" for s in miniature.made for what in ("T2w", "dseg")}
    points = [
        f"{BIOMETRY}/{s}/anat/{stem(s)}_{what}" for s in miniature.made if s not in without for what in ("meas.nii.gz", "trf.txt")
    ]
    check_found(miniature, ignored, also_used=points)


def test_the_dataset_is_found_as_made(miniature: Miniature) -> None:
    find(miniature)
    assert list(miniature.made) == ["sub-001", "sub-002", "sub-041"]


def test_fetuses_without_points_are_found_too(tmp_path: Path) -> None:
    find(make("feta24", tmp_path, poor=True), without=(WITHOUT,))


def test_points_without_their_transform_are_an_error_of_their_subject(miniature: Miniature) -> None:
    next(miniature.raw_root.rglob("sub-002*_trf.txt")).unlink()
    (found,) = miniature.tree().subjects["sub-002"].findings
    assert found.code is Code.MISSING_IMAGE
    assert "transform" in found.detail


def test_tissues_are_built_as_drawn(miniature: Miniature, built: Built) -> None:
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        for label in SPEC.labels:
            check_label(built, subject, made.only_scan, label)


def test_points_are_carried_into_the_space_of_the_image(miniature: Miniature, built: Built) -> None:
    for subject, made in miniature.made.items():
        rows = {row["name"]: row for row in built.rows("landmarks", subject).to_dicts()}
        assert set(rows) == set(made.only_scan.landmarks)
        for name, place in made.only_scan.landmarks.items():
            assert rows[name]["ras_mm"] == pytest.approx(place, abs=1e-4)
            inside = np.linalg.solve(made.only_scan.grid.affine, [*place, 1])[:3]
            assert rows[name]["ijk"] == pytest.approx(inside, abs=1e-4)


def test_lengths_are_those_between_the_marked_voxels(miniature: Miniature, built: Built) -> None:
    of_pair = {frozenset(m.landmarks): m.name for m in SPEC.measurements}
    for subject, made in miniature.made.items():
        rows = {row["name"]: row for row in built.rows("measurements", subject).to_dicts()}
        expected = {}
        for (first, a), (second, b) in PAIRS.values():
            if first in made.only_scan.landmarks:
                expected[of_pair[frozenset((first, second))]] = SPACING_MM * math.dist(a, b)
        assert {name: row["value"] for name, row in rows.items()} == pytest.approx(expected, rel=1e-6)
        assert len(rows) == (4 if subject == "sub-002" else 5)
        assert {row["unit"] for row in rows.values()} == {"mm"}


def test_excluded_points_are_left_with_their_reason_and_the_tissues_are_kept(tmp_path: Path) -> None:
    miniature = make("feta24", tmp_path, poor=True)
    built = build(SPEC, tmp_path)
    check_built(built, miniature.made)
    for subject in (WITHOUT, EXCLUDED):
        assert built.rows("landmarks", subject).is_empty()
        assert built.rows("measurements", subject).is_empty()
        assert not built.rows("boxes", subject).is_empty()
    said = [record.finding() for record in built.manifests[EXCLUDED].findings]
    assert [f for f in said if "MedVision" in f.detail]


@pytest.mark.slow
def test_a_real_atlas_in_the_names_of_the_dataset_is_found_and_built(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "layouts" / "FeTA-like" / "sub-sta21" / "anat"
    folder = tmp_path / "raw" / "feta24" / "feta_2.4" / "sub-080" / "anat"
    folder.mkdir(parents=True)
    shutil.copyfile(source / "sub-sta21_rec-irtk_T2w.nii.gz", folder / "sub-080_rec-irtk_T2w.nii.gz")
    shutil.copyfile(source / "sub-sta21_rec-irtk_T2w_dseg.nii.gz", folder / "sub-080_rec-irtk_dseg.nii.gz")
    built = build(SPEC, tmp_path)
    assert {f.state for f in built.survey.tree.files} == {"used"}
    assert built.manifests["sub-080"].state == "published"
    stored = np.asarray(nib.as_closest_canonical(nib.load(folder / "sub-080_rec-irtk_dseg.nii.gz")).dataobj)
    np.testing.assert_array_equal(built.voxels("sub-080", "labels", "0", "t2w"), stored)
    (row,) = built.rows("volumes", "sub-080").filter(kind="labels").to_dicts()
    assert dict(zip(row["label_ids"], row["label_voxels"], strict=True)) == {
        n: int((stored == n).sum()) for n in range(1, 8)
    }  # fmt: skip
