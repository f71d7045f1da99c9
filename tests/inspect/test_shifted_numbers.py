"""Images counted from one and label maps from zero: equal numbers may be neighbours, and the draft must not pair them unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.inspect import inspect_folder
from assets.inspect.inspection import Inspection
from tests.inspect.folders import drafted, pairs, picture, volume


def counted(root: Path, images: range, masks: range, *, wide: str = "", rows: dict[str, int] | None = None) -> None:
    """Pictures and masks of running numbers; `rows` gives single files other extents."""
    for kind, numbers in (("img", images), ("mask", masks)):
        for number in numbers:
            name = f"{kind}_{number:{wide if kind == 'mask' else ''}}"
            picture(root / kind / f"{name}.png", mask=kind == "mask", seed=number, rows=(rows or {}).get(f"{kind}_{number}", 9))


def whys(found: Inspection, field: str) -> list[str]:
    return [unknown.why for unknown in found.unknown if unknown.field == field]


def no_pairing(root: Path) -> str:
    """Why label maps that are as many as images are not paired."""
    found, spec, _ = drafted(root)
    assert not spec.layout.labels
    assert (found.said("task"), found.said("pairing")) == ("segmentation", "")
    assert any("label maps are not used" in why for why in whys(found, "layout"))
    (why,) = whys(found, "pairing")
    return why


@pytest.mark.parametrize("wide", ["", "03"])
def test_both_ways_are_said_and_none_is_taken(wide: str, tmp_path: Path) -> None:
    counted(tmp_path, range(1, 11), range(10), wide=wide)
    why = no_pairing(tmp_path)
    assert "images are numbered from 1 to 10 and label maps from 0 to 9" in why
    assert f"mask/mask_{1:{wide}}.png may belong to img/img_1.png by its number or to img/img_2.png in order" in why
    assert "fit both" in why


def test_extents_that_fit_the_order_alone_are_the_reason(tmp_path: Path) -> None:
    counted(tmp_path, range(1, 11), range(10), rows={"img_4": 11, "mask_3": 11})
    assert "their extents fit the order alone" in no_pairing(tmp_path)


def test_extents_that_fit_equal_numbers_alone_pair_them_and_what_has_no_partner_is_said(tmp_path: Path) -> None:
    counted(tmp_path, range(1, 11), range(10), rows={"img_4": 11, "mask_4": 11})
    found, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == {(f"img/img_{n}.png", f"mask/mask_{n}.png") for n in range(1, 10)}
    assert "extents agree by equal numbers only" in next(e.seen for e in found.evidence if e.field == "pairing")
    assert "1 of 10 images have no label map, such as img/img_10.png; `unlabelled: leave` leaves them out" in whys(
        found, "layout"
    )
    assert "1 of 10 label maps have no image, such as mask/mask_0.png" in whys(found, "layout")


def test_slices_counted_anew_in_every_folder(tmp_path: Path) -> None:
    for person in (11, 12):
        for number in range(1, 9):
            picture(tmp_path / f"case{person}/img_{number}.png", seed=number)
            picture(tmp_path / f"case{person}/mask_{number - 1}.png", seed=number, mask=True)
    assert "case11/mask_1.png may belong to case11/img_1.png by its number" in no_pairing(tmp_path)


@pytest.mark.parametrize("masks", [range(1, 10), range(2, 11), range(1, 11)])
def test_numbers_that_are_no_shift_pair_equal_numbers(masks: range, tmp_path: Path) -> None:
    counted(tmp_path, range(1, 11), masks)
    found, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == {(f"img/img_{n}.png", f"mask/mask_{n}.png") for n in masks}
    assert any("have no label map" in why for why in whys(found, "layout")) is (len(masks) < 10)


def test_numbers_with_gaps_are_ids_and_pair(tmp_path: Path) -> None:
    for number in (3, 7, 8, 20, 31, 44):
        picture(tmp_path / f"img/{number}.png", seed=number)
        picture(tmp_path / f"mask/{number}.png", seed=number, mask=True)
    _, spec, tree = drafted(tmp_path)
    assert len(pairs(spec, tree)) == 6


def test_names_made_from_those_of_images_pair_whatever_the_numbers(tmp_path: Path) -> None:
    for number in range(10):
        picture(tmp_path / f"img_{number + 1}.png", seed=number)
        picture(tmp_path / f"img_{number}_mask.png", seed=number, mask=True)
    found, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == {(f"img_{n}.png", f"img_{n}_mask.png") for n in range(1, 10)}
    assert "1 of 10 label maps have no image, such as img_0_mask.png" in whys(found, "layout")


def test_one_image_of_twelve_that_is_not_used_is_said(tmp_path: Path) -> None:
    for number in range(11):
        volume(tmp_path / f"images/scan_{number:02}.nii.gz")
        volume(tmp_path / f"labels/scan_{number:02}.nii.gz", ids=(1, 2))
    volume(tmp_path / "odd/what/x_y.nii.gz")
    left = whys(inspect_folder(tmp_path), "layout")
    assert any(why.startswith("1 of 12 images are not used, such as odd/what/x_y") for why in left)


def test_images_that_share_a_number_have_no_names_of_their_own(tmp_path: Path) -> None:
    for number in range(6):
        for side in ("left", "right"):
            picture(tmp_path / f"a/{number}_{side}.png", seed=number)
    (why,) = whys(inspect_folder(tmp_path / "a"), "people")
    assert why.startswith("0_left.png and 0_right.png are taken for one subject")


def test_images_in_numbered_folders_have_no_names_of_their_own(tmp_path: Path) -> None:
    for number in range(6):
        picture(tmp_path / f"{number:03}/slide.png", seed=number)
    (why,) = whys(inspect_folder(tmp_path), "people")
    assert why.startswith("every image lies in a folder of its own")
