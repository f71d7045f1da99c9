"""Folders that each hold images and their label maps, under names that begin anew."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from assets.inspect import inspect_folder
from tests.inspect.folders import drafted, images, pairs, picture, volume

WELLS = ("A2.vsi - DIC - Z=0_chip2_d27", "A2.vsi - DIC - Z=10_chip_d20", "B3 (2).vsi - Z=0", "K-7")
NUMBERS = ("1", "2", "3", "4", "5")


def written(root: Path, image: str, mask: str, folders: dict[str, tuple[str, ...]]) -> set[tuple[str, str]]:
    """Writes an image and a label map for each name of each folder; both are called as the templates say."""
    made = {(image.format(folder, name), mask.format(folder, name)) for folder in folders for name in folders[folder]}
    for seed, (one, other) in enumerate(sorted(made)):
        picture(root / one, seed=seed)
        picture(root / other, mask=True, seed=seed)
    return made


@pytest.mark.parametrize("names", [NUMBERS, WELLS])
@pytest.mark.parametrize(
    "places",
    [("{}/img/{}.png", "{}/seg/{}.png"), ("img/{}/{}.png", "seg/{}/{}.png"), ("set/{}/img/{}.png", "set/{}/seg/{}_mask.png")],
)
def test_label_maps_belong_to_the_images_of_their_own_folder(
    tmp_path: Path, names: tuple[str, ...], places: tuple[str, str]
) -> None:
    made = written(tmp_path, *places, {"alpha": names, "beta": names})
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "segmentation"
    assert pairs(spec, tree) == made
    assert images(tree) == {image for image, _ in made}


def test_images_of_one_name_stay_together(tmp_path: Path) -> None:
    """They may be copies of one another: the folder tells scans apart, and no people."""
    made = written(tmp_path, "{}/img/{}.png", "{}/seg/{}.png", {"alpha": NUMBERS, "beta": NUMBERS[:3], "gamma": NUMBERS[1:]})
    _, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == made
    assert {name: [scan.scan for scan in subject.scans] for name, subject in tree.subjects.items()} == {
        "1": ["alpha", "beta"], "2": ["alpha", "beta", "gamma"], "3": ["alpha", "beta", "gamma"],
        "4": ["alpha", "gamma"], "5": ["alpha", "gamma"],
    }  # fmt: skip
    assert spec.layout.scan == "alpha|beta|gamma"


def test_sequences_with_label_maps_of_their_own_are_series(tmp_path: Path) -> None:
    made = written(tmp_path, "{}/img/{}.png", "{}/seg/{}.png", {"t1": NUMBERS, "t2": NUMBERS})
    _, spec, tree = drafted(tmp_path)
    assert (set(spec.layout.series), spec.layout.scan) == ({"t1", "t2"}, None)
    assert pairs(spec, tree) == made


def test_few_label_maps_leave_the_folders_to_be_classes(tmp_path: Path) -> None:
    for folder, name in product(("benign", "malignant"), range(8)):
        picture(tmp_path / folder / f"img/{name}.png", seed=name)
        if name < 2:
            picture(tmp_path / folder / f"seg/{name}.png", mask=True)
    assert inspect_folder(tmp_path).said("task") != "segmentation"


def test_of_two_folders_of_images_the_nearest_has_the_label_maps(tmp_path: Path) -> None:
    for number, way in enumerate(("fast", "fast", "slow"), start=1):
        name = f"sub-{number:03d}/anat/sub-{number:03d}_rec-{way}"
        for place in (f"derived/sizes/{name}_meas.nii.gz", f"{name}_T2w.nii.gz", f"{name}_dseg.nii.gz"):
            volume(tmp_path / place, ids=(1, 2) if "dseg" in place else ())
    _, spec, tree = drafted(tmp_path)
    names = {f"sub-{n:03d}/anat/sub-{n:03d}_rec-{way}" for n, way in ((1, "fast"), (2, "fast"), (3, "slow"))}
    assert pairs(spec, tree) == {(f"{name}_T2w.nii.gz", f"{name}_dseg.nii.gz") for name in names}


def test_names_of_one_form_in_one_folder_and_of_none_in_the_other(tmp_path: Path) -> None:
    names = {"alpha": WELLS, "beta": (WELLS[0], WELLS[0].replace("A2", "A3"))}
    made = written(tmp_path, "{}/img/{}.png", "{}/seg/{}.png", names)
    _, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == made
