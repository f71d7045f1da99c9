"""Miniature datasets in the true raw layout of the real ones, with the closed forms of what they hold."""

from tests.data_makers.abdomen import (
    abdomenatlas10mini,
    abdomenct_1k,
    amos22_ct,
    amos22_mr,
    bcv15_abdomen,
    bcv15_cervix,
    flare22,
    kipa22,
)
from tests.data_makers.acdc import acdc
from tests.data_makers.autopet_iii import autopet_iii
from tests.data_makers.brats24 import brats24_gli, brats24_men_rt, brats24_met, brats24_ped
from tests.data_makers.camus import camus
from tests.data_makers.ceph_bio_400 import ceph_bio_400
from tests.data_makers.crossmoda import crossmoda
from tests.data_makers.feta24 import feta24
from tests.data_makers.hntsmrg24 import hntsmrg24
from tests.data_makers.isles24 import isles24
from tests.data_makers.kits23 import kits23
from tests.data_makers.made import MadePicture, MadeScan, MadeSubject
from tests.data_makers.mds_origin import (
    mds_bonbid_hie,
    mds_elastography,
    mds_huang_liver,
    mds_microus_prostate,
    mds_organoid_mri,
    mds_pbc_brain,
    mds_retinal_avm,
)
from tests.data_makers.mds_volumes import (
    mds_abdominal_ct,
    mds_brain_mp2rage,
    mds_flare22,
    mds_han_seg,
    mds_hippocampus,
    mds_kits23,
    mds_lits,
    mds_lndb,
    mds_lumbar_spine,
    mds_luna16,
    mds_m3d_refseg,
    mds_prostate_msd,
    mds_spine_fineseg,
    mds_totalsegmentator,
)
from tests.data_makers.msd import (
    msd_brain_tumour,
    msd_colon,
    msd_heart,
    msd_hepatic_vessel,
    msd_liver,
    msd_lung,
    msd_pancreas,
    msd_prostate,
    msd_spleen,
)
from tests.data_makers.msd_hippocampus import msd_hippocampus
from tests.data_makers.oaizib_cm import oaizib_cm
from tests.data_makers.skm_tea import skm_tea
from tests.data_makers.toothfairy2 import toothfairy2
from tests.data_makers.topcow24 import topcow24_ct, topcow24_mr
from tests.data_makers.totalsegmentator import totalsegmentator_ct, totalsegmentator_mr

__all__ = [
    "MadePicture",
    "MadeScan",
    "MadeSubject",
    "abdomenatlas10mini",
    "abdomenct_1k",
    "acdc",
    "amos22_ct",
    "amos22_mr",
    "autopet_iii",
    "bcv15_abdomen",
    "bcv15_cervix",
    "brats24_gli",
    "brats24_men_rt",
    "brats24_met",
    "brats24_ped",
    "camus",
    "ceph_bio_400",
    "crossmoda",
    "feta24",
    "flare22",
    "hntsmrg24",
    "isles24",
    "kipa22",
    "kits23",
    "mds_abdominal_ct",
    "mds_bonbid_hie",
    "mds_brain_mp2rage",
    "mds_elastography",
    "mds_flare22",
    "mds_han_seg",
    "mds_hippocampus",
    "mds_huang_liver",
    "mds_kits23",
    "mds_lits",
    "mds_lndb",
    "mds_lumbar_spine",
    "mds_luna16",
    "mds_m3d_refseg",
    "mds_microus_prostate",
    "mds_organoid_mri",
    "mds_pbc_brain",
    "mds_prostate_msd",
    "mds_retinal_avm",
    "mds_spine_fineseg",
    "mds_totalsegmentator",
    "msd_brain_tumour",
    "msd_colon",
    "msd_heart",
    "msd_hepatic_vessel",
    "msd_hippocampus",
    "msd_liver",
    "msd_lung",
    "msd_pancreas",
    "msd_prostate",
    "msd_spleen",
    "oaizib_cm",
    "skm_tea",
    "toothfairy2",
    "topcow24_ct",
    "topcow24_mr",
    "totalsegmentator_ct",
    "totalsegmentator_mr",
]
