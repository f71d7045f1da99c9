"""Writes what was found as a spec, with the evidence beside every field and a line for everything that is unknown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from assets.inspect.candidates import Candidate
from assets.inspect.classes import ClassRule
from assets.inspect.dicom_sets import DicomSet
from assets.inspect.fourth_axis import channels_of, series_names
from assets.inspect.inspection import Inspection
from assets.inspect.layout import Plan, Source
from assets.inspect.objects import ObjectRule, label_column, names_in
from assets.inspect.patients import FIELDS
from assets.inspect.patterns import endings_apart, regex_of
from assets.inspect.roles import Part
from assets.inspect.targets import target_candidates
from assets.spec import DatasetSpec


def as_mapping(found: Inspection, slug: str) -> dict[str, Any]:
    """The draft as a mapping of the dataset language; without `layout` where no images were recognised."""
    content: dict[str, Any] = {
        "slug": slug,
        "name": slug,
        "version": "unknown",
        "licence": "unknown",
        "access": "restricted",
        "modality": found.said("modality") or "unknown",
        "anatomy": "unknown",
        "description": "unknown",
        "sources": [],
    }
    if found.dicom is not None:
        content["layout"] = _dicom_layout(found, found.dicom)
        if found.labels:
            content["labels"] = dict(found.labels)
        content |= _dicom_classes(found) | _objects(found)
    elif found.plan is not None:
        content["layout"] = _layout(found, found.plan)
        if found.labels:
            content["labels"] = dict(found.labels)
        content |= _classes(found, found.plan) | _objects(found)
        if found.classes is not None and found.classes.bare:
            content["layout"] = _without_zeros(content["layout"], _held_against(found.plan, found.classes.keyed)[1:-1])
    if found.people is not None:
        content["people"] = dict(found.people.fields)
    elif "layout" in content and not any(e.field == "layout.subject" for e in found.evidence):
        content["people"] = {"unit": "image"}
    return content


def _layout(found: Inspection, planned: Plan) -> dict[str, Any]:
    sources = (*planned.series, *planned.labels)
    pairs = [(part.group, where) for source in sources for part, where in source.parts]
    named = {stretch.field for _, where in pairs for stretch in where}
    layout: dict[str, Any] = {"subject": regex_of(pairs, "subject")}
    if "scan" in named:
        layout["scan"] = regex_of(pairs, "scan")
    if others := sorted(named - {"subject", "scan", "label"}):
        layout["fields"] = {name: regex_of(pairs, name) for name in others}
    if found.rows:
        layout["rows"] = {re.sub(r"\d+", "*", table): list(columns) for table, columns in found.rows.items()}
    layout["series"] = {name: one for source in planned.series for name, one in _series(source, planned).items()}
    if planned.labels:
        layout["labels"] = {source.name: _labels(source, planned) for source in planned.labels}
        if planned.leave:
            layout["unlabelled"] = "leave"
    ignored = _ignored(found, planned)
    if ignored:
        layout["ignore"] = ignored
    return layout


def _without_zeros(layout: dict[str, Any], field: str) -> dict[str, Any]:
    """The layout with the zeros before the number that a field reads in a field of their own."""

    def parted(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: parted(one) for name, one in value.items()}
        if isinstance(value, list):
            return [parted(one) for one in value]
        return value.replace(f"{{{field}}}", f"{{zeros}}{{{field}}}") if isinstance(value, str) else value

    expressions = dict(layout.get("fields", {}))
    (layout if field in layout else expressions)[field] = r"(?:0|[1-9]\d*)"
    first = {name: text for name, text in layout.items() if name in ("subject", "scan")}
    rest = {name: parted(one) for name, one in layout.items() if name not in ("subject", "scan", "fields")}
    return {**first, "fields": {**expressions, "zeros": "0*"}, **rest}


def _dicom_classes(found: Inspection) -> dict[str, Any]:
    rule = found.classes
    if rule is None:
        return {}
    if rule.tag:
        return {"classes": {"names": list(rule.names), "tag": rule.tag}}
    if rule.table is not None:
        return {"classes": _class_table(rule, ("{subject}", "{stem}")[rule.keyed])}
    return {"classes": _told(rule) if rule.told else {"names": list(rule.names), "field": "{folder}"}}


def _told(rule: ClassRule) -> dict[str, Any]:
    return {"names": list(rule.names), "field": rule.told, "matches": dict(rule.matches)}


def _dicom_layout(found: Inspection, instances: DicomSet) -> dict[str, Any]:
    layout: dict[str, Any] = {"subject": instances.subject}
    if instances.scan:
        layout["scan"] = instances.scan
    if tags := _tags(found):
        layout["tags"] = tags
    path: Any = list(instances.patterns) if len(instances.patterns) > 1 else instances.patterns[0]
    asked = "|".join(sorted(instances.modalities))
    layout["series"] = {"instance" if instances.alone is None else "segmentation": {"path": path, "header": {"Modality": asked}}}
    if instances.alone is not None and instances.alone.labels:
        one = {"nonzero_is": 1} if instances.alone.binary else {}
        layout["labels"] = {"mask": {"path": path, "header": {"Modality": asked}, **one}}
    others = [part for part in found.parts if set(part.group.paths) - set(instances.paths)]
    if others:
        layout["ignore"] = {path: _reason(part) for part in others for path in endings_apart(part.group, ())}
    return layout


def _tags(found: Inspection) -> dict[str, str]:
    """Fields that are read in headers: what marks objects, and who the person is."""
    marked = dict(found.objects.tags) if found.objects is not None else {}
    field = found.people.fields.get("field") if found.people is not None else None
    return marked | ({field: FIELDS[field]} if field else {})


def _series(source: Source, planned: Plan) -> dict[str, Any]:
    """Series name -> its files; one series, or one for every channel."""
    text = _path(source)
    more = _in_container(source)
    if len(planned.series) > 1:
        more["required"] = False
    taken = channels_of(source)
    if taken is None:
        return {source.name: {"path": text, **more} if more else text}
    return {name: {"path": text, **channel, **more} for name, channel in taken.of(source.name, planned.channel_names).items()}


def _in_container(source: Source) -> dict[str, Any]:
    """Which array of a container is meant, and its axes as far as something tells them."""
    told = {"key": source.key, "axes": source.axes}
    return {name: text for name, text in told.items() if text}


def _path(source: Source) -> Any:
    patterns = list(dict.fromkeys(text for part, where in source.parts for text in endings_apart(part.group, where)))
    return patterns[0] if len(patterns) == 1 else patterns


def _labels(source: Source, planned: Plan) -> Any:
    text = _path(source)
    if source.part.role == "structures":
        level = {"at_least": source.at_least} if source.at_least is not None else {}
        return {"masks": text, "overlap": "lower id wins", "absent": "empty", **level}
    more: dict[str, Any] = {**_in_container(source), **_ids(source, planned)}
    if source.channels:
        more["one_hot"] = True
    if source.of:
        own = {one.name: series_names(one, planned.channel_names) for one in planned.series}
        more["of"] = [name for series in source.of for name in own.get(series, [series])]
    if (len(planned.labels) > 1 and not source.of_all) or planned.few:
        more["required"] = False
    return {"path": text, **more} if more else text


def _ids(source: Source, planned: Plan) -> dict[str, Any]:
    """Which label the values of a label map stand for, where that is not the one of the same number."""
    own = {"nonzero_is": source.nonzero_is} if source.nonzero_is is not None else {}
    if source.at_least is not None:
        return {"at_least": source.at_least, **own}
    if own or planned.binary:
        return own or {"nonzero_is": 1}
    if planned.colours:
        return {"colours": {label_id: list(colour) for label_id, colour in planned.colours.items()}}
    return {"values": dict(planned.levels)} if planned.levels else {}


def _ignored(found: Inspection, planned: Plan) -> dict[str, str]:
    """Every file that no source claims, by the shape of its name."""
    ignored: dict[str, str] = {}
    for part in found.parts:
        if set(part.group.paths) - planned.claimed:
            ignored |= dict.fromkeys(endings_apart(part.group, ()), _reason(part))
    told = re.sub(r"(\{\w+\}|\*)+", "*", found.classes.lines) if found.classes is not None else ""
    taken = {told: "the classes are taken from it", found.named_by: "the names of label ids are taken from it"}
    return {path: taken.get(path, reason) for path, reason in ignored.items()}


def _reason(part: Part) -> str:
    reasons = {
        "image": "images that the draft does not use; a person must say why",
        "mask": "label maps that the draft does not use; a person must say why",
        "structures": "label maps that the draft does not use; a person must say why",
        "table": "a table",
        "text": "text",
    }
    return reasons.get(part.role, "unknown what it is for")


def _classes(found: Inspection, planned: Plan) -> dict[str, Any]:
    rule = found.classes
    if rule is None:
        return {}
    if rule.table is not None:
        return {"classes": _class_table(rule, rule.names_by or _held_against(planned, rule.keyed))}
    if rule.lines:
        lines = {"file": rule.lines} | ({"key": rule.value} if rule.value else {})
        return {"classes": {"names": list(rule.names), "lines": lines} | ({"missing": "none"} if rule.some else {})}
    if rule.told:
        return {"classes": _told(rule)}
    values = planned.reference.group.variables[rule.variable or 0].distinct
    told = {value: name for value, name in zip(values, rule.names, strict=True) if value != name}
    if not planned.class_field:
        inside = {name: f".*{re.escape(value)}.*" for value, name in zip(values, rule.names, strict=True)}
        return {"classes": {"names": list(rule.names), "field": "{path}", "matches": inside}}
    some = {"missing": "none"} if planned.series[0].more else {}
    return {"classes": {"names": list(rule.names), "field": planned.class_field} | ({"values": told} if told else {}) | some}


def _held_against(planned: Plan, keyed: int) -> str:
    """The template of what a table names: the field that reads a part of the images' names, or their whole names."""
    variables = planned.reference.group.variables
    own = variables[keyed].at if keyed < len(variables) else ()
    field = next((s.field for s in planned.series[0].where if s.start in own and s.end - s.start == 1), "stem")
    return f"{{{field}}}"


def _class_table(rule: ClassRule, match: str) -> dict[str, Any]:
    if rule.table is None or rule.naming is None:
        raise ValueError("a rule of classes in a table names the table")
    table: dict[str, Any] = {"file": rule.table.path, **({} if rule.table.each.endswith("{}") else {"key": rule.naming.column})}
    table |= {"flags": list(rule.flags)} if rule.flags else {"value": rule.value} if rule.value else {}
    table["match"] = rule.naming.before + match + rule.naming.behind
    if rule.table.each:
        table["each"] = rule.table.each
    elif rule.table.separator != ",":
        table["separator"] = rule.table.separator
    if rule.table.headless:
        table["columns"] = list(rule.table.columns)
    return {"names": list(rule.names), "table": table} | ({"missing": "none"} if rule.some else {})


def _objects(found: Inspection) -> dict[str, Any]:
    rule = found.objects
    if rule is None:
        return {}
    if rule.table is None:
        return _marked(rule)
    files = list(rule.files) or [rule.table.path]
    content: dict[str, Any] = {"file": files if len(files) > 1 else files[0], rule.how: list(rule.columns)}
    if not rule.files:
        content |= {"key": rule.key, "match": _match(found, rule)}
    if label := label_column(rule.table):
        content["label"] = label
    if rule.diameter and rule.how == "centre_lps_mm":
        content["diameter_mm"] = rule.diameter
    if rule.table.separator != ",":
        content["separator"] = rule.table.separator
    names = dict(found.labels)
    new = [name for name in names_in(rule.table, label) if name not in names.values()]
    names |= dict(enumerate(new, start=max(names, default=0) + 1))
    return ({"labels": names} if names else {}) | {"objects": content}


def _match(found: Inspection, rule: ObjectRule) -> str:
    """What the key of a table of objects is held against."""
    if rule.naming is None or (found.plan is None and found.dicom is None):
        return "{stem}"
    told = ("{subject}", "{stem}")[rule.keyed] if found.plan is None else _held_against(found.plan, rule.keyed)
    return rule.naming.before + told + rule.naming.behind


def _marked(rule: ObjectRule) -> dict[str, Any]:
    """Objects in other files than tables, and the labels that their names become."""
    content: dict[str, Any] = {"file": rule.files[0], "format": rule.how}
    if rule.key:
        content |= {"key": rule.key, "match": f"{{{rule.tags[0][0]}}}"}
    if rule.names:
        content["labels"] = {name: name for name in rule.names}
    labels = {"labels": dict(enumerate(rule.names, start=1))} if rule.names else {}
    return {**labels, "objects": content}


def as_spec(found: Inspection, slug: str) -> DatasetSpec:
    """The draft as a spec.

    Raises:
        ValueError: It is not complete enough; the message says what is missing.
    """
    return DatasetSpec.model_validate(as_mapping(found, slug))


def as_yaml(found: Inspection, slug: str) -> str:
    """The draft as a YAML file, evidence and unknown things as comments in front of the field they are about."""
    lines = [
        f"# A draft by `medfoundry inspect`, from {found.n_files} names. Look at every line before it is used.",
        *_comments(found, {"files", "layout"}, exact=True),
    ]
    content = as_mapping(found, slug)
    untold = {"labels", "classes", "objects", "people"} - content.keys()
    for key, value in content.items():
        lines += _comments(found, {key, *untold} if key == "layout" else {key})
        lines.append(yaml.safe_dump({key: value}, sort_keys=False, allow_unicode=True, width=120).rstrip())
        if value in ("unknown", []) or key == "access":
            lines[-1] += "   # unknown: nothing in the folder was read for it"
    lines += [line for line in _comments(found) if line not in lines]  # of fields that the draft does not have
    for one in offered(found, content):
        told = yaml.safe_dump(one.fields, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
        lines.append(f"# could be, by {_line(one.why)}: {told.strip()[1:-1]}")
    return "\n".join(lines) + "\n"


def offered(found: Inspection, content: Mapping[str, Any]) -> tuple[Candidate, ...]:
    """What a draft might say besides.

    Args:
        found: What was found.
        content: Its draft.
    """
    several = target_candidates(found.plan, content) if found.plan is not None and found.plan.labels else ()
    return (*found.candidates, *several)


def _comments(found: Inspection, keys: set[str] | None = None, *, exact: bool = False) -> Iterator[str]:
    aliases = {"pairing": "layout", "role": "layout", "axes": "layout", "split": "layout", "task": "slug", "dimension": "slug"}

    def about(field: str) -> bool:
        if keys is None:
            return True
        if exact:
            return field in keys
        top = field.partition(".")[0]
        return aliases.get(top, top) in keys and field != "layout"

    for e in found.evidence:
        if about(e.field):
            yield f"# evidence: {e.field} = {_line(e.said)} ({e.confidence:.2f}): {_line(e.seen)}"
    for u in found.unknown:
        if about(u.field):
            yield f"# unknown: {u.field}: {_line(u.why)}"


def _line(text: str) -> str:
    """A text in one line; names of files may hold anything."""
    return json.dumps(text, ensure_ascii=False)[1:-1].replace('\\"', '"')


__all__ = ["as_mapping", "as_spec", "as_yaml", "offered"]
