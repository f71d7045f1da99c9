"""What our readers make of public files, against what independent programs made of them: equal, refused with a code, or neither.

    python benchmarks/references.py DATA [--markdown]

DATA holds series, volumes and pictures with known answers, laid out as the tests know it. Values are equal when every voxel is
(where a scale is applied, to 1e-6 of it), places when no element of the affine differs by 1e-3 mm. The exit code is 1 when
something is neither equal nor refused.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import highdicom
import nibabel as nib
import numpy as np
import numpy.typing as npt
import pydicom
import SimpleITK

from resources.findings import BadInputError
from resources.readers.dicom.seg import open_seg
from resources.readers.dicom.series import DicomSeries, open_series
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from tests.readers.dicom.makers import in_ras
from tests.readers.dicom.test_references import PHILIPS, canonical, digest, images, twin
from tests.readers.makers import read_all
from tests.readers.pictures import collect, rows_columns
from tests.readers.test_czi import LIBCZI

Array = npt.NDArray[Any]
Case = Callable[[], float]
"""Compares one file or series: the largest difference of the affines in mm, NaN without places.

Raises `DiffersError`, or `BadInputError` where our reader refuses it.
"""

AFFINE_MM = 1e-3
PROSTATEX = {
    "3.000000-t2tsesag-87368": "sag",
    "5.000000-t2tsecor-03471": "cor",
    "7.000000-ep2ddifftraDYNDISTADC-48780": "adc",
    "8.000000-ep2ddifftraDYNDISTCALCBVAL-83202": "hbv",
}
NIBABEL = (".nii", ".nii.gz", ".mnc", ".mgz", ".PAR")
ITK = (".mha", ".mhd", ".nrrd", ".gipl", ".gipl.gz")


class DiffersError(Exception):
    """Ours is neither equal nor refused; says where."""


class NoAnswerError(Exception):
    """The reference cannot read it."""


@dataclass
class Row:
    """One line of the table."""

    what: str
    reference: str
    equal: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    differs: list[str] = field(default_factory=list)
    unanswered: int = 0
    largest_mm: float = float("nan")

    def add(self, name: str, case: Case) -> None:
        try:
            self.largest_mm = float(np.fmax(self.largest_mm, case()))
            self.equal += 1
        except BadInputError as error:
            self.refused[error.finding.code.value] += 1
        except DiffersError as error:
            self.differs.append(f"{name}: {error}")
        except NoAnswerError:
            self.unanswered += 1


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", type=Path)
    options.add_argument("--markdown", action="store_true")
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for what, reference, cases in FAMILIES:
        row = Row(what, reference)
        for name, case in cases(chosen.data):
            row.add(name, case)
        rows.append(row)
        print(_line(row, markdown=chosen.markdown), flush=True)
    for row in rows:
        for text in row.differs:
            print(f"DIFFERS {row.what}: {text}")
    n_equal, n_refused = sum(row.equal for row in rows), sum(row.refused.total() for row in rows)
    n_other = sum(len(row.differs) for row in rows)
    print(f"{n_equal} equal, {n_refused} refused, {n_other} neither")
    return 1 if n_other or not n_equal else 0


def _line(row: Row, *, markdown: bool) -> str:
    codes = ", ".join(f"{count} {code}" for code, count in sorted(row.refused.items())) or "-"
    place = "-" if np.isnan(row.largest_mm) else f"{row.largest_mm:.1g} mm"
    codes += f"; {row.unanswered} that the reference cannot read" if row.unanswered else ""
    cells = (row.what, row.reference, str(row.equal), codes, str(len(row.differs)), place)
    if markdown:
        return f"| {' | '.join(cells)} |"
    return f"{cells[0]:42} {cells[1]:30} equal {cells[2]:>3}  refused {cells[3]}; neither {cells[4]}; affines within {cells[5]}"


def same(ours: Array, theirs: Array, *, scaled: bool = False) -> None:
    if ours.shape != theirs.shape:
        raise DiffersError(f"shape {ours.shape}, {theirs.shape} by the reference")
    close = np.isclose(ours, theirs, rtol=1e-6, atol=0, equal_nan=True) if scaled else ours == theirs
    if not np.all(close):
        raise DiffersError(f"{np.count_nonzero(~np.asarray(close))} of {close.size} values")


def place(ours: Array, theirs: Array) -> float:
    largest = float(np.abs(np.asarray(ours) - np.asarray(theirs)).max())
    if largest > AFFINE_MM:
        raise DiffersError(f"affines by {largest:.3g} mm")
    return largest


def dcm2niix(data: Path) -> Iterator[tuple[str, Case]]:
    reference = json.loads((data / "reference/dcm2niix_ras.json").read_text(encoding="utf-8"))["series"]

    def compared(series: DicomSeries, outputs: Any) -> float:
        values, affine = in_ras(open_series(series))
        alike = [out for out in outputs if out["sha256_float64_F"] == digest(values)]
        if not alike:
            raise DiffersError("no output of dcm2niix has these voxels")
        return place(affine, np.array(alike[0]["affine_ras"]))

    for folder, expected in reference.items():
        if folder != PHILIPS:
            for series in images(data / folder):
                yield folder, partial(compared, series, expected["outputs"])


def philips(data: Path) -> Iterator[tuple[str, Case]]:
    path = data / PHILIPS / "IM.dcm"

    def compared(channel: int, name: str) -> float:
        values, affine = in_ras(open_image(path))
        expected, expected_affine = canonical(data / f"dicom/dcm_qa_enh/Ref/{name}.nii")
        frame = pydicom.dcmread(path, stop_before_pixels=True).PerFrameFunctionalGroupsSequence[32 * channel]
        private = frame[0x2005, 0x140F].value[0][0x2005, 0x100E].value
        factor = float(frame.PixelValueTransformationSequence[0].RescaleSlope * private)
        if not np.allclose(values[..., channel], expected * factor, rtol=1e-6, atol=1e-5 * np.ptp(values[..., channel])):
            raise DiffersError("values beyond the private factor")
        return place(affine, expected_affine)

    for channel, name in enumerate(["Philips_WIP_B0_NS_801_e1", "Philips_WIP_B0_NS_801_e2_fieldmaphz"]):
        yield name, partial(compared, channel, name)


def ground_truths(data: Path) -> Iterator[tuple[str, Case]]:
    def truth_of(series: DicomSeries, truth: Path) -> float:
        values, affine = in_ras(open_series(series))
        expected, expected_affine = canonical(truth)
        same(values, expected)
        return place(affine, expected_affine)

    for truth in sorted((data / "dicom/dicom2nifti").rglob("*_ground_truth.nii.gz")):
        folder = truth.with_name(truth.name.removesuffix("_ground_truth.nii.gz"))
        for series in images(folder) if folder.is_dir() else ():
            yield folder.name, partial(truth_of, series, truth)


def prostatex(data: Path) -> Iterator[tuple[str, Case]]:
    def compared(folder: Path, name: str) -> float:
        (series,) = images(folder)
        theirs = SimpleITK.DICOMOrient(
            SimpleITK.ReadImage(str(data / f"reference/picai_prep_expected/mha/ProstateX-0000_07-07-2011_{name}.mha")), "RAS"
        )
        values, affine = in_ras(open_series(series))
        same(values, SimpleITK.GetArrayFromImage(theirs).T)
        return place(affine, itk_affine(theirs))

    for folder, name in PROSTATEX.items():
        path = data / "layouts/ProstateX/ProstateX-0000/07-07-2011" / folder
        yield name, partial(compared, path, name)


def itk_affine(image: SimpleITK.Image) -> Array:
    """Of an image in LPS, in RAS+."""
    affine = np.eye(4)
    affine[:3, :3] = np.reshape(image.GetDirection(), (3, 3)) * image.GetSpacing()
    affine[:3, 3] = image.GetOrigin()
    return np.diag([-1.0, -1.0, 1.0, 1.0]) @ affine


def compressed(*syntaxes: str) -> Callable[[Path], Iterator[tuple[str, Case]]]:
    def compared(path: Path, data: Path, name: str) -> float:
        original = twin(data, name)
        stored = original.pixel_array * float(original.get("RescaleSlope", 1)) + float(original.get("RescaleIntercept", 0))
        same(np.swapaxes(read_all(open_image(path))[:, :, 0], 0, 1), stored, scaled=True)
        return float("nan")

    def cases(data: Path) -> Iterator[tuple[str, Case]]:
        for syntax in syntaxes:
            for path in sorted((data / "dicom/wg04" / syntax).iterdir()):
                name = path.name.removesuffix(f"_{syntax}")
                if (data / f"dicom/wg04/REF/{name}_UNC.zst").exists():
                    yield path.name, partial(compared, path, data, name)

    return cases


def segmentations(data: Path) -> Iterator[tuple[str, Case]]:
    def with_nrrd(seg: Path, nrrd: Path) -> float:
        found, theirs = open_seg(seg), SimpleITK.ReadImage(str(nrrd))
        same(read_all(found.label_map()), SimpleITK.GetArrayFromImage(theirs).T)
        return place(found.affine_ras_mm, itk_affine(theirs))

    def slides(path: Path) -> float:
        expected = highdicom.seg.segread(path).get_total_pixel_matrix(combine_segments=True, skip_overlap_checks=True)
        same(read_all(open_seg(path).label_map())[..., 0].T, expected)
        return float("nan")

    folder = data / "seg/dcmqi"
    for seg, nrrd in (("liver.dcm", "liver_seg.nrrd"), ("23x38x3/seg/label.seg", "23x38x3/nrrd/label.nrrd")):
        yield seg, partial(with_nrrd, folder / seg, folder / nrrd)
    for path in sorted((data / "seg/highdicom").glob("seg_image_sm_*.dcm")):
        yield path.name, partial(slides, path)


def odd_dicom(data: Path) -> Iterator[tuple[str, Case]]:
    """Grey files; of colours pydicom gives what is stored, and we what is seen."""

    def compared(path: Path) -> float:
        values = read_all(open_image(path))
        ds = pydicom.dcmread(path, force=True)
        try:
            stored = ds.pixel_array.astype(np.float64)
        except (RuntimeError, AttributeError, ValueError, NotImplementedError) as error:
            raise NoAnswerError(str(error)) from error
        scale = float(ds.get("RescaleSlope", ds.get("DoseGridScaling", 1)))
        values = np.moveaxis(values, (0, 1, 2), (2, 1, 0))
        same(values, stored.reshape(values.shape) * scale + float(ds.get("RescaleIntercept", 0)), scaled=True)
        return float("nan")

    for path in sorted((data / "dicom/pydicom_test_files").glob("*.dcm")):
        header = pydicom.dcmread(path, force=True, stop_before_pixels=True, specific_tags=["PhotometricInterpretation"])
        if header.get("PhotometricInterpretation", "MONOCHROME2").startswith("MONOCHROME"):
            yield path.name, partial(compared, path)


def with_nibabel(data: Path) -> Iterator[tuple[str, Case]]:
    def compared(path: Path) -> float:
        image = open_image(path)
        ours, theirs = collect(image, 32), nib.load(path, mmap=False)
        expected = np.asarray(theirs.get_fdata()).astype(ours.dtype)
        same(ours, expected.reshape(ours.shape), scaled=True)
        return place(image.affine_ras_mm, theirs.affine)

    for path in _files(data, NIBABEL):
        yield path.name, partial(compared, path)


def with_itk(data: Path) -> Iterator[tuple[str, Case]]:
    def compared(path: Path) -> float:
        image, theirs = open_image(path, options=ReadOptions("LPS")), SimpleITK.ReadImage(str(path))
        same(read_all(image), SimpleITK.GetArrayFromImage(theirs).T)
        return place(image.affine_ras_mm, itk_affine(theirs))

    for path in _files(data, ITK):
        yield path.name, partial(compared, path)


def _files(data: Path, endings: tuple[str, ...]) -> list[Path]:
    return sorted(path for path in (data / "volumes").rglob("*") if path.name.endswith(endings))


def npz(data: Path) -> Iterator[tuple[str, Case]]:
    def compared(path: Path, key: str) -> float:
        options = ReadOptions("LIA", key=key, axes="xyz", spacing_mm=(1, 1, 1))
        with np.load(path) as known:
            same(collect(open_image(path, options=options), 32)[..., 0], known[key])
        return float("nan")

    for path in sorted((data / "arrays").glob("*.npz")):
        with np.load(path) as known:
            for key in known.files:
                yield f"{path.name}/{key}", partial(compared, path, key)


def czi(data: Path) -> Iterator[tuple[str, Case]]:
    def compared(name: str, key: str) -> float:
        image = open_image(data / "images2d/czi" / name, options=ReadOptions(key=key or None))
        plane = np.ascontiguousarray(rows_columns(image))
        if hashlib.sha256(plane.tobytes()).hexdigest()[:16] != LIBCZI[name, key]:
            raise DiffersError(f"the plane {key!r}")
        return float("nan")

    for name, key in LIBCZI:
        yield f"{name} {key}", partial(compared, name, key)


FAMILIES: tuple[tuple[str, str, Callable[[Path], Iterator[tuple[str, Case]]]], ...] = (
    ("DICOM series", "dcm2niix", dcm2niix),
    ("DICOM enhanced, private scale undone", "dcm2niix", philips),
    ("DICOM series", "truths of dicom2nifti", ground_truths),
    ("DICOM series", "picai_prep (MHA)", prostatex),
    ("DICOM RLE, JPEG lossless, JPEG 2000", "uncompressed twins (WG04)", compressed("RLE", "JPLL", "J2KR")),
    ("DICOM SEG", "NRRD twins, highdicom", segmentations),
    ("DICOM, odd files in grey", "pydicom", odd_dicom),
    ("NIfTI, MINC, MGH, PAR/REC", "nibabel", with_nibabel),
    ("MetaImage, NRRD, GIPL", "SimpleITK", with_itk),
    ("NPZ", "NumPy", npz),
    ("CZI planes", "libczi", czi),
)

if __name__ == "__main__":
    sys.exit(main())
