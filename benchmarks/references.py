"""What our readers give of public files, beside what independent programs made of the same files.

    python benchmarks/references.py DATA [--markdown]

DATA is a folder of public images with references beside them; it is no part of this repository. One line of the table is a
family of files against one reference. The exit code is 1 when anything is neither equal nor refused as expected. What should
be refused, and with which code, is said by the tests of the readers.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import highdicom
import numpy as np
import pydicom
import pydicom.errors
import reference_lines as read
import SimpleITK
from PIL import Image
from reference_lines import Line, Seen, canonical, difference

from resources.findings import Code
from resources.readers.dicom.rtstruct import rasterise, read_rtstruct
from resources.readers.dicom.seg_grid import Grid
from resources.readers.dicom.series import DicomSeries, open_series
from resources.readers.dicom.sr import read_sr_measurements
from tests.readers.dicom.test_pixels import NO_SOUND_IMAGE, ODD
from tests.readers.dicom.test_references import MIXED_KINDS, MOSAICS, PHILIPS, PROSTATEX, REFUSED, digest, images, twin
from tests.readers.dicom.test_seg import DCMQI, PLANES, SLIDES
from tests.readers.pictures import opened, rows_columns
from tests.readers.test_czi import LIBCZI

D2N = "dicom/dicom2nifti"
JSON_ROUNDING = 5e-6
"""The list of dcm2niix's affines has five decimals."""
LOSSLESS = ("RLE", "JPLL", "J2KR")
SUFFIX = "_ground_truth.nii.gz"


def main() -> int:
    """Print the table; 1 when something is neither equal nor refused as expected."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", type=Path)
    options.add_argument("--markdown", action="store_true")
    chosen = options.parse_args()
    if not chosen.data.is_dir():
        options.error(f"{chosen.data} is no folder")
    warnings.simplefilter("ignore")
    SimpleITK.ProcessObject.GlobalWarningDisplayOff()
    lines = [line for family in FAMILIES for line in family(chosen.data)]
    met = [line for line in lines if line.looked]
    print(*read.table(met, markdown=chosen.markdown), sep="\n")
    print(*(f"not in this folder: {line.family}" for line in lines if not line.looked), sep="\n", end="")
    return int(not met or any(line.odd for line in met))


def dcm2niix(data: Path) -> Iterator[Line]:
    line = Line("DICOM series", "dcm2niix 1.0.20220720", "sha256 of all voxels; but for the list's rounding to 5 decimals")
    path = data / "reference/dcm2niix_ras.json"
    for folder, expected in json.loads(path.read_text(encoding="utf-8"))["series"].items() if path.exists() else ():
        if not (data / folder).is_dir():
            line.judge(folder, "is in the list and not there")
        for series in images(data / folder) if folder not in MIXED_KINDS else ():
            if folder == PHILIPS:
                philips(line, data, series)
                continue
            seen = line.attempt(folder, partial(read.ours_in_ras, series), REFUSED.get(folder))
            if seen is None:
                continue
            shape, voxels = list(seen.values.shape), digest(seen.values)
            same = [out for out in expected["outputs"] if out["sha256_float64_F"] == voxels and out["shape_ras"] == shape]
            affine = np.array(same[0]["affine_ras"]) if same else None
            trouble = "" if same else "no output of dcm2niix has these voxels"
            line.judge(folder, trouble or line.place(seen.affine_ras_mm, affine, shape, JSON_ROUNDING))
    yield line


def philips(line: Line, data: Path, series: DicomSeries) -> None:
    """Two volumes in a file; dcm2niix undoes a private scaling, by a factor that the file states, in single precision."""
    seen = read.ours_in_ras(series)
    frames = pydicom.dcmread(data / PHILIPS / "IM.dcm", stop_before_pixels=True).PerFrameFunctionalGroupsSequence
    trouble = ""
    for channel, name in enumerate(["Philips_WIP_B0_NS_801_e1", "Philips_WIP_B0_NS_801_e2_fieldmaphz"]):
        frame = frames[32 * channel]
        slope = frame[0x2005, 0x140F].value[0][0x2005, 0x100E].value
        factor = float(frame.PixelValueTransformationSequence[0].RescaleSlope * slope)
        theirs = canonical(read.by_nibabel(data / f"dicom/dcm_qa_enh/Ref/{name}.nii"))
        ours, expected = seen.values[..., channel], theirs.values * factor
        if not np.allclose(ours, expected, rtol=1e-6, atol=1e-5 * np.ptp(ours)):
            trouble = difference(ours, expected)
        trouble = trouble or line.place(seen.affine_ras_mm, theirs.affine_ras_mm, ours.shape)
    if trouble:
        line.judge(PHILIPS, trouble)
        return
    line.near += 1
    line.remarks.append("as stated: one Philips series, whose private scaling dcm2niix undoes in single precision (rel. 1e-6)")


def niftis_beside(data: Path) -> Iterator[Line]:
    line = Line("DICOM mosaics (dcm_qa)", "dcm2niix, Ref/*.nii")
    for folder, nifti in MOSAICS.items():
        for series in images(data / "dicom" / folder):
            line.compare(folder, partial(read.ours_in_ras, series), canonical(read.by_nibabel(data / "dicom" / nifti)))
    yield line
    line = Line("DICOM, a mosaic in five transfer syntaxes (dcm_qa_ts)", "dcm2niix, Ref/1.nii")
    for series in images(data / "dicom/dcm_qa_ts/In"):
        theirs = canonical(read.by_nibabel(data / "dicom/dcm_qa_ts/Ref/1.nii"))
        line.compare(f"series {series.number}", partial(read.ours_in_ras, series), theirs)
    yield line
    truths = Line("DICOM series (dicom2nifti)", "dicom2nifti, ground truths")
    failing = Line("DICOM series that are no volume (dicom2nifti/failing)", "its folders' names; one ground truth")
    for path in sorted((data / D2N).rglob(f"*{SUFFIX}")):
        beside = path.with_name(path.name.removesuffix(SUFFIX))
        line = failing if "failing" in path.parts else truths
        for series in images(beside):
            line.compare(beside.relative_to(data).as_posix(), partial(read.ours_in_ras, series), canonical(read.by_nibabel(path)))
    for name in REFUSED:
        for series in images(data / name):
            failing.attempt(name, partial(read.ours_in_ras, series), REFUSED[name])
    yield from (truths, failing)
    line = Line("DICOM series (ProstateX)", "picai_prep's MHA, read by SimpleITK")
    for folder, name in PROSTATEX.items():
        path = data / f"reference/picai_prep_expected/mha/ProstateX-0000_07-07-2011_{name}.mha"
        for series in images(data / "layouts/ProstateX/ProstateX-0000/07-07-2011" / folder):
            line.compare(name, partial(read.ours_in_ras, series), canonical(read.by_simpleitk(path)))
    yield line


def compressed(data: Path) -> Iterator[Line]:
    line = Line("DICOM, lossless twins (WG04: RLE, JPEG, JPEG 2000)", "pydicom, of the uncompressed originals", "pixels exactly")
    for path in sorted((data / "dicom/wg04").glob("*/*")):
        syntax, name = path.parent.name, path.name.partition("_")[0]
        if syntax in LOSSLESS:
            line.compare(path.name, partial(read.our_frames, path), Seen(read.pydicoms_frames(twin(data, name))))
        elif syntax != "REF":
            line.read += line.attempt(path.name, partial(read.our_frames, path)) is not None
    yield line
    yield odd_dicom(data)


def odd_dicom(data: Path) -> Line:
    line = Line("DICOM, single odd files (pydicom's own)", "pydicom (decoders shared); SimpleITK as a second", "pixels exactly")
    second, otherwise, decoded = 0, [], []
    for path in sorted((data / ODD).glob("*.dcm")):
        try:
            theirs = read.pydicoms_frames(pydicom.dcmread(path))
        except (pydicom.errors.InvalidDicomError, AttributeError, ValueError, RuntimeError, NotImplementedError):
            theirs = None
        seen = line.attempt(path.name, partial(read.our_frames, path), NO_SOUND_IMAGE.get(path.name))
        if seen is None:
            decoded += [path.stem] if theirs is not None else []
            continue
        itk = read.frames_first(read.by_simpleitk(path).values)
        line.judge(path.name, difference(seen.values, itk if theirs is None else theirs))
        same = not difference(seen.values, itk)
        second += same
        otherwise += [] if same else [path.stem]
    line.remarks.append(f"SimpleITK gives the same in {second}, and other values in {', '.join(otherwise) or 'none'}")
    line.remarks.append(f"of those refused pydicom decodes {', '.join(decoded) or 'none'}")
    return line


def segmentations(data: Path) -> Iterator[Line]:
    line = Line("DICOM SEG (dcmqi)", "the NRRD label maps beside them, read by SimpleITK")
    folder = data / "seg/dcmqi"
    for name, nrrd in DCMQI.items() if folder.is_dir() else ():
        line.compare(name, partial(read.our_label_map, folder / name), canonical(read.by_simpleitk(folder / nrrd)))
    yield line
    line = Line("DICOM SEG (highdicom)", "highdicom", "voxels of planes, pixels of slides' tiles put together, exactly")
    folder = data / "seg/highdicom"
    for name in PLANES if folder.is_dir() else ():
        volume = highdicom.seg.segread(folder / name).get_volume(combine_segments=False, rescale_fractional=True)
        theirs = Seen(np.asarray(volume.array)[..., 0], np.diag([-1.0, -1.0, 1.0, 1.0]) @ volume.affine)
        line.compare(name, partial(read.our_layers, folder / name), canonical(theirs))
    for name in SLIDES if folder.is_dir() else ():
        path = folder / f"seg_image_{name}.dcm"
        whole = highdicom.seg.segread(path).get_total_pixel_matrix(combine_segments=True, skip_overlap_checks=True)
        line.compare(name, partial(read.our_label_map, path), Seen(whole.T))
    yield line


def drawings(data: Path) -> Iterator[Line]:
    folder = data / "seg/rt-utils/mock_data"
    line = Line("DICOM RTSTRUCT (rt-utils, pydicom), contours", "pydicom", "all points exactly")
    for path in [*sorted(folder.glob("*rt.dcm")), *sorted((data / ODD).glob("rtstruct.dcm"))]:
        ours = [contour.points_ras_mm for roi in read_rtstruct(path).rois for contour in roi.contours]
        theirs = list(read.contours(path))
        same = len(ours) == len(theirs) and all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))
        line.judge(path.name, "" if same else "other points")
    yield line
    line = Line("DICOM RTSTRUCT (rt-utils), mask", "area between the contours that pydicom reads", "area within 3 %")
    for series in images(folder):
        image, path = open_series(series), folder / "rt.dcm"
        found = read_rtstruct(path)
        mask = rasterise(found, found.rois[0], Grid(image.affine_ras_mm, image.shape)).voxels
        outer, inner = (read.area(corners) for corners in read.contours(path))
        got = mask.sum() * abs(np.linalg.det(image.affine_ras_mm[:2, :2]))
        off = abs(got / (outer - inner) - 1)
        line.remarks.append(f"off by {off:.1%}")
        line.near += off <= 0.03
        line.odd += [] if off <= 0.03 else [f"{path.name}: an area of {got:g} mm2, not {outer - inner:g}"]
    yield line
    line = Line("DICOM SR (pydicom)", "pydicom", "how many numbers the report states")
    for path in sorted((data / ODD).glob("reportsi*.dcm")):
        numbers = sum(len(group.measurements) for group in read_sr_measurements(path).groups)
        stated = sum(bool(e.value) for e in pydicom.dcmread(path).iterall() if e.keyword == "MeasuredValueSequence")
        line.judge(path.name, "" if numbers == stated else f"{numbers} numbers, the reference has {stated}")
    yield line


VOLUMES: tuple[tuple[str, tuple[str, ...], str, Callable[[Path], Seen], str], ...] = (
    ("NIfTI, odd volumes", (".nii", ".nii.gz"), "volumes", read.by_nibabel, "nibabel"),
    ("NIfTI of the layouts and references", (".nii", ".nii.gz"), "elsewhere", read.by_nibabel, "nibabel"),
    ("MINC 1 and 2", (".mnc",), "", read.by_nibabel, "nibabel (headers shared)"),
    ("PAR/REC", (".par",), "", read.by_nibabel, "nibabel (headers shared)"),
    ("MGH, MGZ", (".mgh", ".mgz"), "", read.by_nibabel, "nibabel (headers shared)"),
    ("GIPL", (".gipl", ".gipl.gz"), "", read.by_simpleitk, "SimpleITK (shared)"),
    ("NRRD", (".nrrd",), "", read.by_simpleitk, "SimpleITK (shared)"),
    ("MetaImage", (".mha", ".mhd"), "", read.by_simpleitk, "SimpleITK (shared)"),
)
"""Family, endings, where below the folder (everywhere when empty), who reads the other side, and what the table calls it."""
NO_ORIENTATION = (".gipl", ".gipl.gz")
SHEARED = ("test.mgz",)


def volumes(data: Path) -> Iterator[Line]:
    everything = sorted(path for path in data.rglob("*") if path.is_file())
    for family, endings, where, program, reference in VOLUMES:
        line = Line(family, reference)
        for path in everything:
            inside = "volumes" if (data / "volumes") in path.parents else "elsewhere"
            if not path.name.lower().endswith(endings) or where not in ("", inside):
                continue
            theirs = program(path)
            if path.name.endswith(NO_ORIENTATION):
                line.attempt(path.name, partial(read.ours_as_stored, path), Code.ORIENTATION_UNKNOWN)
                line.compare(path.name, partial(read.ours_as_stored, path, assume_orientation="LPS"), theirs)
            else:
                line.compare(path.name, partial(read.ours_as_stored, path), theirs, Code.SHEAR if path.name in SHEARED else None)
        yield line


def arrays(data: Path) -> Iterator[Line]:
    line = Line("NPZ", "numpy")
    for path in sorted((data / "arrays").glob("*.npz")):
        with np.load(path) as known:
            for key in known.files:
                options = {"key": key, "axes": "xyz", "assume_orientation": "LIA", "spacing_mm": (1, 1, 1)}
                line.compare(f"{path.name} {key}", partial(read.ours_as_stored, path, **options), Seen(known[key]))
    yield line
    folder = data / "images2d/czi"
    line = Line("CZI, planes", "libCZI", "sha256 of the pixels (libCZI's are in tests/readers/test_czi.py)")
    for (name, key), known_hash in LIBCZI.items() if folder.is_dir() else ():
        plane = np.ascontiguousarray(rows_columns(opened(folder / name, key=key or None)))
        same = hashlib.sha256(plane.tobytes()).hexdigest()[:16] == known_hash
        line.judge(f"{name} {key}", "" if same else "other pixels")
    yield line
    line = Line("TIFF (fundus pictures)", "Pillow", "pixels exactly")
    for path in sorted((data / "layouts/DRIVE").rglob("*.tif")):
        with Image.open(path) as picture:
            line.judge(path.name, difference(rows_columns(opened(path)), np.asarray(picture)))
    yield line


def statistics(data: Path) -> Iterator[Line]:
    line = Line("NIfTI masks and CT (TotalSegmentator)", "its statistics", "volume within 1e-5 of it, mean within 0.01 HU")
    path, folder = data / "reference/totalsegmentator/s0001_statistics.json", data / "layouts/TotalSegmentator/s0001"
    if path.exists() and folder.is_dir():
        ct, most, empty = read.ours_as_stored(folder / "ct.nii.gz").values, 0.0, 0
        for name, told in json.loads(path.read_text(encoding="utf-8")).items():
            seen = read.ours_as_stored(folder / f"segmentations/{name}.nii.gz")
            inside, affine = seen.values > 0, np.asarray(seen.affine_ras_mm)
            volume = inside.sum() * abs(np.linalg.det(affine[:3, :3]))
            mean = ct[inside].mean() if inside.any() else told["intensity"]
            empty += not inside.any()
            most = max(most, abs(mean - told["intensity"]))
            same = abs(volume - told["volume"]) <= 1e-5 * told["volume"] and abs(mean - told["intensity"]) <= 0.01
            line.near += same
            line.odd += [] if same else [f"{name}: {volume:g} mm3 and {mean:g} HU, the reference has {told}"]
        line.remarks.append(f"farthest mean {most:.1e} HU; {empty} masks are empty on both sides")
    yield line


FAMILIES = (dcm2niix, niftis_beside, compressed, segmentations, drawings, volumes, arrays, statistics)
if __name__ == "__main__":
    sys.exit(main())
