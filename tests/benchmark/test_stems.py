"""Stems and aliases, on names from the benchmark's ground truths."""

from __future__ import annotations

from typing import Any

import pytest

from assets.benchmark.mdsbench.record import take_apart
from assets.benchmark.mdsbench.sources import accepted, is_traced, main_stem, offered
from assets.benchmark.mdsbench.stems import aliases, stem


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("data/dataset/case_00286/segmentation.nii.gz", "segmentation"),
        ("data\\x\\Case 7-A.DCM", "case_7_a"),
        ("'data/a.tif'", "a"),
        ("img.ome.tiff", "img"),
        ("12_CLASS/slide.tif_Row_1_Col_2.tif", "slidetif_row_1_col_2"),
        ("1.3.6.1.4.1.14519.mhd", "13614114519mhd"),
        ("train/microUS_test_07.nii", "test_07"),
        ("expert_annotation_test_07.nii", "test_07"),
        ("seq/test_3_frame_0001.tif", "test_3_frame_0001"),
        ("dynamicnuclearnet/test_1/frame-0007.tif", "dynamicnuclearnet_test_1_frame_0007"),
        ("data/radial_128_2/10/3DMR_Chest.mat", "radial_128_2_10_3dmr_chest"),
        ("3DMR_Chest_radial_128_2_spokes10", "radial_128_2_10_3dmr_chest"),
        ("imagesTr/BRAIN_p7_0000.nii.gz", "brain_p7"),
        ("POAG_0001_0000.mha", "poag_0001_0000"),
        ("BraTS20_001_t1ce.nii", "brats20_001"),
        ("TCGA_1_mask.tif", "tcga_1"),
        ("a/b/", ""),
        ("", ""),
        (None, ""),
        ("x" * 5000, ""),
        ("数据.png", ""),
    ],
)
def test_stem_of_a_name(value: object, expected: str) -> None:
    assert stem(value) == expected


def test_subjects_have_their_spellings_as_aliases() -> None:
    assert aliases("p07") == {"p07", "p7", "sub_p7", "sub_p07", "sub_p7_dti", "sub_p07_dti"}
    assert aliases("sub-k8_dti.nii.gz") == {"k8", "k08", "sub_k8", "sub_k08", "sub_k8_dti", "sub_k08_dti"}
    assert aliases("p7_dti") == {"p7_dti"}
    assert aliases("case_1") == {"case_1"}
    assert aliases("") == frozenset()


def record(extra: dict[str, Any], **blocks: Any) -> Any:
    return take_apart({"context": {"sample": {"extra": extra}}, **blocks})


@pytest.mark.parametrize(
    ("extra", "blocks", "expected"),
    [
        ({"source_file": "data/a.nii", "original_filename": "b.nii", "subject_id": "c"}, {}, "a"),
        ({"source_file": "NA", "original_filename": "b.nii"}, {}, "b"),
        ({"volume_id": 3, "slice_id": 0, "source_file": "x.h5"}, {}, "volume_3_slice_0"),
        ({"patient_id": "MGHNICU_010", "visit": "VISIT_01"}, {}, "mghnicu_010_visit_01_adc_ss"),
        ({"source_label_name": "Brain", "acceleration_dir": "radial_128_4", "parameter_setting": 5}, {}, "radial_128_4_5_brain"),
        ({}, {"raw": {"source_path": "q/z.bmp"}}, "z"),
        ({}, {"provenance": {"notes": "Converted from: data/my file.tif"}}, "my_file"),
        ({}, {"provenance": {"notes": "Converted from 0.bmp."}}, "0"),
        ({}, {"provenance": {"notes": "Original file: a.tif, Size: 3"}}, "a"),
        ({}, {"provenance": {"notes": "nothing to say"}}, ""),
        ({"source_file": "test.dcm"}, {"record": {"dataset_name": "mri-rd"}}, "test_dcm"),
        ({"sequence": "test_2", "frame_index": 4}, {"record": {"dataset_name": "microscopy-demo"}},
         "dynamicnuclearnet_test_2_frame_0004"),
        ({}, {}, ""),
    ],
)  # fmt: skip
def test_main_stem_of_a_record(extra: dict[str, Any], blocks: dict[str, Any], expected: str) -> None:
    assert main_stem(record(extra, **blocks)) == expected


def test_a_folder_name_is_offered_only_under_a_key_of_its_own() -> None:
    path = "data/dataset/case_00286/segmentation.nii.gz"
    wanted = accepted(["case_00286"])
    assert not wanted & offered(record({"source_file": path, "subject_id": "case_00286"}))
    assert wanted & offered(record({"source_file": path, "sample_dir": "case_00286"}))


def test_the_path_of_the_image_counts_as_trace() -> None:
    """As in the evaluator, which makes its trace condition almost empty."""
    assert is_traced(record({}, record={"image_path": "images/0.png"}))
    assert not is_traced(record({"colour": "red"}))
