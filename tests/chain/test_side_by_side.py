"""Label maps and images are read at the same time: what comes out does not tell which was done first."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from assets import volumes
from assets.annotations.planes import LabelMap
from assets.dataset import Dataset, survey
from assets.image_stream import store_image
from assets.label_maps import read_labels
from assets.volumes import SubjectVolumes, build_volumes
from resources.findings import Code, Severity
from resources.layout import Layout
from tests.chain.product import spec_of

SHAPE = (20, 30, 40)
LAYOUT = {
    "subject": "[a-z]+",
    "series": {"first": "{subject}/first.nii.gz", "second": "{subject}/second.nii.gz"},
    "labels": {"seg": {"path": "{subject}/seg.nii.gz", "of": ["first"]}},
}


def dataset(root: Path, *, unknown_label: bool = False, cut: bool = False, constant: bool = False) -> Dataset:
    """One subject, two images and a label map."""
    folder = root / "raw" / "made" / "a"
    folder.mkdir(parents=True)
    noise = np.random.default_rng(4).integers(-1000, 1000, SHAPE).astype(np.int16)
    labels = np.zeros(SHAPE, np.uint8)
    labels[3:9, 4:11, 5:13] = 7 if unknown_label else 1
    for name, voxels in {"first": noise, "second": noise * 0 if constant else noise, "seg": labels}.items():
        image: Any = nibabel.Nifti1Image(voxels, np.diag([2.0, 2, 2, 1]))
        image.header.set_xyzt_units("mm")
        image.to_filename(folder / f"{name}.nii.gz")
    if cut:
        file = folder / "first.nii.gz"
        file.write_bytes(file.read_bytes()[:-2000])
    return Dataset(spec_of("made", LAYOUT, {1: "organ"}), Layout(root))


def built(made_of: Dataset, out: Path, measure: Callable[[LabelMap], None] = lambda _: None) -> SubjectVolumes:
    found = survey(made_of)
    return build_volumes(made_of.spec, made_of.raw_root, found.tree.subjects["a"], out, synthetic=False, measure=measure)


def late(task: Callable[..., Any]) -> Callable[..., Any]:
    def later(*args: Any, **kwargs: Any) -> Any:
        time.sleep(0.1)
        return task(*args, **kwargs)

    return later


@pytest.fixture(params=["labels are late", "images are late"])
def _uneven(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "labels are late":
        monkeypatch.setattr(volumes, "read_labels", late(read_labels))
    else:
        monkeypatch.setattr(volumes, "store_image", late(store_image))


@pytest.mark.usefixtures("_uneven")
def test_what_is_wrong_with_labels_is_told_before_what_is_wrong_with_images(tmp_path: Path) -> None:
    made = built(dataset(tmp_path, unknown_label=True, cut=True, constant=True), tmp_path / "out")
    told = [(finding.code, finding.file) for finding in made.findings if finding.severity is not Severity.INFO]
    assert told == [
        (Code.UNKNOWN_LABEL, "a/seg.nii.gz"),
        (Code.TRUNCATED, "a/first.nii.gz"),
        (Code.CONSTANT_IMAGE, "a/second.nii.gz"),
    ]


@pytest.mark.usefixtures("_uneven")
def test_rows_of_images_come_before_rows_of_labels(tmp_path: Path) -> None:
    made = built(dataset(tmp_path), tmp_path / "out")
    assert [(row["kind"], row["series"]) for row in made.rows] == [("image", "first"), ("image", "second"), ("labels", "first")]
    assert sorted(made.sources) == ["a/first.nii.gz", "a/second.nii.gz", "a/seg.nii.gz"]
    assert len(made.label_maps) == 1


def test_label_maps_are_measured_while_images_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = threading.Event()

    def storing(*args: Any, **kwargs: Any) -> Any:
        assert measured.wait(30)
        return store_image(*args, **kwargs)

    monkeypatch.setattr(volumes, "store_image", storing)
    shapes = []

    def measure(label_map: LabelMap) -> None:
        shapes.append(label_map.crop.shape)
        measured.set()

    made = built(dataset(tmp_path), tmp_path / "out", measure)
    assert shapes == [(6, 7, 8)]
    assert not made.has_error


def test_no_thread_is_left_when_the_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_args: Any) -> Any:
        raise OSError("no space left")

    monkeypatch.setattr(volumes, "store_image", failing)
    with pytest.raises(OSError, match="no space left"):
        built(dataset(tmp_path), tmp_path / "out")
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith(("labels", "read-ahead"))]
