"""Which published class a label is, and what paths are called as names."""

from __future__ import annotations

import pytest

from assets.mds.naming import ClassesUnclearError, class_ids
from assets.templates import fields_of, fill


def test_labels_that_all_name_a_class_may_share_it() -> None:
    labels = {1: ("edema", "tumour"), 2: ("core", "tumour"), 4: ("vessel",)}
    assert class_ids(labels, ["background", "tumour", "vessel"]) == {1: 1, 2: 1, 4: 2}


def test_labels_that_share_a_class_do_not_settle_what_the_others_are() -> None:
    with pytest.raises(ClassesUnclearError, match="vein"):
        class_ids({1: ("edema", "tumour"), 2: ("core", "tumour"), 3: ("vein",)}, ["tumour", "vessel"])


def test_names_come_before_the_order() -> None:
    assert class_ids({1: ("b",), 2: ("a",), 3: ("c",)}, ["background", "a", "b"]) == {1: 2, 2: 1}
    assert class_ids({1: ("x",), 2: ("y",)}, ["background", "a", "b"]) == {1: 1, 2: 2}


def test_a_path_is_a_name_without_its_first_folder() -> None:
    fields = fields_of("data/radial_128_2/10/3DMR_Chest.mat", "3DMR_Chest", "radial_128_2/10", {})
    assert fill("{joined}", fields) == "radial_128_2_10_3DMR_Chest"
    assert fill("{joined}", fields_of("a.nii.gz", "a", "0", {})) == "a"
