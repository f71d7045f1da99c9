"""The datasets of volumes of MDS-Bench's forth and fifth group."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.objects import objects_table
from resources.findings import Code
from resources.phantoms import draw_labels
from tests.data_makers.made import MadeScan, MadeSubject
from tests.data_makers.mds_volumes import LUNA16_NODULES, LUNA16_SERIES
from tests.datasets.built import CATALOG, build, check_built, check_found, check_label, check_lesion_axes, make, reasons

MANIFEST = {"random.txt": "targets of MDS-Bench", "VLM/some-model/agent1_data_organization/data_meta.json": "answered"}
SUBJECTS = {
    "mds_brain_mp2rage": ["sub-001", "sub-02", "sub-03"],
    "mds_lndb": ["LNDb-0001", "LNDb-0012", "LNDb-0300"],
    "mds_totalsegmentator": ["s0000", "s0001", "s1429"],
    "mds_spine_fineseg": ["1", "14", "sub_7"],
    "mds_han_seg": ["case_01", "case_02", "case_42"],
    "mds_flare22": ["FLARE22_Tr_0001", "FLARE22_Tr_0002", "FLARE22_Tr_0050"],
    "mds_m3d_refseg": ["s0000", "s0017", "s1402"],
    "mds_abdominal_ct": ["1", "2", "10"],
    "mds_hippocampus": ["hippocampus_001", "hippocampus_002", "hippocampus_003", "hippocampus_394"],
    "mds_prostate_msd": ["prostate_00", "prostate_03", "prostate_04", "prostate_47"],
    "mds_kits23": ["case_00000", "case_00286", "case_00588"],
    "mds_lits": ["0", "28", "130"],
    "mds_luna16": sorted(LUNA16_SERIES),
    "mds_lumbar_spine": ["1", "2", "210"],
}
IGNORED = {
    "mds_brain_mp2rage": MANIFEST
    | {
        f"data/segmentation_data/{study}/derivatives/{name}/{path}": reason
        for study, name, contrasts in (
            ("data_mp2rage", "sub-001", ("inv1", "inv2", "t1", "uni", "t2s")),
            ("data_mprage", "sub-02", ("PD", "T1w", "T2star", "T1wDivPD")),
            ("data_mprage", "sub-03", ("PD", "T1w", "T2star", "T1wDivPD")),
        )
        for path, reason in {
            f"masks/{name}_brain_mask_nosub.nii.gz": "below the cortex",
            f"masks/{name}_nosub_mask.nii.gz": "below the cortex",
            **{f"unbiased/{name}_{contrast}_unbiased.nii.gz": "bias taken out" for contrast in contrasts},
        }.items()
    }
    | {f"data/segmentation_data/data_{s}/{s.upper()}_participants.tsv": "participants" for s in ("mprage", "mp2rage")},
    "mds_lndb": {
        f"data/trainset_csv/{table}.csv": "readers" for table in ("trainNodules", "trainNodules_gt", "trainFolds", "CTs")
    },
    "mds_totalsegmentator": {"data/meta.csv": "official split"},
    "mds_spine_fineseg": {},
    "mds_han_seg": MANIFEST | {"data/OAR_data.csv": "volumes", "data/patient_data.csv": "age"},
    "mds_flare22": {},
    "mds_m3d_refseg": {
        f"data/M3D_RefSeg/{s}/{file}": "regions" for s in SUBJECTS["mds_m3d_refseg"] for file in ("text.json", "text_zh.txt")
    }
    | {f"data/M3D_RefSeg_{part}.csv": "questions" for part in ("all", "test", "train")}
    | {"data/m3d_refseg_data_prepare.py": "prepare"},
    "mds_abdominal_ct": {},
    "mds_hippocampus": {"data/dataset.json": "description"}
    | {f"data/images{p}/._hippocampus_{n}.nii": "macOS" for p, n in (("Tr", "001"), ("Tr", "003"), ("Tr", "394"), ("Ts", "002"))},
    "mds_prostate_msd": {"data/Task05_Prostate/dataset.json": "description"}
    | {
        f"data/Task05_Prostate/images{p}/._prostate_{n}.nii": "macOS"
        for p, n in (("Tr", "00"), ("Tr", "04"), ("Tr", "47"), ("Ts", "03"))
    },
    "mds_kits23": MANIFEST
    | {"data/dataset/kits23.json": "clinical", "data/setup.py": "repository"}
    | {f"data/dataset/{s}/instances/tumor_instance-1_annotation-1.nii.gz": "per instance" for s in SUBJECTS["mds_kits23"]},
    "mds_lits": {"data/lits_df.csv": "list", "data/lits_train.csv": "list"},
    "mds_luna16": {"data/annotations.csv": "marked objects", "data/candidates.csv": "detector"},
    "mds_lumbar_spine": {"data/overview.csv": "official split", "data/radiological_gradings.csv": "grades"},
}  # fmt: skip
WHOLE = [
    "mds_totalsegmentator", "mds_han_seg", "mds_flare22", "mds_kits23", "mds_lits", "mds_luna16", "mds_lumbar_spine",
]  # fmt: skip


def scan_of(made: MadeSubject, number: int = 0) -> MadeScan:
    scan = made.scans[number]
    assert isinstance(scan, MadeScan)
    return scan


def companions(root: Path) -> list[str]:
    """Files with the voxels of MetaImage headers."""
    return [file.relative_to(root).as_posix() for file in root.rglob("*") if file.suffix in {".raw", ".zraw"}]


@pytest.mark.parametrize("slug", SUBJECTS)
def test_a_dataset_is_found_as_made(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    assert list(miniature.made) == SUBJECTS[slug]
    check_found(miniature, IGNORED[slug], also_used=companions(miniature.raw_root))


@pytest.mark.parametrize("slug", WHOLE)
def test_a_dataset_is_built_as_drawn(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path, n=2)
    built = build(miniature.spec, tmp_path)
    if slug != "mds_han_seg":  # its MR has a grid of its own
        check_built(built, miniature.made)
    assert {manifest.state for manifest in built.manifests.values()} == {"published"}, reasons(built)
    subject, made = next(iter(miniature.made.items()))
    covered = {1} if slug in {"mds_kits23", "mds_lits"} else set()
    for label in sorted({shape.label for shape in scan_of(made).shapes if shape.label} - covered):
        check_label(built, subject, scan_of(made), label)


@pytest.mark.parametrize(
    ("slug", "counts"),
    [("mds_m3d_refseg", [1, 2, 3]), ("mds_spine_fineseg", [3, 3, 3]), ("mds_abdominal_ct", [4, 4, 4])],
)
def test_values_that_mean_something_else_in_every_scan_are_one_label(slug: str, counts: list[int], tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    built = build(miniature.spec, tmp_path)
    for n_shapes, (subject, made) in zip(counts, miniature.made.items(), strict=True):
        scan = scan_of(made)
        assert len(scan.shapes) == n_shapes
        (row,) = built.rows("volumes", subject).filter(kind="labels", scan=scan.scan).to_dicts()
        assert row["label_ids"] == [1]
        assert row["label_voxels"] == [int((scan.label_map() > 0).sum())]


def test_a_brain_has_all_contrasts_of_a_scan_with_the_brain_and_its_tissues_in_maps_of_their_own(tmp_path: Path) -> None:
    miniature = make("mds_brain_mp2rage", tmp_path)
    built = build(miniature.spec, tmp_path)
    assert {manifest.state for manifest in built.manifests.values()} == {"published"}, reasons(built)
    for subject, made in miniature.made.items():
        scan, volumes = scan_of(made), built.rows("volumes", subject)
        assert set(volumes.filter(kind="image")["series"]) == set(scan.series)
        drawn = draw_labels(scan.shapes, scan.grid)
        voxels = {label: int((drawn == label).sum()) for label in range(1, 8)}
        expected = {"brain": {8: int((drawn > 0).sum())}, "tissues": voxels}
        rows = volumes.filter(kind="labels").to_dicts()
        assert {row["labels_name"]: dict(zip(row["label_ids"], row["label_voxels"], strict=True)) for row in rows} == expected
        assert "me_gre" not in {row["series"] for row in rows}


def test_a_brain_without_label_maps_is_kept(tmp_path: Path) -> None:
    miniature = make("mds_brain_mp2rage", tmp_path)
    for path in miniature.raw_root.rglob("derivatives"):
        shutil.rmtree(path)
    built = build(miniature.spec, tmp_path)
    assert {manifest.state for manifest in built.manifests.values()} == {"published"}, reasons(built)
    for subject, made in miniature.made.items():
        assert set(built.rows("volumes", subject)["series"]) == set(scan_of(made).series)


def test_the_readers_of_lndb_have_labels_of_their_own(tmp_path: Path) -> None:
    miniature = make("mds_lndb", tmp_path)
    built = build(miniature.spec, tmp_path)
    assert {manifest.state for manifest in built.manifests.values()} == {"published"}, reasons(built)
    rows = built.rows("volumes", "LNDb-0001").filter(kind="labels")
    scan = scan_of(miniature.made["LNDb-0001"])
    expected = {
        "rad1": ([1], [int((scan.label_map() > 0).sum())]),
        "rad2": ([2], [int((draw_labels(scan.shapes[3:], scan.grid) > 0).sum())]),
    }
    assert {r["labels_name"]: (r["label_ids"], r["label_voxels"]) for r in rows.to_dicts()} == expected
    assert built.rows("volumes", "LNDb-0012").filter(kind="labels")["labels_name"].to_list() == ["rad3"]
    assert built.rows("boxes", "LNDb-0300").height == 0
    assert set(built.rows("lesion_sizes", "LNDb-0001")["label_id"]) == {1, 2}


def test_test_images_of_the_decathlon_have_no_labels(tmp_path: Path) -> None:
    for slug, unlabelled in (("mds_hippocampus", "hippocampus_002"), ("mds_prostate_msd", "prostate_03")):
        miniature = make(slug, tmp_path)
        built = build(miniature.spec, tmp_path)
        for subject, made in miniature.made.items():
            volumes = built.rows("volumes", subject)
            assert set(volumes.filter(kind="image")["series"]) == set(miniature.spec.layout.series)
            assert volumes.filter(kind="labels").height == (subject != unlabelled)
            if subject != unlabelled:
                check_label(built, subject, scan_of(made), 1)


def test_the_label_map_of_kits23_is_its_own_picture(tmp_path: Path) -> None:
    miniature = make("mds_kits23", tmp_path, n=1)
    built = build(miniature.spec, tmp_path)
    scan = scan_of(miniature.made["case_00000"])
    for kind in ("image", "labels"):
        np.testing.assert_array_equal(built.voxels("case_00000", kind, "0", "segmentation"), scan.label_map())
    check_lesion_axes(built, "case_00000", scan, 2)


def test_a_label_map_of_lits_that_lies_elsewhere_takes_the_place_of_its_scan(tmp_path: Path) -> None:
    miniature = make("mds_lits", tmp_path)
    built = build(miniature.spec, tmp_path)
    assert [subject for subject in miniature.made if Code.REPAIRED in built.codes(subject)] == ["28"]
    assert CATALOG["mds_lits"].people_pool == CATALOG["msd_liver"].people_pool == "lits"


def test_nodules_of_luna16_lie_where_the_table_says_and_some_series_have_none(tmp_path: Path) -> None:
    miniature = make("mds_luna16", tmp_path)
    rows, findings = objects_table(miniature.spec, miniature.tree(), set(miniature.made))
    assert findings == []
    expected = [
        (uid, "lung nodule", [-x, -y, z], diameter)
        for uid in sorted(LUNA16_SERIES)
        for (x, y, z), diameter in LUNA16_NODULES.get(uid, ())
    ]
    assert rows.select("subject", "label", "centre_ras_mm", "diameter_mm").rows() == expected


def test_the_organs_of_han_seg_lie_on_the_ct_alone(tmp_path: Path) -> None:
    miniature = make("mds_han_seg", tmp_path, n=2)
    built = build(miniature.spec, tmp_path)
    for subject, n_organs in (("case_01", 30), ("case_02", 28)):
        volumes = built.rows("volumes", subject)
        (row,) = volumes.filter(kind="labels").to_dicts()
        assert (row["series"], len(row["label_ids"])) == ("ct", n_organs)
        np.testing.assert_array_equal(built.voxels(subject, "labels", "0", "ct"), scan_of(miniature.made[subject]).label_map())
    assert built.rows("volumes", "case_01").filter(pl.col("kind") == "image")["series"].to_list() == ["ct", "mr"]


def test_the_same_cases_are_the_same_people_in_both_copies() -> None:
    for copy, original in (("mds_kits23", "kits23"), ("mds_flare22", "flare22"), ("mds_hippocampus", "msd_hippocampus")):
        assert CATALOG[copy].people_pool == CATALOG[original].people_pool
        ours = {number: label.name for number, label in CATALOG[copy].labels.items()}
        assert ours == {number: label.name for number, label in CATALOG[original].labels.items()}
