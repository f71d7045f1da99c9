"""Which anatomical group a label belongs to: the roll-up by which box results are reported.

The names of the groups are MedVision's (arXiv 2511.18676); which label is in which is said in `catalog/label_groups.yaml`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources as package_files
from pathlib import Path
from types import MappingProxyType

import yaml

from assets.spec import LABEL_GROUPS

GROUPS: tuple[str, ...] = (
    "Brain", "Brain Tumor/Lesion", "Head-Neck", "Head-Neck Tumor/Lesion", "Jawbone", "Tooth", "Heart", "Artery", "Vein", "Lung",
    "Lung Tumor/Lesion", "Breast Tumor/Lesion", "Esophagus", "Stomach", "Intestine", "Colon", "Colon Tumor/Lesion", "Liver",
    "Liver Tumor/Lesion", "Gallbladder", "Pancreas", "Pancreas Tumor/Lesion", "Spleen", "Adrenal Gland", "Kidney",
    "Kidney Tumor/Lesion", "Calculus", "Urinary System", "Prostate", "Prostate Tumor/Lesion", "Uterus", "Spine", "Rib", "Hip",
    "Knee Bone", "Knee Soft Tissue", "Metastatic Lymph Node", "Miscellaneous Tumor/Lesion", "Others",
)  # fmt: skip
"""Every group there is."""

_LESION_WORDS = ("tumor", "lesion", "metastatic")


class LabelGroupsError(ValueError):
    """The file of label groups is not what it must be; the message says where."""


class UngroupedLabelError(LookupError):
    """A label that is in no group; the message says where to add it."""


@dataclass(frozen=True)
class LabelGroups:
    """Label name -> group."""

    of_label: Mapping[str, str]

    def group(self, label: str) -> str:
        """The group of a label.

        Raises:
            UngroupedLabelError: It is in none.
        """
        if label not in self.of_label:
            raise UngroupedLabelError(f"the label {label!r} is in no group; add it to assets/catalog/{LABEL_GROUPS}")
        return self.of_label[label]

    def members(self, group: str) -> tuple[str, ...]:
        """The labels of a group, in the file's order."""
        return tuple(label for label, its in self.of_label.items() if its == group)


def is_lesion_group(group: str) -> bool:
    """Whether results of the group count as those of lesions: its name speaks of tumours, lesions or metastases."""
    return any(word in group.lower() for word in _LESION_WORDS)


def parse_label_groups(text: str) -> LabelGroups:
    """Read the file's text.

    Raises:
        LabelGroupsError: It is no mapping of known groups to lists of names, or says a group or a label twice.
    """
    try:
        node, content = yaml.compose(text, yaml.SafeLoader), yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise LabelGroupsError(f"{LABEL_GROUPS} is no YAML: {error}") from error
    if not isinstance(node, yaml.MappingNode) or not isinstance(content, dict):
        raise LabelGroupsError(f"{LABEL_GROUPS} maps groups to lists of labels, but holds {type(content).__name__}")
    _refuse_twice("groups", [str(key.value) for key, _ in node.value])
    unknown = [str(group) for group in content if group not in GROUPS]
    if unknown:
        raise LabelGroupsError(f"unknown groups {unknown} in {LABEL_GROUPS}; known are {', '.join(GROUPS)}")
    for group, labels in content.items():
        if not isinstance(labels, list) or not all(isinstance(label, str) and label for label in labels):
            raise LabelGroupsError(f"{group} in {LABEL_GROUPS} is a list of label names, not {labels!r}")
    _refuse_twice("labels", [label for labels in content.values() for label in labels])
    return LabelGroups(MappingProxyType({label: group for group, labels in content.items() for label in labels}))


def _refuse_twice(what: str, names: list[str]) -> None:
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:
        raise LabelGroupsError(f"{LABEL_GROUPS} has {what} twice: {', '.join(twice)}")


@lru_cache(maxsize=1)
def load_label_groups() -> LabelGroups:
    """The groups of the catalog's labels.

    Raises:
        LabelGroupsError: The file is not what it must be.
    """
    path = Path(str(package_files.files("assets").joinpath("catalog", LABEL_GROUPS)))
    return parse_label_groups(path.read_text(encoding="utf-8"))
