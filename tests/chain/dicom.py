"""DICOM raw folders, and specs that choose among their files by header."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pydicom

from assets.spec import DatasetSpec
from tests.chain.product import Product, run_chain, spec_of

KINDS = ("dcm_slice_order", "dcm_series_mix", "dcm_spacing", "dcm_pixel_values")


@dataclass(frozen=True)
class DicomCases:
    """What the shared program made of its DICOM kinds.

    Attributes:
        folder: One folder a kind.
        kinds: Kind -> case id -> the case, its expectation included.
    """

    folder: Path
    kinds: Mapping[str, Mapping[str, dict[str, Any]]]

    def place(self, kind: str, id_: str, target: Path) -> None:
        """Copy the files of one case into a folder."""
        inputs = self.kinds[kind][id_]["inputs"]
        if "folder" in inputs:
            shutil.copytree(self.folder / kind / inputs["folder"], target)
        else:
            target.mkdir(parents=True)
            shutil.copy(self.folder / kind / inputs["image"], target)


def make_dicom_cases(program: Path, folder: Path) -> DicomCases:
    """Run the shared program."""
    command = [sys.executable, str(program / "make_cases.py"), "--out", str(folder), "--only", *KINDS]
    subprocess.run(command, check=True, capture_output=True, cwd=program)
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["kinds"]
    return DicomCases(folder, {kind: {case["id"]: case for case in made["cases"]} for kind, made in expected.items()})


def dicom_spec(
    slug: str, series: Mapping[str, Any], names: Mapping[int, str] | None = None, *, subject: str = "[^/]+", **layout: Any
) -> DatasetSpec:
    """A spec whose series are chosen in the subject's folder; `{}` for a series takes whatever is there."""
    chosen = {name: {"dicom": "{subject}/**", **source} for name, source in series.items()}
    return spec_of(slug, {"subject": subject, "series": chosen, **layout}, names or {})


def run_cases(cases: DicomCases, kind: str, ids: Sequence[str], root: Path) -> Product:
    """One subject a case, each with the one series that it has."""
    slug = kind.replace("dcm_", "")
    for id_ in ids:
        cases.place(kind, id_, root / "raw" / slug / id_)
    return run_chain(dicom_spec(slug, {"img": {}}), root)


def run_dump(cases: DicomCases, series: Mapping[str, Any], root: Path, *, sibling: str = "") -> Product:
    """The folder of many series as one subject, and beside it a subject of one series, a case of `dcm_spacing`."""
    cases.place("dcm_series_mix", "one_folder", root / "raw" / "dump" / "one_folder")
    if sibling:
        cases.place("dcm_spacing", sibling, root / "raw" / "dump" / sibling)
    return run_chain(dicom_spec("dump", series), root)


def series_uid(folder: Path) -> str:
    """Series of a file, or of the first file of a folder."""
    path = min(folder.iterdir()) if folder.is_dir() else folder
    return str(pydicom.dcmread(path, force=True).SeriesInstanceUID)
