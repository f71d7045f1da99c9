"""What a spec of the catalog says of the miniature of its layout: what a draft of the same folder is held against."""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

from class_parts import classes_of

from assets.raw import RawTree, discover
from assets.raw.rows import on_disk
from assets.spec import DatasetSpec
from resources.findings import BadInputError
from resources.readers.registry import open_image
from resources.readers.source import ReadOptions
from tests.inspect.renaming import Renamed

ENOUGH = 0.9
"""Share of files or pairs, of those that either side names, that both must name."""


@dataclass(frozen=True)
class Truth:
    """What the catalog's spec says of a miniature.

    Attributes:
        task: The task.
        images: The image files; where there are label maps only those that have one.
        pairs: (image, label file).
        told: Whether a class is told of every image.
        tables: Names of tables with classes or objects.
        classes: Names of classes, as they are called and as they are spelled.
        n_classes: How many of them the miniature's paths show.
        ids: Label id -> its names.
        files: Names that files of structures have; empty where there are none.
        stored: Ids that stand in label maps, where the spec gives them other ids or merges them.
        parts: Image file -> its class, of a classification.
        answer: Whether the folder holds the answer: label maps for segmentation, classes that something in the folder tells.
    """

    task: str
    images: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    told: bool
    tables: frozenset[str]
    classes: frozenset[str]
    n_classes: int
    ids: dict[int, frozenset[str]]
    files: frozenset[str]
    stored: frozenset[int]
    parts: dict[str, str]
    answer: bool

    def renamed(self, by: Renamed) -> Truth:
        """The same of the folder under other names."""

        def moved(path: str) -> str:
            table = on_disk(path)
            return by.paths[table] + path[len(table) :]

        def names(some: AbstractSet[str]) -> frozenset[str]:
            return frozenset(plain(by.text(name)) for name in some) | some

        return replace(
            self,
            images=frozenset(moved(path) for path in self.images),
            pairs=frozenset((moved(image), moved(mask)) for image, mask in self.pairs),
            tables=frozenset(by.text(name) for name in self.tables),
            classes=names(self.classes),
            ids={number: names(some) for number, some in self.ids.items()},
            files=names(self.files),
            parts={moved(path): name for path, name in self.parts.items()},
        )


def truth_of(spec: DatasetSpec, root: Path) -> Truth:
    """What the catalog's spec says.

    Raises:
        RawDataMissingError: Nothing in the folder fits it.
    """
    tree = discover(spec, root)
    task = task_of(spec)
    known = spec.classes
    if task == "classification" and known is not None:
        classes = {*known.names, *known.values}
    else:
        classes = set(spec.mds.classes) if spec.mds else set()
    masks = any(source.masks for source in spec.layout.labels.values())
    return Truth(
        task=task,
        images=images(spec, tree),
        pairs=pairs(spec, tree),
        told=known is not None and not known.untold and task == "classification",
        tables=tables(spec),
        classes=frozenset(map(plain, classes)),
        n_classes=len(seen_classes(spec, tree)),
        ids={number: frozenset(map(plain, (label.name, *label.aliases))) for number, label in spec.labels.items()},
        files=frozenset(plain(label.file_name) for label in spec.labels.values()) if masks else frozenset(),
        stored=stored_ids(spec, tree),
        parts=classes_of(spec, tree) if task == "classification" else {},
        answer=has_answer(spec, tree, task),
    )


def has_answer(spec: DatasetSpec, tree: RawTree, task: str) -> bool:
    """Whether a person could tell the task's labels from the folder, going by the spec."""
    if task == "segmentation":
        return bool(pairs(spec, tree)) or any(source.dicom is not None for source in spec.layout.labels.values())
    if task == "classification":
        known = spec.classes
        constant = known is not None and known.field and "{" not in known.field
        return known is not None and not known.untold and not constant
    return spec.objects is not None


def stored_ids(spec: DatasetSpec, tree: RawTree) -> frozenset[int]:
    """The ids above 0 in the label maps, read whole, where a spec merges or translates them; else none."""
    found: set[int] = set()
    for subject in tree.subjects.values():
        for scan in subject.scans:
            for name, files in scan.labels.items():
                source = spec.layout.labels[name]
                if source.nonzero_is is None and not source.values:
                    continue
                for file in files:
                    found |= values_in(tree.root / file.path, source.key)
    return frozenset(found)


def values_in(path: Path, key: str | None) -> set[int]:
    found: set[float] = set()
    try:
        image = open_image(path, name=path.name, options=ReadOptions(key=key))
        for slab in image.slabs([(0, image.shape[image.slab_axis])]):
            found |= set(slab.voxels.ravel().tolist())  # at once: a reader may use its buffer again
    except (BadInputError, ValueError):
        return set()
    return {int(value) for value in found if value > 0}


def task_of(spec: DatasetSpec) -> str:
    if spec.mds is not None:
        return spec.mds.task
    return "segmentation" if spec.layout.labels else "detection" if spec.objects else "classification" if spec.classes else ""


def agree(one: AbstractSet[object], two: AbstractSet[object]) -> bool:
    return len(one & two) >= ENOUGH * len(one | two)


def images(spec: DatasetSpec, tree: RawTree) -> frozenset[str]:
    """The image files; where there are label maps only those that have one, as a spec may well leave the others out."""
    if labelled := {image for image, _ in pairs(spec, tree)}:
        return frozenset(labelled)
    return frozenset(str(path) for s in tree.subjects.values() for scan in s.scans for path in scan.series.values())


def pairs(spec: DatasetSpec, tree: RawTree) -> frozenset[tuple[str, str]]:
    """(image, label file) pairs."""
    found: set[tuple[str, str]] = set()
    for subject in tree.subjects.values():
        for scan in subject.scans:
            for name, files in scan.labels.items():
                of = spec.layout.labels[name].of or tuple(spec.layout.series)
                found |= {(str(scan.series[s]), f.path) for f in files for s in of if s in scan.series}
    return frozenset(found)


def tables(spec: DatasetSpec) -> frozenset[str]:
    told = [spec.classes.table.file] if spec.classes and spec.classes.table else []
    beside = [re.sub(r"\{[a-z_]+\}", "*", name) for name in (spec.objects.file if spec.objects else ())]
    names = (re.sub(r"\*[_-]?(?:\*)+", "*", name.rpartition("/")[2]) for name in (*told, *beside))
    return frozenset(name.replace("_", "-") for name in names)


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()


def seen_classes(spec: DatasetSpec, tree: RawTree) -> set[str]:
    """The classes that the fields of the miniature's paths tell; one where a table or header does."""
    if spec.classes is None or "{class}" not in spec.classes.field:
        return {""}
    return {scan.fields.get("class", "") for s in tree.subjects.values() for scan in s.scans}
