"""Rules that say where the class of an image is told: where each holds, and where it must not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assets.inspect import inspect_folder
from assets.inspect.draft import as_spec
from tests.data_makers.workbook import write_workbook
from tests.inspect.folders import drafted, images, picture, told, volume


def classes(root: Path) -> tuple[str, ...]:
    spec = as_spec(inspect_folder(root), "draft")
    return spec.classes.names if spec.classes is not None else ()


def test_stains_may_be_classes_of_pictures(tmp_path: Path) -> None:
    for folder, names in (
        ("CD31", ("liver_ND4", "liver_HFD-3M")),
        ("HE", ("A02_liver_x", "liver_H-E_ND4")),
        ("ICG", ("trace7",)),
    ):
        for name in names:
            picture(tmp_path / folder / f"{name}.png")
    assert classes(tmp_path) == ("CD31", "HE", "ICG")


def test_sequences_are_no_classes_of_volumes(tmp_path: Path) -> None:
    for person in ("01", "02"):
        for folder in ("anat", "dti"):
            volume(tmp_path / f"sub-{person}/{folder}/sub-{person}_{folder}.nii.gz")
    found = inspect_folder(tmp_path)
    assert found.said("task") == ""
    assert not classes(tmp_path)


def test_before_and_after_are_no_classes(tmp_path: Path) -> None:
    for folder in ("pre_expansion", "post_expansion"):
        for name in ("example1", "example2"):
            picture(tmp_path / folder / f"{name}.png")
    assert inspect_folder(tmp_path).said("task") == ""


def test_pictures_for_testing_have_no_class_and_are_there(tmp_path: Path) -> None:
    for folder in ("fold_0/all", "fold_0/hem", "fold_1/hem"):
        for number in (1, 2):
            picture(tmp_path / "training" / folder / f"u_{number}_{folder[5]}.bmp")
    for number in (7, 8):
        picture(tmp_path / f"testing/final/{number}.bmp")
    found, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    assert (spec.classes.names, spec.classes.missing) == (("all", "hem"), "none")
    assert len(images(tree)) == 8
    assert any(u.field == "people" for u in found.unknown)


def test_a_flag_behind_a_word_is_a_class(tmp_path: Path) -> None:
    for number, flag in (("0000", 1), ("0001", 1), ("0099", 0)):
        picture(tmp_path / f"ID_{number}_CONTRAST_{flag}_x.png")
    found, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    assert told(spec, tree) == {"0000": "1", "0001": "1", "0099": "0"}
    assert spec.classes.field == "{class}"
    assert spec.classes.names == ("0", "1")
    assert next(e.confidence for e in found.evidence if e.field == "classes") < 0.5


@pytest.mark.parametrize("word", ["slice", "image", "patient", "fold"])
def test_a_number_behind_a_word_that_counts_is_no_class(word: str, tmp_path: Path) -> None:
    for number, flag in (("0000", 1), ("0001", 1), ("0099", 0)):
        picture(tmp_path / f"ID_{number}_{word}_{flag}_x.png")
    assert not classes(tmp_path)


def test_a_flag_that_the_names_need_is_no_class(tmp_path: Path) -> None:
    for number in ("0000", "0001", "0099"):
        for side in (0, 1):
            picture(tmp_path / f"ID_{number}_EYE_{side}.png")
    assert not classes(tmp_path)


def table_lines(root: Path, lines: list[str]) -> None:
    (root / "Info.txt").write_text("This list says what was found in each film.\n\n" + "\n".join(lines))
    for line in lines:
        picture(root / f"films/{line.split()[0]}.pgm")


def test_a_table_without_a_header(tmp_path: Path) -> None:
    table_lines(tmp_path, ["mdb1 G CIRC B 5 42", "mdb2 G CIRC B 5 2", "mdb3 D NORM", "mdb4 F NORM", "mdb5 F MISC M 9 9"])
    _, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    table = spec.classes.table
    assert table is not None
    assert told(spec, tree) == {"1": "CIRC", "2": "CIRC", "3": "NORM", "4": "NORM", "5": "MISC"}
    assert (table.file, table.key, table.value, table.separator) == ("Info.txt", "column 1", "column 3", " ")
    assert spec.classes.names == ("CIRC", "MISC", "NORM")


def test_a_table_without_a_header_and_two_columns_of_words(tmp_path: Path) -> None:
    """Nothing tells which of the two is meant."""
    table_lines(tmp_path, ["mdb1 fatty CIRC", "mdb2 dense CIRC", "mdb3 dense NORM", "mdb4 fatty NORM", "mdb5 fatty MISC"])
    assert not classes(tmp_path)


def test_sides_beside_words_in_a_table_without_a_header_are_no_classes(tmp_path: Path) -> None:
    table_lines(tmp_path, ["mdb1 left CIRC", "mdb2 right CIRC", "mdb3 right NORM", "mdb4 left NORM", "mdb5 left MISC"])
    assert classes(tmp_path) == ("CIRC", "MISC", "NORM")


def test_a_list_in_json(tmp_path: Path) -> None:
    entries = []
    for number in range(4):
        volume(tmp_path / f"imagesTr/eye_{number:04d}_0000.nii.gz")
        entries.append({"image": f"./imagesTr/eye_{number:04d}.nii.gz", "ill": number % 2})
    (tmp_path / "dataset.json").write_text(json.dumps({"name": "eyes", "training": entries, "test": []}))
    _, spec, tree = drafted(tmp_path)
    assert spec.classes is not None
    table = spec.classes.table
    assert table is not None
    assert told(spec, tree) == {"0000": "0", "0001": "1", "0002": "0", "0003": "1"}
    assert (table.each, table.key, table.value) == ("training[]", "image", "ill")
    assert table.match == "./imagesTr/eye_{subject}.nii.gz"


def test_a_list_of_paths_in_json_is_no_class(tmp_path: Path) -> None:
    entries = []
    for number in range(3):
        volume(tmp_path / f"imagesTr/eye_{number}.nii.gz")
        entries.append({"image": f"./imagesTr/eye_{number}.nii.gz", "label": f"./labelsTr/eye_{number % 2}.nii.gz"})
    (tmp_path / "dataset.json").write_text(json.dumps({"training": entries}))
    assert not classes(tmp_path)


def test_ratings_in_numbered_folders_are_classes(tmp_path: Path) -> None:
    for number, grade in enumerate((0, 0, 1, 1, 2, 2)):
        volume(tmp_path / f"CT-{grade}/study_{number + 10}.nii.gz")
    assert classes(tmp_path) == ("CT-0", "CT-1", "CT-2")


@pytest.mark.parametrize("folders", [("ses_1", "ses_2"), ("radial_2", "radial_8"), ("patient-1", "patient-2")])
def test_sessions_settings_and_people_are_no_ratings(folders: tuple[str, ...], tmp_path: Path) -> None:
    for folder in folders:
        for number in (10, 11, 12):
            volume(tmp_path / folder / f"study_{number}.nii.gz")
    assert not classes(tmp_path)


def test_classes_of_all_count_more_than_label_maps_of_few(tmp_path: Path) -> None:
    for number, grade in enumerate((0, 0, 1, 1, 2, 2)):
        volume(tmp_path / f"CT-{grade}/study_{number + 10}.nii.gz")
    volume(tmp_path / "masks/study_12_mask.nii.gz", ids=(1,))
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert len(images(tree)) == 6
    assert [source.required for source in spec.layout.labels.values()] == [False]


@pytest.mark.parametrize(("more", "said"), [((), ""), (("age", "sex"), "segmentation")])
def test_a_table_made_for_classes_beside_label_maps(more: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Two columns, name and outcome, are made for classification; clinical data are not."""
    rows = [",".join(("id", "outcome", *more))]
    for number in (11, 12, 13):
        volume(tmp_path / f"images/{number}.nii.gz")
        volume(tmp_path / f"labels/{number}.nii.gz", ids=(1,))
        rows.append(",".join((str(number), "dead" if number == 11 else "alive", *(str(number) for _ in more))))
    (tmp_path / "clinical.csv").write_text("\n".join(rows))
    assert inspect_folder(tmp_path).said("task") == said


def test_a_workbook(tmp_path: Path) -> None:
    for number in (11, 12, 13):
        picture(tmp_path / f"photos/{number}.png")
    write_workbook(tmp_path / "list.xlsx", [["id", "diagnosis"], ["11", "ill"], ["12", "well"], ["13", "well"]])
    assert classes(tmp_path) == ("ill", "well")


def test_letters_before_the_number_of_a_person_belong_to_it(tmp_path: Path) -> None:
    """`k01` and `p01` are two people; that the letters may be groups is said with little trust, and not what they mean."""
    for person in ("k01", "k17", "p01", "p14"):
        volume(tmp_path / f"sub-{person}/anat/sub-{person}_T1w.nii.gz")
        volume(tmp_path / f"sub-{person}/dti/sub-{person}_dti.nii.gz")
    found, _, tree = drafted(tmp_path)
    assert set(tree.subjects) == {"k01", "k17", "p01", "p14"}
    assert len(images(tree)) == 8
    assert classes(tmp_path) == ("k", "p")
    assert all(e.confidence < 0.4 for e in found.evidence if e.field in ("task", "classes"))


def test_series_that_few_people_have_are_keyed_by_their_folders(tmp_path: Path) -> None:
    kinds = {"1/ses_1": ("t1", "t1_2"), "1/ses_2": ("t1",), "10/ses_1": ("t1", "dwi"), "1000/ses_1": ("swi", "pd")}
    for place, names in kinds.items():
        for name in names:
            volume(tmp_path / f"sub_{place}/{name}.nii.gz")
    _, _, tree = drafted(tmp_path)
    assert len(images(tree)) == 7
    assert set(tree.subjects) == {"1", "10", "1000"}


def test_the_group_of_a_participant_is_a_class(tmp_path: Path) -> None:
    """BIDS: `participants.tsv`, with more columns than the group."""
    rows = ["participant_id\tage\tsex\tgroup"]
    for number in range(1, 7):
        volume(tmp_path / f"sub-{number:03}/anat/sub-{number:03}_T1w.nii.gz")
        rows.append(f"sub-{number:03}\t{60 + number}\t{'FM'[number % 2]}\t{('AD', 'CN')[number % 2]}")
    (tmp_path / "participants.tsv").write_text("\n".join(rows) + "\n")
    _, spec, tree = drafted(tmp_path)
    assert told(spec, tree) == {f"{number:03}": ("AD", "CN")[number % 2] for number in range(1, 7)}


def test_segmentations_of_freesurfer_are_label_maps(tmp_path: Path) -> None:
    for number in range(1, 5):
        volume(tmp_path / f"sub{number:02}/mri/orig.nii.gz")
        volume(tmp_path / f"sub{number:02}/mri/aseg.nii.gz", ids=(2, 41))
    found = inspect_folder(tmp_path)
    assert found.said("task") == "segmentation"
