"""The blocks of one predicted annotation, each an object whatever the file holds there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from assets.benchmark.mdsbench.values import JsonObject, at, objects


@dataclass(frozen=True)
class Record:
    """One `standardized_annotations/<i>.json`, taken apart.

    Attributes:
        whole: The file.
        record: Block `record`.
        sample: `context.sample`.
        own_extra: `context.sample.extra` as written.
        extra: The same, with `subject_id` copied in from the sample where extra has none.
        media: `media_geometry.media`.
        spatial: `media_geometry.spatial`.
        tasks: Block `tasks`.
    """

    whole: JsonObject
    record: JsonObject
    sample: JsonObject
    own_extra: JsonObject
    extra: JsonObject
    media: JsonObject
    spatial: JsonObject
    tasks: JsonObject

    def task(self, name: str) -> JsonObject:
        """The branch of a task; empty when it is no object."""
        return objects(self.tasks.get(name))


def take_apart(whole: JsonObject) -> Record:
    """The blocks of an annotation."""
    sample = objects(at(whole, "context", "sample"))
    own_extra = objects(sample.get("extra"))
    return Record(
        whole=whole,
        record=objects(whole.get("record")),
        sample=sample,
        own_extra=own_extra,
        extra=_with_subject(own_extra, sample),
        media=objects(at(whole, "media_geometry", "media")),
        spatial=objects(at(whole, "media_geometry", "spatial")),
        tasks=objects(whole.get("tasks")),
    )


def _with_subject(extra: JsonObject, sample: JsonObject) -> JsonObject:
    merged: dict[str, Any] = dict(extra)
    subject = merged.get("subject_id") or sample.get("subject_id")
    if isinstance(subject, str) and subject.strip():
        merged["subject_id"] = subject.strip()
    return merged
