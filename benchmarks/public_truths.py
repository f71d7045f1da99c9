"""Ground truths in MDS-Bench's public form for made datasets, from what was made and what is known of the published ones.

No spec has a part in it. Of a dataset it takes the files, classes, label maps and marked objects that the maker of its miniature
wrote, and a row of a table of facts (`datasets.csv`: name, modality, task, classes, and in words which file is paired with which
and which keys are null). What the words do not say is left out of the ground truth, and said to be left out.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from pydicom import dcmread

from tests.benchmark.made import ground_truth, truth_sample
from tests.data_makers import MadePicture, MadeScan, MadeSubject

Json = dict[str, Any]

UNTOLD = "(not known)"
SENTENCE = "A sentence about the dataset, which no list of classes holds"
TASKS = {"seg": "segmentation", "cls": "classification", "det": "detection"}
MAP_TYPES = {"seg": "pixel_mask", "cls": "label", "det": "bbox"}


@dataclass(frozen=True)
class Row:
    """What is known of one published ground truth."""

    name: str
    folder: str
    modality: str
    task: str
    variant: str
    dimension: str
    pairing: str
    classes: str
    caveat: str
    header_read: bool

    @property
    def tail(self) -> str:
        return self.folder.partition("/")[2]

    @property
    def group(self) -> str:
        return self.folder.partition("/")[0]


def read_rows(table: Path) -> dict[str, Row]:
    """Folder -> row of the table of facts."""
    rows = {}
    with table.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            variant, _, dimension = line["variant_dim"].partition(" ")
            said = dimension or ("3D" if variant.startswith("3d") else "2D")
            modality = line["modality"].partition(" (")[0]
            row = Row(
                line["name"], line["folder"], modality, line["task"], variant, said, line["pairing"], line["classes"],
                line["caveat"], line["read"] == "H",
            )  # fmt: skip
            rows[row.folder] = row
    return rows


@dataclass(frozen=True)
class Published:
    """The published classes as far as they are known.

    Attributes:
        names: In order of their ids where that is known.
        ids: Name -> id, of those that are known.
        number: How many there are; 0 where that is not known.
    """

    names: tuple[str, ...]
    ids: Mapping[str, int]
    number: int

    def spelled(self, name: str) -> str:
        """The published spelling of a class."""
        return next((known for known in self.names if plain(known) == plain(name)), name)


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


_UNLISTED = ("not read", "EDD2020", "laser power", "sample class", "+ 6 discs", "..L5", "long names", "OAR names")
_NOT_ALL = (
    "…",
    "seen",
    "not read",
    "folders)",
    "sample class",
    "phrases",
    "(BACH",
    "EDD2020",
    "acquisition",
    "power",
    "long names",
)
_COUNTED = {"HaN-Seg": 31, "Lumbar_Spine_Segmentation": 11, "Breast-MRI-NACT-Pilot": 4, "RetinalAVM_CaseStudy_5002837": 7,
            "Spine_Mets_CT_Seg": 11, "human-protein-atlas-cells-dataset": 2}  # fmt: skip
"""Name -> number of its classes, where the words count them and do not list them."""


def published_classes(row: Row) -> Published:
    """The class list, from its words."""
    text = row.classes
    if any(words in text for words in _UNLISTED):
        return Published((), {}, _COUNTED.get(row.name, 0))
    listed = re.sub(r"\s*\((?:…|\+|\d|others|from|sample|BACH|seen|104|13)[^)]*\)|\bseen\b", "", text)
    if " x " in listed:
        kinds, _, what = listed.partition(" x ")
        kinds_full = [f"{kind.rstrip('_')}_" for kind in kinds.split("/")]
        names = [f"{kind}{one.strip()}" for kind in kinds_full for one in what.split(",")]
        return Published(tuple(names), {name: n for n, name in enumerate(names)}, len(names))
    separator = " | " if " | " in listed else ";" if ";" in listed else "," if "(from" in text else "\0"
    pieces = [piece.strip() for piece in listed.split(separator) if piece.strip()]
    ids: dict[str, int] = {}
    names = []
    for piece in pieces:
        name, _, stated = piece.strip("'").partition("=")
        expanded = _run(name.strip().strip("'"))
        names += expanded
        if stated:
            ids[expanded[0]] = int(stated)
    complete = not any(word in text for word in _NOT_ALL) and row.name not in _COUNTED and "…" not in text
    if complete:
        # Of ground truths whose header was not read, the classes are those that their samples showed.
        number = len(names) if row.header_read or ids or " | " in text else 0
        return Published(tuple(names), {name: n for n, name in enumerate(names)} | ids, number)
    known = [name for name in names if name in ids or "class" not in name]
    return Published(tuple(known), ids, _COUNTED.get(row.name, 0))


def _run(text: str) -> list[str]:
    """`x_1..4` -> x_1, x_2, x_3, x_4."""
    found = re.fullmatch(r"(.*?)(\d+)\.\.(\d+)", text)
    return [f"{found[1]}{n}" for n in range(int(found[2]), int(found[3]) + 1)] if found else [text]


@dataclass(frozen=True)
class Target:
    """A file of the sample and what the maker wrote of it."""

    index: int
    path: str
    subject: MadeSubject | None
    scan: MadeScan | MadePicture | None
    series: str = ""

    @property
    def file(self) -> PurePosixPath:
        return PurePosixPath(self.path)

    @property
    def stem(self) -> str:
        return _stem(self.file.name)

    def masks(self, root: Path) -> list[str]:
        """All label files of the scan."""
        if self.scan is None:
            return []
        return [path.relative_to(root).as_posix() for paths in self.scan.labels.values() for path in paths]


def _stem(name: str) -> str:
    endings = r"(?:\.ome)?\.(?:nii\.gz|nii|tiff?|mha|mhd|nrrd|dcm|png|jpe?g|bmp|npy|npz|h5|mat|czi|pgm|avi|dat)$"
    return re.sub(endings, "", name, flags=re.IGNORECASE)


@dataclass(frozen=True)
class Truth:
    """A ground truth, and what was left out of it for want of knowledge."""

    content: Json
    targets: tuple[Target, ...]
    left_out: tuple[str, ...]


@dataclass
class TruthMaker:
    """Makes the ground truth of one miniature."""

    row: Row
    root: Path
    made: Mapping[str, MadeSubject]
    left_out: list[str] = field(default_factory=list)

    def truth(self) -> Truth:
        """The ground truth; a list of targets is written where the maker wrote none, as the published sets all have one."""
        row, classes = self.row, published_classes(self.row)
        targets = self._targets()
        samples = [self._sample(target, classes) for target in targets]
        listed = list(classes.names) if classes.number == len(classes.names) else [f"class {n}" for n in range(classes.number)]
        if not listed:
            self._leave("number of classes")
        header = self._header_name()
        content = ground_truth(row.name, row.modality, TASKS[row.task], row.dimension.lower(), row.variant, listed, samples)
        content["dataset_name"] = header
        if total := re.search(r"data_volume\.total expected (\d+)", row.caveat):
            content["data_meta_expected"]["strict_equals"]["data_volume.total"] = int(total[1])
        if "image_level_label" in row.caveat:
            content["content"]["global_expected_blocks"]["media"]["annotation_type"] = "image_level_label"
        if "per sample" in row.modality or self._has_modalities:
            content["content"]["global_expected_blocks"].pop("context_sample")
        return Truth(content, tuple(targets), tuple(dict.fromkeys(self.left_out)))

    @property
    def _has_modalities(self) -> bool:
        return self.row.tail in MODALITY

    def _leave(self, what: str) -> None:
        self.left_out.append(what)

    def _header_name(self) -> str:
        said = re.search(r"top-level (?:GT )?name (?:is|differs)(?: \(?(\w+_folder)\)?)?", self.row.caveat)
        return (said[1] or self.row.tail) if said else self.row.name

    def _targets(self) -> list[Target]:
        listing = self.root / "random.txt"
        if not listing.is_file():
            self._draw(listing)
        paths = []
        for line in listing.read_text(encoding="utf-8").splitlines():
            found = re.fullmatch(r"\d+:?\s+(.+)", line)
            assert found is not None
            paths.append(found[1].partition(f"/{self.row.folder}/")[2])
        return [self._owned(index, path, paths[:index].count(path)) for index, path in enumerate(paths)]

    def _draw(self, listing: Path) -> None:
        """The published sample of these datasets is a random draw of files with images."""
        files = sorted({path for one in self.made.values() for scan in one.scans for path in scan.series.values()})
        files = [path for path in files if re.search(DRAWN.get(self.row.tail, ""), path.as_posix())]
        files = [path for path in files if path.is_relative_to(self.root)]
        drawn = random.Random(self.row.folder).sample(files, min(20, len(files)))
        there = f"/data4/chenxin/Med-Agent/{self.row.folder}"
        colon = ":" if "'<i>: <path>'" in self.row.caveat else ""
        lines = [f"{n}{colon} {there}/{self._published(path)}" for n, path in enumerate(drawn)]
        listing.write_text("\n".join([*lines, ""]), encoding="utf-8")

    def _published(self, path: Path) -> str:
        """The path that the list has; the hosted copy has moved some files into sub-folders."""
        name = path.relative_to(self.root).as_posix()
        return re.sub(r"/part_\d+/", "/", name) if "moves files into sub-folders" in self.row.caveat else name

    def _owned(self, index: int, path: str, again: int) -> Target:
        """The target with the scan it was made for; of a table that is named again and again the next row."""
        for one in self.made.values():
            for scan in one.scans:
                for series, file in scan.series.items():
                    name = self._published(file)
                    if name == path or name.startswith(f"{path}/image/{again}/"):
                        return Target(index, path, one, scan, series)
                if path in [file.relative_to(self.root).as_posix() for files in scan.labels.values() for file in files]:
                    return Target(index, path, one, scan)
        return Target(index, path, None, None)

    def _sample(self, target: Target, classes: Published) -> Json:
        row = self.row
        source = self._source(target)
        extra: Json = {"source_file": source, "original_filename": PurePosixPath(source or target.path).name}
        if source is None:
            extra["original_filename"] = target.file.name
        block: Json = {"schema_variant": row.variant}
        if row.task == "seg":
            extra |= self._mask_files(target)
            of_class = self._sample_class(target, classes)
        elif row.task == "det":
            of_class, more = self._marked(target, classes)
            extra |= more
        else:
            of_class = self._classified(target, classes, extra, block)
        self._named(target, extra)
        modality = MODALITY[row.tail](target) if row.tail in MODALITY else row.modality
        map_type = "image_level_label" if "image_level_label" in row.caveat else MAP_TYPES[row.task]
        task = TASKS[row.task]
        sample = truth_sample(row.name, modality, task, map_type, self._source_stem(target, source), of_class, extra, block)
        if row.tail in SOURCES:
            sample["expected_sources"] = [SOURCES[row.tail](target)]
        return sample

    def _source(self, target: Target) -> str | None:
        path = target.path if target.path.startswith("data/") else f"data/{target.path}"
        if re.search(r"no source_file value", self.row.pairing):
            return None
        if "source_file = data/<patient>" in self.row.pairing:
            assert target.subject is not None
            return f"data/{target.subject.subject}"
        if "GT source_file = case_NN_IMG_CT.nrrd" in self.row.pairing:
            return f"{PurePosixPath(path).parent}/{PurePosixPath(path).parent.name}_IMG_CT.nrrd"
        return path

    def _source_stem(self, target: Target, source: str | None) -> str:
        if "source_stem = path joined with _" in self.row.pairing:
            return _joined(target)
        if "source_stem = study folder name" in self.row.pairing:
            return target.file.parent.name
        if "walk other ROIs" in self.row.caveat:
            return self._region(target)
        name = PurePosixPath(source or target.path).name
        return name if name.endswith(_KEPT) else _stem(name)

    def _region(self, target: Target) -> str:
        """Stem and subject walk over the folders of regions, whatever file the list names."""
        regions = sorted({path.name for path in (self.root / "data" / "CP_output_tiff").iterdir() if path.is_dir()})
        return regions[target.index % len(regions)]

    def _named(self, target: Target, extra: Json) -> None:
        """The subject, and names that follow no rule."""
        row = self.row
        if row.tail in NAMES:
            extra |= NAMES[row.tail](self, target)
            return
        if "walk other ROIs" in row.caveat:
            extra["subject_id"] = self._region(target)
        elif "subject_id 'NA'" in row.pairing:
            extra["subject_id"] = "NA"
        elif "subject_id null" in row.pairing:
            extra["subject_id"] = None
        elif row.tail in SUBJECT:
            found = re.search(SUBJECT[row.tail], target.path)
            assert found is not None, (row.tail, target.path)
            extra["subject_id"] = "_".join(found.groups()) or found[0]
        elif "subject_id = source_stem = path joined" in row.pairing:
            extra["subject_id"] = _joined(target)
        elif "subject_id =" not in row.pairing or "stem" in row.pairing.partition("subject_id =")[2][:12]:
            self._default_subject(target, extra)
        else:
            self._leave("subject_id")

    def _default_subject(self, target: Target, extra: Json) -> None:
        """File stem or case unless stated: of the third group two passages contradict each other (stem, "NA")."""
        if self.row.group == "fifth_dataset":
            extra["subject_id"] = next(name for name in self.made if f"/{name}/" in target.path)
        elif self.row.group != "third_dataset" and self._is_a_case(target):
            extra["subject_id"] = target.stem
        else:
            self._leave("subject_id")

    def _is_a_case(self, target: Target) -> bool:
        """Whether the file's stem is the case too, so that it does not matter which of the two is meant."""
        return target.subject is not None and _stem(target.subject.subject) == target.stem

    def _mask_files(self, target: Target) -> Json:
        pattern = _mask_keys(self.row)
        if not pattern:
            return {}
        mask = self._mask(target)
        if mask is not None and (bare := _bare(self.row.pairing)):
            mask = PurePosixPath(mask).name if bare == "name" else mask.removeprefix("data/")
        return {key: mask if has else None for key, has in pattern.items()}

    def _mask(self, target: Target) -> str | None:
        row = self.row
        if row.tail in MASKS:
            found_by_rule: str | None = MASKS[row.tail](self, target)
            return found_by_rule
        itself = ("the image itself", "source=label=mask=seg", "the same", "as CPTAC-CCRCC", "image and label")
        if any(words in row.pairing for words in itself):
            return self._source(target)
        found = target.masks(self.root)
        if not found:
            return None
        if "(a folder of" in row.pairing:
            return PurePosixPath(found[0]).parent.as_posix()
        return min(found)

    def _sample_class(self, target: Target, classes: Published) -> str | None:
        row = self.row
        if said := re.search(r"sample class:? ([a-z_]+_[a-z_]+)", row.classes):
            return said[1]
        if " | " in row.classes:
            return row.classes
        if row.group == "forth_dataset":
            return SENTENCE
        if "class from the file name" in row.pairing:
            return next((name for name in classes.names if name in target.file.name), None)
        shown = [name for name in classes.names if name != "background"]
        if len(shown) == 1:
            return shown[0]
        self._leave("class of a sample")
        return None

    def _marked(self, target: Target, classes: Published) -> tuple[str | None, Json]:
        row = self.row
        marks = list(target.scan.objects) if isinstance(target.scan, MadePicture) else []
        if row.tail in MARKED:
            label, file = MARKED[row.tail](self, target)
        else:
            label = classes.spelled(classes.names[0]) if marks else None
            named = re.search(r"bbox_file = (?:the DICOM itself|source_file|(\S+\.csv))", row.pairing)
            assert named is not None
            file = f"data/{named[1]}" if named[1] else self._source(target)
        sentence = row.group == "forth_dataset"
        names = {} if label == UNTOLD else {"label_text": label, "class_name": label}
        if label == UNTOLD:
            self._leave("label of objects")
        of_class = SENTENCE if sentence else label if len(classes.names) == 1 else None
        if of_class is None:
            self._leave("class of a sample")
        return of_class, names | {"bbox_file": file}

    def _classified(self, target: Target, classes: Published, extra: Json, block: Json) -> str | None:
        row = self.row
        told = CLASS[row.tail](self, target) if row.tail in CLASS else None
        if told is None and isinstance(target.scan, MadePicture):
            told = target.scan.classes.get(target.series)
        if told in (None, UNTOLD):
            self._leave("class")
            return None
        name = classes.spelled(told)
        extra |= {"label_text": name, "class_name": name}
        block["label_name"] = name
        if name in classes.ids:
            block["label"] = classes.ids[name]
        else:
            self._leave("class index")
        if "is a sentence" in row.caveat:
            return SENTENCE
        said = re.search(r"sample class is '([^']+)'", row.caveat)
        return said[1] if said else name


def _joined(target: Target) -> str:
    return _stem(target.path.removeprefix("data/")).replace("/", "_")


def _mask_keys(row: Row) -> dict[str, bool]:
    """Which of the three keys has a value; none of them where a ground truth has no such field."""
    words = row.pairing
    if row.group == "third_dataset" or "mask not in GT" in words:
        return {}
    nobody = ("masks null", "no mask (", "label/mask/seg null", "label fields null")
    label = not any(said in words for said in ("seg_file only", "mask_file only", "label_file null", *nobody))
    mask = not any(said in words for said in ("seg_file only", *nobody))
    seg = not any(said in words for said in ("mask_file only", *nobody))
    if row.group == "second_dataset" and label and "label=mask=seg" not in words and "label/mask/seg" not in words:
        label = "label_file=seg_file" in words
    return {"label_file": label, "mask_file": mask, "seg_file": seg}


def _bare(words: str) -> str:
    if "bare" in words:
        return "name"
    return "path" if any(said in words for said in ("no data/", "without data/", "none with data/")) else ""


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

_KEPT = (".mhd", ".nrrd", ".parquet", ".dat")
"""Endings that the evaluator does not take off, so that its ground truths must have them in a stem."""

Tell = Callable[[TruthMaker, Target], Any]


def _of_letter(_: TruthMaker, target: Target) -> str:
    return "Control" if re.search(r"sub-k\d", target.path) else "Patient (PBC)"


def _view(target: Target) -> str:
    number = re.search(r"SymphonyWeb204877_(\d+)", target.path)
    if number is None:
        return "OCT" if "OCT_" in target.path else "Ultrasound"
    return "Fundus"


def _organ(_: TruthMaker, target: Target) -> Json:
    """Which organoid a published record means does not follow from the paths: any name, which none of ours has."""
    return {"subject_id": f"an organoid that the path of target {target.index} does not tell"}


def _row_of_parquet(_: TruthMaker, target: Target) -> Json:
    assert target.scan is not None
    image = target.scan.series[target.series].name
    (mask,) = (path.name for paths in target.scan.labels.values() for path in paths)
    found = re.match(r"\d+_[A-Z]\d+_\d+", image)
    assert found is not None
    return {"original_filename": image, "subject_id": found[0], **dict.fromkeys(("label_file", "mask_file", "seg_file"), mask)}


def _study(maker: TruthMaker, target: Target) -> str:
    return str(dcmread(maker.root / target.path, stop_before_pixels=True).StudyInstanceUID)


def _letter_of_patient(_: TruthMaker, target: Target) -> str:
    letter = re.search(r"Lung_Dx-([A-Z])", target.path)
    assert letter is not None
    return {"A": "Adenocarcinoma", "B": "Small Cell Carcinoma"}.get(letter[1], UNTOLD)


def _cells(maker: TruthMaker, target: Target) -> str | None:
    beside = [f"{target.stem}.csv", f"{target.stem}_consensus.csv"]
    folder = target.file.parent
    return next((f"{folder}/{name}" for name in beside if (maker.root / folder / name).is_file()), None)


def _chest(maker: TruthMaker, target: Target) -> tuple[str | None, str | None]:
    study = _study(maker, target)
    marks = [mark[0] for mark in target.scan.objects] if isinstance(target.scan, MadePicture) else []
    classes = published_classes(maker.row)
    stems = {plain(name).rstrip("s").split()[0][:6]: name for name in reversed(classes.names)}
    label = stems.get(plain(marks[0]).rstrip("s").split()[0][:6], marks[0]) if marks else None
    file = f"annotations/{study}.json"
    return label, file if (maker.root / "data" / file).is_file() else None


def _evaluated(maker: TruthMaker, target: Target) -> str | None:
    """A report's segmentation is that of the same nodule and annotation."""
    if "Segmentation of" in target.path:
        return target.path
    said = re.search(r"-(Nodule \d+ - Annotation [^/]*?) evaluations", target.path)
    assert said is not None
    study = (maker.root / target.path).parent.parent
    found = sorted(p for p in study.glob("*/*.dcm") if f"Segmentation of {said[1]}" in p.as_posix())
    return found[0].relative_to(maker.root).as_posix() if found else None


def _views_of_field(maker: TruthMaker, target: Target) -> Json:
    """The fields of view in the order of their names, one for each photograph."""
    folder = maker.root / "data" / "CHASEDB1"
    photographs = sorted(path.name for path in (folder / "images").iterdir())
    views = sorted(path.name for path in (folder / "mask").iterdir())
    return {"mask_file": f"CHASEDB1/mask/{views[photographs.index(target.file.name)]}", "subject_id": "NA"}


def _picked(pattern: str) -> Tell:
    def pick(maker: TruthMaker, target: Target) -> str | None:
        found = [path for path in target.masks(maker.root) if re.search(pattern, path)]
        return min(found) if found else None

    return pick


def _patient_folder(_: TruthMaker, target: Target) -> str:
    return "/".join(target.file.parts[:3])


def _opted(maker: TruthMaker, target: Target) -> str:
    """The list that lies with the volumes."""
    import json  # noqa: PLC0415

    listing = json.loads((maker.root / "data/retina-oct-glaucoma/dataset.json").read_text(encoding="utf-8"))
    sick = {Path(one["image"]).stem: one["POAG"] for one in listing["training"]}
    return UNTOLD if sick[target.stem.removesuffix("_0000")] else "Normal"


def _contrast(_: TruthMaker, target: Target) -> str:
    name = target.stem.partition("_")[0]
    return UNTOLD if name == "scan" else name.upper()


def _outcome(maker: TruthMaker, target: Target) -> str:
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


def _is_listed(maker: TruthMaker, target: Target) -> bool:
    return target.stem in (maker.root / "data" / "annotations.csv").read_text(encoding="utf-8")
