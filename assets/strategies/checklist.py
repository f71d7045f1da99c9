"""S2: a fixed checklist for every record, and what is done where an answer is no.

Nothing is made up: what a record, its picture, its dataset's other facts or the raw folder do not tell stays open, and is said.
The first fourteen questions are the schema checks of MDS-Bench's evaluator; the others the paper's, as far as they are public.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from assets.benchmark.mdsbench.record import take_apart
from assets.benchmark.mdsbench.structure import schema_validity
from assets.benchmark.mdsbench.truth import FormatRules
from assets.benchmark.mdsbench.values import TASKS, dimension, is_empty, is_filled, objects, text
from assets.mds.record import NOT_GIVEN, SCHEMA_VERSION, UNKNOWN
from assets.strategies.repair import Repair
from assets.strategies.validator import BRANCHES, VARIANTS, task_parts

Json = dict[str, Any]

RULES = FormatRules(
    top_level_blocks=("record", "context", "media_geometry", "tasks"),
    record_required=("schema_version", "dataset_name", "image_path"),
    context_sample_required=("extra",),
    sample_required_fields=("modality_primary",),
    sample_non_missing_fields=("sex", "race_ethnicity", "site_id"),
    extra_required_any=("source_file", "original_filename", "subject_id"),
    extra_non_missing_fields=("source_file", "original_filename", "subject_id"),
    task_required_fields={
        "classification": ("schema_variant", "label", "label_name"),
        "segmentation": ("schema_variant",),
        "detection": ("schema_variant",),
    },
)
"""What the published ground truths ask for; the same in all that were read."""

MAP_TYPES = {"classification": "label", "segmentation": "pixel_mask", "detection": "bbox"}
_DIMENSIONS = {branch: name for name, branch in {"2D": "common", "3D": "three_d", "video": "video"}.items()}
_NOTES = "Converted from: "


@dataclass(frozen=True)
class Facts:
    """What is known of a dataset beside its records.

    Attributes:
        dataset_name: What it is called.
        modality: Of its images; empty where that is not known.
        sizes: Index -> width and height of the picture; without those that do not open.
        images: Index -> where the picture lies, relative to the folder of records.
        sources: Paths of the raw folder, as records call them.
    """

    dataset_name: str
    modality: str = ""
    sizes: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    images: Mapping[int, str] = field(default_factory=dict)
    sources: frozenset[str] = frozenset()


def repair_records(records: Mapping[int, Json], facts: Facts) -> tuple[dict[int, Json], list[Repair]]:
    """Go through the list with every record; those whose picture does not open are left out.

    Args:
        records: Index -> record; not changed.
        facts: What is known beside.
    """
    kept: dict[int, Json] = {}
    repairs: list[Repair] = []
    for index, record in sorted(records.items()):
        if index not in facts.sizes:
            repairs.append(Repair(str(index), "image opens", "the record is left out", "there is no picture that opens"))
            continue
        one = _OneRecord(index, copy.deepcopy(record), facts, repairs)
        one.go_through()
        kept[index] = one.record
    return kept, repairs


@dataclass
class _OneRecord:
    """One record under repair; it is changed in place."""

    index: int
    record: Json
    facts: Facts
    repairs: list[Repair]

    def go_through(self) -> None:
        """Every check in its order; what a repair needs stands before it."""
        for check in (self._blocks, self._identity, self._context, self._source, self._media, self._spatial, self._other_tasks):
            check()
        for check in (self._variant, self._classes, self._types, self._words, self._template_keys):
            check()
        for loss in schema_validity(take_apart(self.record), RULES).losses:
            self._say(loss.item, "", loss.detail)

    def _say(self, check: str, done: str, met: str) -> None:
        self.repairs.append(Repair(str(self.index), check, done, met))

    def _set(self, block: Json, key: str, value: Any, check: str) -> None:
        met = f"{key} is {block[key]!r}"[:120] if key in block else f"there is no {key}"
        block[key] = value
        self._say(check, f"{key} = {value!r}"[:200], met)

    def _block(self, *names: str) -> Json:
        """A block of the record; made where it is none."""
        block = self.record
        for name in names:
            if not isinstance(block.get(name), dict):
                self._set(block, name, {}, "blocks are objects")
            block = block[name]
        return block

    def _blocks(self) -> None:
        for names in (
            ("record",),
            ("context", "sample", "extra"),
            ("media_geometry", "media"),
            ("media_geometry", "spatial"),
            ("tasks",),
        ):
            self._block(*names)
        for parent, branches in ((self._spatials, tuple(BRANCHES.values())), (self._tasks, TASKS)):
            for name in branches:
                if not isinstance(parent.get(name), dict):
                    self._set(parent, name, {}, "blocks are objects")

    @property
    def _extra(self) -> Json:
        return self._block("context", "sample", "extra")

    @property
    def _media_block(self) -> Json:
        return self._block("media_geometry", "media")

    @property
    def _spatials(self) -> Json:
        return self._block("media_geometry", "spatial")

    @property
    def _tasks(self) -> Json:
        return self._block("tasks")

    def _identity(self) -> None:
        block = self._block("record")
        if block.get("schema_version") != SCHEMA_VERSION:
            self._set(block, "schema_version", SCHEMA_VERSION, "record_required")
        if not is_filled(block.get("dataset_name")):
            self._set(block, "dataset_name", self.facts.dataset_name, "record_required")
        if block.get("image_path") != self.facts.images[self.index]:
            self._set(block, "image_path", self.facts.images[self.index], "record_image_path_rel")

    def _context(self) -> None:
        sample = self._block("context", "sample")
        if not is_filled(sample.get("modality_primary")) and is_filled(self.facts.modality):
            self._set(sample, "modality_primary", self.facts.modality, "sample_required_fields")
        for key, value in (("sex", UNKNOWN), ("race_ethnicity", NOT_GIVEN), ("site_id", NOT_GIVEN), ("subject_id", NOT_GIVEN)):
            if sample.get(key) is None:
                self._set(sample, key, value, "sample_non_missing_fields")

    def _source(self) -> None:
        extra = self._extra
        notes = str(objects(self.record.get("provenance")).get("notes", ""))
        if not is_filled(extra.get("source_file")) and notes.startswith(_NOTES):
            self._set(extra, "source_file", notes.removeprefix(_NOTES).strip(), "extra_required_any")
        source = extra.get("source_file")
        if not (isinstance(source, str) and is_filled(source)):
            return
        if self.facts.sources and source not in self.facts.sources:
            self._find_source(extra, source)
        name = PurePosixPath(str(extra["source_file"])).name
        if extra.get("original_filename") != name:
            self._set(extra, "original_filename", name, "original_filename is the name of the source")

    def _find_source(self, extra: Json, source: str) -> None:
        """The only file of the raw folder that ends like a source that is not there."""
        tail = PurePosixPath(source.replace("\\", "/"))
        for n_parts in range(len(tail.parts), 0, -1):
            end = "/".join(tail.parts[-n_parts:])
            alike = [path for path in self.facts.sources if path == end or path.endswith(f"/{end}")]
            if len(alike) == 1:
                self._set(extra, "source_file", alike[0], "source exists")
                return
        self._say("source exists", "", f"{source[:120]!r} is not in the raw folder, and no single file there has its name")

    def _media(self) -> None:
        media = self._media_block
        if text(media.get("task_type")) not in TASKS:
            filled = [name for name in TASKS if not is_empty(self._tasks[name])]
            if len(filled) == 1:
                self._set(media, "task_type", filled[0], "media_required")
        if dimension(media.get("dimension")) not in BRANCHES:
            branches = [name for name in BRANCHES.values() if not is_empty(self._spatials[name])]
            if len(branches) == 1:
                self._set(media, "dimension", _DIMENSIONS[branches[0]], "media_required")

    def _spatial(self) -> None:
        mine = BRANCHES.get(dimension(self._media_block.get("dimension")), "")
        if not mine:
            return
        if is_empty(self._spatials[mine]):
            key = {"common": "pixel_size_px", "video": "frame_size_px"}.get(mine, "picture_size_px")
            self._set(self._spatials, mine, {key: list(self.facts.sizes[self.index])}, "spatial_branch_selected")
        self._empty(self._spatials, [name for name in BRANCHES.values() if name != mine], "spatial_branch_exclusive")

    def _other_tasks(self) -> None:
        if self._task in TASKS:
            self._empty(self._tasks, [name for name in TASKS if name != self._task], "task_branch_exclusive")

    def _empty(self, parent: Json, names: list[str], check: str) -> None:
        for name in names:
            if not is_empty(parent[name]):
                self._say(check, f"{name} = {{}}", f"{name} is filled as well")
                parent[name] = {}

    @property
    def _task(self) -> str:
        return text(self._media_block.get("task_type"))

    def _variant(self) -> None:
        task = self._task
        if task not in TASKS or text(self._tasks[task].get("schema_variant")) in VARIANTS[task]:
            return
        of_dimension = {"2d": 0, "3d": 1, "video": 2}.get(dimension(self._media_block.get("dimension")), 0)
        variant = {"segmentation": ("2d_coco", "3d_mask", "video_coco"), "detection": ("2d", "3d", "video")}.get(task)
        self._set(self._tasks[task], "schema_variant", variant[of_dimension] if variant else "multiclass", "task_branch_required")

    def _classes(self) -> None:
        """A class that is named by its number, or the other way round; neither is made up."""
        branch = self._tasks["classification"]
        if self._task != "classification":
            return
        names = objects(branch.get("class_names")) or objects(branch.get("classes"))
        label, name = branch.get("label"), branch.get("label_name")
        numbers = [int(number) for number, known in names.items() if known == name and number.isdecimal()]
        if is_filled(name) and len(numbers) == 1 and label != numbers[0]:
            self._set(branch, "label", numbers[0], "classes known")
        elif not is_filled(name) and str(label) in names:
            self._set(branch, "label_name", names[str(label)], "classes known")
        elif is_filled(name) and not numbers:
            self._say("classes known", "", f"label_name {str(name)[:80]!r} is none of the classes")

    def _types(self) -> None:
        """`annotation_type` equals the variant; as that takes away what said which map it is, `map_type` says it."""
        task = self._task
        if task not in TASKS:
            return
        if not is_filled(self._extra.get("map_type")):
            self._set(self._extra, "map_type", MAP_TYPES[task], "map_type")
        variant = self._tasks[task].get("schema_variant")
        if is_filled(variant) and text(self._media_block.get("annotation_type")) != text(variant):
            self._set(self._media_block, "annotation_type", variant, "annotation_type equals schema_variant")

    def _words(self) -> None:
        """`label_text` and `class_name`: the class; where there is a label map the classes that it may hold."""
        said = self._class_words()
        for key in ("label_text", "class_name"):
            if said and not is_filled(self._extra.get(key)):
                self._set(self._extra, key, said, "label_text and class_name")

    def _class_words(self) -> str:
        branch = objects(self._tasks.get(self._task))
        if self._task == "classification":
            return str(branch.get("label_name")) if is_filled(branch.get("label_name")) else ""
        drawn = task_parts(take_apart(self.record))["payload"]
        if self._task != "segmentation" or not drawn:
            return ""
        names = objects(branch.get("classes")) or objects(branch.get("class_names"))
        return "|".join(str(name) for name in names.values() if text(name) != "background")

    def _template_keys(self) -> None:
        removed: list[str] = []
        _without(self.record, lambda key: key.endswith(("__desc", "__options")), removed)
        if removed:
            self._say("forbidden_desc_options", "removed", f"{', '.join(removed[:5])} were left over from the template")


def _without(value: object, is_unwanted: Callable[[str], bool], removed: list[str]) -> None:
    if isinstance(value, dict):
        for key in [key for key in value if is_unwanted(key)]:
            removed.append(key)
            del value[key]
        for item in value.values():
            _without(item, is_unwanted, removed)
    elif isinstance(value, list):
        for item in value:
            _without(item, is_unwanted, removed)
