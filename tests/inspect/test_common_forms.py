"""Forms that many public sets have: studies in folders of patients, an object a mask, run lengths, slices beside pictures."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from assets.inspect import inspect_folder
from assets.inspect.draft import as_spec
from assets.inspect.who_names import from_names
from assets.inspect.who_tables import PeopleRule
from assets.people import people
from assets.strategies.candidate import records_of
from tests.inspect.folders import drafted, images, instance, pairs, picture, told, volume


def test_studies_of_conditions_in_folders_of_patients(tmp_path: Path) -> None:
    """The class is the condition and not the limb, and images of one patient stay together, as both limbs number alike."""
    for limb in ("XR_ELBOW", "XR_HAND"):
        for patient in range(4):
            for image in (1, 2):
                study = f"study1_{'positive' if patient % 2 else 'negative'}"
                picture(tmp_path / f"train/{limb}/patient{patient:05}/{study}/image{image}.png", seed=10 * patient + image)
    _, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    assert spec.classes.names == ("negative", "positive")
    assert {name: said for name, said in told(spec, tree).items() if "positive" in name} == {
        name: "positive" for name in tree.subjects if "positive" in name
    }
    assert set(people(spec, tmp_path, list(tree.subjects)).values()) == {f"patient{n:05}" for n in range(4)}


def test_a_mask_for_each_object_leaves_the_images_and_the_task_open(tmp_path: Path) -> None:
    for image in ("4b227777d4dd1fc6", "e7f6c011776e8db7", "ef2d127de37b942b"):
        picture(tmp_path / f"train/{image}/images/{image}.png", seed=len(image))
        for number in range(5):
            picture(tmp_path / f"train/{image}/masks/{image[:8]}{number:08x}.png", mask=True, seed=number)
    found, spec, tree = drafted(tmp_path)
    assert len(images(tree)) == 3
    assert not spec.layout.labels
    assert any(u.field == "layout" and "15 of 15 label maps are not used" in u.why for u in found.unknown)
    assert any(u.field == "task" for u in found.unknown)


def test_annotations_behind_the_names_of_pictures_are_label_maps(tmp_path: Path) -> None:
    rows = ["name,patient ID, grade"]
    for part, n in (("train", 8), ("testA", 4)):
        for number in range(1, n + 1):
            picture(tmp_path / f"{part}_{number}.bmp", seed=number)
            picture(tmp_path / f"{part}_{number}_anno.bmp", mask=True, seed=number)
            rows.append(f"{part}_{number},{number // 2},{('benign', 'malignant')[number % 2]}")
    (tmp_path / "Grade.csv").write_text("\n".join(rows) + "\n")
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert len(tree.subjects) == 12
    assert ("testA_2.bmp", "testA_2_anno.bmp") in pairs(spec, tree)
    persons = people(spec, tmp_path, list(tree.subjects))
    assert persons["train_2"] == persons["train_3"] != persons["train_4"]


@pytest.mark.parametrize("column", [" EncodedPixels", "rle"])
def test_run_lengths_tell_a_task_that_no_draft_can_use_and_are_no_classes(tmp_path: Path, column: str) -> None:
    rows = [f"ImageId,{column}"]
    for number in range(8):
        instance(tmp_path / f"dicom/1.2.3.{number}/1.2.3.{number}.dcm", f"p{number}", study=str(number), modality="CR")
        rows.append(f"1.2.3.{number},{('-1', '10 5 40 5', '12 3 30 4 50 6')[number % 3]}")
    (tmp_path / "train-rle.csv").write_text("\n".join(rows) + "\n")
    found, spec, _ = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert spec.classes is None
    assert any(u.field == "objects" and "run lengths" in u.why for u in found.unknown)


def test_slices_of_one_subject_are_no_series_of_their_own(tmp_path: Path) -> None:
    for patient in (1, 2, 5):
        for number in range(4):
            instance(tmp_path / f"CT/{patient}/DICOM_anon/i{number:04},0000b.dcm", f"{patient}", number + 1, study=f"s{patient}")
            picture(tmp_path / f"CT/{patient}/Ground/liver_GT_{number:03}.png", mask=True, seed=number)
    found = inspect_folder(tmp_path)
    assert found.plan is not None
    assert len(found.plan.series) == 1
    assert found.said("task") == ""


def test_a_person_behind_other_folders_is_read_and_names_without_stand_for_themselves() -> None:
    names = [f"{grade}/pat{patient:03}_slice{grade}" for grade in (0, 1) for patient in range(10)] + ["1/extra_slice1"]
    rule = from_names(names, [])
    assert isinstance(rule, PeopleRule)
    found = [re.search(rule.fields["id"], name) for name in names]
    persons = [match.group() for match in found if match]
    assert persons == [f"pat{patient:03}" for _ in (0, 1) for patient in range(10)] + ["1/extra_slice1"]


def test_a_folder_for_each_patient_in_training_and_files_of_others_for_testing(tmp_path: Path) -> None:
    for number in range(1, 6):
        volume(tmp_path / f"train/Patient_{number:02}/Patient_{number:02}.nii.gz")
        volume(tmp_path / f"train/Patient_{number:02}/GT.nii.gz", ids=(1, 2, 3))
    for number in (41, 42):
        volume(tmp_path / f"test/Patient_{number}.nii.gz")
    _, spec, tree = drafted(tmp_path)
    (series,) = spec.layout.series.values()
    assert series.path == ("train/Patient_{subject}/Patient_{subject}.nii.gz",)
    assert len(pairs(spec, tree)) == 5


def test_label_maps_in_folders_of_the_images_classes_belong_to_them(tmp_path: Path) -> None:
    expected = set()
    for kind, letter in (("Glaucoma", "g"), ("Non-Glaucoma", "n")):
        for number in range(1, 5):
            image, mask = (f"{folder}/{kind}/{letter}{number:04}" for folder in ("Training400", "Annotation/Disc_Masks"))
            picture(tmp_path / f"{image}.jpg", seed=number)
            picture(tmp_path / f"{mask}.bmp", mask=True, seed=number)
            expected.add((f"{image}.jpg", f"{mask}.bmp"))
    _, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == expected
    assert len(tree.subjects) == 8


def test_label_maps_of_two_sorts_below_folders_of_classes_are_kept_apart(tmp_path: Path) -> None:
    for part in ("Train", "Test"):
        for kind in ("COVID-19", "Normal"):
            for number in range(3):
                name = f"{kind.lower()}_{number + 10 * len(part)}.png"
                picture(tmp_path / f"{part}/{kind}/images/{name}", seed=number)
                for sort in ("infection masks", "lung masks"):
                    picture(tmp_path / f"{part}/{kind}/{sort}/{name}", mask=True, seed=len(sort) + number)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    mine = pairs(spec, tree)
    assert len({image for image, _ in mine}) == 12
    assert all(image.rpartition("/")[2] == mask.rpartition("/")[2] for image, mask in mine)
    assert all(image.split("/")[:2] == mask.split("/")[:2] for image, mask in mine)


def test_a_table_with_several_rows_of_each_image_names_none(tmp_path: Path) -> None:
    rows = ["ID,Label"]
    for name in ("a87ff679a", "c4ca4238a", "c81e728d9", "cfcd20849"):
        picture(tmp_path / f"train/ID_{name}.png", seed=len(rows))
        rows += [f"ID_{name}_{kind},{int(kind == 'any')}" for kind in ("epidural", "subdural", "any")]
    (tmp_path / "train.csv").write_text("\n".join(rows) + "\n")
    found, spec, _ = drafted(tmp_path)
    assert spec.classes is None
    assert found.said("task") == ""


def test_a_brain_mask_is_no_image_and_images_are_called_by_their_sequence(tmp_path: Path) -> None:
    for number in range(1, 6):
        folder = f"patient{number:02}/patient{number:02}"
        for sequence in ("FLAIR", "T1"):
            volume(tmp_path / f"{folder}_{sequence}_N4_noneck_reg.nii.gz")
        for sort in ("gt", "brainmask"):
            volume(tmp_path / f"{folder}_{sort}.nii.gz", ids=(1,))
    spec = as_spec(inspect_folder(tmp_path), "draft")
    assert list(spec.layout.series) == ["flair", "t1"]


def test_masks_without_a_0_are_label_maps(tmp_path: Path) -> None:
    for number in range(4):
        picture(tmp_path / f"frame_{number}_endo.png", seed=number)
        picture(tmp_path / f"frame_{number}_endo_mask.png", mask=True, seed=number)
        pixels = np.full((9, 8), 255, np.uint8)
        pixels[2:5, 2:6], pixels[6:8, 1:5] = 50, 11
        Image.fromarray(pixels).save(tmp_path / f"frame_{number}_endo_watershed_mask.png")
    _, _, tree = drafted(tmp_path)
    assert images(tree) == {f"frame_{number}_endo.png" for number in range(4)}


def test_few_masks_packed_as_photographs_have_no_ids_of_their_ripples(tmp_path: Path) -> None:
    for person in (49, 50, 51):
        for window in ("brain", "bone"):
            for number in (1, 2, 3):
                picture(tmp_path / f"{person:03}/{window}/{number}.jpg", seed=person + number, rows=40, columns=50)
        pixels = np.zeros((40, 50), np.uint8)
        pixels[5:15, 5:18] = 255
        Image.fromarray(pixels).save(tmp_path / f"{person:03}/brain/2_HGE_Seg.jpg", quality=80)
    found, spec, _ = drafted(tmp_path)
    assert found.said("task") == ""
    assert list(spec.labels) == [1]


def test_label_maps_of_readers_that_no_word_calls_so_are_no_images(tmp_path: Path) -> None:
    drawn = np.zeros((20, 20, 6), np.uint8)
    drawn[2:8, 2:8, 2:4], drawn[8:12, 2:8, 2:4] = 1, 2
    for case in range(20, 26):
        folder = tmp_path / f"train/{case:03}"
        folder.mkdir(parents=True)
        for name in ("t2", "adc", "t2_anatomy_reader1", *(["t2_anatomy_reader2"] if case == 25 else [])):
            voxels = drawn if "reader" in name else np.random.default_rng(case).integers(0, 900, drawn.shape).astype(np.int16)
            nib.save(nib.Nifti1Image(voxels, np.diag([0.5, 0.5, 3.0, 1.0])), folder / f"{name}.nii.gz")
    _, spec, tree = drafted(tmp_path)
    assert not [path for path in images(tree) if "reader" in path]
    assert {image.rpartition("/")[2] for image, _ in pairs(spec, tree)} == {"t2.nii.gz"}  # which it is called after


def test_numbers_of_marks_in_coco_name_no_images(tmp_path: Path) -> None:
    for n in range(6):
        picture(tmp_path / f"images/{n:06}.jpg", seed=n)
    marks = [{"id": n, "image_id": n, "category_id": 1 + n % 2, "bbox": [1, 1, 4, 4]} for n in range(6)]
    names = [{"id": 1, "name": "polyp"}, {"id": 2, "name": "tool"}]
    listed = [{"id": n, "file_name": f"{n:06}.jpg"} for n in range(6)]
    (tmp_path / "instances.json").write_text(json.dumps({"images": listed, "annotations": marks, "categories": names}))
    found, spec, _ = drafted(tmp_path)
    assert spec.classes is None
    assert any(u.field == "objects" and "COCO" in u.why for u in found.unknown)


def test_each_eye_has_its_own_class_and_all_classes_are_named(tmp_path: Path) -> None:
    """A grade that only right eyes have is a class too, and no record has the class of the other eye."""
    rows = ["image,level"]
    for number in range(10, 20):
        for side in ("left", "right"):
            picture(tmp_path / f"set/train/{number}_{side}.jpeg", seed=number)
            rows.append(f"{number}_{side},{number % 4 if side == 'left' else 4}")
    (tmp_path / "set/trainLabels.csv").write_text("\n".join(rows) + "\n")
    found, spec, _ = drafted(tmp_path / "set")
    assert found.classes is not None
    assert found.classes.names == ("0", "1", "2", "3", "4")
    assert "has 5 values" in found.classes.evidence.seen
    records = records_of(spec, tmp_path / "set", tmp_path / "work") / "standardized_annotations"
    for path in records.iterdir():
        record = json.loads(path.read_bytes())
        stem = record["context"]["sample"]["extra"]["source_file"].rpartition("/")[2].removesuffix(".jpeg")
        assert f"{stem},{record['tasks']['classification']['label_name']}" in rows


def test_a_table_of_numbers_without_a_header_loses_no_row(tmp_path: Path) -> None:
    for number in range(8):
        picture(tmp_path / f"axial/{number:04}.png", seed=number)
    (tmp_path / "acl.csv").write_text("".join(f"{number:04},{int(number % 3 == 0)}\n" for number in range(8)))
    found = inspect_folder(tmp_path)
    assert found.classes is None
    assert found.said("task") == ""


def test_pictures_that_count_their_objects_hold_one_structure(tmp_path: Path) -> None:
    for number in range(4):
        picture(tmp_path / f"{number:03}_img.png", seed=number, rows=40, columns=40)
        cells = np.zeros((40, 40), np.uint16)
        for cell in range(7 + number):
            row, column = 4 * (cell // 5), 6 * (cell % 5)
            cells[row : row + 3, column : column + 4] = cell + 1
        Image.fromarray(cells).save(tmp_path / f"{number:03}_masks.png")
    spec = as_spec(inspect_folder(tmp_path), "draft")
    assert list(spec.labels) == [1]
    assert spec.layout.labels["mask"].nonzero_is == 1


def test_marked_objects_beside_label_maps_leave_the_task_open(tmp_path: Path) -> None:
    rows = ["filename,xmin,ymin,xmax,ymax"]
    for number in range(6):
        picture(tmp_path / f"images/{number:03}.png", seed=number)
        picture(tmp_path / f"masks/{number:03}.png", mask=True, seed=number)
        rows.append(f"{number:03}.png,1,2,5,6")
    (tmp_path / "boxes.csv").write_text("\n".join(rows) + "\n")
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert any(u.field == "task" and "label maps" in u.why and "marked" in u.why for u in found.unknown)


def test_eyes_with_two_readers_each_give_a_draft_that_loads(tmp_path: Path) -> None:
    for number in range(1, 15):
        for side in "LR":
            picture(tmp_path / f"Image_{number:02}{side}.jpg", seed=number)
            for reader in ("1st", "2nd"):
                picture(tmp_path / f"Image_{number:02}{side}_{reader}HO.png", mask=True, seed=number)
    spec = as_spec(inspect_folder(tmp_path), "draft")
    assert len(spec.layout.series) == 2


def test_numbered_folders_of_images_are_nobody(tmp_path: Path) -> None:
    rows = ["Image Index,Finding Labels,Patient ID"]
    for number in range(12):
        name = f"{number // 2:08}_{number % 2:03}.png"
        picture(tmp_path / f"images_{number % 3 + 1:03}/images/{name}", seed=number)
        rows.append(f"{name},{('Mass', 'No Finding')[number % 2]},{number // 2}")
    (tmp_path / "entry.csv").write_text("\n".join(rows) + "\n")
    _, spec, tree = drafted(tmp_path)
    assert len(set(people(spec, tmp_path, list(tree.subjects)).values())) == 6


def test_images_left_out_are_ignored_however_deep_they_lie(tmp_path: Path) -> None:
    """`drafted` asserts that nothing is left without a reason."""
    for kind, sorts in (("benign", ("adenosis", "fibroadenoma")), ("malignant", ("ductal", "lobular"))):
        for sort in sorts:
            for slide in ("14-9431C", "14-2523"):
                for power in ("40X", "100X"):
                    for number in (1, 2):
                        name = f"SOB_{kind[0].upper()}_{sort[0].upper()}-{slide}-{power[:-1]}-{number:03}.png"
                        picture(tmp_path / f"v1/{kind}/SOB/{sort}/SOB_{sort[0]}_{slide}/{power}/{name}", seed=number)
    found, _, tree = drafted(tmp_path)
    assert len(images(tree)) == 32 or any("are not used" in u.why for u in found.unknown)


def test_names_that_differ_in_a_last_number_alone_are_of_one_person(tmp_path: Path) -> None:
    for part in ("train", "test"):
        for kind in ("CNV", "NORMAL"):
            for number in range(3):
                for image in (1, 2):
                    who = 1016042 + 97 * number + 50000 * len(kind) + 1000 * len(part)
                    picture(tmp_path / f"{part}/{kind}/{kind}-{who}-{image}.jpeg", seed=image)
    found, spec, tree = drafted(tmp_path)
    persons = people(spec, tmp_path, list(tree.subjects))
    assert len(persons) == 24
    assert len(set(persons.values())) == 12
    assert any(u.field == "people" and "guess" in u.why for u in found.unknown)


def test_numbers_of_images_behind_a_word_are_no_people(tmp_path: Path) -> None:
    for kind in ("glioma", "notumor"):
        for number in range(8):
            picture(tmp_path / f"{kind}/Tr-{kind[:2]}_{number:04}.jpg", seed=number)
    _, spec, tree = drafted(tmp_path)
    persons = people(spec, tmp_path, list(tree.subjects))
    assert len(set(persons.values())) == 16


def test_a_subject_of_bids_is_a_person_whatever_its_label(tmp_path: Path) -> None:
    for label in ("verse004", "verse005", "verse014"):
        volume(tmp_path / f"rawdata/sub-{label}/sub-{label}_ct.nii.gz")
        volume(tmp_path / f"derivatives/sub-{label}/sub-{label}_seg-vert_msk.nii.gz", ids=(18, 19))
    found, _, _ = drafted(tmp_path)
    assert found.said("layout.subject") == "person"
    assert not [u for u in found.unknown if u.field == "people"]


def test_instances_in_folders_of_hospitals_have_no_class(tmp_path: Path) -> None:
    for number in range(8):
        instance(tmp_path / f"Hospital{'AB'[number % 2]}/{number:04}.dcm", f"p{number}", study=str(number), modality="DX")
    found, spec, _ = drafted(tmp_path)
    assert spec.classes is None
    assert found.said("task") == ""
    assert any(u.field == "classes" and "HospitalA" in u.why for u in found.unknown)


def test_files_named_by_parts_of_a_split_alone_are_drafted_with_what_they_lack(tmp_path: Path) -> None:
    for part in ("train", "valid", "test"):
        for what in ("x", "y"):
            with h5py.File(tmp_path / f"patches_{part}_{what}.h5", "w") as file:
                file[what] = np.zeros((6, 9, 8, 3) if what == "x" else (6, 1, 1, 1), np.uint8)
    found = inspect_folder(tmp_path)
    assert as_spec(found, "draft").layout.series
    assert any(u.field == "axes" for u in found.unknown)
    assert found.said("task") == ""
