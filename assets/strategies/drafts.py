"""Drafts of a spec of one folder: that of inspection, and its rivals where the folder can be read in another way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assets.inspect import Inspection
from assets.inspect.draft import as_mapping
from assets.spec import DatasetSpec

SLUG = "draft"

Json = dict[str, Any]
Source = Literal["rules", "model"]

_SUREST = 0.9
"""A statement that inspection is less sure of than this may be wrong: a rival leaves it out."""


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


def rule_drafts(found: Inspection) -> list[Draft]:
    """The draft of inspection first, then its rivals; a rival is a reading that leaves out what inspection is not sure of.

    Args:
        found: What was found in a folder.
    """
    content = as_mapping(found, SLUG)
    task = found.said("task")
    drafts = [loaded("rules", "rules", content, "what inspection drafts", task=task, sure=_confidence(found))]
    for name, why, changed in _rivals(found, content):
        rival = loaded(f"rules, {name}", "rules", changed, why)
        if rival.spec is not None and all(rival.spec != draft.spec for draft in drafts):
            drafts.append(rival)
    return drafts


def _confidence(found: Inspection) -> float:
    """That of the least sure statement about layout, pairing or task."""
    said = [e.confidence for e in found.evidence if e.field.partition(".")[0] in ("layout", "pairing", "task", "role")]
    return min(said, default=0.0)


def _sure(found: Inspection, name: str) -> float:
    return max((e.confidence for e in found.evidence if e.field == name), default=0.0)


def _rivals(found: Inspection, content: Mapping[str, Any]) -> Iterator[tuple[str, str, Json]]:
    layout = content.get("layout")
    if not layout:
        return
    if layout.get("labels") and _sure(found, "pairing") < _SUREST:
        rival = _without_labels(content)
        yield "no label maps", f"the pairing is only {_sure(found, 'pairing'):.2f} sure", rival
    if content.get("objects") and _sure(found, "objects") < _SUREST:
        yield "no objects", f"the marked objects are only {_sure(found, 'objects'):.2f} sure", _without(content, "objects")
    if content.get("classes") and _sure(found, "classes") < _SUREST:
        yield "no classes", f"the classes are only {_sure(found, 'classes'):.2f} sure", _without(content, "classes")
    if layout.get("labels") and len(layout["series"]) > 1:
        for name in layout["series"]:
            yield f"series {name} alone", "each series could be the one that is meant", _one_series(content, name)


def _without(content: Mapping[str, Any], key: str) -> Json:
    return {name: value for name, value in content.items() if name != key}


def _without_labels(content: Mapping[str, Any]) -> Json:
    """The images by themselves; the label maps are left out with a reason."""
    layout = dict(content["layout"])
    labels = layout.pop("labels")
    layout.pop("unlabelled", None)
    left = {pattern: "label maps that this reading leaves out" for source in labels.values() for pattern in _patterns(source)}
    layout["ignore"] = {
        **{p.replace("{subject}", "*").replace("{scan}", "*"): why for p, why in left.items()},
        **_ignored(layout),
    }
    return {**_without(content, "labels"), "layout": layout}


def _one_series(content: Mapping[str, Any], name: str) -> Json:
    layout = dict(content["layout"])
    layout["series"] = {name: layout["series"][name]}
    labels = {
        key: value for key, value in layout["labels"].items() if not isinstance(value, dict) or name in value.get("of", [name])
    }
    return {**content, "layout": {**layout, "labels": labels}}


def _patterns(source: object) -> list[str]:
    said = source.get("path", source.get("masks")) if isinstance(source, dict) else source
    return [said] if isinstance(said, str) else list(said) if isinstance(said, list | tuple) else []


def _ignored(layout: Mapping[str, Any]) -> Json:
    return dict(layout.get("ignore") or {})
