"""Films in colours and volumes of four axes: which channel a draft takes, and where it must not choose."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import nibabel as nib
import numpy as np
import numpy.typing as npt
import pytest

from assets.inspect import Inspection, inspect_folder
from assets.inspect.draft import as_mapping, as_spec
from assets.raw import discover

Frames = npt.NDArray[np.uint8]


def write_film(path: Path, frames: Frames) -> None:
    """Frames `[t, y, x, colour]`, compressed with loss as scanners do: brightness and two differences of colours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(path, "w") as container:
        stream: Any = container.add_stream("mjpeg", rate=Fraction(25))
        stream.height, stream.width, stream.pix_fmt = *frames.shape[1:3], "yuvj420p"
        for values in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(values, format="rgb24")))
        container.mux(stream.encode(None))


def grey(seed: int) -> Frames:
    one = np.random.default_rng(seed).integers(0, 255, (4, 16, 24, 1)).astype(np.uint8)
    return np.repeat(one, 3, axis=3)


def coloured(seed: int) -> Frames:
    return np.random.default_rng(seed).integers(0, 255, (4, 16, 24, 3)).astype(np.uint8)


def volumes(path: Path, *extents: int, mask: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    voxels = np.random.default_rng(len(path.name)).integers(0, 2 if mask else 900, extents).astype(np.int16)
    image = nib.Nifti1Image(voxels, np.diag([1.0, 1.0, 2.0, 1.0]))
    image.header.set_xyzt_units("mm")
    nib.save(image, path)


def series(found: Inspection) -> Any:
    return as_mapping(found, "draft")["layout"]["series"]["image"]


def test_of_a_grey_film_in_three_colours_one_is_taken(tmp_path: Path) -> None:
    for number in range(3):
        write_film(tmp_path / f"echo/film_{number:03d}.avi", grey(number))
    found = inspect_folder(tmp_path)
    assert series(found) == {"path": "echo/film_{subject}.avi", "channel": 0, "channels": 3}
    assert [e.said for e in found.evidence if e.field == "layout.series.image.channel"] == ["0"]
    assert len(discover(as_spec(found, "draft"), tmp_path).subjects) == 3


@pytest.mark.parametrize("first_is_grey", [True, False])
def test_of_a_film_that_shows_colours_none_is_chosen(tmp_path: Path, first_is_grey: bool) -> None:
    for number in range(3):
        frames = grey(number) if number == 0 and first_is_grey else coloured(number)
        write_film(tmp_path / f"scope/film_{number:03d}.avi", frames)
    found = inspect_folder(tmp_path)
    assert series(found) == "scope/film_{subject}.avi"
    assert any("film, or a stack of pictures, in colours" in u.why and "`channel`" in u.why for u in found.unknown)


def test_a_film_too_long_to_be_looked_at_is_drafted_unseen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assets.inspect.peek.LONGEST_FILM", 10)
    for number in range(3):
        write_film(tmp_path / f"echo/film_{number:03d}.avi", grey(number))
    assert series(inspect_folder(tmp_path)) == "echo/film_{subject}.avi"


def test_a_damaged_film_stays_an_image(tmp_path: Path) -> None:
    for number in range(3):
        write_film(tmp_path / f"echo/film_{number:03d}.avi", grey(number))
    (tmp_path / "echo/film_000.avi").write_bytes((tmp_path / "echo/film_001.avi").read_bytes()[:300])
    assert series(inspect_folder(tmp_path)) == {"path": "echo/film_{subject}.avi", "channel": 0, "channels": 3}


def test_a_folder_that_all_classes_have_is_no_part_of_a_name(tmp_path: Path) -> None:
    names = {
        "A4C": ["CR32a7555-CR32a7582-39", "CR32a7556-CR32a7583-32", "CR32a7558-CR32a7585-56"],
        "PSAX": ["CR32a7555-CR32a97af-33"],
    }
    for view, films in names.items():
        for name in films:
            write_film(tmp_path / f"{view}/Videos/{name}.avi", grey(1))
    found = inspect_folder(tmp_path)
    assert series(found)["path"] == "{class}/Videos/{subject}.avi"
    assert set(discover(as_spec(found, "draft"), tmp_path).subjects) == {name for films in names.values() for name in films}


def test_every_volume_of_a_file_is_a_series_and_a_label_map_lies_on_all(tmp_path: Path) -> None:
    for number in range(3):
        volumes(tmp_path / f"imagesTr/prostate_{number:02d}.nii.gz", 6, 7, 5, 2)
        volumes(tmp_path / f"labelsTr/prostate_{number:02d}.nii.gz", 6, 7, 5, mask=True)
    found = inspect_folder(tmp_path)
    path = "imagesTr/prostate_{subject}.nii.gz"
    layout = as_mapping(found, "draft")["layout"]
    assert layout["series"] == {f"image_{n}": {"path": path, "channel": n, "channels": 2} for n in (0, 1)}
    assert [e.said for e in found.evidence if e.field == "layout.series.image.channel"] == ["each"]
    (scan,) = discover(as_spec(found, "draft"), tmp_path).subjects["01"].scans
    assert set(scan.series) == {"image_0", "image_1"}
    assert set(scan.labels) == {"mask"}


@pytest.mark.parametrize("counts", [(3, 4), (9, 9), (1, 2)])
def test_of_many_volumes_or_unequal_numbers_the_first_is_taken_and_that_is_said(tmp_path: Path, counts: tuple[int, int]) -> None:
    for number, count in zip((1, 2), counts, strict=True):
        volumes(tmp_path / f"sub-{number:02d}/dwi/sub-{number:02d}_dwi.nii.gz", 6, 7, 5, count)
    found = inspect_folder(tmp_path)
    (one,) = as_mapping(found, "draft")["layout"]["series"].values()
    assert (one["channel"], one["channels"]) == (0, "any")
    assert any("the first volume is taken" in u.why for u in found.unknown)


def test_volumes_of_a_file_are_called_as_a_description_says(tmp_path: Path) -> None:
    for number in range(3):
        volumes(tmp_path / f"imagesTr/prostate_{number:02d}.nii.gz", 6, 7, 5, 2)
        volumes(tmp_path / f"labelsTr/prostate_{number:02d}.nii.gz", 6, 7, 5, mask=True)
    described = {"modality": {"0": "T2", "1": "ADC map"}, "labels": {"0": "background", "1": "PZ"}}
    (tmp_path / "dataset.json").write_text(json.dumps(described))
    found = inspect_folder(tmp_path)
    path = "imagesTr/prostate_{subject}.nii.gz"
    expected = {name: {"path": path, "channel": n, "channels": 2} for n, name in enumerate(("t2", "adc_map"))}
    assert as_mapping(found, "draft")["layout"]["series"] == expected
    assert [e.seen for e in found.evidence if e.field == "layout.series"] == ["dataset.json names the channels"]


def test_files_of_channels_are_called_as_a_description_says(tmp_path: Path) -> None:
    for number in range(3):
        for channel in range(2):
            volumes(tmp_path / f"imagesTr/case_{number:03d}_{channel:04d}.nii.gz", 6, 7, 5)
        volumes(tmp_path / f"labelsTr/case_{number:03d}.nii.gz", 6, 7, 5, mask=True)
    (tmp_path / "dataset.json").write_text(
        json.dumps({"channel_names": {"0": "T1", "1": "T2"}, "labels": {"background": 0, "tumor": 1}})
    )
    found = inspect_folder(tmp_path)
    layout = as_mapping(found, "draft")["layout"]
    assert {name: one["path"] for name, one in layout["series"].items()} == {
        "t1": "imagesTr/case_{subject}_0000.nii.gz",
        "t2": "imagesTr/case_{subject}_0001.nii.gz",
    }
    (scan,) = discover(as_spec(found, "draft"), tmp_path).subjects["001"].scans
    assert set(scan.series) == {"t1", "t2"}
    assert set(scan.labels) == {"mask"}


@pytest.mark.parametrize("names", [{"0": "MR", "1": "MR"}, {"0": "MR", "1": "-"}, {"0": "MR"}, ["T1", "T2"]])
def test_channels_that_a_description_does_not_tell_apart_keep_their_numbers(tmp_path: Path, names: Any) -> None:
    for number in range(3):
        volumes(tmp_path / f"imagesTr/p_{number:02d}.nii.gz", 6, 7, 5, 2)
    (tmp_path / "dataset.json").write_text(json.dumps({"modality": names}))
    assert set(as_mapping(inspect_folder(tmp_path), "draft")["layout"]["series"]) == {"image_0", "image_1"}
