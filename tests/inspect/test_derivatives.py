"""Label maps of subjects whose images lie elsewhere, in folders as the Brain Imaging Data Structure (BIDS) describes them."""

from __future__ import annotations

from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import yaml

from assets.inspect.bids import place_of
from assets.inspect.draft import as_mapping, as_yaml, offered
from assets.spec import DatasetSpec
from tests.inspect.folders import drafted, images, pairs, volume

PEOPLE = ("01", "02", "03")


def elsewhere(path: Path, *, ids: tuple[int, ...] = (), shape: tuple[int, ...] = (9, 8, 7), off: float = 0) -> None:
    """A volume on another grid than `volume` has; of that one's extents only the place differs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = np.random.default_rng(5).integers(0, 900, shape).astype(np.int16)
    if ids:
        voxels[:] = 0
        voxels[1 : len(ids) + 1] = np.reshape(ids, (-1, 1, 1))
    affine = np.diag([1.0, 1.0, 2.0, 1.0])
    affine[0, 3] = off
    image = nib.Nifti1Image(voxels, affine)
    image.header.set_xyzt_units("mm")
    nib.save(image, path)


def test_every_label_map_is_one_of_its_own_and_any_may_be_meant(tmp_path: Path) -> None:
    expected = set()
    for person in (f"sub-{label}" for label in PEOPLE):
        maps = [
            f"derivatives/manual/{person}/anat/{person}_space-orig_label-lesion_mask.nii.gz",
            f"derivatives/brain/{person}/anat/{person}_desc-brain_mask.nii.gz",
        ]
        for path in maps:
            volume(tmp_path / path, ids=(1,))
        for suffix in ("T1w", "FLAIR"):
            volume(tmp_path / f"{person}/anat/{person}_{suffix}.nii.gz")
            expected |= {(f"{person}/anat/{person}_{suffix}.nii.gz", path) for path in maps}
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert pairs(spec, tree) == expected
    assert {name: source.nonzero_is for name, source in spec.layout.labels.items()} == {"brain_mask": 1, "lesion_mask": 2}
    assert {number: label.name for number, label in spec.labels.items()} == {1: "brain", 2: "lesion"}
    content = as_mapping(found, "draft")
    choices = [DatasetSpec.model_validate(content | one.fields) for one in offered(found, content)]
    assert [list(choice.layout.labels) for choice in choices] == [["brain_mask"], ["lesion_mask"]]
    assert [{number: label.name for number, label in choice.labels.items()} for choice in choices] == [
        {1: "brain"},
        {2: "lesion"},
    ]
    said = [line for line in as_yaml(found, "draft").splitlines() if line.startswith("# could be, by lesion_mask alone")]
    assert len(said) == 1
    assert yaml.safe_load("{" + said[0].partition("label maps: ")[2] + "}")["labels"] == {2: "lesion"}


def test_a_label_map_of_a_visit_and_run_is_of_the_image_of_that_visit_and_run(tmp_path: Path) -> None:
    expected = set()
    for label in PEOPLE:
        for visit in ("pre", "post"):
            for run in (1, 2):
                name = f"sub-{label}_ses-{visit}_run-{run}"
                image = f"sub-{label}/ses-{visit}/anat/{name}_T1w.nii.gz"
                mask = f"derivatives/made/sub-{label}/ses-{visit}/anat/{name}_dseg.nii.gz"
                volume(tmp_path / image)
                volume(tmp_path / mask, ids=(1, 2))
                expected.add((image, mask))
    _, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == expected
    assert spec.layout.scan == "post|pre"
    assert list(spec.layout.labels) == ["run_1_dseg", "run_2_dseg"]
    assert set(spec.labels) == {1, 2}


def test_of_which_of_several_runs_a_label_map_is_must_be_said(tmp_path: Path) -> None:
    for label in PEOPLE:
        for run in (1, 2):
            volume(tmp_path / f"sub-{label}/anat/sub-{label}_run-{run}_T1w.nii.gz")
        volume(tmp_path / f"derivatives/made/sub-{label}/anat/sub-{label}_desc-brain_mask.nii.gz", ids=(1,))
    found, spec, _ = drafted(tmp_path)
    assert any("do not say which run" in unknown.why for unknown in found.unknown)
    assert not spec.layout.labels
    assert next(e for e in found.evidence if e.field == "task").confidence == 0.6


def test_of_which_of_several_visits_a_label_map_is_must_be_said(tmp_path: Path) -> None:
    for label in PEOPLE:
        for visit in ("1", "2"):
            volume(tmp_path / f"sub-{label}/ses-{visit}/anat/sub-{label}_ses-{visit}_T1w.nii.gz")
        volume(tmp_path / f"derivatives/made/sub-{label}/anat/sub-{label}_dseg.nii.gz", ids=(1, 2))
    found, spec, tree = drafted(tmp_path)
    assert any("do not say of which visit" in unknown.why for unknown in found.unknown)
    assert not spec.layout.labels
    assert len(images(tree)) == 6


def test_a_label_map_without_a_visit_is_of_the_only_one(tmp_path: Path) -> None:
    for label in PEOPLE:
        volume(tmp_path / f"sub-{label}/ses-01/anat/sub-{label}_ses-01_T1w.nii.gz")
        volume(tmp_path / f"derivatives/made/sub-{label}/sub-{label}_label-lesion_mask.nii.gz", ids=(1,))
    _, spec, tree = drafted(tmp_path)
    assert len(pairs(spec, tree)) == 3
    assert spec.layout.scan is None
    assert spec.labels[1].name == "lesion"


def test_in_another_space_only_images_of_that_space_are_meant(tmp_path: Path) -> None:
    """Of equal extents or not."""
    for label in PEOPLE:
        made = tmp_path / f"derivatives/made/sub-{label}/anat"
        volume(tmp_path / f"sub-{label}/anat/sub-{label}_T1w.nii.gz")
        for space in ("", "space-MNI152_", "space-fsaverage_"):
            volume(made / f"sub-{label}_{space}dseg.nii.gz", ids=(1, 2))
        volume(made / f"sub-{label}_space-MNI152_desc-preproc_T1w.nii.gz")
    found, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == {
        pair
        for made in (f"derivatives/made/sub-{label}/anat/sub-{label}" for label in PEOPLE)
        for pair in (
            (f"{made[-6:]}/anat/{made[-6:]}_T1w.nii.gz", f"{made}_dseg.nii.gz"),
            (f"{made}_space-MNI152_desc-preproc_T1w.nii.gz", f"{made}_space-MNI152_dseg.nii.gz"),
        )
    }
    assert any("in the space fsaverage, and no image seems to be" in unknown.why for unknown in found.unknown)


def test_a_space_may_be_called_like_an_image_and_a_name_may_go_on_behind_one(tmp_path: Path) -> None:
    expected = set()
    for person in (f"sub-{label}" for label in PEOPLE):
        for suffix in ("T1w", "FLAIR", "T2w"):
            volume(tmp_path / f"{person}/anat/{person}_{suffix}.nii.gz")
        made = f"derivatives/made/{person}/anat/{person}"
        for name, suffix in (("space-FLAIR_label-lesion_mask", "FLAIR"), ("T2w_label-cyst_mask", "T2w")):
            volume(tmp_path / f"{made}_{name}.nii.gz", ids=(1,))
            expected.add((f"{person}/anat/{person}_{suffix}.nii.gz", f"{made}_{name}.nii.gz"))
    _, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == expected
    assert {label.name for label in spec.labels.values()} == {"lesion", "cyst"}


def test_images_of_other_extents_or_at_another_place_have_no_part_in_it(tmp_path: Path) -> None:
    for label in PEOPLE:
        volume(tmp_path / f"sub-{label}/anat/sub-{label}_T1w.nii.gz")
        elsewhere(tmp_path / f"sub-{label}/anat/sub-{label}_T2w.nii.gz", shape=(6, 7, 5), off=4)
        elsewhere(tmp_path / f"sub-{label}/func/sub-{label}_task-rest_bold.nii.gz", shape=(5, 5, 4, 12))
        (tmp_path / f"sub-{label}/dwi").mkdir()
        (tmp_path / f"sub-{label}/dwi/sub-{label}_dwi.bval").write_text("0 1000\n")
        made = tmp_path / f"derivatives/made/sub-{label}"
        volume(made / f"anat/sub-{label}_desc-brain_mask.nii.gz", ids=(1,))
        elsewhere(made / f"func/sub-{label}_task-rest_desc-brain_mask.nii.gz", shape=(5, 5, 4), ids=(1,))
    _, spec, tree = drafted(tmp_path)
    assert {(image.rpartition("_")[2], mask.split("/")[3]) for image, mask in pairs(spec, tree)} == {
        ("T1w.nii.gz", "anat"),
        ("bold.nii.gz", "func"),
    }
    assert {label.name for label in spec.labels.values()} == {"brain"}
    assert len(images(tree)) == 9


def test_one_structure_has_an_id_behind_those_of_others(tmp_path: Path) -> None:
    for label in PEOPLE:
        made = tmp_path / f"derivatives/made/sub-{label}/anat"
        volume(tmp_path / f"sub-{label}/anat/sub-{label}_T1w.nii.gz")
        volume(made / f"sub-{label}_dseg.nii.gz", ids=(1, 2, 3))
        volume(made / f"sub-{label}_desc-brain_mask.nii.gz", ids=(1,))
        for side in ("L", "R"):
            volume(made / f"sub-{label}_hemi-{side}_label-hippocampus_mask.nii.gz", ids=(1,))
    _, spec, _ = drafted(tmp_path)
    names = {number: label.name for number, label in spec.labels.items()}
    assert names == {1: "label 1", 2: "label 2", 3: "label 3", 4: "brain", 5: "hippocampus L", 6: "hippocampus R"}
    assert {name: source.nonzero_is for name, source in spec.layout.labels.items()}["dseg"] is None


def test_where_not_all_label_maps_were_opened_there_is_room_for_ids_that_were_not_seen(tmp_path: Path) -> None:
    for label in range(12):
        made = tmp_path / f"derivatives/made/sub-{label:02}/anat"
        volume(tmp_path / f"sub-{label:02}/anat/sub-{label:02}_T1w.nii.gz")
        volume(made / f"sub-{label:02}_dseg.nii.gz", ids=(1, 2))
        volume(made / f"sub-{label:02}_desc-brain_mask.nii.gz", ids=(1,))
    _, spec, _ = drafted(tmp_path)
    assert set(spec.labels) == {1, 2, 101}


def test_ids_of_two_kinds_of_label_maps_may_mean_different_things(tmp_path: Path) -> None:
    for label in PEOPLE:
        volume(tmp_path / f"sub-{label}/anat/sub-{label}_T1w.nii.gz")
        for desc in ("tissue", "lobes"):
            volume(tmp_path / f"derivatives/made/sub-{label}/anat/sub-{label}_desc-{desc}_dseg.nii.gz", ids=(1, 2))
    found, spec, _ = drafted(tmp_path)
    assert list(spec.layout.labels) == ["lobes_dseg", "tissue_dseg"]
    assert any("whether 1, 2 are the same structures" in unknown.why for unknown in found.unknown)


def test_a_folder_of_derivatives_alone_has_its_own_images(tmp_path: Path) -> None:
    for label in PEOPLE:
        anat = tmp_path / f"sub-{label}/anat"
        volume(anat / f"sub-{label}_desc-preproc_T1w.nii.gz")
        volume(anat / f"sub-{label}_dseg.nii.gz", ids=(1, 2))
        volume(anat / f"sub-{label}_desc-brain_mask.nii.gz", ids=(1,))
    _, spec, tree = drafted(tmp_path)
    assert len(pairs(spec, tree)) == 6
    assert list(spec.layout.series) == ["preproc_t1w"]


def test_two_studies_number_people_in_their_own_way(tmp_path: Path) -> None:
    for study, people in (("fast", ("001", "013")), ("slow", ("02", "03"))):
        for label in people:
            for contrast in ("uni", "inv1") if study == "fast" else ("T1w", "PD"):
                volume(tmp_path / f"{study}/sub-{label}/anat/sub-{label}_{contrast}_x.nii.gz")
            tissue = f"{study}/derivatives/sub-{label}/labeled/sub-{label}_labels_v{label[-1]}1.nii.gz"
            volume(tmp_path / tissue, ids=(1, 2))
    _, spec, tree = drafted(tmp_path)
    assert sorted(tree.subjects) == ["001", "013", "02", "03"]
    assert len(pairs(spec, tree)) == 8


def test_the_same_number_in_two_studies_is_not_one_person(tmp_path: Path) -> None:
    for study in ("one", "two"):
        for label in PEOPLE:
            volume(tmp_path / f"{study}/sub-{label}/anat/sub-{label}_T1w.nii.gz")
            volume(tmp_path / f"{study}/derivatives/made/sub-{label}/anat/sub-{label}_dseg.nii.gz", ids=(1, 2))
    _, spec, tree = drafted(tmp_path)
    assert all(image.partition("/")[0] == mask.partition("/")[0] for image, mask in pairs(spec, tree))


@pytest.mark.parametrize(
    "path",
    [
        "sub-01/anat/T1w.nii.gz",
        "subject-01/anat/subject-01_T1w.nii.gz",
        "sub-01_T1w.nii.gz",
        "sub-01/anat/sub-012_T1w.nii.gz",
        "sub-01/ses-1/anat/sub-01_ses-2_T1w.nii.gz",
    ],
)
def test_other_paths_have_no_place(path: str) -> None:
    assert place_of(path) is None


def test_a_path_is_taken_apart() -> None:
    place = place_of("set/derivatives/made/sub-k01/ses-02/anat/sub-k01_ses-02_run-1_space-MNI_res-2_desc-brain_v03_mask.nii.gz")
    assert place is not None
    assert (place.root, place.pipeline, place.subject, place.session) == ("set/", "derivatives/made/", "k01", "02")
    assert place.entities == {"run": "1", "space": "MNI", "res": "2", "desc": "brain"}
    assert (place.said, place.source, place.folder) == (("mask",), {"run": "1"}, "anat")
    assert place.name == "run_1_space_mni_res_2_brain_mask"
    assert "".join(token.text for token in place.tokens) == place.path.removeprefix("set/")
