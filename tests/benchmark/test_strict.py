"""The stricter score: closed forms for pixels, masks, boxes and labels."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
from PIL import Image

from assets.benchmark.mdsbench import LayoutError, score_folder, tables
from assets.benchmark.mdsbench.boxes import Box, Boxes, box_agreement, overlap
from assets.benchmark.mdsbench.files import Folder
from assets.benchmark.mdsbench.masks import MaskSet, UnusableMaskError, mask_agreement, read_masks
from assets.benchmark.mdsbench.pictures import picture_agreement
from assets.benchmark.mdsbench.strict import StrictScore
from tests.benchmark.made import Json, plain, write_perfect, write_truth


def save(path: Path, values: Any, dtype: Any = np.uint8) -> Path:
    Image.fromarray(np.asarray(values, dtype=dtype)).save(path)
    return path


class TestPixels:
    def test_a_copy_agrees_in_everything(self, tmp_path: Path) -> None:
        values = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5
        first = save(tmp_path / "a.png", values)
        assert picture_agreement(first, save(tmp_path / "b.png", values))[0] == 1.0
        assert picture_agreement(first, save(tmp_path / "c.png", np.stack([values] * 3, axis=2)))[0] == 1.0

    def test_background_earns_nothing(self, tmp_path: Path) -> None:
        """Two squares of 4 pixels on black that overlap in 2: of 6 drawn pixels 2 agree."""
        first, second = np.zeros((10, 10)), np.zeros((10, 10))
        first[2:4, 2:4] = 200
        second[2:4, 3:5] = 200
        assert picture_agreement(save(tmp_path / "a.png", first), save(tmp_path / "b.png", second))[0] == pytest.approx(2 / 6)

    @pytest.mark.parametrize(("step", "expected"), [(2, 1.0), (3, 0.0)])
    def test_levels_agree_within_the_tolerance(self, tmp_path: Path, step: int, expected: float) -> None:
        values = np.zeros((4, 4))
        values[1:3, 1:3] = 100
        shifted = np.where(values > 0, values + step, 0)
        assert picture_agreement(save(tmp_path / "a.png", values), save(tmp_path / "b.png", shifted))[0] == expected

    def test_another_size_agrees_in_nothing(self, tmp_path: Path) -> None:
        score, detail = picture_agreement(save(tmp_path / "a.png", np.ones((4, 5))), save(tmp_path / "b.png", np.ones((5, 4))))
        assert score == 0.0
        assert "(4, 5)" in detail

    def test_sixteen_bits_are_compared_by_their_eight_highest(self, tmp_path: Path) -> None:
        grey = np.array([[0, 10, 20], [0, 0, 250]])
        deep = save(tmp_path / "a.png", grey * 257, np.uint16)
        assert picture_agreement(deep, save(tmp_path / "b.png", grey))[0] == 1.0

    def test_a_picture_cut_short_agrees_in_nothing(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        first = save(tmp_path / "a.png", rng.integers(0, 255, (64, 64)))
        (tmp_path / "b.png").write_bytes(first.read_bytes()[:600])
        assert picture_agreement(first, tmp_path / "b.png")[0] == 0.0


def flat(kind: str, *corners: float, category: int = 1) -> Box:
    half = len(corners) // 2
    return Box((kind, 0, category), corners[:half], corners[half:])


class TestBoxes:
    def test_overlap_is_intersection_over_union(self) -> None:
        assert overlap(flat("b", 0, 0, 2, 2), flat("b", 1, 1, 3, 3)) == pytest.approx(1 / 7)
        assert overlap(flat("b", 0, 0, 0, 2, 2, 2), flat("b", 1, 1, 1, 3, 3, 3)) == pytest.approx(1 / 15)
        assert overlap(flat("b", 0, 0, 1, 1), flat("b", 1, 0, 2, 1)) == 0.0
        assert overlap(flat("b", 3, 3, 3, 3), flat("b", 3, 3, 3, 3)) == 1.0

    def test_the_best_match_is_found_not_the_first(self) -> None:
        """Greedy would give the wide box to its better half and leave the other unmatched."""
        reference = Boxes((flat("b", 0, 0, 4, 1), flat("b", 4, 0, 8, 1)), 0)
        met = Boxes((flat("b", 0, 0, 8, 1), flat("b", 0, 0, 4, 1)), 0)
        assert box_agreement(reference, met)[0] == pytest.approx((1 + 0.5) / 2)

    def test_other_categories_and_too_many_boxes_cost(self) -> None:
        one = flat("b", 0, 0, 4, 1)
        assert box_agreement(Boxes((one,), 0), Boxes((flat("b", 0, 0, 4, 1, category=2),), 0))[0] == 0.0
        assert box_agreement(Boxes((one,), 0), Boxes((one, one), 0))[0] == 0.5
        assert box_agreement(Boxes((one,), 0), Boxes((one,), 3))[0] == 0.25
        assert box_agreement(Boxes((one,), 0), None)[0] == 0.0
        assert box_agreement(Boxes((), 0), Boxes((), 0))[0] == 1.0
        assert box_agreement(Boxes((one,), 0), Boxes((one,) * 5000, 0))[0] == 0.0


LABELS = np.array([[0, 1, 1, 0], [0, 1, 2, 0], [0, 0, 2, 0]])


def masks_of(block: Json, folder: Path, size: tuple[int, int] | None = (4, 3), form: str = "coco_2d") -> Any:
    return read_masks({form: block}, Folder(folder, folder.resolve()), size)


def runs(mask: Any) -> list[int]:
    """COCO counts of a mask, written down slowly."""
    counts, last = [0], 0
    for value in np.asarray(mask).T.ravel():
        if value != last:
            counts.append(0)
            last = value
        counts[-1] += 1
    return counts


def packed(counts: list[int]) -> str:
    """COCO's compressed form, from its description: differences to the one before last, five bits a sign, low ones first."""
    text = ""
    for position, count in enumerate(counts):
        value = count - (counts[position - 2] if position > 2 else 0)
        while True:
            bits, value = value & 31, value >> 5
            last = (value == 0 and not bits & 16) or (value == -1 and bool(bits & 16))
            text += chr(48 + (bits if last else bits | 32))
            if last:
                break
    return text


def coco_annotations(kind: str) -> Json:
    entries = []
    for category in (1, 2):
        mask = category == LABELS
        counts: Any = runs(mask) if kind == "runs" else packed(runs(mask))
        entries.append({"category_id": category, "segmentation": {"size": [3, 4], "counts": counts}})
    return {"annotations": entries}


class TestMasks:
    @pytest.fixture
    def label_image(self, tmp_path: Path) -> MaskSet:
        save(tmp_path / "m.png", LABELS)
        found: MaskSet = masks_of({"mask_path": "m.png"}, tmp_path)
        return found

    @pytest.mark.parametrize("kind", ["runs", "packed"])
    def test_run_lengths_say_what_the_label_image_says(self, tmp_path: Path, label_image: MaskSet, kind: str) -> None:
        found = masks_of(coco_annotations(kind), tmp_path)
        assert found.categories == {1, 2}
        assert mask_agreement(label_image, found)[0] == 1.0

    @pytest.mark.parametrize("counts", [[5, 300, 7, 41], [0, 1, 1, 1, 1000, 3], [70000, 2, 1, 69999]])
    def test_compressed_counts_of_every_size_are_read(self, tmp_path: Path, counts: list[int]) -> None:
        size = [sum(counts), 1]
        entries = [{"category_id": 1, "segmentation": {"size": size, "counts": form}} for form in (packed(counts), counts)]
        first, second = (masks_of({"annotations": [entry]}, tmp_path) for entry in entries)
        assert mask_agreement(first, second)[0] == 1.0

    def test_agreement_is_the_mean_intersection_over_union(self, tmp_path: Path, label_image: MaskSet) -> None:
        """Label 1: 2 of 3 pixels are left (2/3); label 2: its 2 and a third (2/3); label 5 is invented (0)."""
        other = LABELS.copy()
        other[0, 1], other[0, 2], other[2, 0] = 2, 1, 5
        save(tmp_path / "n.png", other)
        score, _ = mask_agreement(label_image, masks_of({"mask_path": "n.png"}, tmp_path))
        assert score == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)

    def test_a_polygon_covers_its_pixels(self, tmp_path: Path) -> None:
        found = masks_of({"annotations": [{"category_id": 3, "segmentation": [[1, 1, 4, 1, 4, 3, 1, 3]]}]}, tmp_path, size=(8, 6))
        expected = np.zeros((6, 8), dtype=bool)
        expected[1:4, 1:5] = True
        np.testing.assert_array_equal(found.mask(3), expected)

    def test_a_volume_is_read_from_nifti(self, tmp_path: Path) -> None:
        volume = np.zeros((3, 4, 5), dtype=np.uint8)
        volume[1, 1, 1:3] = 7
        nib.save(nib.Nifti1Image(volume, np.eye(4)), tmp_path / "v.nii.gz")
        found = masks_of({"mask_path": "v.nii.gz"}, tmp_path, form="mask_3d")
        assert (found.shape, found.categories, int(found.mask(7).sum())) == ((3, 4, 5), {7}, 2)

    def test_stated_sizes_are_compared_by_their_ratio(self, tmp_path: Path) -> None:
        first = masks_of({"voxel_counts": {"0": 5, "1": 100, "2": 50}}, tmp_path, form="mask_3d")
        second = masks_of({"voxel_counts": {"1": 50, "2": 50}}, tmp_path, form="mask_3d")
        assert mask_agreement(first, second)[0] == pytest.approx((0.5 + 1) / 2)

    def test_another_shape_or_form_agrees_in_nothing(self, tmp_path: Path, label_image: MaskSet) -> None:
        save(tmp_path / "t.png", LABELS.T)
        assert mask_agreement(label_image, masks_of({"mask_path": "t.png"}, tmp_path))[0] == 0.0
        assert mask_agreement(label_image, {1: 3.0})[0] == 0.0
        assert mask_agreement({1: 3.0}, label_image)[0] == 0.0
        assert mask_agreement(label_image, None)[0] == 0.0

    @pytest.mark.parametrize(
        "block",
        [
            {"mask_path": "../outside.png"},
            {"mask_path": "/etc/passwd"},
            {"mask_path": "nothing.png"},
            {"mask_path": "text.png"},
            {"mask_path": "text.nii.gz"},
            {"mask_path": "colour.png"},
            {"mask_path": "half.nii"},
            {"mask_path": "a\0b"},
            {"annotations": [{"category_id": "1"}]},
            {"annotations": [{"category_id": 1, "segmentation": 3}]},
            {"annotations": [{"category_id": 1, "segmentation": [[1, 2, 3]]}]},
            {"annotations": [{"category_id": 1, "segmentation": [[float("nan")] * 6]}]},
            {"annotations": [{"category_id": 1, "segmentation": {"size": [3, 4], "counts": [5, -5, 12]}}]},
            {"annotations": [{"category_id": 1, "segmentation": {"size": [3, 4], "counts": [11]}}]},
            {"annotations": [{"category_id": 1, "segmentation": {"size": [3, 4], "counts": "~~~~"}}]},
            {"annotations": [{"category_id": 1, "segmentation": {"size": [3, 4], "counts": "o" * 40}}]},
            {"annotations": [{"category_id": 1, "segmentation": {"size": [2**20, 2**20], "counts": [2**40]}}]},
            {"voxel_counts": {"a": 1}},
            {"voxel_counts": {"1": -4}},
        ],
    )
    def test_masks_that_cannot_be_read_are_refused_with_a_reason(self, tmp_path: Path, block: Json) -> None:
        folder = tmp_path / "records"
        folder.mkdir()
        save(tmp_path / "outside.png", LABELS)
        for name in ("text.png", "text.nii.gz"):
            (folder / name).write_text("no image")
        save(folder / "colour.png", np.zeros((3, 4, 3)))
        nib.save(nib.Nifti1Image(np.full((2, 2, 2), 0.5, dtype=np.float32), np.eye(4)), folder / "half.nii")
        with pytest.raises(UnusableMaskError):
            masks_of(block, folder)


def write_both(folder: Path, truth: Json, change: Any = None) -> StrictScore:
    """A reference and a copy of it as prediction, changed in its record 0; the stricter score of the copy."""
    write_truth(folder / "gt/d", truth)
    reference = write_perfect(folder / "reference/d", truth)
    (reference / "masks").mkdir()
    for index in truth["samples"]:
        save(reference / f"masks/{index}.png", LABELS)
    shutil.copytree(folder / "reference", folder / "pred")
    path = folder / "pred/d/agent1_data_organization/standardized_annotations/0.json"
    record = json.loads(path.read_text())
    if change:
        change(record)
    path.write_text(json.dumps(record))
    report = score_folder(folder / "pred", folder / "gt", reference=folder / "reference")
    assert report.strict is not None
    return report.strict[0]


@pytest.mark.parametrize(
    ("task", "components"),
    [
        ("classification", {"labels", "pixels"}),
        ("segmentation", {"labels", "pixels", "masks"}),
        ("detection", {"labels", "pixels", "boxes"}),
    ],
)
def test_a_copy_of_the_reference_scores_one(tmp_path: Path, task: str, components: set[str]) -> None:
    met = write_both(tmp_path, plain(samples=2, task=task))
    assert (met.score, met.exact, met.well_formed) == (1.0, 1.0, 1.0)
    assert {name for sample in met.samples for name in sample.components} == components


def test_a_wrong_slice_passes_the_public_score_and_fails_ours(tmp_path: Path) -> None:
    write_both(tmp_path, plain(samples=2))
    output = tmp_path / "pred/d/agent1_data_organization"
    save(output / "images/0.png", np.full((6, 8), 7))
    save(output / "masks/0.png", np.zeros((3, 4)))
    report = score_folder(tmp_path / "pred", tmp_path / "gt", reference=tmp_path / "reference")
    assert set(report.macro.values()) == {1.0}
    assert report.strict is not None
    (met,) = report.strict
    assert (met.score, met.exact) == (0.5, 0.5)
    assert met.component("masks") == 0.5
    frame = tables(report)["deductions"]
    assert frame["metric"].to_list() == ["strict pixels", "strict masks"]


def test_a_class_map_of_other_numbers_fails_only_the_labels(tmp_path: Path) -> None:
    met = write_both(tmp_path, plain(samples=1), lambda r: r["tasks"]["segmentation"].update(classes={"1": "lesion"}))
    assert met.samples[0].components == {"labels": 0.5, "pixels": 1.0, "masks": 1.0}
    assert met.score == 0.5


def test_a_label_of_another_type_is_not_the_label(tmp_path: Path) -> None:
    met = write_both(tmp_path, plain(samples=1, task="classification"), lambda r: r["tasks"]["classification"].update(label=True))
    assert met.component("labels") == 0.75


def test_a_missing_answer_scores_zero_in_every_component(tmp_path: Path) -> None:
    write_both(tmp_path, plain(samples=2))
    shutil.rmtree(tmp_path / "pred/d")
    (tmp_path / "pred/d/agent1_data_organization").mkdir(parents=True)
    report = score_folder(tmp_path / "pred", tmp_path / "gt", reference=tmp_path / "reference")
    assert report.strict is not None
    assert report.strict[0].score == 0.0
    assert report.strict[0].component("masks") == 0.0


def test_a_reference_is_needed_and_is_never_the_prediction_itself(tmp_path: Path) -> None:
    write_truth(tmp_path / "gt/d", plain())
    write_perfect(tmp_path / "pred/d", plain())
    with pytest.raises(LayoutError, match="no reference standardization"):
        score_folder(tmp_path / "pred", tmp_path / "gt", reference=tmp_path / "gt")
    with pytest.raises(LayoutError, match="its own reference"):
        score_folder(tmp_path / "pred", tmp_path / "gt", reference=tmp_path / "pred")
