"""Our own, stricter score: labels, pixels, masks and boxes against a reference standardization.

The public score compares none of these but label strings, and its ground truths hold none of them. The reference is
therefore a folder in the same layout as the predictions, made by whoever vouches for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assets.benchmark.mdsbench.boxes import box_agreement, read_boxes
from assets.benchmark.mdsbench.files import Folder
from assets.benchmark.mdsbench.masks import UnusableMaskError, mask_agreement, read_masks
from assets.benchmark.mdsbench.pairing import pair
from assets.benchmark.mdsbench.pictures import picture_agreement, picture_size
from assets.benchmark.mdsbench.record import Record, take_apart
from assets.benchmark.mdsbench.schema import record_violations
from assets.benchmark.mdsbench.scored import Check, Loss, Scored, mean, share
from assets.benchmark.mdsbench.truth import GroundTruth
from assets.benchmark.mdsbench.values import is_filled, shown

COMPONENTS = ("labels", "pixels", "masks", "boxes")


@dataclass(frozen=True, slots=True)
class StrictSample:
    """What one sample got.

    Attributes:
        index: Its key in the ground truth.
        annotation: The annotation it was paired with, relative; empty without one.
        components: Score of each component the reference has.
        well_formed: Whether the record is valid against our schema of the format (reported, not scored).
        losses: Every deduction.
    """

    index: str
    annotation: str
    components: dict[str, float]
    well_formed: bool
    losses: tuple[Loss, ...]

    @property
    def score(self) -> float | None:
        """The worst of the components; None when the reference has none."""
        return min(self.components.values(), default=None)


@dataclass(frozen=True, slots=True)
class StrictScore:
    """What one dataset got; samples the reference does not have are not in it."""

    key: str
    samples: tuple[StrictSample, ...]

    @property
    def score(self) -> float:
        """Mean of the samples' worst components; 0 when there is none."""
        return mean(sample.score for sample in self.samples if sample.score is not None)

    @property
    def exact(self) -> float:
        """Share of samples in which every component is 1."""
        return mean(float(sample.score == 1.0) for sample in self.samples)

    @property
    def well_formed(self) -> float:
        """Share of samples whose record is valid against our schema."""
        return mean(float(sample.well_formed) for sample in self.samples)

    def component(self, name: str) -> float | None:
        """Mean of a component over the samples that have it."""
        values = [sample.components[name] for sample in self.samples if name in sample.components]
        return mean(values) if values else None


@dataclass(frozen=True)
class _Answer:
    """One record with the folder it lies in."""

    folder: Folder
    name: str
    record: Record

    @property
    def file(self) -> str:
        return f"standardized_annotations/{self.name}.json"

    def size(self) -> tuple[int, int] | None:
        path = self.folder.image(self.name).path
        return None if path is None else picture_size(path)


def strict_dataset(key: str, truth: GroundTruth, prediction: Folder | None, reference: Folder) -> StrictScore:
    """Compare predictions with a reference, sample by sample; both are paired with the samples as the public score does it."""
    references = _answers(truth, reference)
    predictions = {} if prediction is None else _answers(truth, prediction)
    samples = (
        _sample(sample.index, truth.task, references[sample.index], predictions.get(sample.index))
        for sample in truth.samples
        if sample.index in references
    )
    return StrictScore(key, tuple(sample for sample in samples if sample.components))


def _answers(truth: GroundTruth, folder: Folder) -> dict[str, _Answer]:
    answers = {}
    for index, name in pair(truth, folder).annotation_of.items():
        read = folder.annotation(name)
        if read.value is not None:
            answers[index] = _Answer(folder, name, take_apart(read.value))
    return answers


def _sample(index: str, task: str, reference: _Answer, met: _Answer | None) -> StrictSample:
    scores = dict(_components(task, reference, met))
    violations = ["there is no record"] if met is None else record_violations(met.record.whole)
    losses = [loss for scored in scores.values() for loss in scored.losses]
    losses += [Loss("well-formed", "schema", 0.0, violation) for violation in violations]
    components = {name: scored.value for name, scored in scores.items()}
    return StrictSample(index, met.file if met else "", components, not violations, tuple(losses))


def _components(task: str, reference: _Answer, met: _Answer | None) -> Iterator[tuple[str, Scored]]:
    checks = list(_label_checks(task, reference.record, met.record if met else None))
    if checks:
        yield "labels", share("labels", checks)
    for name, compare in (("pixels", _pixels), ("masks", _masks), ("boxes", _boxes)):
        found = compare(reference, met)
        if found is not None:
            score, detail = found
            lost = (Loss(name, name, 1 - score, detail),) if score < 1 else ()
            yield name, Scored(score, lost)


def _label_checks(task: str, reference: Record, met: Record | None) -> Iterator[Check]:
    expected = reference.task(task)
    branch = met.task(task) if met else {}
    for key in ("schema_variant", "label", "label_name"):
        if is_filled(expected.get(key)):
            same = type(branch.get(key)) is type(expected[key]) and branch[key] == expected[key]
            yield Check(key, same, f"met {shown(branch.get(key))}, the reference has {shown(expected[key])}")
    classes = expected.get("classes") or expected.get("class_names")
    if isinstance(classes, dict):
        listed = branch.get("classes") or branch.get("class_names")
        yield Check("classes", listed == classes, f"met {shown(listed)}, the reference has {shown(classes)}")


def _pixels(reference: _Answer, met: _Answer | None) -> tuple[float, str] | None:
    expected = reference.folder.image(reference.name)
    if expected.path is None or not expected.valid:
        return None
    found = met.folder.image(met.name) if met else None
    if found is None or found.path is None or not found.valid:
        return 0.0, found.problem if found else "there is no record"
    score, detail = picture_agreement(expected.path, found.path)
    return None if score is None else (score, detail)


def _masks(reference: _Answer, met: _Answer | None) -> tuple[float, str] | None:
    try:
        expected = read_masks(reference.record.task("segmentation"), reference.folder, reference.size())
    except UnusableMaskError:
        return None
    if expected is None:
        return None
    if met is None:
        return 0.0, "there is no record"
    try:
        return mask_agreement(expected, read_masks(met.record.task("segmentation"), met.folder, met.size()))
    except UnusableMaskError as error:
        return 0.0, str(error)


def _boxes(reference: _Answer, met: _Answer | None) -> tuple[float, str] | None:
    expected = read_boxes(reference.record)
    if expected is None:
        return None
    return box_agreement(expected, read_boxes(met.record) if met else None)
