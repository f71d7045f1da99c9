from __future__ import annotations

import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from assets.raw.claims import Claims
from resources.findings import Code
from tests.datasets.built import CATALOG, Miniature, build, check_built, check_found, check_label, check_lesion_axes, make

SEQUENCES = ("t1c", "t1n", "t2f", "t2w")
MET = "MICCAI-BraTS2024-MET-Challenge-Training"
REPLACED = "which replaces the one under"


def case(folder: str, name: str) -> list[str]:
    return [f"{folder}/{name}/{name}-{part}.nii.gz" for part in (*SEQUENCES, "seg")]


def replaced(*paths: str) -> dict[str, str]:
    return dict.fromkeys(paths, REPLACED)


def twice_replaced() -> dict[str, str]:
    first = f"{MET}Data_2"
    return replaced(*(p for n in (232, 233) for p in case(first, f"BraTS-MET-00{n}-000"))) | replaced(
        *case(f"{first}-fixed-cases", "BraTS-MET-00232-000")
    )


IGNORED = {
    "brats24_gli": replaced(*case("training_data1_v2", "BraTS-GLI-02060-100"))
    | {
        "validation_data/BraTS-GLI-00003-100/BraTS-GLI-00003-100-t1c.nii.gz": "no labels published",
        "BraTS-PTG supplementary demographic information and metadata.xlsx": "clinical records",
        "CITATIONS.bib": "citations",
        "SYNAPSE_METADATA_MANIFEST.tsv": "list of the download",
    },
    "brats24_met": twice_replaced() | {"BraTS-MET-00232-000.rar": "archive"},
    "brats24_ped": replaced(*case("BraTS-PEDs2024_Training", "BraTS-PED-00255-000"))
    | {
        f"{top}BraTS-PEDs2024_Training/BraTS-PED-00253-000/._BraTS-PED-00253-000-seg.nii.gz": "macOS" for top in ("", "__MACOSX/")
    },
    "brats24_men_rt": replaced(
        *(f"BraTS-MEN-RT-Train-v2/BraTS-MEN-RT-0402-1/BraTS-MEN-RT-0402-1_{part}.nii.gz" for part in ("t1c", "gtv"))
    )
    | {
        "BraTS-MEN-RT-Val-v1/BraTS-MEN-RT-0001-1/BraTS-MEN-RT-0001-1_t1c.nii.gz": "no labels published",
        "BraTS2024_MEN_RT_clinical.xlsx": "clinical records",
    },
}
SAID = {
    "brats24_gli": {"BraTS-GLI-02060": [Code.SUPERSEDED]},
    "brats24_met": {"BraTS-MET-00232": [Code.SUPERSEDED] * 2, "BraTS-MET-00233": [Code.SUPERSEDED]},
    "brats24_ped": {"BraTS-PED-00255": [Code.SUPERSEDED]},
    "brats24_men_rt": {"BraTS-MEN-RT-0402": [Code.SUPERSEDED]},
}


@pytest.fixture(params=sorted(IGNORED))
def miniature(request: pytest.FixtureRequest, tmp_path: Path) -> Miniature:
    return make(request.param, tmp_path)


def test_a_set_is_found_as_made(miniature: Miniature) -> None:
    slug = miniature.spec.slug
    check_found(miniature, IGNORED[slug], said=SAID[slug])


def test_a_set_is_built_as_drawn(miniature: Miniature) -> None:
    built = build(miniature.spec, miniature.root)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        for scan in made.scans:
            for label in miniature.spec.lesions:
                check_label(built, subject, scan, label)
                check_lesion_axes(built, subject, scan, label)


def test_a_corrected_case_is_found_wherever_it_was_unpacked(tmp_path: Path) -> None:
    miniature = make("brats24_ped", tmp_path)
    name = "BraTS-PED-00255-000"
    (miniature.raw_root / name).rename(miniature.raw_root / "corrected")
    (miniature.raw_root / name).mkdir()
    (miniature.raw_root / "corrected").rename(miniature.raw_root / name / name)
    (scan,) = miniature.tree().subjects["BraTS-PED-00255"].scans
    assert scan.series["t1c"] == f"{name}/{name}/{name}-t1c.nii.gz"


def test_time_points_are_scans_of_one_person(tmp_path: Path) -> None:
    scans = {s: [scan.scan for scan in raw.scans] for s, raw in make("brats24_gli", tmp_path).tree().subjects.items()}
    assert scans == {"BraTS-GLI-02060": ["100"], "BraTS-GLI-02061": ["100", "101"], "BraTS-GLI-02062": ["100"]}


def test_an_image_and_a_label_map_of_other_shapes_quarantine_their_subject_alone(tmp_path: Path) -> None:
    miniature = make("brats24_men_rt", tmp_path)
    scan = miniature.made["BraTS-MEN-RT-0403"].scans[0]
    path = scan.series["t1c"]
    image = nib.load(path)
    nib.save(nib.Nifti1Image(np.asarray(image.dataobj)[:, :, 1:], image.affine), path)
    built = build(miniature.spec, tmp_path)
    states = {s: m.state for s, m in built.manifests.items()}
    assert states == {**dict.fromkeys(miniature.made, "published"), "BraTS-MEN-RT-0403": "quarantined"}
    assert Code.GRID_MISMATCH in built.codes("BraTS-MEN-RT-0403")


@pytest.mark.parametrize("slug", ["brats24_met", "brats24_ped", "brats24_men_rt"])
def test_what_replaces_scans_is_unpacked_into_a_root_whether_or_not_it_has_a_folder(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    subject, made = next(iter(miniature.made.items()))
    files = [file for scan in made.scans for file in (*scan.series.values(), *(f for fs in scan.labels.values() for f in fs))]
    found = {into for source in miniature.spec.sources for file in source.files if (into := file.into)}
    assert found <= set(miniature.spec.layout.roots)
    for into in found:
        for inside in ("", f"{into}/", "a_folder_of_its_own/deeper/"):
            again = [f"{into}/{inside}{file.name}" for file in files]
            claims = [claim for path in again for claim in Claims(miniature.spec).of(path)]
            assert {(claim.subject, claim.root) for claim in claims} == {(subject, into)}
            assert len(claims) == len(files)


@pytest.mark.slow
def test_a_real_case_is_found_and_built(shared_data: Path, tmp_path: Path) -> None:
    (source,) = (shared_data / "layouts" / "BraTS24").iterdir()
    shutil.copytree(source, tmp_path / "raw" / "brats24_gli" / "training_data1_v2" / source.name)
    built = build(CATALOG["brats24_gli"], tmp_path)
    subject, scan = source.name.rsplit("-", 1)
    assert built.survey.tree.findings == ()
    assert built.manifests[subject].state == "published"
    volumes = built.rows("volumes", subject)
    assert volumes.filter(kind="image")["series"].sort().to_list() == list(SEQUENCES)
    labels = np.asarray(nib.as_closest_canonical(nib.load(source / f"{source.name}-seg.nii.gz")).dataobj)
    np.testing.assert_array_equal(built.voxels(subject, "labels", scan, "t1c"), labels)
    for series in SEQUENCES:
        image = nib.as_closest_canonical(nib.load(source / f"{source.name}-{series}.nii.gz"))
        np.testing.assert_array_equal(built.voxels(subject, "image", scan, series), np.asarray(image.dataobj))
