"""Drafts of a spec of one folder, and that of inspection, which is the first by rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assets.inspect import Inspection
from assets.inspect.draft import as_mapping
from assets.spec import DatasetSpec

SLUG = "draft"

Source = Literal["rules", "model"]


@dataclass(frozen=True)
class Draft:
    """One reading of a folder.

    Attributes:
        name: What it is called in reports; one of a kind among the drafts of a folder.
        source: Whose it is.
        why: What it does otherwise than the first draft of its source.
        content: In the dataset language; empty where there is none.
        spec: The same, loaded; None where it is no spec.
        task: Of its records; empty where nothing tells.
        problem: Why it is no spec.
        confidence: How sure its source is, from 0 to 1; 0 where it does not say.
    """

    name: str
    source: Source
    why: str = ""
    content: Mapping[str, Any] = field(default_factory=dict)
    spec: DatasetSpec | None = None
    task: str = ""
    problem: str = ""
    confidence: float = 0.0


def loaded(name: str, source: Source, content: Mapping[str, Any], why: str = "", *, task: str = "", sure: float = 0.0) -> Draft:
    """A draft of what a source says; its spec is None where that is none."""
    try:
        spec = DatasetSpec.model_validate(dict(content))
    except ValueError as error:
        return Draft(name, source, why, content, None, task, " ".join(str(error).split()), sure)
    return Draft(name, source, why, content, spec, task, "", sure)


def first_draft(found: Inspection) -> Draft:
    """What inspection drafts of a folder."""
    return loaded(
        "rules", "rules", as_mapping(found, SLUG), "what inspection drafts", task=found.said("task"), sure=sureness(found)
    )


def sureness(found: Inspection) -> float:
    """How sure inspection is of the least sure of its statements about layout, pairing and task."""
    said = [e.confidence for e in found.evidence if e.field.partition(".")[0] in ("layout", "pairing", "task", "role")]
    return min(said, default=0.0)
