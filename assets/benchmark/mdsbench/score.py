"""Scoring: one sample, one dataset, a folder of datasets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from assets.benchmark.mdsbench.content import content_fidelity
from assets.benchmark.mdsbench.fields import match_rules
from assets.benchmark.mdsbench.files import Folder, ImageFile, JsonFile
from assets.benchmark.mdsbench.information import information
from assets.benchmark.mdsbench.layout import Expected, LayoutError, find_predictions, find_truths, no_predictions
from assets.benchmark.mdsbench.metadata import ImageCounts, metadata
from assets.benchmark.mdsbench.metrics import PUBLISHED, SampleScore, eleven, macro
from assets.benchmark.mdsbench.pairing import pair
from assets.benchmark.mdsbench.record import Record, take_apart
from assets.benchmark.mdsbench.scored import Loss
from assets.benchmark.mdsbench.semantic import semantic_correctness
from assets.benchmark.mdsbench.sources import accepted, is_traced, offered
from assets.benchmark.mdsbench.strict import StrictScore, strict_dataset
from assets.benchmark.mdsbench.structure import schema_validity
from assets.benchmark.mdsbench.truth import GroundTruth, TruthSample
from assets.benchmark.mdsbench.values import full_path, printable, shown

_NO_PREDICTIONS = "no predictions for this dataset: every metric is 0"


@dataclass(frozen=True, slots=True)
class Deduction:
    """One line of the explanation of a score.

    Attributes:
        dataset: Key of the dataset.
        sample: Index of the sample; empty where the whole dataset is meant.
        file: The file it was found in, relative to the dataset's folder of predictions; empty where there is none.
        metric: What it counts in; `all` for everything, `remark` for nothing.
        item: The check or field.
        cost: What it took from a score of 1, of the sample or of the dataset's metadata.
        detail: What was met and what was expected.
    """

    dataset: str
    sample: str
    file: str
    metric: str
    item: str
    cost: float
    detail: str


@dataclass(frozen=True)
class DatasetScore:
    """What one dataset got.

    Attributes:
        key: `<group>/<dataset>`.
        group: The folder above the dataset.
        name: The name its samples are expected to carry.
        task: The expected task.
        dimension: The expected dimension.
        modality: `modality_primary` of the ground truth.
        answered: Whether there were predictions at all.
        expected_count: By what SV is divided.
        metrics: The eleven, each in [0, 1].
        samples: In the order of the ground truth.
        deductions: Everything the score lost, in the order of the samples, the metadata last.
    """

    key: str
    group: str
    name: str
    task: str
    dimension: str
    modality: str
    answered: bool
    expected_count: int
    metrics: dict[str, float]
    samples: tuple[SampleScore, ...]
    deductions: tuple[Deduction, ...]


@dataclass(frozen=True)
class ScoreReport:
    """What a folder of predictions got, datasets in order of their key.

    Attributes:
        datasets: Every dataset of the ground truths.
        strict: The stricter score of the datasets that have a reference; None when it was not asked for.
        taken: Where the predictions of every dataset were found; None where there are none.
    """

    datasets: tuple[DatasetScore, ...]
    strict: tuple[StrictScore, ...] | None = None
    taken: tuple[Path | None, ...] = ()

    @property
    def macro(self) -> dict[str, float]:
        """The eleven, averaged over all datasets with equal weight; a dataset without predictions counts 0."""
        return macro(dataset.metrics for dataset in self.datasets)

    @property
    def macro_answered(self) -> dict[str, float]:
        """The same over the datasets that have predictions, as the public evaluator averages."""
        return macro(dataset.metrics for dataset in self.datasets if dataset.answered)


def score_folder(predictions: Path, truths: Path, *, model: str = "", reference: Path | None = None) -> ScoreReport:
    """Score every dataset of a folder of ground truths.

    Args:
        predictions: Folder of predictions; nothing outside it is read.
        truths: Folder of ground truths, or one file.
        model: Which folder below `VLM/` holds the predictions, where there are several.
        reference: Folder of reference standardizations for the stricter score; not computed when left out.

    Raises:
        LayoutError: A folder is not there, holds nothing to score, leaves open which folder is meant, or is its own reference.
        GroundTruthError: A ground truth cannot be read.
    """
    if not predictions.is_dir():
        raise LayoutError(f"there is no folder {predictions}; name the folder of predictions")
    expected = find_truths(truths)
    alone = len(expected) == 1
    found = [find_predictions(predictions, dataset, model=model, alone=alone, search=True) for dataset in expected]
    if not any(found):
        raise LayoutError(no_predictions(predictions, expected, model=model, alone=alone))
    taken = tuple(folder.root if folder else None for folder in found)
    scores = tuple(score_dataset(e.truth, folder, key=e.key, group=e.group) for e, folder in zip(expected, found, strict=True))
    if reference is None:
        return ScoreReport(scores, taken=taken)
    return ScoreReport(scores, tuple(_strict_scores(expected, found, reference)), taken)


def _strict_scores(expected: tuple[Expected, ...], found: list[Folder | None], root: Path) -> Iterator[StrictScore]:
    if not root.is_dir():
        raise LayoutError(f"there is no folder {root}; name the folder of reference standardizations with --reference")
    references = [find_predictions(root, dataset, alone=len(expected) == 1) for dataset in expected]
    if not any(references):
        raise LayoutError(
            f"no reference standardization below {root}: the stricter score needs <dataset>/agent1_data_organization with images "
            "and annotations that somebody vouches for; name their folder with --reference"
        )
    for dataset, prediction, reference in zip(expected, found, references, strict=True):
        if reference is None:
            continue
        if prediction is not None and prediction.root.resolve() == reference.root.resolve():
            raise LayoutError(f"{reference.root} would be its own reference; name another folder with --reference")
        yield strict_dataset(dataset.key, dataset.truth, prediction, reference)


def score_dataset(truth: GroundTruth, folder: Folder | None, *, key: str = "", group: str = "") -> DatasetScore:
    """Score one dataset; without a folder of predictions everything is 0."""
    key = key or truth.name
    unused: tuple[str, ...] = ()
    if folder is None:
        samples = tuple(_missing(sample.index) for sample in truth.samples)
        meta_file = JsonFile(None, _NO_PREDICTIONS)
    else:
        pairing = pair(truth, folder)
        samples = tuple(_score_sample(truth, sample, folder, pairing.annotation_of.get(sample.index)) for sample in truth.samples)
        meta_file, unused = folder.metadata(), pairing.unused
    counts = ImageCounts(
        present=sum(bool(sample.image) for sample in samples),
        valid=sum(sample.image_valid for sample in samples),
        paired=sum(sample.paired for sample in samples),
    )
    meta = metadata(meta_file, truth, counts)
    if folder is None:
        deductions: tuple[Deduction, ...] = (Deduction(key, "", "", "all", "predictions", 1.0, _NO_PREDICTIONS),)
    else:
        losses = (*meta.schema.losses, *meta.semantic.losses, *meta.content.losses)
        deductions = (
            *(deduction for sample in samples for deduction in _of_sample(key, sample)),
            *(_deduction(key, "", "data_meta.json", loss) for loss in losses),
            *(_unused(key, name) for name in unused),
        )
    return DatasetScore(
        key=key,
        group=group,
        name=truth.name,
        task=truth.task,
        dimension=truth.dimension,
        modality=truth.modality,
        answered=folder is not None,
        expected_count=truth.expected_count,
        metrics=eleven(samples, truth.expected_count, meta),
        samples=samples,
        deductions=deductions,
    )


def _of_sample(key: str, sample: SampleScore) -> Iterator[Deduction]:
    return (_deduction(key, sample.index, sample.annotation, loss) for loss in sample.losses)


def _deduction(key: str, sample: str, file: str, loss: Loss) -> Deduction:
    return Deduction(key, printable(sample), printable(file), loss.metric, loss.item, loss.cost, loss.detail)


def _unused(key: str, name: str) -> Deduction:
    file = printable(f"standardized_annotations/{name}.json")
    return Deduction(key, "", file, "remark", "unused annotation", 0.0, "no sample of the ground truth took this annotation")


def _missing(index: str) -> SampleScore:
    return SampleScore(index, "", "", image_valid=False, annotated=False, paired=False, sourced=False)


def _score_sample(truth: GroundTruth, sample: TruthSample, folder: Folder, name: str | None) -> SampleScore:
    image = folder.image(sample.index if name is None else name)
    if name is None:
        file, read = "", JsonFile(None, "no annotation names this source, and none has this number")
    else:
        file, read = f"standardized_annotations/{name}.json", folder.annotation(name)
    if read.value is not None:
        return _score_record(truth, sample, file, image, take_apart(read.value))
    losses = (Loss("all", "annotation", 1.0, read.problem),)
    return replace(_missing(sample.index), annotation=file, image=image.relative, image_valid=image.valid, losses=losses)


def _score_record(truth: GroundTruth, sample: TruthSample, file: str, image: ImageFile, record: Record) -> SampleScore:
    rules = match_rules(truth.content)
    schema = schema_validity(record, truth.rules)
    semantic = semantic_correctness(record, sample, truth, rules)
    info = information(record, truth.content)
    content = content_fidelity(record, sample, truth, rules)
    pair_loss, source_loss = _pair_loss(record, image), _source_loss(record, sample)
    score = SampleScore(
        index=sample.index,
        annotation=file,
        image=image.relative,
        image_valid=image.valid,
        annotated=True,
        paired=pair_loss is None,
        sourced=source_loss is None,
        schema=schema.value,
        semantic=semantic.value,
        completeness=info.completeness.value,
        validity=info.validity.value,
        non_redundancy=info.non_redundancy.value,
        content=content.value,
    )
    parts = (schema, semantic, info.completeness, info.validity, info.non_redundancy, content)
    gates = [loss for loss in (pair_loss, source_loss, _end_to_end_loss(score)) if loss is not None]
    return replace(score, losses=(*gates, *(loss for part in parts for loss in part.losses)))


def _pair_loss(record: Record, image: ImageFile) -> Loss | None:
    """Why the image and the JSON are no pair."""
    stated = record.record.get("image_path")
    if not image.valid:
        return Loss("E2E", "image", 0.0, image.problem)
    if full_path(stated) != full_path(image.relative):
        return Loss("E2E", "image_path", 0.0, f"record.image_path is {shown(stated)}, the image is {printable(image.relative)}")
    return None


def _source_loss(record: Record, sample: TruthSample) -> Loss | None:
    """Why the source is not the expected one."""
    if not sample.sources:
        return Loss("SCJ", "source", 1.0, "the ground truth names no source for this sample")
    wanted, met = accepted(sample.sources), offered(record)
    if wanted & met and is_traced(record):
        return None
    return Loss("SCJ", "source", 1.0, f"met {shown(sorted(met), 200)}, expected one of {shown(sorted(wanted), 200)}")


def _end_to_end_loss(score: SampleScore) -> Loss | None:
    """Which conditions of end-to-end success do not hold."""
    if score.passes():
        return None
    limits = (
        ("g", score.schema, PUBLISHED.schema),
        ("q", score.semantic, PUBLISHED.semantic),
        ("f", score.content, PUBLISHED.content),
    )
    failed = ["no valid pair"] * (not score.paired) + ["wrong source"] * (not score.sourced)
    failed += [f"{name} {value} < {limit}" for name, value, limit in limits if value < limit]
    return Loss("E2E", "end to end", 1.0, ", ".join(failed))
