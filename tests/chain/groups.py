"""The shared trouble cases, arranged as raw folders of small datasets: one subject a case, the files' names kept."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assets.spec import DatasetSpec
from tests.chain.product import spec_of

KINDS = (
    "orientations",
    "nii_form_codes",
    "nii_shear",
    "nii_units",
    "image_label_geometry",
    "label_values",
    "nii_scaling",
    "lesion_components",
    "nii_dims_dtypes",
    "corrupt_files",
    "junk_files",
    "ellipse_anisotropic",
    "zarr_half_written",
)

_FOLDER = {"image": "image", "partner": "image", "sidecar": "image", "label": "label"}
"""Where in a subject's folder an input of a case is put; other inputs are no raw files."""


@dataclass(frozen=True)
class Cases:
    """What the shared program made.

    Attributes:
        folder: One folder a kind.
        kinds: Kind -> case id -> the case, its expectation included.
    """

    folder: Path
    kinds: Mapping[str, Mapping[str, dict[str, Any]]]


def make_cases(program: Path, folder: Path) -> None:
    """Run the shared program."""
    command = [sys.executable, str(program / "make_cases.py"), "--out", str(folder), "--only", *KINDS]
    subprocess.run(command, check=True, capture_output=True, cwd=program)


def made_cases(folder: Path) -> Cases:
    """What it made."""
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["kinds"]
    return Cases(folder, {kind: {case["id"]: case for case in made["cases"]} for kind, made in expected.items()})


@dataclass(frozen=True)
class Group:
    """Cases that one dataset spec suits.

    Attributes:
        kind: Kind of the cases.
        ids: The cases.
        labels: Label ids and names; none for a dataset without label maps.
        lesions: Ids whose sizes are wanted.
        series: As in a spec.
        source: What the spec says of the label map's file beyond its path.
        ignore: As in a spec.
        image: The image that goes with cases which have none.
    """

    kind: str
    ids: tuple[str, ...]
    labels: Mapping[int, str] = field(default_factory=lambda: {1: "organ"})
    lesions: tuple[int, ...] = ()
    series: Mapping[str, Any] = field(default_factory=lambda: {"img": "{subject}/image/*"})
    source: Mapping[str, Any] = field(default_factory=dict)
    ignore: Mapping[str, str] = field(default_factory=dict)
    image: str = ""

    def spec(self, slug: str) -> DatasetSpec:
        """The dataset's spec."""
        layout: dict[str, Any] = {"subject": "[^/]+", "series": self.series, "ignore": self.ignore}
        if self.labels:
            layout["labels"] = {"seg": {"path": "{subject}/label/*", **self.source}}
        return spec_of(slug, layout, self.labels, lesions=self.lesions)

    def inputs(self, case: Mapping[str, Any]) -> dict[str, str]:
        """Path in the dataset's raw folder -> name of the file in the folder of the cases."""
        inputs = {"image": self.image, **case["inputs"]}
        names = {role: inputs[role] for role in _FOLDER if inputs.get(role)}
        return {f"{case['id']}/{_FOLDER[role]}/{name}": name for role, name in names.items()}

    def fill(self, raw: Path, cases: Cases) -> None:
        """Copy the cases' files into a raw folder."""
        for id_ in self.ids:
            for path, name in self.inputs(cases.kinds[self.kind][id_]).items():
                (raw / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(cases.folder / self.kind / name, raw / path)


CHANNELS = ("FLAIR", "T1w", "T1gd", "T2w")

_CODES = ("RAS", "LPS", "LAS", "PIR", "ASL", "SAR", "IPL", "RSP")
_REFUSED_LABELS = ("interpolated", "unexpected_id", "image_in_label_folder", "negative_ignore")
_STATED = {"path": "{subject}/image/*", "assume_orientation": "LPS"}

GROUPS: dict[str, Group] = {
    "orientations": Group("orientations", (*_CODES, "itk_mha", "itk_nrrd", "oblique")),
    "pair": Group("orientations", ("hdr_img_pair",), labels={}, series={"img": "{subject}/image/*.hdr"}),
    "forms": Group(
        "nii_form_codes",
        ("sform_without_scale", "both_codes_zero", "qform_only_left_handed", "pixdim_zero", "identity_affine_suspicious"),
    ),
    "stated": Group(
        "nii_form_codes", ("both_codes_zero",), series={"img": _STATED}, source={"assume_orientation": "LPS"}
    ),
    "shear": Group("nii_shear", ("rounding_shear", "gantry_tilt_15", "oblique_is_not_shear")),
    "units": Group("nii_units", ("micron", "metre", "mm", "unknown")),
    "geometry": Group(
        "image_label_geometry",
        (
            "float_jitter", "one_slice_short", "other_axis_order", "label_identity_affine", "no_overlap", "label_of_other_scan",
            "half_voxel", "cropped_same_grid",
        ),
    ),
    "label_values": Group(
        "label_values", ("float_whole", "float_noise", *_REFUSED_LABELS, "class_absent"), {1: "organ", 2: "tumour"}
    ),
    "brats_2021": Group("label_values", ("brats_2021_ids",), {1: "necrosis", 2: "oedema", 4: "enhancing"}),
    "brats_2023": Group("label_values", ("brats_2023_ids",), {1: "necrosis", 2: "oedema", 3: "enhancing"}),
    "scaling": Group(
        "nii_scaling",
        ("slope_zero", "slope_nan", "slope_2_inter_-1024", "slope_zero_inter_set", "needs_more_than_int16"),
        labels={},
    ),
    "label_slope": Group("nii_scaling", ("label_with_slope",), {1: "organ", 2: "tumour"}, image="slope0.nii.gz"),
    "lesions": Group(
        "lesion_components",
        ("empty", "one_voxel", "line", "two_lesions", "corner_touch", "cut_by_border"),
        {1: "lesion"},
        (1,),
    ),
    "dims": Group(
        "nii_dims_dtypes",
        ("trailing_1", "trailing_1_1", "time_series", "int64", "uint64", "float64", "big_endian", "rgb24", "two_d"),
    ),
    "channels": Group(
        "nii_dims_dtypes",
        ("four_channels",),
        series={"path": "{subject}/image/*.nii.gz", "split_last_axis": list(CHANNELS)},
        ignore={"{subject}/image/*.json": "names of the channels; they stand in the spec"},
    ),
    "ellipses": Group(
        "ellipse_anisotropic",
        ("ellipse_0deg", "ellipse_30deg", "ellipse_60deg", "ellipse_90deg", "ring", "rectangle", "largest_slice"),
        {1: "lesion"},
        (1,),
    ),
}  # fmt: skip
