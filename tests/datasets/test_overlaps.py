"""Datasets that hold the same people know it: what is known of them is either a pool or said in the page of datasets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from assets.overview import markdown
from assets.spec import DatasetSpec, load_catalog

CATALOG = load_catalog()

SPECS = {
    "amos22": {"amos22_ct", "amos22_mr"},
    "bcv15": {"bcv15_abdomen"},
    "brats24": {"brats24_gli", "brats24_met"},
    "ceph_biometrics_400": {"ceph_bio_400"},
    "crossmoda2021": {"crossmoda"},
    "msd": {slug for slug in CATALOG if slug.startswith("msd_")},
    "topcow24": {"topcow24_ct", "topcow24_mr"},
    "totalsegmentator": {"totalsegmentator_ct", "totalsegmentator_mr"},
}
"""Record -> specs, where the two have other names."""

MEANT: tuple[tuple[str, set[str]], ...] = (
    (r"abdomenatlas", {"abdomenatlas10mini"}),
    (r"abdomenct-1k", {"abdomenct_1k"}),
    (r"kits(19)? |kits \(|c4kc", {"kits19", "kits23", "kits21", "c4kc_kits"}),
    (r"kits21", {"kits21"}),
    (r"msd ct tasks", {"msd_colon", "msd_liver", "msd_lung", "msd_pancreas", "msd_spleen", "msd_hepatic_vessel"}),
    (r"msd task0?7|task07/", {"msd_pancreas", "abdomenct_1k"}),
    (r"lits", {"msd_liver", "mds_lits"}),
    (r"amos22", {"amos22_ct"}),
    (r"^btcv|btcv-tcia", {"bcv15_abdomen", "mds_btcv_tcia"}),
    (r"chaos", {"mds_chaos"}),
    (r"flare'?23", {"flare23", "abdomenatlas10mini"}),
    (r"flare22", {"flare22"}),
    (r"word", {"word"}),
    (r"ct-org", {"ct_org"}),
    (r"pancreas-ct", {"pancreas_ct"}),
    (r"fdg-pet-ct", {"fdg_pet_ct_lesions"}),
    (r"psma-pet-ct", {"psma_pet_ct_lesions"}),
    (r"dap atlas", {"dap_atlas"}),
    (r"brats 2021/2023", {"brats23_gli"}),
    (r"upenn", {"upenn_gbm", "ucsf_pdgm"}),
    (r"brats2023-met", {"brats23_met"}),
    (r"cl-detection", {"cl_detection23"}),
    (r"vestibular", {"vestibular_schwannoma_seg"}),
    (r"feta 2021", {"feta21"}),
    (r"hecktor", {"hecktor"}),
    (r"isles22", {"isles22"}),
    (r"brats 2016/2017", {"mds_brats2020_nii", "mds_brain_mri_lgg"}),
    (r"nsclc radiogenomics", {"nsclc_radiogenomics"}),
    (r"oai", {"oai"}),
    (r"toothfairy|pulpy3d", {"toothfairy", "pulpy3d", "toothfairy3"}),
    (r"topcow 2023", {"topcow23"}),
    (r"topbrain", {"topbrain25"}),
    (r"m3d-refseg", {"mds_m3d_refseg"}),
    (r"idc public collections", {"idc"}),
)
"""What a remark of the records says, and the datasets it means."""

NOBODY = (
    r"^none", r"isbi 2014/2015", r"cepha29", r"unlabelled from tcia", r"task05 radboud", r"lausanne", r"verse/others no",
)  # fmt: skip
"""Remarks that name no people of another dataset: the dataset itself, none at all, or people of others."""


def told(spec: DatasetSpec) -> set[str]:
    """Datasets whose people a spec knows to be among its own."""
    pool = {slug for slug, other in CATALOG.items() if other.people_pool == spec.people_pool}
    return pool | {overlap.dataset for overlap in spec.people.overlaps}


def test_whoever_shares_people_is_told_so_by_the_other() -> None:
    pairs = [(spec, CATALOG[o.dataset]) for spec in CATALOG.values() for o in spec.people.overlaps if o.dataset in CATALOG]
    ours = [(a, b) for a, b in pairs if not b.slug.startswith("mds_")]
    assert len(ours) > 30
    silent = {
        (a.slug, b.slug)
        for a, b in ours
        if a.people_pool != b.people_pool and not told(b) & {s for s, c in CATALOG.items() if c.people_pool == a.people_pool}
    }
    assert silent == set()


def test_nobody_overlaps_with_a_dataset_under_a_name_that_the_catalog_does_not_use() -> None:
    named = {o.dataset for spec in CATALOG.values() if not spec.slug.startswith("mds_") for o in spec.people.overlaps}
    assert {name for name in named if name not in CATALOG and f"mds_{name}" in CATALOG} == set()


def meant(remark: str) -> set[str]:
    """The datasets that a remark of the records means."""
    found = [names for words, names in MEANT if re.search(words, remark.lower())]
    assert found or any(re.search(words, remark.lower()) for words in NOBODY), f"a remark that nobody has read: {remark}"
    return set[str]().union(*found)


def is_said(specs: Sequence[DatasetSpec], others: set[str], page: str) -> bool:
    """Whether one of the others is in a pool with one of the specs, or named beside it on the page."""
    pools = {spec.people_pool for spec in specs}
    pooled = any(name in CATALOG and CATALOG[name].people_pool in pools for name in others)
    return pooled or any(re.search(f"^- `{spec.slug}` and `?{name}`?:", page, re.MULTILINE) for spec in specs for name in others)


def test_all_overlaps_that_are_known_are_pools_or_on_the_page(shared_data: Path) -> None:
    folder = shared_data.parent / "facts" / "catalogue"
    if not folder.is_dir():
        pytest.skip(f"the research records are not there: {folder}")
    page, n_read, missing = markdown(CATALOG), 0, []
    for path in sorted(folder.glob("*.yaml")):
        record = yaml.safe_load(path.read_text(encoding="utf-8"))
        if record.get("group") != "A":
            continue
        specs = [CATALOG[slug] for slug in SPECS.get(path.stem, {path.stem})]
        for remark in map(str, record["overlaps"]):
            others = meant(remark) - {spec.slug for spec in specs}
            n_read += 1
            if others and not is_said(specs, others, page):
                missing.append((path.stem, remark))
    assert missing == []
    assert n_read > 50
