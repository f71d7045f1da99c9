"""Small folders whose answer is known, and what is drafted of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import yaml
from PIL import Image

from assets.inspect import Inspection, as_yaml, inspect_folder
from assets.inspect.draft import as_mapping, as_spec
from assets.raw import RawTree, discover


def volume(path: Path, *, mask: bool = False, ids: tuple[int, ...] = (1, 2), low: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = np.random.default_rng(7).integers(low, 900, (6, 7, 5)).astype(np.int16)
    if mask:
        voxels = np.zeros((6, 7, 5), np.int16)
        for number, value in enumerate(ids):
            voxels[number + 1] = value
    image = nib.Nifti1Image(voxels, np.diag([1.0, 1.0, 2.0, 1.0]))
    image.header.set_xyzt_units("mm")
    nib.save(image, path)


def picture(path: Path, *, mask: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(3).integers(0, 255, (9, 8)).astype(np.uint8)
    Image.fromarray(np.where(pixels > 100, 255, 0).astype(np.uint8) if mask else pixels).save(path)


def drafted(root: Path) -> tuple[Inspection, RawTree]:
    found = inspect_folder(root)
    tree = discover(as_spec(found, "draft"), root)
    assert not [f.path for f in tree.files if f.state == "unclaimed"]
    return found, tree


def pairs(tree: RawTree) -> set[tuple[str, str]]:
    return {
        (str(image), file.path)
        for subject in tree.subjects.values()
        for scan in subject.scans
        for image in scan.series.values()
        for files in scan.labels.values()
        for file in files
    }


def test_images_and_masks_in_two_folders_are_paired_by_number(tmp_path: Path) -> None:
    for number in ("001", "002", "007"):
        volume(tmp_path / f"imagesTr/scan_{number}_0000.nii.gz")
        volume(tmp_path / f"labelsTr/scan_{number}.nii.gz", mask=True)
    volume(tmp_path / "imagesTs/scan_004_0000.nii.gz")
    found, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert pairs(tree) == {(f"imagesTr/scan_{n}_0000.nii.gz", f"labelsTr/scan_{n}.nii.gz") for n in ("001", "002", "007")}
    assert sorted(found.labels) == [1, 2]
    assert any(u.field == "labels" for u in found.unknown)


def test_names_of_ids_come_from_a_description(tmp_path: Path) -> None:
    for number in (1, 2):
        volume(tmp_path / f"images/p{number}.nii.gz")
        volume(tmp_path / f"labels/p{number}.nii.gz", mask=True)
    (tmp_path / "dataset.json").write_text(json.dumps({"labels": {"0": "background", "1": "liver", "2": "spleen"}}))
    assert drafted(tmp_path)[0].labels == {1: "liver", 2: "spleen"}


def test_a_file_for_every_structure_names_the_structures(tmp_path: Path) -> None:
    for case in ("s01", "s02", "s30"):
        volume(tmp_path / case / "ct.nii.gz", low=-1000)
        for organ in ("kidney_left", "liver", "rib_1", "rib_2"):
            volume(tmp_path / case / "segmentations" / f"{organ}.nii.gz", mask=True, ids=(1,))
    found, tree = drafted(tmp_path)
    assert set(found.labels.values()) == {"kidney_left", "liver", "rib_1", "rib_2"}
    assert len(pairs(tree)) == 12
    assert found.said("modality") == "CT"


def test_sequences_of_one_scan_share_their_label_map(tmp_path: Path) -> None:
    for case in ("010-1", "011-1", "011-2"):
        for kind in ("t1", "flair", "seg"):
            volume(tmp_path / f"pat-{case}/pat-{case}-{kind}.nii.gz", mask=kind == "seg")
    found, tree = drafted(tmp_path)
    assert pairs(tree) == {
        (f"pat-{c}/pat-{c}-{kind}.nii.gz", f"pat-{c}/pat-{c}-seg.nii.gz")
        for c in ("010-1", "011-1", "011-2")
        for kind in ("t1", "flair")
    }
    assert set(tree.subjects) == {"010", "011"}
    assert found.said("modality") == "MR"


def test_folders_of_pictures_are_classes(tmp_path: Path) -> None:
    for kind in ("benign", "normal"):
        for number in (1, 2, 3):
            picture(tmp_path / kind / f"{kind[0]}{number}.png")
    found, tree = drafted(tmp_path)
    spec = as_spec(found, "draft")
    assert found.said("task") == "classification"
    assert spec.classes is not None
    assert spec.classes.names == ("benign", "normal")
    assert len(tree.subjects) == 6
    assert any(u.field == "people" for u in found.unknown)


def test_numbers_that_begin_anew_in_every_class_are_not_one_person(tmp_path: Path) -> None:
    for kind in ("cyst", "stone"):
        for number in (1, 2):
            picture(tmp_path / kind / f"{number}.png")
    _, tree = drafted(tmp_path)
    assert len(tree.subjects) == 4


def test_boxes_in_a_table_are_detection(tmp_path: Path) -> None:
    rows = ["name,xmin,ymin,xmax,ymax"]
    for number in (11, 12, 13):
        picture(tmp_path / f"photos/{number}.png")
        rows.append(f"{number},1,1,4,5")
    (tmp_path / "boxes.csv").write_text("\n".join(rows))
    found, _ = drafted(tmp_path)
    spec = as_spec(found, "draft")
    assert found.said("task") == "detection"
    assert spec.objects is not None
    assert spec.objects.corners == ("xmin", "ymin", "xmax", "ymax")
    assert spec.objects.key == "name"


def test_classes_in_a_table(tmp_path: Path) -> None:
    rows = ["id,diagnosis"]
    for number in (11, 12, 13, 14):
        picture(tmp_path / f"photos/{number}.png")
        rows.append(f"{number},{'ill' if number % 2 else 'well'}")
    (tmp_path / "table.csv").write_text("\n".join(rows))
    spec = as_spec(drafted(tmp_path)[0], "draft")
    assert spec.classes is not None
    assert spec.classes.table is not None
    assert (spec.classes.table.key, spec.classes.table.value) == ("id", "diagnosis")
    assert set(spec.classes.names) == {"ill", "well"}


def test_binary_pictures_beside_pictures(tmp_path: Path) -> None:
    for case in ("A_1", "A_2", "B_1"):
        picture(tmp_path / f"{case}.png")
        picture(tmp_path / f"{case}_mask.png", mask=True)
    found, tree = drafted(tmp_path)
    assert len(pairs(tree)) == 3
    assert list(found.labels) == [1]


def test_two_arrays_of_one_file_are_image_and_mask(tmp_path: Path) -> None:
    for number in range(3):
        mask = np.zeros((5, 6), np.uint8)
        mask[2] = 255
        np.savez(tmp_path / f"c{number}.npz", image=np.full((5, 6, 3), 9, np.uint8), label=mask)
    found = inspect_folder(tmp_path)
    layout = as_spec(found, "draft").layout
    assert (layout.series["image"].key, layout.labels["mask"].key, layout.labels["mask"].nonzero_is) == ("image", "label", 1)


def test_a_sub_folder_that_some_files_lie_in_is_nobody(tmp_path: Path) -> None:
    mask = np.zeros((5, 6), np.uint8)
    mask[2] = 255
    names = ["volume_1_slice_7", "volume_1_slice_9", "volume_12_slice_7", "part_1/volume_41_slice_7", "part_1/volume_41_slice_9"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        np.savez(tmp_path / f"{name}.npz", image=np.full((5, 6, 3), 9, np.uint8), mask=mask)
    tree = discover(as_spec(inspect_folder(tmp_path), "draft"), tmp_path)
    assert {subject: len(raw.scans) for subject, raw in tree.subjects.items()} == {"1": 2, "12": 1, "41": 2}


def test_the_file_says_what_it_rests_on_and_what_is_unknown(tmp_path: Path) -> None:
    for number in (1, 2):
        volume(tmp_path / f"images/p{number}.nii.gz")
        volume(tmp_path / f"labels/p{number}.nii.gz", mask=True)
    found = inspect_folder(tmp_path)
    text = as_yaml(found, "some_set")
    assert yaml.safe_load(text) == as_mapping(found, "some_set")
    assert "# evidence: pairing" in text
    assert "# unknown: modality" in text
    assert all(0 <= e.confidence <= 1 for e in found.evidence)


@pytest.mark.parametrize("make", [volume, picture])
def test_the_same_folder_gives_the_same_draft(make: Callable[[Path], None], tmp_path: Path) -> None:
    ending = "nii.gz" if make is volume else "png"
    for number in (3, 1, 2):
        make(tmp_path / f"x{number}.{ending}")
    assert as_yaml(inspect_folder(tmp_path), "a") == as_yaml(inspect_folder(tmp_path), "a")


def test_a_pattern_that_reads_two_groups_of_files_stands_once(tmp_path: Path) -> None:
    for path in ("test_final_phase/1", "test_final_phase/10", "test_prelim_phase/1", "test_prelim_phase/10"):
        picture(tmp_path / f"data/{path}.bmp")
    for number, name in enumerate(("all/UID_1_1_1_all", "all/UID_1_2_3_all", "all/UID_12_1_1_all", "hem/UID_H10_1_1_hem")):
        picture(tmp_path / f"data/training/fold_{number}/{name}.bmp")
    found, tree = drafted(tmp_path)
    patterns = as_mapping(found, "draft")["layout"]["series"]["image"]
    assert len(patterns) == len(set(patterns))
    assert not [finding for subject in tree.subjects.values() for finding in subject.findings]
    assert sum(len(subject.scans) for subject in tree.subjects.values()) == 8


def test_parts_of_an_official_split_are_named_where_the_draft_divides_anew(tmp_path: Path) -> None:
    for part, numbers in (("train", (1, 2, 3)), ("val", (4, 5)), ("test", (6, 7))):
        for number in numbers:
            picture(tmp_path / f"{part}/{('normal', 'pneumonia')[number % 2]}/img_{number:03d}.png")
    found, _ = drafted(tmp_path)
    (line,) = [u.why for u in found.unknown if u.field == "split"]
    assert all(part in line for part in ("train", "val", "test", "`split.official`"))
    assert "# unknown: split: " in as_yaml(found, "draft")


def test_images_of_one_part_alone_say_nothing_of_a_split(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        volume(tmp_path / f"imagesTr/scan_{number}.nii.gz")
        volume(tmp_path / f"labelsTr/scan_{number}.nii.gz", mask=True)
    assert not [u for u in drafted(tmp_path)[0].unknown if u.field == "split"]
