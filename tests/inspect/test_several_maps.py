"""Several label maps of an image, in folders or under names of their own: all are drafted unless words say that one is enough."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from assets.inspect.draft import as_mapping, offered
from assets.inspect.inspection import Inspection
from assets.inspect.map_names import drafted_of, structure_of
from assets.spec import DatasetSpec
from assets.strategies.candidate import records_of
from tests.inspect.folders import drafted, images, pairs, picture, volume

CASES = [f"{n:03}" for n in range(6)]


def outline(path: Path, *, left: int = 1, values: tuple[int, ...] = (255,)) -> None:
    """A label map with a bar of three columns for each value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros((9, 40), np.uint8)
    for number, value in enumerate(values):
        pixels[2:6, left + 4 * number : left + 4 * number + 3] = value
    Image.fromarray(pixels).save(path)


def films(root: Path, *folders: str, masks: tuple[str, ...] = ("{folder}/{case}.png",)) -> None:
    """Six pictures, each with a label map in every folder; `masks` says what these are called."""
    for n, case in enumerate(CASES):
        picture(root / f"images/{case}.png", seed=n, columns=40)
        for number, folder in enumerate(folders):
            for name in masks:
                outline(root / name.format(folder=folder, case=case), left=1 + 2 * number)


def said_of(found: Inspection) -> list[str]:
    return [f"{one.said}: {one.seen}" for one in found.evidence if one.field == "layout.labels"]


def choices(found: Inspection) -> list[DatasetSpec]:
    content = as_mapping(found, "draft")
    return [DatasetSpec.model_validate(content | one.fields) for one in offered(found, content)]


def test_label_maps_in_folders_of_their_own_are_drafted_all_and_each_may_be_meant_alone(tmp_path: Path) -> None:
    films(tmp_path, "ManualMask/leftMask", "ManualMask/rightMask")
    found, spec, tree = drafted(tmp_path)
    assert {mask for _, mask in pairs(spec, tree)} == {
        f"ManualMask/{side}Mask/{c}.png" for side in ("left", "right") for c in CASES
    }
    assert {name: (one.nonzero_is, one.required) for name, one in spec.layout.labels.items()} == {
        "left_mask": (1, True),
        "right_mask": (2, True),
    }
    assert {number: label.name for number, label in spec.labels.items()} == {1: "left", 2: "right"}
    assert len(said_of(found)) == 1
    assert "whether these are structures, readers or versions of one another is not told" in said_of(found)[0]
    assert [(list(one.layout.labels), list(one.labels)) for one in choices(found)] == [
        (["left_mask"], [1]),
        (["right_mask"], [2]),
    ]


def test_records_hold_overlapping_label_maps_whole(tmp_path: Path) -> None:
    films(tmp_path / "set", "masks/cup", "masks/disc")
    _, spec, _ = drafted(tmp_path / "set")
    folder = records_of(spec, tmp_path / "set", tmp_path / "work") / "standardized_annotations"
    for file in folder.iterdir():
        record = json.loads(file.read_text())
        case = Path(record["context"]["sample"]["extra"]["source_file"]).name
        marked = {one["label_id"]: one for one in record["tasks"]["segmentation"]["coco_2d"]["annotations"]}
        for number, name in ((1, "cup"), (2, "disc")):
            rows, columns = np.nonzero(np.asarray(Image.open(tmp_path / f"set/masks/{name}/{case}")))
            box = [columns.min(), rows.min(), np.ptp(columns) + 1, np.ptp(rows) + 1]
            assert marked[number]["bbox_xywh"] == box
            assert marked[number]["area_px"] == len(rows)
    assert len(list(folder.iterdir())) == len(CASES)


def test_folders_numbered_as_a_list_and_parts_of_a_split_behind_letters_are_read_together(tmp_path: Path) -> None:
    kinds = {"1. Microaneurysms": "MA", "2. Soft Exudates": "SE", "3. Optic Disc": "OD"}
    expected = set()
    for part, numbers in (("a. Training Set", range(1, 7)), ("b. Testing Set", range(55, 58))):
        for n in numbers:
            image = f"1. Original Images/{part}/IDR_{n:02}.jpg"
            picture(tmp_path / image, seed=n, columns=40)
            for number, (folder, short) in enumerate(kinds.items()):
                if short != "SE" or n % 2 == 0:
                    path = f"2. All Groundtruths/{part}/{folder}/IDR_{n:02}_{short}.tif"
                    outline(tmp_path / path, left=1 + 2 * number)
                    expected.add((image, path))
    found, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == expected
    assert len(images(tree)) == 9
    assert {name: one.required for name, one in spec.layout.labels.items()} == {
        "microaneurysms": True,
        "soft_exudates": False,
        "optic_disc": True,
    }
    assert any(u.field == "split" and "a. Training, b. Testing" in u.why for u in found.unknown)
    assert spec.layout.unlabelled == "error"


def test_label_maps_of_one_structure_have_ids_behind_those_of_others(tmp_path: Path) -> None:
    for n in range(1, 5):
        volume(tmp_path / f"ct_scans/cases_org_{n:03}.nii", low=-900)
        for folder, ids in (("lung_mask", (1, 2)), ("infection_mask", (1,)), ("lung_and_infection_mask", (1, 2, 3))):
            volume(tmp_path / f"{folder}/cases_{n:03}.nii", ids=ids)
    found, spec, tree = drafted(tmp_path)
    assert len(pairs(spec, tree)) == 12
    assert {name: one.nonzero_is for name, one in spec.layout.labels.items()} == {
        "infection_mask": 4,
        "lung_and_infection_mask": None,
        "lung_mask": None,
    }
    assert spec.labels[4].name == "infection"
    assert any(
        "1, 2 are the same structures in lung_and_infection_mask, lung_mask is said nowhere" in u.why for u in found.unknown
    )
    assert len(choices(found)) == 3


def test_masks_packed_as_photographs_are_cut_and_have_ids_of_their_own(tmp_path: Path) -> None:
    films(tmp_path, "masks/heart", "masks/lung", masks=("{folder}/{case}.jpg",))
    found, spec, _ = drafted(tmp_path)
    assert {name: (one.at_least, one.nonzero_is) for name, one in spec.layout.labels.items()} == {
        "heart": (128, 1),
        "lung": (128, 2),
    }
    assert sum("the level is a guess" in u.why for u in found.unknown) == 2


def test_label_maps_with_numbers_of_their_own_are_told_apart_by_these(tmp_path: Path) -> None:
    films(tmp_path, "1", "2", masks=("{case}_mask_{folder}.png",))
    found, spec, tree = drafted(tmp_path)
    assert len(pairs(spec, tree)) == 12
    assert {name: one.nonzero_is for name, one in spec.layout.labels.items()} == {"mask_1": 1, "mask_2": 2}
    assert len(choices(found)) == 2


@pytest.mark.parametrize(
    ("folders", "taken", "why"),
    [
        (("masks/expert1", "masks/expert2"), "masks/expert1", "readers"),
        (("masks/reader_A", "masks/reader_B", "masks/consensus"), "masks/consensus", "readers"),
        (("auto_segmentation", "manual_segmentation"), "manual_segmentation", "predictions"),
        (("gt_masks", "a_pred_masks"), "gt_masks", "predictions"),
        (("masks", "masks_processed"), "masks", "versions"),
    ],
    ids=["readers", "agreed", "by hand", "truth", "version"],
)
def test_one_is_drafted_where_words_say_readers_versions_or_predictions(
    tmp_path: Path, folders: tuple[str, ...], taken: str, why: str
) -> None:
    films(tmp_path, *folders)
    found, spec, tree = drafted(tmp_path)
    assert {mask.rpartition("/")[0] for _, mask in pairs(spec, tree)} == {taken}
    assert list(spec.layout.labels) == ["mask"]
    assert not choices(found)
    assert len(said_of(found)) == 1
    assert said_of(found)[0].endswith(f"words say {why}")
    assert any(f"{6 * len(folders) - 6} of {6 * len(folders)} label maps are not used" in u.why for u in found.unknown)


def test_of_readers_who_each_outlined_several_structures_one_is_drafted_with_all_of_these(tmp_path: Path) -> None:
    films(tmp_path, "expert_a/lung", "expert_a/heart", "expert_b/lung", "expert_b/heart", masks=("masks/{folder}/{case}.png",))
    _, spec, tree = drafted(tmp_path)
    used = {mask.rpartition("/")[0] for _, mask in pairs(spec, tree)}
    assert used == {"masks/expert_a/lung", "masks/expert_a/heart"}
    assert list(spec.layout.labels) == ["expert_a_heart", "expert_a_lung"]


def test_label_maps_that_count_with_a_letter_what_images_count_without_it_are_left_out(tmp_path: Path) -> None:
    """Six images are called 01 to 06; `mask_01L` and `mask_01R` are of two of them."""
    for n in range(1, 7):
        picture(tmp_path / f"images/{n:02}_test.tif", seed=n, columns=40)
        outline(tmp_path / f"1st_label/{n:02}_manual1.tif")
        outline(tmp_path / f"mask/mask_{(n + 1) // 2:02}{'LR'[n % 2]}.png", left=9)
    found, spec, tree = drafted(tmp_path)
    assert {mask.rpartition("/")[0] for _, mask in pairs(spec, tree)} == {"1st_label"}
    assert any("6 of 12 label maps are not used" in u.why for u in found.unknown)


def test_label_maps_beside_other_images_are_of_these(tmp_path: Path) -> None:
    for folder in ("first_release", "first_release_fixed"):
        for n in range(1, 5):
            volume(tmp_path / f"{folder}/case-{n:03}/case-{n:03}-t1c.nii.gz")
            volume(tmp_path / f"{folder}/case-{n:03}/case-{n:03}-seg.nii.gz", ids=(1, 2))
    found, spec, _ = drafted(tmp_path)
    assert not said_of(found)
    assert all(one.of or len(spec.layout.labels) == 1 for one in spec.layout.labels.values())


def test_sorts_of_label_maps_below_folders_of_classes_are_joined_sort_by_sort(tmp_path: Path) -> None:
    for offset, kind in enumerate(("COVID", "Normal", "Other")):
        for n in range(4):
            name = f"{kind.lower()}_{n + 10 * offset}.png"
            picture(tmp_path / f"data/{kind}/images/{name}", seed=n + offset, columns=40)
            outline(tmp_path / f"data/{kind}/lung masks/{name}")
            outline(tmp_path / f"data/{kind}/infection masks/{name}", left=3)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert len(images(tree)) == 12
    assert len(pairs(spec, tree)) == 24
    assert all(Path(image).parts[-3:-2] == Path(mask).parts[-3:-2] for image, mask in pairs(spec, tree))
    assert list(spec.layout.labels) == ["infection_masks", "lung_masks"]


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        (("lung_mask", "infection_mask", "infection_pred"), ("lung_mask", "infection_mask")),
        (("pred_lung", "pred_heart"), ("pred_lung", "pred_heart")),
        (("reader_smith", "reader_jones"), ("reader_smith",)),
        (("masks_v1", "masks_v2"), ("masks_v1",)),
        (("final_masks", "masks"), ("final_masks",)),
        (("1st_manual", "2nd_manual", "mask"), ("1st_manual", "2nd_manual", "mask")),
        (("mask", "color_mask"), ("mask",)),
    ],
    ids=lambda names: names[0],
)
def test_words_say_which_of_several_are_drafted(names: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert tuple(names[n] for n in drafted_of(names).kept) == kept


def test_structures_are_called_without_words_for_label_maps() -> None:
    assert [structure_of(name) for name in ("left_mask", "1st_manual", "mask", "optic_disc")] == [
        "left",
        "1st_manual",
        "mask",
        "optic_disc",
    ]
