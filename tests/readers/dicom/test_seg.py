from __future__ import annotations

from pathlib import Path
from typing import Any

import highdicom
import numpy as np
import numpy.typing as npt
import pydicom
import pytest
from pydicom.dataset import Dataset
from pydicom.sr.codedict import codes
from pydicom.uid import UID, ExplicitVRLittleEndian, RLELossless

from resources.findings import BadInputError, Code
from resources.readers.dicom.seg import Segmentation, open_seg
from resources.readers.dicom.seg_grid import Grid
from resources.readers.image import RawImage
from resources.readers.registry import open_image
from tests.readers.dicom.makers import opened, ramp, slice_of, uid, write, write_stack
from tests.readers.makers import read_all

HEIGHTS = [0, 2, 4, 6, 8, 10]
DCMQI = {"liver.dcm": "liver_seg.nrrd", "23x38x3/seg/label.seg": "23x38x3/nrrd/label.nrrd"}
PLANES = (
    "seg_image_ct_binary.dcm",
    "seg_image_ct_binary_fractional.dcm",
    "seg_image_ct_true_fractional.dcm",
    "seg_image_ct_binary_single_frame.dcm",
)
SLIDES = ("sm_control_labelmap", "sm_control_labelmap_palette_color", "sm_dots_tiled_full", "sm_numbers")


def masks(*, overlap: bool = False) -> npt.NDArray[np.uint8]:
    """[slice, row, column, segment]: two segments, in slices 1 and 3 to 4 of six."""
    found = np.zeros((6, 4, 5, 2), np.uint8)
    found[1, 1:3, 1:4, 0] = 1
    found[3:5, 0, 2:, 1] = 1
    if overlap:
        found[3, 0:2, 1:3, 0] = 1
    return found


def description(number: int) -> highdicom.seg.SegmentDescription:
    return highdicom.seg.SegmentDescription(
        segment_number=number,
        segment_label=["liver", "tumour"][number - 1],
        segmented_property_category=codes.SCT.Organ,
        segmented_property_type=codes.SCT.Liver,
        algorithm_type=highdicom.seg.SegmentAlgorithmTypeValues.MANUAL,
        tracking_uid=uid(5, number),
        tracking_id=f"thing {number}",
    )


def sources(heights: list[int], **elements: Any) -> list[Dataset]:
    found = []
    for k, height in enumerate(heights):
        ds = slice_of(ramp(k), (1, 2, height), number=k + 1, **elements)
        ds.file_meta = pydicom.dataset.FileMetaDataset()
        ds.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
        ds.AccessionNumber = ds.StudyID = ds.PatientSex = ds.ReferringPhysicianName = ds.StudyTime = ""
        ds.PositionReferenceIndicator = ""
        ds.SliceThickness = 2
        found.append(ds)
    return found


def write_seg(
    path: Path,
    array: npt.NDArray[Any],
    kind: str = "BINARY",
    syntax: UID = ExplicitVRLittleEndian,
    *,
    heights: list[int] = HEIGHTS,
    **change: Any,
) -> Path:
    seg = highdicom.seg.Segmentation(
        sources(heights),
        array,
        kind,
        [description(number) for number in range(1, (array.shape[3] if array.ndim == 4 else 2) + 1)],
        uid(3),
        9,
        uid(3, 1),
        1,
        "us",
        "model",
        "1",
        "2",
        transfer_syntax_uid=syntax,
        omit_empty_frames=True,
    )
    for keyword, value in change.items():
        setattr(seg, keyword, value)
    seg.save_as(path)
    return path


def transposed(image: RawImage) -> npt.NDArray[Any]:
    """[slice, row, column(, segment)] of an image."""
    return np.moveaxis(read_all(image), (0, 1, 2), (2, 1, 0))


@pytest.mark.parametrize("syntax", [ExplicitVRLittleEndian, RLELossless])
def test_empty_planes_between_stored_ones_are_empty(tmp_path: Path, syntax: UID) -> None:
    kind = "BINARY" if syntax == ExplicitVRLittleEndian else "FRACTIONAL"
    array = masks() if kind == "BINARY" else masks().astype(np.float32)
    found = open_seg(write_seg(tmp_path / "seg", array, kind, syntax))
    assert found.shape == (5, 4, 4)  # slices 1 to 4
    np.testing.assert_allclose(found.affine_ras_mm, np.array([[-0.5, 0, 0, -1], [0, -0.75, 0, -2], [0, 0, 2, 2], [0, 0, 0, 1]]))
    np.testing.assert_array_equal(transposed(found.layers()), masks()[1:5])
    np.testing.assert_array_equal(transposed(found.label_map()), masks()[1:5] @ [1, 2])


def test_segments_say_what_they_are(tmp_path: Path) -> None:
    found = open_seg(write_seg(tmp_path / "seg", masks()))
    first, second = found.segments
    assert (first.number, first.label, first.algorithm, first.tracking_uid) == (1, "liver", "MANUAL", uid(5, 1))
    assert (second.number, second.label) == (2, "tumour")
    assert str(first.type) == "Liver (10200004, SCT)"
    assert first.category is not None
    assert first.category.meaning == "Organ"
    assert found.series_uid == uid(1)
    assert len(found.image_uids) == 6
    image = found.layers()
    read_all(image)
    assert [source.path.name for source in image.sources] == ["seg"]


def test_on_the_grid_of_its_image_no_plane_is_missing(tmp_path: Path) -> None:
    image = opened(write_stack(tmp_path / "ct", HEIGHTS))
    grid = Grid(image.affine_ras_mm, image.shape)
    found = open_seg(write_seg(tmp_path / "seg", masks()), onto=grid)
    assert found.shape == image.shape
    np.testing.assert_array_equal(found.affine_ras_mm, image.affine_ras_mm)
    np.testing.assert_array_equal(transposed(found.label_map()), masks() @ [1, 2])


@pytest.mark.parametrize(
    "change",
    [
        lambda a: a @ np.diag([1, 1, 1.2, 1]),
        lambda a: a + np.outer([0, 0, 1, 0], [0, 0, 0, 1]),
        lambda a: a @ np.diag([1, -1, 1, 1]),
    ],
)
def test_another_grid_is_refused(tmp_path: Path, change: Any) -> None:
    image = opened(write_stack(tmp_path / "ct", HEIGHTS))
    with pytest.raises(BadInputError) as caught:
        open_seg(write_seg(tmp_path / "seg", masks()), onto=Grid(change(image.affine_ras_mm), image.shape))
    assert caught.value.finding.code == Code.GRID_MISMATCH


def test_a_grid_that_is_too_small_is_refused(tmp_path: Path) -> None:
    image = opened(write_stack(tmp_path / "ct", HEIGHTS[:4]))
    with pytest.raises(BadInputError) as caught:
        open_seg(write_seg(tmp_path / "seg", masks()), onto=Grid(image.affine_ras_mm, image.shape))
    assert caught.value.finding.code == Code.GRID_MISMATCH


def test_overlapping_segments_are_layers_and_no_label_map(tmp_path: Path) -> None:
    found = open_seg(write_seg(tmp_path / "seg", masks(overlap=True)))
    assert found.overlap == "possible"
    np.testing.assert_array_equal(transposed(found.layers()), masks(overlap=True)[1:5])
    with pytest.raises(BadInputError) as caught:
        read_all(found.label_map())
    assert caught.value.finding.code == Code.SEGMENTS_OVERLAP
    assert "segment 2 shares 1 voxels of slice 2 with segment [1]" in str(caught.value)


def test_shares_are_layers_and_no_label_map(tmp_path: Path) -> None:
    shares = masks()[..., :1].astype(np.float32) * 0.4
    found = open_seg(write_seg(tmp_path / "seg", shares, "FRACTIONAL"))
    np.testing.assert_allclose(transposed(found.layers()), shares[1:2, ..., 0], atol=0.5 / 255)
    with pytest.raises(BadInputError) as caught:
        read_all(found.label_map())
    assert caught.value.finding.code == Code.NOT_WHOLE_LABELS


def test_stored_label_maps(tmp_path: Path) -> None:
    found = open_seg(write_seg(tmp_path / "seg", masks() @ np.array([1, 2], np.uint8), "LABELMAP"))
    assert (found.storage, found.overlap) == ("labelmap", "no")
    np.testing.assert_array_equal(transposed(found.label_map()), masks()[1:5] @ [1, 2])
    np.testing.assert_array_equal(transposed(found.layers()), masks()[1:5])


@pytest.mark.parametrize(("seg", "nrrd"), DCMQI.items())
def test_dcmqi_segmentations_equal_their_nrrd(shared_data: Path, seg: str, nrrd: str) -> None:
    found = open_seg(shared_data / "seg/dcmqi" / seg)
    twin = open_image(shared_data / "seg/dcmqi" / nrrd)
    expected = read_all(twin)
    if twin.affine_ras_mm[2, 2] * found.affine_ras_mm[2, 2] < 0:
        raise AssertionError("the twins run in different directions")
    np.testing.assert_array_equal(read_all(found.label_map()), expected)
    assert np.count_nonzero(read_all(found.label_map())) == np.count_nonzero(expected)
    np.testing.assert_allclose(found.affine_ras_mm, twin.affine_ras_mm, atol=1e-3)


@pytest.mark.parametrize("name", PLANES)
def test_planes_equal_those_of_highdicom(shared_data: Path, name: str) -> None:
    path = shared_data / "seg/highdicom" / name
    volume = highdicom.seg.segread(path).get_volume(combine_segments=False, rescale_fractional=True)
    found: Segmentation = open_seg(path)
    array = np.asarray(volume.array)[..., 0]  # [slice, row, column]
    upward = volume.affine[2, 0] > 0
    ours = transposed(found.layers())
    np.testing.assert_allclose(ours if upward else ours[::-1], array, atol=1e-6)
    origin = found.affine_ras_mm[:3, 3] if upward else (found.affine_ras_mm @ [0, 0, found.shape[2] - 1, 1])[:3]
    np.testing.assert_allclose(origin, volume.affine[:3, 3] * [-1, -1, 1], atol=1e-4)


@pytest.mark.parametrize("name", SLIDES)
def test_tiles_of_slides_are_one_picture(shared_data: Path, name: str) -> None:
    path = shared_data / f"seg/highdicom/seg_image_{name}.dcm"
    found = open_seg(path)
    expected = highdicom.seg.segread(path).get_total_pixel_matrix(combine_segments=True, skip_overlap_checks=True)
    image = found.label_map()
    assert (image.space, image.spacing_known) == ("picture", (True, True, False))
    np.testing.assert_array_equal(read_all(image)[..., 0].T, expected)


def test_a_mammogram_has_no_place_in_a_patient(tmp_path: Path) -> None:
    path = write_seg(tmp_path / "seg", masks()[1:2, ..., :1], heights=[2])
    ds = pydicom.dcmread(path)
    del ds.PerFrameFunctionalGroupsSequence[0].PlanePositionSequence
    ds.save_as(path)
    image = open_seg(path).layers()
    assert image.space == "picture"
    np.testing.assert_array_equal(transposed(image), masks()[1:2, ..., 0])


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ("twice", Code.DUPLICATE_SLICE), ("unknown segment", Code.BAD_HEADER), ("fewer frames", Code.BAD_HEADER),
        ("between planes", Code.UNEVEN_SPACING), ("aside", Code.MIXED_SERIES), ("turned", Code.MIXED_SERIES),
        ("no numbers", Code.BAD_HEADER), ("kind", Code.BAD_HEADER), ("far away", Code.TOO_LARGE),
    ],
)  # fmt: skip
def test_contradictions_are_refused(tmp_path: Path, change: str, code: Code) -> None:
    path = write_seg(tmp_path / "seg", masks())
    ds = pydicom.dcmread(path)
    frames = ds.PerFrameFunctionalGroupsSequence
    place = frames[1].PlanePositionSequence[0]
    if change == "twice":
        place.ImagePositionPatient = [1, 2, 6]
        frames[1].SegmentIdentificationSequence[0].ReferencedSegmentNumber = 2
    elif change == "unknown segment":
        frames[1].SegmentIdentificationSequence[0].ReferencedSegmentNumber = 7
    elif change == "fewer frames":
        del frames[1]
    elif change == "between planes":
        place.ImagePositionPatient = [1, 2, 6.5]
    elif change == "aside":
        place.ImagePositionPatient = [4, 2, 6]
    elif change == "turned":
        frames[1].PlaneOrientationSequence = ds.SharedFunctionalGroupsSequence[0].PlaneOrientationSequence.__class__([Dataset()])
        frames[1].PlaneOrientationSequence[0].ImageOrientationPatient = [0, 1, 0, 1, 0, 0]
    elif change == "no numbers":
        ds.SegmentSequence[1].SegmentNumber = 1
    elif change == "kind":
        ds.SegmentationType = "GUESS"
    else:
        place.ImagePositionPatient = [1, 2, 2e12]
    ds.save_as(path)
    with pytest.raises(BadInputError) as caught:
        open_seg(path)
    assert caught.value.finding.code in {code, Code.BAD_AFFINE}


def test_an_image_is_no_segmentation(tmp_path: Path) -> None:
    path = write(tmp_path / "s", slice_of(ramp()))
    with pytest.raises(BadInputError) as caught:
        open_seg(path)
    assert caught.value.finding.code == Code.NOT_A_VOLUME
