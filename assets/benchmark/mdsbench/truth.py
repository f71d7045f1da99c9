"""One `ground_truth*.json` of the benchmark as a value object.

A ground truth holds strings, numbers and constants; it holds no pixels, masks or boxes. Of its header only the fields the
public evaluator reads are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.benchmark.mdsbench.files import number_first, read_object
from assets.benchmark.mdsbench.values import TASKS, JsonObject, as_int, dimension, is_filled, objects, text


class GroundTruthError(Exception):
    """A ground truth that cannot be scored against; the message names the file and says why."""


@dataclass(frozen=True)
class TruthSample:
    """What one sample is expected to be.

    Attributes:
        index: Its key in the file, "0" onwards.
        sources: Names by which its source is accepted, the subject among them.
        expected: The sample's object in the file.
    """

    index: str
    sources: tuple[str, ...]
    expected: JsonObject

    @property
    def tasks(self) -> dict[str, JsonObject]:
        """The expected branches by task; entries that are no object are left out."""
        return {name: block for name, block in objects(self.expected.get("expected_tasks")).items() if isinstance(block, dict)}


@dataclass(frozen=True)
class FormatRules:
    """What the schema checks ask for; the names are those of block `format`."""

    top_level_blocks: tuple[str, ...]
    record_required: tuple[str, ...]
    context_sample_required: tuple[str, ...]
    sample_required_fields: tuple[str, ...]
    sample_non_missing_fields: tuple[str, ...]
    extra_required_any: tuple[str, ...]
    extra_non_missing_fields: tuple[str, ...]
    task_required_fields: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class GroundTruth:
    """A dataset's expectations.

    Attributes:
        dataset_name: As the header spells it.
        modality: `modality_primary` of the header.
        task: The expected task.
        dimension: `2d`, `3d` or `video`.
        expected_count: By how many samples SV is divided; never less than there are samples.
        classes: The class list, background included where the dataset counts it.
        rules: What the schema checks ask for.
        content: Block `content`.
        metadata: Block `data_meta_expected`.
        samples: In order of their index.
    """

    dataset_name: str
    modality: str
    task: str
    dimension: str
    expected_count: int
    classes: tuple[Any, ...]
    rules: FormatRules
    content: JsonObject
    metadata: JsonObject
    samples: tuple[TruthSample, ...]

    @property
    def name(self) -> str:
        """The name the samples are expected to carry."""
        expected = self.content.get("expected_dataset_name")
        return expected if isinstance(expected, str) and expected.strip() else self.dataset_name


def load_truth(path: Path) -> GroundTruth:
    """Read a ground truth.

    Raises:
        GroundTruthError: The file is no JSON object, or has no samples.
    """
    read = read_object(path)
    if read.value is None:
        raise GroundTruthError(f"{path} is not a ground truth: {read.problem}")
    truth = parse_truth(read.value)
    if not truth.samples:
        raise GroundTruthError(f"{path} has no samples: nothing can be scored against it")
    return truth


def parse_truth(raw: JsonObject) -> GroundTruth:
    """A ground truth from its JSON; what is of the wrong type counts as not there."""
    entries = objects(raw.get("samples")) or objects(raw.get("source_to_truth"))
    samples = tuple(_sample(index, entries[index]) for index in sorted(entries, key=number_first) if entries[index] is not None)
    task, expected_dimension = _task_and_dimension(raw, samples)
    classes = raw.get("classes")
    return GroundTruth(
        dataset_name=str(raw.get("dataset_name") or ""),
        modality=str(raw.get("modality_primary") or ""),
        task=task,
        dimension=expected_dimension,
        expected_count=max(as_int(raw.get("expected_count")) or 0, len(samples)),
        classes=tuple(classes) if isinstance(classes, list) else (),
        rules=_format_rules(objects(raw.get("format"))),
        content=objects(raw.get("content")),
        metadata=objects(raw.get("data_meta_expected")),
        samples=samples,
    )


def _sample(index: str, entry: object) -> TruthSample:
    expected = objects(entry)
    listed = expected.get("expected_sources")
    sources = [name for name in listed if isinstance(name, str) and name.strip()] if isinstance(listed, list) else []
    stem = expected.get("source_stem")
    if not sources and isinstance(stem, str) and stem.strip():
        sources = [stem]
    subject = objects(expected.get("expected_extra")).get("subject_id")
    if is_filled(subject):
        sources.append(str(subject))
    return TruthSample(index, tuple(sources), expected)


def _task_and_dimension(raw: JsonObject, samples: tuple[TruthSample, ...]) -> tuple[str, str]:
    hint = dimension(raw.get("dimension"))
    for sample in samples:
        for name, block in objects(sample.expected.get("expected_tasks")).items():
            if text(name) in TASKS:
                return text(name), _dimension_of(text(objects(block).get("schema_variant")), hint)
    task = text(raw.get("task_type"))
    return (task, hint or "2d") if task in TASKS else ("classification", "2d")


def _dimension_of(variant: str, hint: str) -> str:
    for known in ("3d", "video"):
        if known in variant:
            return known
    return hint if hint in {"2d", "3d", "video"} else "2d"


def strings(value: object, default: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The strings of a list; the default when it is no list or holds none."""
    found = tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()
    return found or default


def _format_rules(block: JsonObject) -> FormatRules:
    return FormatRules(
        top_level_blocks=strings(block.get("top_level_blocks"), ("record", "context", "media_geometry", "tasks")),
        record_required=strings(block.get("record_required"), ("schema_version", "dataset_name", "image_path")),
        context_sample_required=strings(block.get("context_sample_required"), ("extra",)),
        sample_required_fields=strings(block.get("sample_required_fields")),
        sample_non_missing_fields=strings(block.get("sample_non_missing_fields")),
        extra_required_any=strings(block.get("extra_required_any")),
        extra_non_missing_fields=strings(block.get("extra_non_missing_fields")),
        task_required_fields={
            name: strings(fields)
            for name, fields in objects(block.get("task_required_fields")).items()
            if isinstance(fields, list)
        },
    )
