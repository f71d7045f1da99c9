"""q, of which SC is the mean: does the record say the right kind of thing."""

from __future__ import annotations

from collections.abc import Iterator

from assets.benchmark.mdsbench.fields import MatchRules, block_agreement, field_agreements
from assets.benchmark.mdsbench.record import Record
from assets.benchmark.mdsbench.scored import Check, Loss, Scored, mean, rounded
from assets.benchmark.mdsbench.truth import GroundTruth, TruthSample
from assets.benchmark.mdsbench.values import JsonObject, at, dimension, is_filled, modality, shown, text, token_text

FIELDS_SHARE, PRESENCE_SHARE, TASK_SHARE = 0.70, 0.10, 0.20
"""What the three parts weigh in q."""


def semantic_correctness(record: Record, sample: TruthSample, truth: GroundTruth, rules: MatchRules) -> Scored:
    """0.70 of the weighted fields, 0.10 of the payload's presence, 0.20 of the payload's agreement."""
    fields, field_losses = _fields(record, sample, truth)
    presence, presence_losses = _presence(record, truth.task)
    task, task_losses = _payload(record, sample, rules)
    if task is None:
        task = presence
        task_losses = [Loss("SC", loss.item, loss.cost * TASK_SHARE / PRESENCE_SHARE, loss.detail) for loss in presence_losses]
    value = FIELDS_SHARE * fields + PRESENCE_SHARE * presence + TASK_SHARE * task
    return Scored(rounded(value), (*field_losses, *presence_losses, *task_losses))


def _fields(record: Record, sample: TruthSample, truth: GroundTruth) -> tuple[float, list[Loss]]:
    weighted = list(_weighted_checks(record, sample, truth))
    total = sum(weight for weight, _ in weighted)
    losses = [
        Loss("SC", check.item, FIELDS_SHARE * weight / total, check.detail) for weight, check in weighted if not check.passed
    ]
    return sum(weight for weight, check in weighted if check.passed) / total, losses


def _weighted_checks(record: Record, sample: TruthSample, truth: GroundTruth) -> Iterator[tuple[float, Check]]:
    expected, media = sample.expected, record.media
    yield 0.25, _same("task_type", text(media.get("task_type")), truth.task)
    yield 0.15, _same("dimension", dimension(media.get("dimension")), truth.dimension)
    wanted = modality(at(expected, "expected_context_sample", "modality_primary"))
    if wanted:
        yield 0.20, _same("modality_primary", modality(record.sample.get("modality_primary")), wanted)
    wanted = text(at(expected, "expected_record", "dataset_name"))
    if wanted:
        yield 0.15, _dataset_name(text(record.record.get("dataset_name")), wanted, strict=_is_strict(truth.content))
    wanted = token_text(expected.get("class"))
    if wanted:
        yield 0.15, _same("class", _predicted_class(record, truth.task), wanted)
    wanted = token_text(expected.get("map_type"))
    if wanted:
        met = record.extra.get("map_type") or media.get("annotation_type") or media.get("map_type")
        yield 0.10, _same("map_type", token_text(met), wanted)


def _same(item: str, met: str, wanted: str) -> Check:
    return Check(item, met == wanted, f"met {shown(met)}, expected {shown(wanted)} (both normalised)")


def _is_strict(content: JsonObject) -> bool:
    return bool(content.get("strict_dataset_name_match"))


def _dataset_name(met: str, wanted: str, *, strict: bool) -> Check:
    contained = not strict and bool(met) and (met in wanted or wanted in met)
    return Check("dataset_name", met == wanted or contained, f"met {shown(met)}, expected {shown(wanted)}")


def _predicted_class(record: Record, task: str) -> str:
    branch, extra = record.task(task), record.extra
    if task == "classification":
        return token_text(branch.get("label_name") or extra.get("label_text") or extra.get("class_name"))
    classes = branch.get("classes") or branch.get("class_names")
    listed = classes.values() if isinstance(classes, dict) else ()
    names = [str(name) for name in listed if is_filled(name) and token_text(name) != "background"]
    return token_text("|".join(names)) or token_text(
        extra.get("label_text") or extra.get("class_name") or extra.get("label_name"),
    )


def _presence(record: Record, task: str) -> tuple[float, list[Loss]]:
    checks = list(_presence_checks(record, task))
    each = PRESENCE_SHARE / len(checks)
    losses = [Loss("SC", f"payload {check.item}", each, check.detail) for check in checks if not check.passed]
    return mean(float(check.passed) for check in checks), losses


def _presence_checks(record: Record, task: str) -> Iterator[Check]:
    branch, extra = record.task(task), record.extra
    if task == "classification":
        name = branch.get("label_name") or extra.get("label_text") or extra.get("class_name")
        yield Check("label", "label" in branch, "tasks.classification has no key label")
        yield Check("label_name", is_filled(name), f"no label name, met {shown(name)}")
        return
    own, files = _PAYLOADS[task]
    yield Check("schema_variant", is_filled(branch.get("schema_variant")), f"tasks.{task}.schema_variant is missing")
    yield Check("classes", is_filled(branch.get("classes") or branch.get("class_names")), f"tasks.{task} has no classes")
    payload = next((branch[key] for key in own if branch.get(key)), None) or next((extra[k] for k in files if extra.get(k)), None)
    yield Check("annotation", is_filled(payload), f"nothing under {', '.join((*own, *(f'extra.{key}' for key in files)))}")


_PAYLOADS = {
    "segmentation": (("coco_2d", "mask_3d", "video_coco"), ("label_file", "mask_file", "seg_file")),
    "detection": (("boxes2d", "boxes3d", "frame_boxes2d"), ("bbox_file",)),
}


def _payload(record: Record, sample: TruthSample, rules: MatchRules) -> tuple[float | None, list[Loss]]:
    blocks = sample.tasks
    if not blocks:
        return None, []
    losses = [
        Loss("SC", f"expected_tasks.{task}.{key}", TASK_SHARE * (1 - score) / len(expected) / len(blocks), detail)
        for task, expected in blocks.items()
        for key, score, detail in field_agreements(record.task(task), expected, rules)
        if score < 1
    ]
    return mean(block_agreement(record.task(task), expected, rules) for task, expected in blocks.items()), losses
