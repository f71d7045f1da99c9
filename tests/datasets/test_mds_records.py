"""Records of datasets whose published ones follow a rule of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from resources.layout import Layout
from tests import data_makers
from tests.datasets.built import CATALOG
from tests.mds.made import Records, publish


def records_of(slug: str, root: Path, lines: str = "") -> Records:
    """The records of a miniature; `lines` is another list of targets, `{there}` the folder on the authors' machine."""
    spec = CATALOG[slug]
    raw = Layout(root).raw(spec.raw_name)
    getattr(data_makers, slug)(raw)
    if lines:
        (raw / "random.txt").write_text(lines.format(there=f"/data4/somebody/{spec.raw_name.partition('/')[2]}"))
    return publish(spec, root)


def sample_of(records: Records, index: int) -> dict[str, Any]:
    sample: dict[str, Any] = records.record(index)["context"]["sample"]
    return sample


def test_pictures_of_one_eye_clinic_are_of_three_modalities(tmp_path: Path) -> None:
    records = records_of("mds_retinal_avm", tmp_path)
    told = {}
    for index in records.published.indices:
        sample = sample_of(records, index)
        told[sample["extra"]["original_filename"]] = sample["modality_primary"]
    assert set(told.values()) == {"Fundus", "OCT", "Ultrasound"}
    for name, modality in told.items():
        assert modality == ("OCT" if name.startswith("OCT_") else "Ultrasound" if name.startswith("ODUS") else "Fundus")


def test_the_field_of_view_of_a_photograph_is_the_one_of_its_place(tmp_path: Path) -> None:
    records = records_of("mds_fundus_chasedb1", tmp_path)
    named = {}
    for index in records.published.indices:
        extra = sample_of(records, index)["extra"]
        named[extra["original_filename"]] = (extra["label_file"], extra["mask_file"])
    eyes = ("01L", "01R", "02L", "02R", "03L", "03R")
    assert named == {
        f"{n:02d}_test.tif": (f"CHASEDB1/1st_label/{n:02d}_manual1.tif", f"CHASEDB1/mask/mask_{eye}.png")
        for n, eye in enumerate(eyes, start=1)
    }


def test_a_list_of_patients_means_their_first_instances(tmp_path: Path) -> None:
    records = records_of("mds_cptac_ucec", tmp_path, "0: {there}/data/C3L-00006\n")
    extra = sample_of(records, 0)["extra"]
    keys = ("source_file", "label_file", "mask_file", "seg_file")
    assert {extra[key] for key in keys} == {"data/C3L-00006"}
    assert extra["original_filename"] == "C3L-00006"
    # What sorts before it is a structure set, which has no pixels.
    assert records.block(0)["locator"]["file"].endswith("/2.000000-Portal-76812/1-001.dcm")


def test_a_patient_folder_is_the_source_of_every_instance(tmp_path: Path) -> None:
    records = records_of("mds_spine_mets", tmp_path)
    for index in records.published.indices:
        sample = sample_of(records, index)
        assert sample["extra"]["source_file"] == f"data/{sample['subject_id']}"
        assert records.block(index)["locator"]["file"].startswith(f"data/{sample['subject_id']}/")


def test_rows_of_a_table_say_which_they_are(tmp_path: Path) -> None:
    records = records_of("mds_hpa_cells", tmp_path)
    locators = [records.block(index)["locator"] for index in records.published.indices]
    assert [(one["column"], one["row"]) for one in locators] == [("image", n) for n in range(len(locators))]
    assert len({sample_of(records, n)["extra"]["original_filename"] for n in records.published.indices}) == len(locators)


def test_both_classes_of_mammograms_are_told(tmp_path: Path) -> None:
    records = records_of("mds_cmmd", tmp_path)
    told = {records.record(index)["tasks"]["classification"]["label_name"] for index in records.published.indices}
    assert told == {"Benign", "Malignant", None}
