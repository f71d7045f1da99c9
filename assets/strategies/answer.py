"""Takes a model's answer for what it is: data of a stranger. It is bounded, loaded safely, and every path and pattern is judged.

Nothing of it is ever run as code. What cannot be used raises `UnusableAnswerError`, which says what to tell the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from assets.patterns import compile_pattern
from assets.spec import DatasetSpec
from assets.strategies.drafts import SLUG
from assets.strategies.regexes import DangerousRegexError, require_harmless, require_quick

Json = dict[str, Any]

MOST_LETTERS, MOST_NODES, MOST_LEVELS = 64_000, 5000, 20
"""Of the text of an answer, and of what it holds."""

KEYS = frozenset(
    (
        "name",
        "homepage",
        "licence",
        "modality",
        "anatomy",
        "description",
        "layout",
        "labels",
        "classes",
        "objects",
        "people",
        "task",
    ),
)
"""What a model may say; other keys are left out, and that is told."""

_LAYOUT_KEYS = frozenset(("subject", "scan", "roots", "fields", "series", "labels", "unlabelled", "ignore"))
_TAGS = ("Modality", "BodyPartExamined", "Laterality", "ImageLaterality", "ViewPosition", "ScanningSequence")
"""DICOM elements that a model may take classes from: none that could tell of a person."""

_TASKS = ("classification", "segmentation", "detection")
_FENCE = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)(?:\n```|\Z)", re.DOTALL)
_TEXT_REGEXES = ("header", "matches")


class UnusableAnswerError(Exception):
    """An answer that is no draft; the message says why, in one line."""


def read_answer(text: str, names: Sequence[str], secret: str = "") -> tuple[Json, str, list[str]]:
    """The draft that a text holds, the task that it names (empty where none), and remarks on what was left out.

    Args:
        text: What the model wrote: YAML or JSON, by itself or in a code fence.
        names: Paths of the raw folder; the draft's patterns are tried on them, in a process of its own.
        secret: What must not be in it, nor in any message about it.

    Raises:
        UnusableAnswerError: It is too large, no mapping, no spec, or dangerous.
    """
    try:
        return _read(text, names, secret)
    except UnusableAnswerError as error:
        raise UnusableAnswerError(_one_line(str(error), secret)) from None


def _read(text: str, names: Sequence[str], secret: str) -> tuple[Json, str, list[str]]:
    if len(text) > MOST_LETTERS:
        raise UnusableAnswerError(f"the answer has {len(text)} letters; {MOST_LETTERS} are the most that are looked at")
    content = _mapping(_fenced(text))
    if secret and any(secret in string for string in _strings(content)):
        raise UnusableAnswerError("the answer repeats the key that was sent with the question")
    remarks = [f"the answer's {key!r} is left out" for key in map(str, content) if key not in KEYS]
    task = str(content.get("task", ""))
    if task not in _TASKS:
        remarks += [f"the answer's task {task[:40]!r} is none"] if task else []
        task = ""
    draft = _completed({key: value for key, value in content.items() if key in KEYS and key != "task"})
    layout = draft.get("layout")
    if not isinstance(layout, dict):
        raise UnusableAnswerError("the answer has no `layout`")
    remarks += [f"the answer's 'layout.{key}' is left out" for key in map(str, layout) if key not in _LAYOUT_KEYS]
    draft["layout"] = {key: value for key, value in layout.items() if key in _LAYOUT_KEYS}
    _require_regexes(draft)
    try:
        spec = DatasetSpec.model_validate(draft)
    except (ValueError, re.error, RecursionError) as error:
        raise UnusableAnswerError(f"the answer is no spec: {error}") from None
    if spec.classes is not None and spec.classes.tag and spec.classes.tag not in _TAGS:
        raise UnusableAnswerError(f"classes are taken from {spec.classes.tag[:60]!r}; of headers only {', '.join(_TAGS)} are")
    _require_inside(spec)
    _require_patterns(spec, names)
    return draft, task, remarks


def _fenced(text: str) -> str:
    """The longest code block of a text that has any, else the text."""
    blocks = _FENCE.findall(text)
    return max(blocks, key=len) if blocks else text


def _mapping(text: str) -> Json:
    try:
        content = json.loads(text) if text.lstrip().startswith("{") else _yaml(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        raise UnusableAnswerError(f"the answer is neither YAML nor JSON: {error}") from None
    if not isinstance(content, dict):
        raise UnusableAnswerError(f"the answer is {type(content).__name__}, not a mapping with the fields of a spec")
    _require_bounded(content)
    return content


def _yaml(text: str) -> object:
    """Plain YAML: nothing that refers to something else, so that nothing grows while it is loaded."""
    level = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        level += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise UnusableAnswerError("the answer's YAML refers to parts of itself (aliases), which is not loaded")
        if level > MOST_LEVELS:
            raise UnusableAnswerError(f"the answer is nested deeper than {MOST_LEVELS} levels")
        if number > 4 * MOST_NODES:
            raise UnusableAnswerError(f"the answer holds more than {MOST_NODES} values")
    return yaml.safe_load(text)


def _require_bounded(content: object) -> None:
    level, total = [content], 0
    for _ in range(MOST_LEVELS):
        level = [item for parent in level for item in _children(parent)]
        total += len(level)
        if total > MOST_NODES:
            raise UnusableAnswerError(f"the answer holds more than {MOST_NODES} values")
        if not level:
            return
    raise UnusableAnswerError(f"the answer is nested deeper than {MOST_LEVELS} levels")


def _children(value: object) -> list[object]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for child in _children(value):
        yield from _strings(child)


def _completed(said: Json) -> Json:
    """With what every spec has and no folder tells."""
    unknown = dict.fromkeys(("licence", "modality", "anatomy", "description"), "unknown")
    known = {key: value for key, value in said.items() if value is not None}
    return {"name": SLUG, **unknown, **known, "slug": SLUG, "version": "unknown", "access": "restricted", "sources": []}


def _require_regexes(draft: Json) -> None:
    """Judge expressions before the spec's loader compiles them."""
    try:
        for value in _said_regexes(draft):
            require_harmless(value)
        for key in _TEXT_REGEXES:
            for value in _under(draft, key):
                require_harmless(value, most_open=2)
    except DangerousRegexError as error:
        raise UnusableAnswerError(str(error)) from None


def _said_regexes(draft: Json) -> Iterator[str]:
    layout = draft["layout"]
    people = draft.get("people")
    values = [layout.get("subject"), layout.get("scan"), *(_children(layout.get("fields")))]
    values.append(people.get("id") if isinstance(people, dict) else None)
    yield from (value for value in values if isinstance(value, str))


def _under(value: object, key: str) -> Iterator[str]:
    """Every text below a key, wherever it stands."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _strings(item) if name == key else _under(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _under(item, key)


def _paths(spec: DatasetSpec) -> Iterator[str]:
    """Every path and pattern of a spec."""
    for source in (*spec.layout.series.values(), *spec.layout.labels.values()):
        yield from source.patterns
    yield from spec.layout.ignore
    yield from spec.layout.roots
    if spec.classes is not None and spec.classes.table is not None:
        yield spec.classes.table.file
    if spec.classes is not None and spec.classes.lines is not None:
        yield spec.classes.lines.file
    if spec.objects is not None:
        yield from spec.objects.file
    yield from (table.file for table in spec.people.all_tables)


def _require_inside(spec: DatasetSpec) -> None:
    for path in _paths(spec):
        parts = path.replace("\\", "/").split("/")
        if path.startswith(("/", "\\", "~")) or ".." in parts or "\0" in path or re.match(r"[A-Za-z]:", path):
            raise UnusableAnswerError(f"the path {path[:120]!r} leads out of the raw folder")


def _require_patterns(spec: DatasetSpec, names: Sequence[str]) -> None:
    """Compile every pattern as the layout does, and try it on the names that are there."""
    layout = spec.layout
    fields: Mapping[str, str] = {
        "subject": layout.subject,
        "scan": layout.scan or "(?!)",
        "root": "|".join(map(re.escape, layout.roots)) or "(?!)",
        "label": "|".join(re.escape(label.file_name) for label in spec.labels.values()) or "(?!)",
        **layout.fields,
    }
    try:
        compiled = [compile_pattern(path, fields).regex.pattern for path in _claiming(spec)]
        for expression in compiled:
            require_harmless(re.sub(r"\(\?P(=[a-z_]+\)|<[a-z_]+>)", "(?:", expression).replace("(?!)", ""), most_open=12)
        require_quick(compiled, names)
    except (ValueError, re.error) as error:
        raise UnusableAnswerError(f"the answer's patterns cannot be used: {error}") from None


def _claiming(spec: DatasetSpec) -> Iterator[str]:
    for source in (*spec.layout.series.values(), *spec.layout.labels.values()):
        yield from source.patterns
    yield from spec.layout.ignore


def _one_line(text: str, secret: str) -> str:
    plain = " ".join(text.split())
    return (plain.replace(secret, "[key]") if secret else plain)[:400]
