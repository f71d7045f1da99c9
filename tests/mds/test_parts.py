"""Windows, the choice of slices, run lengths, names of classes, colours: each against numbers worked out by hand."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from assets.mds.choice import LabelledPart, Marked, choose_frame, choose_slice
from assets.mds.json_text import json_text
from assets.mds.masks import MapOnPicture, annotation, on_picture, whole
from assets.mds.naming import ClassesUnclearError, class_ids
from assets.mds.palette import colour_of, coloured
from assets.mds.picture import colours_shown
from assets.mds.window import AS_STORED, Window, ct_window, window_of
from tests.mds.made import decoded


def grey(modality: str, values: np.ndarray, least: float | None = None, *anatomy: str, in_patient: bool = True) -> Window:
    return window_of(modality, anatomy, None, values, least, in_patient=in_patient)


@pytest.mark.parametrize(
    ("anatomy", "ends"),
    [
        (("liver", "Colon (Abdomen)"), (-160, 240)),  # width 400 at 40
        (("lung",), (-1350, 150)),  # 1500 at -600
        (("spine", "L1 vertebra"), (-500, 1300)),  # 1800 at 400
        (("brain",), (0, 80)),  # 80 at 40
        (("brain vessels",), (-100, 500)),
        (("whole body",), (-160, 240)),
        (("head and neck",), (-160, 240)),
        (("stribbling",), (-160, 240)),  # words, not parts of words
    ],
)
def test_ct_is_windowed_by_what_is_looked_at(anatomy: tuple[str, ...], ends: tuple[float, float]) -> None:
    assert ct_window(anatomy)[1] == ends


def test_ct_levels_are_those_of_the_window() -> None:
    hu = np.array([[-1000, -160, 40, 240, 3000]], np.int16)
    window = grey("CT", hu, -1000.0, "kidney")
    assert (window.kind, window.low, window.high) == ("CT soft tissue", -160, 240)
    assert window.levels(hu.astype(float)).tolist() == [[0, 0, 128, 255, 255]]  # 127.5 is rounded to even


@pytest.mark.parametrize(("modality", "least"), [("MR", -5.0), ("PET", 0.0), ("PET-CT", 0.0), ("CT", 0.0), ("OCT", -1.0)])
def test_what_is_not_in_hounsfield_units_is_stretched_between_percentiles(modality: str, least: float) -> None:
    window = grey(modality, np.arange(1001).reshape(7, 143), least)
    assert (window.kind, window.low, window.high) == ("percentiles", 5.0, 995.0)


def test_ct_of_a_mixed_dataset_is_told_by_its_negative_values() -> None:
    assert grey("PET-CT", np.zeros((2, 2)), -1024.0).kind == "CT soft tissue"


def test_pictures_of_eight_bits_are_as_they_are_and_of_sixteen_stretched() -> None:
    levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    assert grey("Fundus", levels, 0.0, in_patient=False) is AS_STORED
    assert np.array_equal(AS_STORED.levels(levels.astype(float)), levels)
    assert grey("Fundus", levels.astype(np.uint16), 0.0, in_patient=False).kind == "percentiles"
    assert grey("MR", levels, 0.0).kind == "percentiles"


def test_a_slice_that_is_nearly_or_wholly_of_one_value_has_levels_too() -> None:
    spot = np.zeros((50, 50))
    spot[3, 4] = 7
    window = grey("MR", spot)
    assert (window.kind, window.low, window.high) == ("least to greatest", 0, 7)
    assert window.levels(spot).max() == 255
    assert not grey("MR", np.full((3, 3), 5.0)).levels(np.full((3, 3), 5.0)).any()
    assert not grey("MR", np.full((3, 3), np.nan)).levels(np.full((3, 3), np.nan)).any()


def test_nan_is_black_and_infinities_are_at_the_ends() -> None:
    values = np.array([[np.nan, -np.inf, 0, 100, np.inf]])
    assert Window("declared", 0, 100).levels(values).tolist() == [[0, 0, 0, 255, 255]]


def part(shape: tuple[int, int, int], **voxels: int) -> LabelledPart:
    """A label map cropped to what is labelled, from `_<i>_<j>_<k>=label`."""
    whole_map = np.zeros(shape, np.uint8)
    for name, label in voxels.items():
        whole_map[tuple(int(n) for n in name.strip("_").split("_"))] = label
    found = np.argwhere(whole_map)
    low, high = found.min(axis=0), found.max(axis=0) + 1
    return LabelledPart(whole_map[tuple(slice(a, b) for a, b in zip(low, high, strict=True))], (low[0], low[1], low[2]))


def test_the_slice_with_most_lesion_pixels_is_shown_then_most_labelled_ones_then_the_middle() -> None:
    drawn = part((5, 5, 9), _1_1_2=1, _1_2_2=1, _1_3_2=1, _2_2_5=2, _2_2_7=2, _2_3_7=2, _2_2_8=2, _2_3_8=2)
    assert choose_slice(2, 9, [drawn], {2}, []).index == 7  # of 7 and 8 the first
    assert choose_slice(2, 9, [drawn], set(), []).index == 2
    assert choose_slice(2, 9, [drawn], {3}, []).index == 2
    assert choose_slice(0, 5, [drawn], {2}, []).index == 2
    assert choose_slice(2, 9, [], {2}, []) == choose_slice(2, 9, [], set(), [])
    assert (choose_slice(2, 9, [], {2}, []).index, choose_slice(2, 9, [], {2}, []).reason) == (4, "the middle")


def test_label_maps_count_together() -> None:
    first, second = part((4, 4, 4), _0_0_1=1, _0_1_1=1), part((4, 4, 4), _3_3_2=1, _3_2_2=1, _3_1_2=2)
    assert choose_slice(2, 4, [first, second], set(), []).index == 2


def test_marked_objects_come_first_and_the_largest_of_them() -> None:
    drawn = part((5, 5, 9), _1_1_2=2)
    marked = [Marked((1, 1, 3.4), 5), Marked((1, 1, 6.4), 9), Marked((1, 1, 40), 99)]
    assert choose_slice(2, 9, [drawn], {2}, marked).index == 6
    assert choose_slice(2, 9, [drawn], {2}, marked[2:]).index == 2


def test_a_film_shows_its_middle_or_the_nearest_frame_that_is_drawn_on() -> None:
    everywhere = LabelledPart(np.ones((2, 2, 9), np.uint8), (0, 0, 0))
    assert choose_frame(9, [everywhere], set()).index == 4
    assert choose_frame(9, [], set()).index == 4
    ends = part((3, 3, 9), _0_0_0=1, _0_0_7=1, _1_1_0=2)
    assert choose_frame(9, [ends], set()).index == 7
    assert choose_frame(9, [ends], {2}).index == 0


@given(mask=npst.arrays(bool, npst.array_shapes(min_dims=2, max_dims=2, max_side=12)))
def test_run_lengths_give_the_mask_back_with_its_box_and_area(mask: np.ndarray) -> None:
    if not mask.any():
        mask[0, -1] = True
    told = annotation(mask)
    assert np.array_equal(decoded(told), mask)
    assert told["area_px"] == int(mask.sum())
    x, y, width, height = told["bbox_xywh"]
    outside = mask.copy()
    outside[y : y + height, x : x + width] = False
    assert not outside.any()
    assert mask[y].any() and mask[y + height - 1].any() and mask[:, x].any() and mask[:, x + width - 1].any()  # noqa: PT018
    runs = told["segmentation"]["counts"]
    assert all(run > 0 for run in runs[1:])


def test_labels_become_classes_and_each_comes_from_the_first_map_that_has_it() -> None:
    first = MapOnPicture("organs", "volumes/a", {1: 50, 7: 3}, np.array([[0, 1], [1, 7]]))
    second = MapOnPicture("more", "volumes/b", {1: 9, 2: 4}, np.array([[1, 2], [2, 0]]))
    told = on_picture([first, second], {1: 2, 2: 1})
    assert [(a["category_id"], a["label_id"], a["area_px"]) for a in told] == [(1, 2, 2), (2, 1, 2)]
    assert whole([first, second], {1: 2, 2: 1}) == {
        "zarr": {"organs": "../volumes/a", "more": "../volumes/b"},
        "label_values": [1, 2],
        "category_ids": {"1": 2, "2": 1},
        "voxel_counts": {"1": 50, "2": 4},
    }


def test_labels_are_the_classes_that_bear_their_names() -> None:
    labels = {1: ("kidney",), 2: ("kidney tumor", "Tumor"), 3: ("left_lung",)}
    assert class_ids(labels, ["background", "left-lung", "tumor", "Kidney"]) == {1: 3, 2: 2, 3: 1}
    assert class_ids(labels, ["tumor"]) == {2: 0}  # every class has its label; the others are none
    assert class_ids({}, ["vessel"]) == {}


def test_labels_without_names_are_taken_in_order_if_there_are_as_many() -> None:
    assert class_ids({5: ("a",), 2: ("b",)}, ["background", "x", "y"]) == {2: 1, 5: 2}
    assert class_ids({1: ("kidney",), 2: ("kidney tumor",)}, ["kidney", "tumor"]) == {1: 0, 2: 1}


@pytest.mark.parametrize("classes", [["x"], ["x", "y", "z"], ["b", "x"], ["x", "a"]])
def test_what_cannot_be_told_is_refused(classes: list[str]) -> None:
    with pytest.raises(ClassesUnclearError, match="cannot be told"):
        class_ids({1: ("a",), 2: ("b",)}, classes)


def test_colours_of_labels_are_fixed_and_differ() -> None:
    assert (colour_of(0), colour_of(1), colour_of(2)) == ((0, 0, 0), (230, 75, 53), (77, 187, 213))
    assert len({colour_of(n) for n in range(120)}) == 120
    ids = np.array([[0, 300], [1, 0]])
    assert coloured(ids).tolist() == [[[0, 0, 0], list(colour_of(300))], [list(colour_of(1)), [0, 0, 0]]]


@pytest.mark.parametrize(
    ("n", "shown"), [(1, (0, 0, 0)), (2, (0, 0, 0)), (3, (0, 1, 2)), (4, (0, 1, 2)), (6, (5, 3, 1)), (38, (31, 19, 6))]
)
def test_three_of_any_number_of_colours_are_shown(n: int, shown: tuple[int, int, int]) -> None:
    assert colours_shown(n) == shown


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(content=json_values)
def test_json_reads_back_as_it_was(content: object) -> None:
    assert json.loads(json_text(content)) == content


def test_json_keeps_numbers_in_a_line_and_the_order_of_keys() -> None:
    text = json_text({"b": {"runs": [1, 2, 3], "empty": {}}, "a": [{"x": 1}]})
    assert text == '{\n "b": {\n  "runs": [1, 2, 3],\n  "empty": {}\n },\n "a": [\n  {\n   "x": 1\n  }\n ]\n}'
    with pytest.raises(ValueError, match="JSON"):
        json_text({"a": float("nan")})


def test_hues_of_neighbouring_labels_are_apart() -> None:
    for a, b in pairwise(range(1, 60)):
        assert max(abs(x - y) for x, y in zip(colour_of(a), colour_of(b), strict=True)) > 30
