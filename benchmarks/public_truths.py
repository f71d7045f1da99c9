"""Ground truths in MDS-Bench's public form for made datasets, from what was made and what is known of the published ones.

No spec has a part in it. Of a dataset it takes the files, classes, label maps and marked objects that the maker of its miniature
wrote, and a row of a table of facts (`datasets.csv`: name, modality, task, classes, and in words which file is paired with which
and which keys are null). What the words do not say is left out of the ground truth, and said to be left out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from published_facts import UNTOLD, Json, Published, Row, Target, published_classes, read_rows, stem_of
from published_rules import CLASS, DRAWN, MARKED, MASKS, MODALITY, NAMES, SOURCES, SUBJECT

from tests.benchmark.made import ground_truth, truth_sample
from tests.data_makers import MadePicture, MadeSubject

__all__ = ["Row", "Truth", "TruthMaker", "read_rows"]


SENTENCE = "A sentence about the dataset, which no list of classes holds"
TASKS = {"seg": "segmentation", "cls": "classification", "det": "detection"}
MAP_TYPES = {"seg": "pixel_mask", "cls": "label", "det": "bbox"}


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
        return name if name.endswith(_KEPT) else stem_of(name)

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
        return target.subject is not None and stem_of(target.subject.subject) == target.stem

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
    return stem_of(target.path.removeprefix("data/")).replace("/", "_")


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


_KEPT = (".mhd", ".nrrd", ".parquet", ".dat")
"""Endings that the evaluator does not take off, so that its ground truths must have them in a stem."""
