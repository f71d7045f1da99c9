"""What an `mds` block may say, and what is refused when a spec is loaded."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from assets.spec import load_catalog
from tests.mds.made import spec_of

LAYOUT: dict[str, Any] = {
    "subject": r"\d",
    "fields": {"stain": "[a-z]+"},
    "series": {"ct": "{stain}/{subject}.nii"},
    "labels": {"seg": "m/{subject}.nii"},
}
LABELS = {1: "organ", 2: "tumour"}


def test_labels_find_their_classes_when_the_spec_is_loaded() -> None:
    assert spec_of(LAYOUT, {}, labels=LABELS).mds_classes() == {1: 1, 2: 2}
    told = {"names": ["malignant", "benign"], "field": "{stain}"}
    mds = {"task": "classification", "variant": "multiclass", "classes": ["Benign", "Malignant"]}
    assert spec_of(LAYOUT, mds, labels=LABELS, classes=told).mds_classes() == {0: 1, 1: 0}


@pytest.mark.parametrize(
    ("mds", "message"),
    [
        ({"target": "pet"}, "not declared.*pet"),
        ({"files": {"seg_file": "labels:other"}}, "not declared.*other"),
        ({"files": {"source_file": "series:mr"}}, "not declared.*mr"),
        ({"subject_id": "{patient}"}, "fields that the layout does not have.*patient"),
        ({"extra": {"volume_id": "{volume}"}}, "fields that the layout does not have.*volume"),
        ({"classes": ["background", "a", "b", "c"]}, "cannot be told"),
        ({"task": "classification", "variant": "multiclass"}, "need `classes`"),
        ({"task": "detection", "variant": "2d"}, "need `objects`"),
        ({"variant": "2d"}, "variants of segmentation"),
        ({"window": [3, 3]}, "least and a greatest"),
        ({"meta": {"release_date": "2023"}}, "release_date"),
        ({"plane": "oblique"}, "plane"),
        ({"instead": {"{report}.sr": "{subject}.nii"}}, "fields that the layout does not have.*report"),
    ],
)
def test_a_block_that_does_not_fit_is_refused(mds: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        spec_of(LAYOUT, mds, labels=LABELS)


def test_every_block_of_the_catalog_tells_its_classes() -> None:
    specs = [spec for spec in load_catalog().values() if spec.mds is not None]
    assert {"kits23", "msd_hippocampus"} <= {spec.slug for spec in specs}
    for spec in specs:
        assert spec.mds is not None
        assert set(spec.mds_classes().values()) <= set(range(len(spec.mds.classes)))


def test_the_first_two_are_rows_81_and_82_of_the_benchmark() -> None:
    kidneys, brains = (load_catalog()[slug].mds for slug in ("kits23", "msd_hippocampus"))
    assert kidneys is not None
    assert brains is not None
    assert (kidneys.name, kidneys.folder, kidneys.classes) == (
        "KiTS23", "forth_dataset/kits23", ("background", "kidney", "tumor", "cyst"),
    )  # fmt: skip
    assert (brains.name, brains.folder, brains.classes) == (
        "Hippocampus", "forth_dataset/hippocampus-annotated-dataset", ("background", "anterior", "posterior"),
    )  # fmt: skip
    for mds in (kidneys, brains):
        assert (mds.task, mds.variant, mds.dimension, mds.targets) == ("segmentation", "3d_mask", "3D", 20)
