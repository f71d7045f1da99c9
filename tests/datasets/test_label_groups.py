from __future__ import annotations

import re
from collections import Counter

import pytest

from assets.label_groups import (
    GROUPS,
    LabelGroupsError,
    UngroupedLabelError,
    is_lesion_group,
    load_label_groups,
    parse_label_groups,
)
from assets.spec import load_catalog

CATALOG = load_catalog()
GROUPED = load_label_groups()
NAMES = {label.name for spec in CATALOG.values() for label in spec.labels.values()}

# How many names MedVision has in each group, over its 31 datasets and all spellings: our names of its 22 first are among them.
PUBLISHED = {
    "Artery": 22, "Vein": 13, "Brain": 11, "Brain Tumor/Lesion": 11, "Heart": 9, "Lung": 7, "Lung Tumor/Lesion": 2, "Liver": 2,
    "Liver Tumor/Lesion": 4, "Kidney": 3, "Kidney Tumor/Lesion": 4, "Pancreas": 1, "Pancreas Tumor/Lesion": 2, "Gallbladder": 2,
    "Spleen": 1, "Adrenal Gland": 5, "Colon": 1, "Colon Tumor/Lesion": 1, "Intestine": 3, "Esophagus": 1, "Stomach": 1,
    "Urinary System": 2, "Uterus": 1, "Prostate": 3, "Prostate Tumor/Lesion": 2, "Breast Tumor/Lesion": 1, "Head-Neck": 13,
    "Head-Neck Tumor/Lesion": 2, "Hip": 11, "Rib": 25, "Spine": 30, "Knee Bone": 4, "Knee Soft Tissue": 6,
    "Metastatic Lymph Node": 2, "Miscellaneous Tumor/Lesion": 4, "Jawbone": 5, "Tooth": 32, "Others": 15, "Calculus": 2,
}  # fmt: skip
MEDVISION = re.compile(
    "abdomen|acdc|amos|autopet|bcv|brats24|camus|crossmoda|feta|flare|hnts|isles|kipa|kits|msd|oaizib|skm|tooth|topcow|total"
)


def test_every_label_is_in_a_group() -> None:
    assert {name for name in NAMES if name not in GROUPED.of_label} == set()


def test_every_grouped_label_is_one_of_the_catalog() -> None:
    assert set(GROUPED.of_label) - NAMES == set()


def test_the_groups_are_the_published_ones() -> None:
    assert len(GROUPS) == len(set(GROUPS)) == 39
    assert set(GROUPS) == set(PUBLISHED)


def test_no_group_has_more_names_than_published() -> None:
    names = {label.name for slug, spec in CATALOG.items() if MEDVISION.match(slug) for label in spec.labels.values()}
    ours = Counter(GROUPED.group(name) for name in names)
    assert {group: n for group, n in ours.items() if n > PUBLISHED[group]} == {}
    whole = {
        "Artery",
        "Brain Tumor/Lesion",
        "Kidney",
        "Kidney Tumor/Lesion",
        "Knee Bone",
        "Knee Soft Tissue",
        "Lung",
        "Tooth",
        "Rib",
    }
    assert {group: ours[group] for group in whole} == {group: PUBLISHED[group] for group in whole}


def test_the_lesions_of_a_spec_are_in_groups_of_lesions_and_organs_are_not() -> None:
    for spec in CATALOG.values():
        for number, label in spec.labels.items():
            if number in spec.lesions:
                assert is_lesion_group(GROUPED.group(label.name)), (spec.slug, label.name)
    assert not any(is_lesion_group(GROUPED.group(name)) for name in ("liver", "aorta", "left kidney", "prostate/uterus"))
    assert sum(map(is_lesion_group, GROUPS)) == 11


def test_a_structure_has_one_spelling_throughout_the_catalog() -> None:
    def bare(name: str) -> str:
        return re.sub(
            r"[^a-z0-9]", "", name.lower().replace("tumour", "tumor").replace("gray", "grey").replace("oedema", "edema")
        )

    assert len({bare(name) for name in NAMES}) == len(NAMES)
    assert [name for name in NAMES if "tumour" in name or "_" in name or name != " ".join(name.split())] == []


def test_another_spelling_of_a_label_is_no_name_of_the_same_group() -> None:
    clashes = {
        (alias, label.name)
        for spec in CATALOG.values()
        for label in spec.labels.values()
        for alias in label.aliases
        if alias in NAMES and GROUPED.group(alias) == GROUPED.group(label.name)
    }
    assert clashes == set()


@pytest.mark.parametrize(
    ("slug", "misspelt", "name"),
    [
        ("amos22_ct", "arota", "aorta"),
        ("amos22_mr", "postcava", "inferior vena cava"),
        ("topcow24_mr", "right internal carotid arterr", "right internal carotid artery"),
        ("flare22", "inferior vena cava (ivc)", "inferior vena cava"),
        ("totalsegmentator_mr", "portal and splenic veins", "portal vein and splenic vein"),
    ],
)
def test_published_spellings_are_aliases(slug: str, misspelt: str, name: str) -> None:
    assert [label.name for label in CATALOG[slug].labels.values() if misspelt in label.aliases] == [name]


def test_a_group_lists_its_labels() -> None:
    assert GROUPED.members("Liver") == ("liver", "liver vessel")
    assert GROUPED.members("Calculus") == ()


def test_a_label_without_a_group_is_refused_by_name() -> None:
    with pytest.raises(UngroupedLabelError, match=r"'left toe' is in no group; add it to assets/catalog/label_groups\.yaml"):
        GROUPED.group("left toe")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Toe: [left toe]", "unknown groups"),
        ("Liver: [liver]\nSpleen: [liver]", "labels twice: liver"),
        ("Liver: [liver]\nLiver: [liver vessel]", "groups twice: Liver"),
        ("Liver: liver", "is a list of label names, not 'liver'"),
        ("Liver: [1]", "is a list of label names"),
        ("Liver: ['']", "is a list of label names"),
        ("[Liver]", "holds list"),
        ("", "holds NoneType"),
        ("Liver: [", "is no YAML"),
    ],
)
def test_a_faulty_file_is_refused(text: str, said: str) -> None:
    with pytest.raises(LabelGroupsError, match=said):
        parse_label_groups(text)
