"""Images whose header and data lie in two files: each is one image, called by the file that specs name."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import pytest
import SimpleITK

from assets.inspect import inspect_folder
from assets.inspect.draft import as_mapping
from assets.inspect.grouping import gathered
from assets.inspect.halves import without_halves
from assets.inspect.peek import Opener
from assets.raw import RawTree
from tests.inspect.folders import drafted, images, pairs, picture, told, volume

ROWS, COLUMNS = 9, 8
"""Those of `folders.picture`."""


def envi(data: Path, *, seed: int = 5, rows: int = ROWS, header: str = ".hdr") -> None:
    """Five bands of 16 bits, band after band, with a header after ENVI's manual beside them."""
    data.parent.mkdir(parents=True, exist_ok=True)
    bands = np.random.default_rng(seed).integers(0, 4000, (5, rows, COLUMNS)).astype("<u2")
    data.write_bytes(bands.tobytes())
    text = (
        f"samples = {COLUMNS}\nlines = {rows}\nbands = 5\nheader offset = 0\ndata type = 12\ninterleave = bsq\nbyte order = 0\n"
    )
    (data.parent / (data.name.removesuffix(data.suffix) + header)).write_text(f"ENVI\ndescription = {{\n  made up}}\n{text}")


def written(path: Path, *, ids: tuple[int, ...] = (), packed: bool = False) -> None:
    """A volume, or a label map, by SimpleITK."""
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = np.random.default_rng(7).integers(0, 900, (5, 7, 6)).astype(np.int16)
    if ids:
        voxels[:] = 0
        voxels[: len(ids)] = np.reshape(ids, (-1, 1, 1))
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(voxels), str(path), packed)


def roles(tree: RawTree) -> dict[str, str]:
    """What every file is for: its role where it is used, else its state."""
    return {entry.path: entry.role if entry.state == "used" else entry.state for entry in tree.files}


def ignored(root: Path) -> dict[str, str]:
    """What the draft ignores, and why."""
    layout: dict[str, Any] = as_mapping(inspect_folder(root), "draft")["layout"]
    return dict(layout.get("ignore", {}))


@pytest.mark.parametrize("ending", [".dat", ".img", ".raw", ".bsq", ""])
def test_an_envi_picture_is_called_by_its_numbers(tmp_path: Path, ending: str) -> None:
    for number in (1, 2, 3):
        envi(tmp_path / f"scans/leaf_{number:02d}{ending}", seed=number)
    found, _, tree = drafted(tmp_path)
    assert images(tree) == {f"scans/leaf_{n:02d}{ending}" for n in (1, 2, 3)}
    assert {path for path, role in roles(tree).items() if role == "companion"} == {f"scans/leaf_{n:02d}.hdr" for n in (1, 2, 3)}
    assert not ignored(tmp_path)
    assert found.said("dimension") == "2D"


def test_what_is_known_of_an_image_in_two_files_comes_from_its_reader(tmp_path: Path) -> None:
    envi(tmp_path / "a.dat")
    peek = Opener(tmp_path).peek("a.dat")
    assert peek is not None
    assert (peek.format, peek.shape, peek.channels, peek.trouble) == ("ENVI", (COLUMNS, ROWS, 1), 5, "")


def test_a_header_may_be_called_like_the_whole_name_of_the_numbers(tmp_path: Path) -> None:
    for number in (1, 2):
        envi(tmp_path / f"leaf_{number}.dat", header=".dat.hdr")
    assert images(drafted(tmp_path)[2]) == {"leaf_1.dat", "leaf_2.dat"}


def test_classes_of_envi_pictures_without_an_ending(tmp_path: Path) -> None:
    for kind in ("birch", "maple"):
        for number in (1, 2, 3):
            envi(tmp_path / f"{kind}/leaf_{number}", seed=number)
    found, spec, tree = drafted(tmp_path)
    assert found.said("task") == "classification"
    assert sorted(told(spec, tree).values()) == ["birch"] * 3 + ["maple"] * 3


def test_envi_label_maps_belong_to_envi_pictures(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        envi(tmp_path / f"leaf_{number}.dat", seed=number)
        mask = tmp_path / f"leaf_{number}_mask.dat"
        mask.write_bytes((np.arange(ROWS * COLUMNS) % 3).astype("u1").tobytes())
        mask.with_suffix(".hdr").write_text(f"ENVI\nsamples = {COLUMNS}\nlines = {ROWS}\nbands = 1\ndata type = 1\n")
    found, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == {(f"leaf_{n}.dat", f"leaf_{n}_mask.dat") for n in (1, 2, 3)}
    assert set(found.labels) == {1, 2}


@pytest.mark.parametrize("kind", [nib.Nifti1Pair, nib.Nifti2Pair, nib.spm99analyze.Spm99AnalyzeImage])
def test_a_pair_of_nifti_or_analyze_is_called_by_its_header(tmp_path: Path, kind: type[Any]) -> None:
    for number in (1, 2, 3):
        voxels = np.random.default_rng(number).integers(0, 900, (6, 7, 5)).astype(np.int16)
        nib.save(kind(voxels, np.eye(4)), tmp_path / f"case_{number}.img")
        nib.save(kind((voxels > 400).astype(np.int16), np.eye(4)), tmp_path / f"case_{number}_seg.img")
    for stray in tmp_path.glob("*.mat"):  # where SPM keeps what an Analyze header cannot say
        stray.unlink()
    found, spec, tree = drafted(tmp_path)
    assert any("assume_orientation" in u.why for u in found.unknown) is (kind is nib.spm99analyze.Spm99AnalyzeImage)
    assert pairs(spec, tree) == {(f"case_{n}.hdr", f"case_{n}_seg.hdr") for n in (1, 2, 3)}
    assert {path for path, role in roles(tree).items() if role == "companion"} == {p.name for p in tmp_path.glob("*.img")}
    assert not ignored(tmp_path)


@pytest.mark.parametrize(("ending", "packed"), [(".mhd", False), (".mhd", True), (".nhdr", False), (".nhdr", True)])
def test_metaimage_and_nrrd_are_called_by_their_headers(tmp_path: Path, ending: str, *, packed: bool) -> None:
    for number in (1, 2, 3):
        written(tmp_path / f"scan{number}{ending}", packed=packed)
        written(tmp_path / f"masks/scan{number}{ending}", ids=(1, 2), packed=packed)
    _, spec, tree = drafted(tmp_path)
    assert pairs(spec, tree) == {(f"scan{n}{ending}", f"masks/scan{n}{ending}") for n in (1, 2, 3)}
    assert sorted(roles(tree).values()) == ["companion"] * 6 + ["image"] * 3 + ["labels"] * 3
    assert not ignored(tmp_path)


def test_data_may_be_called_as_their_header_likes(tmp_path: Path) -> None:
    for number, name in enumerate(("lung-a.raw", "w17.bin", "other.raw")):
        path = tmp_path / f"scan{number}.mhd"
        written(path)
        path.with_suffix(".raw").rename(tmp_path / name)
        path.write_text(path.read_text().replace(f"scan{number}.raw", name))
    _, _, tree = drafted(tmp_path)
    assert images(tree) == {"scan0.mhd", "scan1.mhd", "scan2.mhd"}
    assert not ignored(tmp_path)


def test_a_real_par_and_rec_are_one_image(tmp_path: Path, shared_data: Path) -> None:
    real = shared_data / "volumes" / "nibabel" / "phantom_EPI_asc_CLEAR_2_1.PAR"
    for number in (1, 2):
        shutil.copy(real, tmp_path / f"run_{number}.PAR")
        shutil.copy(real.with_suffix(".REC"), tmp_path / f"run_{number}.REC")
    found, _, tree = drafted(tmp_path)
    assert images(tree) == {"run_1.PAR", "run_2.PAR"}
    assert found.said("dimension") == "3D"
    assert not ignored(tmp_path)


def spectral(root: Path, measured: tuple[str, ...]) -> None:
    """Pictures and label maps in folders of any name, and what was measured of some in another folder, with references."""
    for number, place in enumerate(("green leaves/GL1", "green leaves/GL2", "Q017 - Q020 dry/Q017", "Q017 - Q020 dry/Q018")):
        picture(root / f"{place}.tif", seed=number)
        picture(root / f"{place}, marks mask.tif", mask=True)
    for name in measured:
        envi(root / f"as measured/{name}.dat")


def test_what_was_measured_is_a_second_series_of_those_who_have_it(tmp_path: Path) -> None:
    spectral(tmp_path, ("GL1", "GL2", "Q017", "WR1D2"))
    _, spec, tree = drafted(tmp_path)
    measured = {(f"as measured/{name}.dat", name) for name in ("GL1", "GL2", "Q017")}
    assert images(tree) == {*(path for path, _ in measured), *(p for p in images(tree) if p.endswith(".tif"))}
    assert len(images(tree)) == 7
    second = next(series for name, series in spec.layout.series.items() if "measured" in name)
    assert not second.required
    assert {(i, Path(m).name.partition(",")[0]) for i, m in pairs(spec, tree) if i.endswith(".dat")} == measured
    assert roles(tree)["as measured/WR1D2.dat"] == roles(tree)["as measured/WR1D2.hdr"] == "ignored"
    assert roles(tree)["as measured/GL1.hdr"] == "companion"
    assert "unknown what it is for" not in ignored(tmp_path).values()


def test_images_of_other_extents_are_no_second_series(tmp_path: Path) -> None:
    spectral(tmp_path, ())
    for name in ("GL1", "GL2", "Q017"):
        envi(tmp_path / f"as measured/{name}.dat", rows=ROWS + 3)
    _, _, tree = drafted(tmp_path)
    assert not any(path.endswith(".dat") for path in images(tree))
    assert {role for path, role in roles(tree).items() if path.startswith("as measured")} == {"ignored"}


def test_numbers_alone_do_not_say_that_images_are_of_one_subject(tmp_path: Path) -> None:
    for number in (1, 2, 3, 4, 5):
        picture(tmp_path / f"photos/{number}.png", seed=number)
        picture(tmp_path / f"masks/{number}.png", mask=True)
    for number in (1, 2, 3):
        picture(tmp_path / f"more/{number}.bmp", seed=number + 9)
    assert images(drafted(tmp_path)[2]) == {f"photos/{n}.png" for n in (1, 2, 3, 4, 5)}


def test_volumes_beside_are_not_taken_for_pairs(tmp_path: Path) -> None:
    """Numbers without a header, a header with two files of numbers, one without any, and one that names itself."""
    volume(tmp_path / "a1.nii")
    volume(tmp_path / "a2.nii")
    (tmp_path / "b.dat").write_bytes(bytes(40))
    envi(tmp_path / "c.dat")
    (tmp_path / "c.raw").write_bytes(bytes(40))
    (tmp_path / "d.hdr").write_text("ENVI\nsamples = 2\n")
    (tmp_path / "e.mhd").write_text("ObjectType = Image\nNDims = 3\nElementDataFile = e.mhd\n")
    paths = sorted(path.name for path in tmp_path.iterdir())
    assert without_halves(tmp_path, paths) == (paths, {})
    drafted(tmp_path)


def test_numbers_with_a_header_are_another_shape_than_numbers_without(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        envi(tmp_path / f"leaf_{number}.dat", seed=number)
    (tmp_path / "leaf_2.hdr").unlink()
    groups, _ = gathered(*without_halves(tmp_path, sorted(path.name for path in tmp_path.iterdir())))
    assert {group.paths: group.family for group in groups} == {
        ("leaf_1.dat", "leaf_3.dat"): "picture",
        ("leaf_2.dat",): "raw",
    }
