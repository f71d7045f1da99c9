"""Rules that say which label maps belong to which images: where each holds, and where it must not."""

from __future__ import annotations

import io
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from assets.inspect import inspect_folder
from assets.inspect.grouping import gathered
from assets.inspect.labels import grey_levels
from assets.inspect.roles import by_name
from assets.inspect.stems import by_stem
from tests.datasets.built import build
from tests.inspect.folders import drafted, images, instance, pairs, picture, volume


def test_a_set_in_pieces_is_one_set(tmp_path: Path) -> None:
    for place in ("a1", "a2", "piece_9/b1", "piece_9/b2"):
        volume(tmp_path / f"store/{place}_scan.nii.gz")
        volume(tmp_path / f"store/{place}_seg.nii.gz", ids=(1,))
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert pairs(spec, tree) == {
        (f"store/{p}_scan.nii.gz", f"store/{p}_seg.nii.gz") for p in ("a1", "a2", "piece_9/b1", "piece_9/b2")
    }


def test_folders_of_the_same_names_are_not_pieces(tmp_path: Path) -> None:
    """Two readers drew the same scans: their label maps are not one set of more scans."""
    for number in ("01", "02", "03"):
        volume(tmp_path / f"scans/p{number}.nii.gz")
        for reader in ("anna", "boris"):
            volume(tmp_path / f"masks_{reader}/p{number}.nii.gz", ids=(1,))
    _, spec, tree = drafted(tmp_path)
    assert all(len(spec.layout.labels[name].path) == 1 for name in spec.layout.labels)
    assert len(tree.subjects) == 3


def test_label_maps_begin_with_the_name_of_their_image(tmp_path: Path) -> None:
    """Names of no common form, and a file for each structure that was seen."""
    seen = {"ACB0001": ("vessel", "stone"), "K2": ("stone",), "Zebra_17b": ("vessel",), "Q": ()}
    for number, (name, kinds) in enumerate(seen.items()):
        picture(tmp_path / f"photos/{name}.png", seed=number)
        for kind in kinds:
            picture(tmp_path / f"masks/{name}_{kind}.png", mask=True)
    found, spec, tree = drafted(tmp_path)
    assert set(found.labels.values()) == {"stone", "vessel"}
    assert pairs(spec, tree) == {
        (f"photos/{name}.png", f"masks/{name}_{kind}.png") for name, kinds in seen.items() for kind in kinds
    }


def test_label_maps_that_begin_like_no_image_are_not_paired(tmp_path: Path) -> None:
    for number, name in enumerate(("ACB0001", "K2", "Zebra_17b")):
        picture(tmp_path / f"photos/{name}.png", seed=number)
        picture(tmp_path / f"masks/{name}9_vessel.png", mask=True)
    assert drafted(tmp_path)[0].said("task") == ""


def test_images_and_label_maps_may_each_have_a_last_word_of_their_own(tmp_path: Path) -> None:
    for number, name in enumerate(("1001_D8_red", "1001_D8_blue", "H1_10_green_x")):
        picture(tmp_path / f"image/{name}_plain.png", seed=number)
        picture(tmp_path / f"label/{name}_gt.png", mask=True)
    _, spec, tree = drafted(tmp_path)
    assert len(pairs(spec, tree)) == 3


def test_label_maps_beside_images_in_folders_of_any_name(tmp_path: Path) -> None:
    for place in ("Dye samples/DS1", "Dye samples/DS2", "no dye, P1 - P6/P001"):
        picture(tmp_path / f"{place}.tif")
        picture(tmp_path / f"{place}, masks.tif", mask=True)
    _, spec, tree = drafted(tmp_path)
    assert len(pairs(spec, tree)) == 3


def test_label_maps_alone_are_all_there_is_in_every_folder(tmp_path: Path) -> None:
    for place in ("label_one/x0003", "label_one/x0040", "label_two/x0040"):
        volume(tmp_path / f"{place}.nii.gz", ids=(1, 2))
    found, _, tree = drafted(tmp_path)
    assert len(images(tree)) == 3
    assert any("stand as images too" in u.why for u in found.unknown)


def test_a_label_map_of_another_name_where_the_usual_one_is_missing(tmp_path: Path) -> None:
    for number in ("001", "002", "003"):
        volume(tmp_path / f"case_{number}/case_{number}_t1.nii.gz")
        name = "W39_older_segm" if number == "003" else f"case_{number}_seg"
        volume(tmp_path / f"case_{number}/{name}.nii.gz", ids=(1,))
    _, spec, tree = drafted(tmp_path)
    assert ("case_003/case_003_t1.nii.gz", "case_003/W39_older_segm.nii.gz") in pairs(spec, tree)
    assert len(pairs(spec, tree)) == 3


def test_a_label_map_of_another_name_beside_the_usual_one_is_another_thing(tmp_path: Path) -> None:
    for number in ("001", "002", "003"):
        volume(tmp_path / f"case_{number}/case_{number}_t1.nii.gz")
        volume(tmp_path / f"case_{number}/case_{number}_seg.nii.gz", ids=(1,))
    volume(tmp_path / "case_003/W39_older_segm.nii.gz", ids=(1,))
    _, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == {(f"case_{n}/case_{n}_t1.nii.gz", f"case_{n}/case_{n}_seg.nii.gz") for n in ("001", "002", "003")}


def test_label_maps_in_pictures_belong_to_dicom_instances(tmp_path: Path) -> None:
    for patient in ("1", "2"):
        for number in (1, 2, 3):
            instance(tmp_path / f"{patient}/series/IMG-{number:04d}.dcm", patient, number)
            picture(tmp_path / f"{patient}/ground/IMG-{number:04d}.png", mask=True)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert len(pairs(spec, tree)) == 6


def test_pictures_in_a_folder_of_label_maps_that_hold_none(tmp_path: Path) -> None:
    """A folder called ground truth, in which there are photographs."""
    for number in (1, 2, 3):
        picture(tmp_path / f"scans/IMG-{number:04d}.png", seed=number)
        picture(tmp_path / f"ground/IMG-{number:04d}.png", seed=number + 50)
    assert drafted(tmp_path)[0].said("task") == ""


def test_rows_of_a_parquet_table_are_files(tmp_path: Path) -> None:
    rows = []
    for number, name in enumerate(("a_1", "b_22", "c")):
        columns = {}
        for column, ending in (("image", "raw"), ("label", "gt")):
            content = io.BytesIO()
            pixels = np.random.default_rng(number).integers(0, 255, (9, 8)).astype(np.uint8)
            Image.fromarray(pixels if column == "image" else (pixels > 99).astype(np.uint8) * 255).save(content, "PNG")
            columns[column] = {"bytes": content.getvalue(), "path": f"{name}_{ending}.png"}
        rows.append(columns)
    pl.DataFrame(rows).write_parquet(tmp_path / "train-0-of-1.parquet")
    _, spec, tree = drafted(tmp_path)
    assert spec.layout.rows == {"train-*-of-*.parquet": ("image", "label")}
    table = "train-0-of-1.parquet"
    assert pairs(spec, tree) == {
        (f"{table}/image/{n}/{name}_raw.png", f"{table}/label/{n}/{name}_gt.png") for n, name in enumerate(("a_1", "b_22", "c"))
    }


def test_label_maps_of_shares_from_0_to_1_have_a_level(tmp_path: Path) -> None:
    for number in (1, 2):
        volume(tmp_path / f"images/p{number}.nii.gz")
        volume(tmp_path / f"labels/p{number}.nii.gz", low=400, scale=1 / 1000)
    _, spec, _ = drafted(tmp_path)
    assert [source.at_least for source in spec.layout.labels.values()] == [0.5]


def test_a_share_of_a_split_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        volume(tmp_path / f"imagesTr/p{number}.nii.gz")
        volume(tmp_path / f"labelsTr/p{number}.nii.gz", ids=(1,))
    for kind in ("images", "labels"):
        (tmp_path / f"{kind}Ts").mkdir()
        (tmp_path / f"{kind}Ts/p9.nii.gz").write_text("not yet published")
    _, spec, tree = drafted(tmp_path)
    assert {mask for _, mask in pairs(spec, tree)} == {f"labelsTr/p{n}.nii.gz" for n in (1, 2, 3)}


def test_one_subject_with_a_file_per_structure(tmp_path: Path) -> None:
    volume(tmp_path / "s0001/ct.nii.gz", low=-1000)
    for organ in ("liver", "spleen", "aorta", "rib_1"):
        volume(tmp_path / f"s0001/segmentations/{organ}.nii.gz", ids=(1,))
    found, spec, tree = drafted(tmp_path)
    assert set(found.labels.values()) == {"liver", "spleen", "aorta", "rib_1"}
    assert len(pairs(spec, tree)) == 4


def test_few_label_maps_leave_the_task_open(tmp_path: Path) -> None:
    for number in range(8):
        volume(tmp_path / f"scans/p{number}.nii.gz")
    volume(tmp_path / "masks/p3.nii.gz", ids=(1,))
    found, *_ = drafted(tmp_path)
    assert found.said("task") == ""
    assert any(u.field == "task" and "12%" in u.why for u in found.unknown)


def grey(path: Path, levels: tuple[int, ...]) -> None:
    pixels = np.zeros((9, 8), np.uint8)
    for row, level in enumerate(levels):
        pixels[row + 1] = level
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


@pytest.mark.parametrize(
    ("levels", "ids"), [((85, 170, 255), {85: 1, 170: 2, 255: 3}), ((63, 126, 189, 252), {63: 1, 126: 2, 189: 3, 252: 4})]
)
def test_even_grey_levels_stand_for_ids(levels: tuple[int, ...], ids: dict[int, int], tmp_path: Path) -> None:
    for number in ("01", "02"):
        picture(tmp_path / f"images/{number}.png")
        grey(tmp_path / f"masks/{number}.png", levels)
    _, spec, _ = drafted(tmp_path)
    assert spec.layout.labels["mask"].values == ids
    assert sorted(spec.labels) == sorted(ids.values())


@pytest.mark.parametrize("levels", [(1, 2, 3), (10, 20, 250), (100, 255), (205, 420)])
def test_other_numbers_are_the_ids_themselves(levels: tuple[int, ...]) -> None:
    assert grey_levels(levels) == {}


def test_many_names_of_no_common_form_take_little_time() -> None:
    """A quarter of the names that are looked at, without opening them: links are looked up, not searched for."""
    paths = [f"photos/{'abcdefgh'[n % 8] * (1 + n % 5)}{n}.png" for n in range(5000)]
    paths += [path.replace("photos", "masks").replace(".png", f"_{('stone', 'vessel')[len(path) % 2]}.png") for path in paths]
    started = time.perf_counter()
    joined = by_stem([by_name(group) for group in gathered(paths)[0]])
    assert time.perf_counter() - started < 20
    assert sorted(len(part.group.paths) for part in joined) == [5000, 5000]


WELLS = ("A2.vsi - DIC - Z=0_chip2_d27", "A2.vsi - DIC - Z=10_chip_d20", "B3 (2).vsi - DIC - Z=0_chip3_d14", "K-7")


def test_label_maps_called_like_their_images_in_a_folder_of_their_own(tmp_path: Path) -> None:
    """Whatever the names look like, and although one image has none."""
    for number, name in enumerate((*WELLS, "without")):
        picture(tmp_path / f"set/img/{name}.png", seed=number)
        if name != "without":
            picture(tmp_path / f"set/seg/{name}.png", mask=True)
    found, spec, tree = drafted(tmp_path)
    assert (found.said("task"), spec.layout.unlabelled) == ("segmentation", "leave")
    assert pairs(spec, tree) == {(f"set/img/{name}.png", f"set/seg/{name}.png") for name in WELLS}


def test_label_maps_of_other_names_in_a_folder_of_their_own_belong_to_no_image(tmp_path: Path) -> None:
    for number, name in enumerate(WELLS):
        picture(tmp_path / f"set/img/{name}.png", seed=number)
        picture(tmp_path / f"set/seg/{name[::-1]}.png", mask=True)
    assert inspect_folder(tmp_path).said("task") == ""


@pytest.mark.parametrize(("quality", "mode"), [(40, "L"), (75, "L"), (95, "L"), (60, "RGB")])
def test_masks_packed_as_photographs_are_cut_in_the_middle(quality: int, mode: str, tmp_path: Path) -> None:
    """White and black with the ripples that JPEG makes: not 0 is not inside, and no ripple is a structure."""
    rows, columns = np.indices((64, 80))
    root = tmp_path / "raw" / "draft"
    for number in range(3):
        inside = (rows - 30) ** 2 + (columns - 40) ** 2 < (15 + number) ** 2
        picture(root / f"images/s{number}.png", seed=number, rows=64, columns=80)
        (root / "masks").mkdir(exist_ok=True)
        mask = Image.fromarray(np.where(inside, 255, 0).astype(np.uint8)).convert(mode)
        mask.save(root / f"masks/s{number}.jpg", quality=quality)
    found, spec, tree = drafted(root)
    assert (found.said("task"), found.labels, len(pairs(spec, tree))) == ("segmentation", {1: "label 1"}, 3)
    assert [source.at_least for source in spec.layout.labels.values()] == [128]
    built = build(spec, tmp_path)
    for number in range(3):
        (row,) = built.rows("volumes", str(number)).filter(kind="labels").to_dicts()
        assert row["label_voxels"][0] == pytest.approx(
            int(((rows - 30) ** 2 + (columns - 40) ** 2 < (15 + number) ** 2).sum()), rel=0.02
        )
