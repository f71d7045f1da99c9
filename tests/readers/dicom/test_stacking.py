from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydicom.dataset import Dataset
from pydicom.uid import ImplicitVRLittleEndian

from resources.findings import BadInputError, Code, Severity
from resources.readers.dicom.planes import Placement, Plane
from resources.readers.dicom.series import open_series, scan_folder
from resources.readers.dicom.stacking import stack
from tests.readers.dicom.makers import (
    COLUMNS,
    ROWS,
    file_bytes,
    in_ras,
    only,
    opened,
    ramp,
    scan,
    series_refusal,
    slice_of,
    uid,
    write,
    write_stack,
)
from tests.readers.makers import codes, read_all


def rotation(seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A proper rotation; columns are the directions of the voxel axes in LPS."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q[:, [1, 0, 2]]


def planes(axes: Any, origin: Any, spacing: tuple[float, float], heights: Any, **more: Any) -> list[Plane]:
    return [
        Plane(
            f"f{number}",
            0,
            placement=Placement(tuple(origin + height * axes[:, 2]), tuple(axes[:, 0]), tuple(axes[:, 1]), spacing),
            **more,
        )
        for number, height in enumerate(heights)
    ]


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, 12),
    step=st.floats(0.1, 9),
    spacing=st.tuples(st.floats(0.05, 4), st.floats(0.05, 4)),
)
def test_any_grid_in_any_order_gives_its_affine(seed: int, count: int, step: float, spacing: tuple[float, float]) -> None:
    random = np.random.default_rng(seed)
    axes, origin = rotation(seed), random.normal(size=3) * 100
    shuffled = random.permutation(count)
    found = stack(planes(axes, origin, spacing, shuffled * step), "s")
    expected = np.eye(4)
    expected[:3, :3] = axes * [*spacing, step]
    expected[:3, 3] = origin
    np.testing.assert_allclose(found.affine, np.diag([-1, -1, 1, 1]) @ expected, atol=1e-6)
    assert [plane.file for plane in found.volumes[0]] == [f"f{place}" for place in np.argsort(shuffled)]
    assert found.findings == ()


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(4, 12), step=st.floats(0.3, 9), gone=st.integers(1, 2), data=st.data())
def test_a_gap_of_whole_slices_is_never_taken(seed: int, count: int, step: float, gone: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(1, count - 1))
    heights = [k * step for k in range(count + gone) if not first <= k < first + gone]
    with pytest.raises(BadInputError) as caught:
        stack(planes(rotation(seed), np.zeros(3), (1.0, 1.0), heights), "s")
    assert caught.value.finding.code in {Code.MISSING_SLICE, Code.UNEVEN_SPACING}
    if count >= 5:
        assert caught.value.finding.code == Code.MISSING_SLICE
        assert f"{gone} of {count + gone} slices missing" in str(caught.value)


@given(seed=st.integers(0, 2**32 - 1), tilt=st.floats(1.5, 40), side=st.sampled_from([-1, 1]))
def test_tilt_is_told_from_positions_and_orientation(seed: int, tilt: float, side: int) -> None:
    axes = rotation(seed)
    slant = np.tan(np.radians(tilt)) * side
    tilted = [
        Plane(
            "f",
            0,
            placement=Placement(tuple(k * 3 * (axes[:, 2] + slant * axes[:, 1])), tuple(axes[:, 0]), tuple(axes[:, 1]), (1, 1)),
        )
        for k in range(5)
    ]
    with pytest.raises(BadInputError) as caught:
        stack(tilted, "s")
    assert caught.value.finding.code == Code.GANTRY_TILT
    assert f"{tilt:.2f} degrees" in str(caught.value)


def test_a_tilt_of_rounding_size_is_taken_with_a_warning() -> None:
    slant = np.tan(np.radians(0.5))
    found = stack([Plane("f", 0, placement=Placement((0, k * slant, k), (1, 0, 0), (0, 1, 0), (1, 1))) for k in range(5)], "s")
    assert found.affine[1, 2] == pytest.approx(-slant)


def test_the_nominal_tilt_does_not_count(tmp_path: Path) -> None:
    image = opened(write_stack(tmp_path, [0, 2, 4], GantryDetectorTilt=15.0))
    assert codes(image) == set()


@pytest.mark.parametrize(("rounded", "said"), [(3, set()), (2, {Code.UNEVEN_SPACING})])
def test_rounded_positions_are_taken(tmp_path: Path, rounded: int, said: set[Code]) -> None:
    heights = [round(k * 0.4142, rounded) for k in range(12)]
    image = opened(write_stack(tmp_path, heights))
    assert all(finding.severity == Severity.WARNING for finding in image.findings)
    assert codes(image) <= said
    assert np.linalg.norm(image.affine_ras_mm[:3, 2]) == pytest.approx(0.4142, abs=1e-3)


def test_names_and_instance_numbers_do_not_count(tmp_path: Path) -> None:
    heights = {"b": 4.0, "z": 0.0, "a.txt": 2.0, "000": 6.0}
    for number, (name, height) in enumerate(heights.items()):
        write(tmp_path / name, slice_of(ramp(int(height)), (0, 0, height), number=50 - number))
    image = opened(tmp_path)
    assert read_all(image)[0, 0].tolist() == [0, 512, 1024, 1536]
    assert image.affine_ras_mm.tolist() == [[-0.5, 0, 0, 0], [0, -0.75, 0, 0], [0, 0, 2, 0], [0, 0, 0, 1]]
    assert image.shape == (COLUMNS, ROWS, 4)
    assert [source.path.name for source in image.sources] == sorted(heights)


def test_two_series_in_one_folder_are_two(tmp_path: Path) -> None:
    write_stack(tmp_path, [0, 2, 4], series=1, prefix="a")
    write_stack(tmp_path, [0, 3, 6, 9], series=2, prefix="b", SeriesNumber=1)
    found = scan(tmp_path)
    assert [(series.uid, series.shape) for series in found] == [(uid(1), (5, 4, 3)), (uid(2), (5, 4, 4))]
    assert [series.description for series in found] == ["series 1", "series 2"]


def test_series_that_share_a_uid_are_told_by_number_modality_and_kind(tmp_path: Path) -> None:
    write_stack(tmp_path, [0, 2, 4], prefix="a")
    write_stack(tmp_path, [0, 2, 4], prefix="b", SeriesNumber=8)
    write_stack(tmp_path, [0, 2, 4], prefix="c", Modality="MR")
    assert [series.shape for series in scan(tmp_path)] == [(5, 4, 3)] * 3


def test_a_byte_for_byte_copy_is_left_out_with_a_warning(tmp_path: Path) -> None:
    write_stack(tmp_path, [0, 2, 4])
    (tmp_path / "t.dcm").write_bytes((tmp_path / "s001.dcm").read_bytes())
    image = opened(tmp_path)
    assert image.shape == (5, 4, 3)
    (said,) = image.findings
    assert (said.code, said.severity, said.file) == (Code.DUPLICATE_SLICE, Severity.WARNING, "t.dcm")
    assert "s001.dcm" in said.detail


def test_two_versions_of_one_object_are_refused(tmp_path: Path) -> None:
    write_stack(tmp_path, [0, 2, 4])
    write(tmp_path / "t.dcm", slice_of(ramp(7), (1, 2, 2), number=2))
    finding = series_refusal(tmp_path)
    assert (finding.code, finding.file) == (Code.DUPLICATE_SLICE, "t.dcm")


def test_one_place_taken_twice_is_refused(tmp_path: Path) -> None:
    write_stack(tmp_path, [0, 2, 4])
    write(tmp_path / "t.dcm", slice_of(ramp(7), (1, 2, 2), number=9))
    finding = series_refusal(tmp_path)
    assert finding.code == Code.DUPLICATE_SLICE
    assert "position at 2 mm" in finding.detail


def test_an_incomplete_last_volume_is_refused(tmp_path: Path) -> None:
    for time in range(3):
        for k in range(4 - (time == 2)):
            number = time * 4 + k + 1
            write(tmp_path / f"{number}", slice_of(ramp(k), (0, 0, k), number=number, TemporalPositionIdentifier=time + 1))
    finding = series_refusal(tmp_path)
    assert finding.code == Code.MISSING_SLICE
    assert "has 2 images" in finding.detail


@pytest.mark.parametrize(
    ("mark", "values", "axis"),
    [
        ("TemporalPositionIdentifier", [1, 2, 3], "time"),
        ("AcquisitionNumber", [4, 5, 6], "time"),
        ("EchoTime", [2.3, 4.6, 9.2], "channel"),
        ("DiffusionBValue", [0.0, 500.0, 1000.0], "channel"),
        ("ImageType", [["ORIGINAL", "PRIMARY", kind] for kind in "MPR"], "channel"),
        (None, [0, 0, 0], "time"),
    ],
)
def test_repeated_slices_are_a_fourth_axis(tmp_path: Path, mark: str | None, values: list[Any], axis: str) -> None:
    """Instance numbers run through the slices first; names are shuffled."""
    for volume in range(3):
        for k in range(4):
            number = volume * 4 + k + 1
            more = {mark: values[volume]} if mark else {}
            write(tmp_path / f"{number * 7 % 13:02}", slice_of(ramp(k) + 1000 * volume, (0, 0, 2 * k), number=number, **more))
    image = opened(tmp_path)
    assert (image.shape, image.n_channels, image.fourth_axis) == ((5, 4, 4), 3, axis)
    values_read, _ = in_ras(image)
    expected = np.stack([np.stack([ramp(k)[::-1, ::-1].T for k in range(4)], -1) + 1000 * volume for volume in range(3)], -1)
    np.testing.assert_array_equal(values_read, expected)
    assert len(image.sources) == 12


def test_a_film_of_one_slice_needs_times(tmp_path: Path) -> None:
    for number in range(1, 5):
        write(tmp_path / "told" / f"{number}", slice_of(ramp(number), (0, 0, 0), number=number, TriggerTime=30.0 * number))
        write(tmp_path / "not" / f"{number}", slice_of(ramp(number), (0, 0, 0), number=number, AcquisitionNumber=number))
    image = opened(tmp_path / "told")
    assert (image.shape, image.n_channels, image.fourth_axis) == ((5, 4, 1), 4, "time")
    assert read_all(image)[0, 0, 0].tolist() == [256, 512, 768, 1024]
    assert series_refusal(tmp_path / "not").code == Code.DUPLICATE_SLICE


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"ImageOrientationPatient": [0, 1, 0, 0, 0, -1]}, "orientations differ"),
        ({"PixelSpacing": [0.75, 0.6]}, "pixel spacings differ"),
        ({"ImagePositionPatient": [40, 2, 4]}, "one plane"),
        ({"ImagePositionPatient": None}, "no position"),
    ],
)
def test_mixed_series_are_refused(tmp_path: Path, change: dict[str, Any], word: str) -> None:
    write_stack(tmp_path, [0, 2, 4, 6])
    write(tmp_path / "odd", slice_of(ramp(9), (1, 2, 8), number=9, **change))
    finding = series_refusal(tmp_path)
    assert finding.code == Code.MIXED_SERIES
    assert word in finding.detail


def test_pictures_of_another_size_are_refused(tmp_path: Path) -> None:
    write_stack(tmp_path, [0, 2, 4])
    write(tmp_path / "scout", slice_of(ramp(columns=9), (1, 2, 6), number=9))
    finding = series_refusal(tmp_path)
    assert finding.code == Code.MIXED_SERIES
    assert "3 of 5 x 4 MONOCHROME2, 1 of 9 x 4 MONOCHROME2" in finding.detail


def test_pictures_without_a_place_are_no_volume(tmp_path: Path) -> None:
    for number in (1, 2):
        write(tmp_path / f"{number}", slice_of(ramp(number), None, number=number, Modality="CR"))
    assert series_refusal(tmp_path).code == Code.NOT_A_VOLUME


def test_a_single_slice_takes_its_thickness_and_invents_none(tmp_path: Path) -> None:
    write(tmp_path / "a" / "s", slice_of(ramp(), (0, 0, 0), SliceThickness=4.0))
    write(tmp_path / "b" / "s", slice_of(ramp(), (0, 0, 0)))
    thick, flat = opened(tmp_path / "a"), opened(tmp_path / "b")
    assert (thick.affine_ras_mm[2, 2], thick.spacing_known) == (4, (True, True, True))
    assert flat.spacing_known == (True, True, False)


def test_files_without_preamble_or_ending_are_read(tmp_path: Path) -> None:
    write_stack(tmp_path, [0, 2])
    write(tmp_path / "export_17", slice_of(ramp(2), (1, 2, 4), number=3), preamble=False)
    write(tmp_path / "IM", slice_of(ramp(3), (1, 2, 6), number=4), ImplicitVRLittleEndian, preamble=False)
    (tmp_path / "notes.txt").write_text("not one of them", encoding="utf-8")
    series = only(tmp_path)
    assert series.shape == (5, 4, 4)
    assert read_all(open_series(series))[0, 0].tolist() == [0, 256, 512, 768]


def test_a_damaged_file_is_a_series_of_its_own_and_its_slice_is_missed(tmp_path: Path) -> None:
    write_stack(tmp_path, [0, 2, 4, 6, 8])
    (tmp_path / "s002.dcm").write_bytes(b"")
    good, bad = sorted(scan(tmp_path), key=lambda series: series.kind)
    assert (bad.kind, bad.files) == ("unreadable", ("s002.dcm",))
    assert bad.refusal is not None
    assert bad.refusal.code == Code.EMPTY_FILE
    assert good.refusal is not None
    assert good.refusal.code == Code.MISSING_SLICE
    with pytest.raises(BadInputError):
        open_series(bad)


def test_no_word_about_the_patient_leaves_the_reader(tmp_path: Path) -> None:
    write_stack(tmp_path, [0, 2, 4])
    names = [path.name for path in tmp_path.iterdir()]
    (series,) = scan_folder(tmp_path, names)
    image = open_series(series)
    told = repr(series) + repr(image) + repr([repr(part) for part in series.parts])
    assert not [secret for secret in ("Secret", "1950", "2020", "P-17") if secret in told]
    assert series.patient_id == ""
    (asked,) = scan_folder(tmp_path, names, with_patient_id=True)
    assert asked.patient_id == "P-17"


def test_slabs_are_cut_anywhere_and_reading_twice_is_reading_once(tmp_path: Path) -> None:
    image = opened(write_stack(tmp_path, [0, 2, 4, 6, 8]))
    whole = read_all(image, step=5)
    np.testing.assert_array_equal(read_all(image, step=2), whole)
    assert len(image.sources) == 5


def test_a_file_that_changes_between_header_and_voxels_is_refused(tmp_path: Path) -> None:
    image = opened(write_stack(tmp_path, [0, 2, 4]))
    content = bytearray((tmp_path / "s001.dcm").read_bytes())
    (tmp_path / "s001.dcm").write_bytes(content + b"\0\0")
    with pytest.raises(BadInputError) as caught:
        read_all(image)
    assert (caught.value.finding.code, caught.value.finding.file) == (Code.FILE_CHANGED, "s001.dcm")


def nuclear(between: float) -> Dataset:
    ds = slice_of(np.stack([ramp(k) for k in range(4)]).reshape(16, COLUMNS), None, Modality="NM", SpacingBetweenSlices=between)
    ds.SOPClassUID = "1.2.840.10008.5.1.4.1.1.20"
    ds.ImageType = ["ORIGINAL", "PRIMARY", "RECON TOMO", "EMISSION"]
    ds.Rows, ds.NumberOfFrames = ROWS, 4
    detector = Dataset()
    detector.ImagePositionPatient, detector.ImageOrientationPatient = [1, 2, 30], [1, 0, 0, 0, 1, 0]
    ds.DetectorInformationSequence = [detector]
    return ds


@pytest.mark.parametrize(("between", "first"), [(2.5, 30.0), (-2.5, 22.5)])
def test_nuclear_slices_are_counted_against_the_normal_where_their_spacing_is_negative(
    tmp_path: Path, between: float, first: float
) -> None:
    (tmp_path / "nm").write_bytes(file_bytes(nuclear(between)))
    image = opened(tmp_path)
    assert image.affine_ras_mm[2].tolist() == [0, 0, 2.5, first]
    order = [0, 256, 512, 768]
    assert read_all(image)[0, 0].tolist() == (order if between > 0 else order[::-1])
