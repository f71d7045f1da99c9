"""Both TotalSegmentator datasets: a binary mask per structure."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from assets.official_split import official_split
from resources.findings import Code
from resources.phantoms import write_nifti
from tests.data_makers.totalsegmentator import CT_MASKS, MR_MASKS
from tests.datasets.built import CATALOG, Miniature, build, check_built, check_found, check_label, check_lesion_axes, make

MASKS = {"totalsegmentator_ct": CT_MASKS, "totalsegmentator_mr": MR_MASKS}
SPLEEN, RIGHT_KIDNEY = 1, 2


@pytest.fixture(params=MASKS)
def miniature(request: pytest.FixtureRequest, tmp_path: Path) -> Miniature:
    return make(request.param, tmp_path)


@pytest.mark.parametrize(("slug", "n"), [("totalsegmentator_ct", 117), ("totalsegmentator_mr", 50)])
def test_a_label_is_read_from_the_file_of_its_name(slug: str, n: int) -> None:
    labels = CATALOG[slug].labels
    assert list(labels) == list(range(1, n + 1))
    assert [label.file_name for label in labels.values()] == list(MASKS[slug])


def test_every_mask_is_found(miniature: Miniature) -> None:
    check_found(miniature, {"meta.csv": "official split"})


def test_a_missing_mask_is_named(miniature: Miniature) -> None:
    subject = list(miniature.made)[1]
    (miniature.raw_root / subject / "segmentations" / "iliac_vena_left.nii.gz").unlink()
    (told,) = miniature.tree().subjects[subject].findings
    assert told.code is Code.MISSING_LABELS
    assert "iliac_vena_left" in told.detail


def test_the_table_says_the_official_split(miniature: Miniature) -> None:
    files = {name: [f.path for f in raw.files] for name, raw in miniature.tree().subjects.items()}
    split = official_split(miniature.spec, miniature.raw_root, files)
    first = {"totalsegmentator_ct": ["train", "val"], "totalsegmentator_mr": ["train", "train"]}[miniature.spec.slug]
    assert list(split) == list(miniature.made)
    assert list(split.values()) == [*first, "test"]
    assert miniature.spec.split.official is not None
    assert miniature.spec.split.official.test == ("test",)


def test_masks_become_one_label_map_in_which_the_lower_id_wins(miniature: Miniature) -> None:
    built = build(miniature.spec, miniature.root)
    check_built(built, miniature.made)
    alone, shared = list(miniature.made)[:2]
    for label in (SPLEEN, RIGHT_KIDNEY, 23, 24, 50):
        check_label(built, alone, miniature.made[alone].only_scan, label)
    for label in miniature.spec.labels.keys() - {RIGHT_KIDNEY}:
        check_label(built, shared, miniature.made[shared].only_scan, label)
    assert Code.OVERLAPPING_MASKS in built.codes(shared)
    assert Code.OVERLAPPING_MASKS not in built.codes(alone)


def test_masks_that_meet_are_counted(miniature: Miniature) -> None:
    built = build(miniature.spec, miniature.root)
    subject = list(miniature.made)[1]
    masks = [np.asarray(nib.load(f).dataobj) for f in miniature.made[subject].only_scan.labels["anatomy"]]
    n_shared = int((np.sum(masks, axis=0, dtype=int) > 1).sum())
    (told,) = [r.finding() for r in built.manifests[subject].findings if r.finding().code is Code.OVERLAPPING_MASKS]
    assert n_shared > 0
    assert told.detail.startswith(f"{n_shared} voxels")


def test_a_subject_whose_masks_are_all_empty_is_kept(tmp_path: Path) -> None:
    miniature = make("totalsegmentator_mr", tmp_path, n=2)
    subject = next(iter(miniature.made))
    scan = miniature.made[subject].only_scan
    for file in scan.labels["anatomy"]:
        write_nifti(file, np.zeros(scan.grid.shape, np.uint8), scan.grid.affine, scan.orientation)
    built = build(miniature.spec, tmp_path)
    assert built.manifests[subject].state == "published"
    assert Code.EMPTY_MASK in built.codes(subject)
    assert built.rows("boxes", subject).is_empty()


def test_cysts_of_the_kidneys_are_measured(tmp_path: Path) -> None:
    miniature = make("totalsegmentator_ct", tmp_path, n=1)
    built = build(miniature.spec, tmp_path)
    ((subject, made),) = miniature.made.items()
    assert set(built.rows("lesion_sizes", subject)["label"]) == {"left kidney cyst", "right kidney cyst"}
    for label in (23, 24):
        check_lesion_axes(built, subject, made.only_scan, label)


def test_volumes_of_a_real_subject_are_those_of_its_statistics(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "layouts" / "TotalSegmentator"
    shutil.copytree(source, tmp_path / "raw" / "totalsegmentator_ct")
    spec = CATALOG["totalsegmentator_ct"]
    built = build(spec, tmp_path)
    assert built.survey.tree.findings == ()
    assert {s: m.state for s, m in built.manifests.items()} == {"s0001": "published"}
    told = json.loads((shared_data / "reference" / "totalsegmentator" / "s0001_statistics.json").read_text())
    (row,) = built.rows("volumes", "s0001").filter(kind="labels").to_dicts()
    voxel = float(np.prod(row["spacing_mm"]))
    counts = dict(zip(row["label_ids"], row["label_voxels"], strict=True))
    volumes = {label.file_name: counts.get(number, 0) * voxel for number, label in spec.labels.items()}
    assert volumes == pytest.approx({name: values["volume"] for name, values in told.items()}, rel=1e-5)
    image = built.voxels("s0001", "image", "0", "ct")
    labels = built.voxels("s0001", "labels", "0", "ct")
    for number, label in spec.labels.items():
        if number in counts:
            assert image[labels == number].mean() == pytest.approx(told[label.file_name]["intensity"], abs=0.01)
