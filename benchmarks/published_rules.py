"""Rules that single published ground truths follow, by the folder of the dataset: what the words of the table mean for a path."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from published_facts import UNTOLD, Json, Known, Target, plain, published_classes
from pydicom import dcmread

from tests.data_makers import MadePicture

SUBJECT: Mapping[str, str] = {
    "10602767_folder": r"MGHNICU_\d{3}",
    "7957454_folder": r"POAG_\d{4}(?=_0000)",
    "Brain_MRI_segmentation": r"TCGA_[A-Z0-9]{2}_[A-Z0-9]{4}",
    "ct-of-the-spine-scoliosis": r"files/([^/]+)/",
    "fomo-mri": r"sub_\d+",
    "mri-rd": r"(test\d*)\.(\w+)$",
    "tumorsimulations": r"BRAIN_p\d+",
    "13839321": r"\d+_data",
    "3431873": r"data/(\w+)/(\w+)/(\d+)/",
    "7860267": r"FLARE22_\w+_\d{4}(?=_0000)",
    "dicom-brain-dataset": r"(ST\d+)/(SE\d+)",
    "kits23": r"case_\d{5}",
    "siim-medical-images": r"ID_\d{4}",
    "7442914": r"case_\d{2}(?=/)",
    "M3D-RefSeg": r"s\d{4}",
    "6802614": r"s\d{4}",
    "Breast_MRI_NACT_Pilot": r"UCSF-BR-\d{2}",
    "Lumbar_Spine_Segmentation": r"images/(\d+)_",
    "15680730_folder": r"(\d+)\.mha",
    "liver-tumor-segmentation": r"volume-\d+",
    "luna-lung-cancer-dataset": r"[\d.]+(?=\.mhd)",
    "rsna-pneumonia-detection-challenge": r"[0-9a-f-]{36}",
}
"""Folder -> where in a path the subject stands, after the words of the table."""

DRAWN: Mapping[str, str] = {"siim-medical-images": "", "7500843": r"_\d+\.tif$"}
"""Folder -> which of the files may be drawn, where not every image may."""

Tell = Callable[[Known, Target], Any]


def _of_letter(_: Known, target: Target) -> str:
    return "Control" if re.search(r"sub-k\d", target.path) else "Patient (PBC)"


def _view(target: Target) -> str:
    number = re.search(r"SymphonyWeb204877_(\d+)", target.path)
    if number is None:
        return "OCT" if "OCT_" in target.path else "Ultrasound"
    return "Fundus"


def _organ(_: Known, target: Target) -> Json:
    """Which organoid a published record means does not follow from the paths: any name, which none of ours has."""
    return {"subject_id": f"an organoid that the path of target {target.index} does not tell"}


def _row_of_parquet(_: Known, target: Target) -> Json:
    assert target.scan is not None
    image = target.scan.series[target.series].name
    (mask,) = (path.name for paths in target.scan.labels.values() for path in paths)
    found = re.match(r"\d+_[A-Z]\d+_\d+", image)
    assert found is not None
    return {"original_filename": image, "subject_id": found[0], **dict.fromkeys(("label_file", "mask_file", "seg_file"), mask)}


def _study(maker: Known, target: Target) -> str:
    return str(dcmread(maker.root / target.path, stop_before_pixels=True).StudyInstanceUID)


def _letter_of_patient(_: Known, target: Target) -> str:
    letter = re.search(r"Lung_Dx-([A-Z])", target.path)
    assert letter is not None
    return {"A": "Adenocarcinoma", "B": "Small Cell Carcinoma"}.get(letter[1], UNTOLD)


def _cells(maker: Known, target: Target) -> str | None:
    beside = [f"{target.stem}.csv", f"{target.stem}_consensus.csv"]
    folder = target.file.parent
    return next((f"{folder}/{name}" for name in beside if (maker.root / folder / name).is_file()), None)


def _chest(maker: Known, target: Target) -> tuple[str | None, str | None]:
    study = _study(maker, target)
    marks = [mark[0] for mark in target.scan.objects] if isinstance(target.scan, MadePicture) else []
    classes = published_classes(maker.row)
    stems = {plain(name).rstrip("s").split()[0][:6]: name for name in reversed(classes.names)}
    label = stems.get(plain(marks[0]).rstrip("s").split()[0][:6], marks[0]) if marks else None
    file = f"annotations/{study}.json"
    return label, file if (maker.root / "data" / file).is_file() else None


def _evaluated(maker: Known, target: Target) -> str | None:
    """A report's segmentation is that of the same nodule and annotation."""
    if "Segmentation of" in target.path:
        return target.path
    said = re.search(r"-(Nodule \d+ - Annotation [^/]*?) evaluations", target.path)
    assert said is not None
    study = (maker.root / target.path).parent.parent
    found = sorted(p for p in study.glob("*/*.dcm") if f"Segmentation of {said[1]}" in p.as_posix())
    return found[0].relative_to(maker.root).as_posix() if found else None


def _views_of_field(maker: Known, target: Target) -> Json:
    """The fields of view in the order of their names, one for each photograph."""
    folder = maker.root / "data" / "CHASEDB1"
    photographs = sorted(path.name for path in (folder / "images").iterdir())
    views = sorted(path.name for path in (folder / "mask").iterdir())
    return {"mask_file": f"CHASEDB1/mask/{views[photographs.index(target.file.name)]}", "subject_id": "NA"}


def _picked(pattern: str) -> Tell:
    def pick(maker: Known, target: Target) -> str | None:
        found = [path for path in target.masks(maker.root) if re.search(pattern, path)]
        return min(found) if found else None

    return pick


def _patient_folder(_: Known, target: Target) -> str:
    return "/".join(target.file.parts[:3])


def _opted(maker: Known, target: Target) -> str:
    """The list that lies with the volumes."""
    listing = json.loads((maker.root / "data/retina-oct-glaucoma/dataset.json").read_text(encoding="utf-8"))
    sick = {Path(one["image"]).stem: one["POAG"] for one in listing["training"]}
    return UNTOLD if sick[target.stem.removesuffix("_0000")] else "Normal"


def _contrast(_: Known, target: Target) -> str:
    name = target.stem.partition("_")[0]
    return UNTOLD if name == "scan" else name.upper()


def _outcome(maker: Known, target: Target) -> str:
    """What the maker's table says of a patient; of four phrases one is known."""
    with (maker.root / "data" / "clinical.csv").open(encoding="utf-8", newline="") as lines:
        told = {line["PatientID"]: line["outcome"] for line in csv.DictReader(lines)}
    said = told.get(target.file.parts[1], "")
    return said if said in published_classes(maker.row).names else UNTOLD


NAMES: Mapping[str, Tell] = {
    "7805426_folder": _organ,
    "human-protein-atlas-cells-dataset": _row_of_parquet,
    "fundus-image-segmentation": _views_of_field,
    "chest-xray-unidatapro": lambda maker, target: {"subject_id": _study(maker, target)},
}
MASKS: Mapping[str, Tell] = {
    "10475293_folder": _picked("expert_annotation"),
    "6613714": _picked("_rad1"),
    "7442914": lambda _, target: target.path,
    "LIDC_IDRI": _evaluated,
    "LCTSC": _patient_folder,
    "8045940_folder": _picked("masks"),
}
MARKED: Mapping[str, Tell] = {
    "chest-xray-unidatapro": _chest,
    "16989820": lambda maker, target: (_letter_of_patient(maker, target), target.path),
    "7500843": lambda maker, target: ("Tumor cell", _cells(maker, target)),
    "luna-lung-cancer-dataset": lambda maker, target: (
        ("nodule", "data/annotations.csv") if _is_listed(maker, target) else (None, None)
    ),
    "rsna-pneumonia-detection-challenge": lambda _, target: ("Lung Opacity", target.path),
}
CLASS: Mapping[str, Tell] = {
    "Breast_MRI_NACT_Pilot": _outcome,
    "5005236_folder": _of_letter,
    "7957454_folder": _opted,
    "fomo-mri": _contrast,
    "mosmed-covid19-ct-scans": lambda _, target: target.file.parent.name,
    "echonet-pediatric": lambda *_: "class_0",
    "world-wide-covid-dataset": lambda *_: "class_0",
    "leukemia-cancer-dataset": lambda _, target: "unlabeled" if "test_final" in target.path else None,
    "leukemia-classification": lambda _, target: "hem" if "testing_data" in target.path else None,
    "mias-mammography": lambda _, target: "NORM" if int(target.stem[3:]) <= 17 else None,
}
MODALITY: Mapping[str, Callable[[Target], str]] = {"5002837_folder": _view}
SOURCES: Mapping[str, Callable[[Target], str]] = {
    "7442914": lambda target: target.file.name,
    "luna-lung-cancer-dataset": lambda target: target.stem.replace(".", "") + "mhd",
}


def _is_listed(maker: Known, target: Target) -> bool:
    return target.stem in (maker.root / "data" / "annotations.csv").read_text(encoding="utf-8")
