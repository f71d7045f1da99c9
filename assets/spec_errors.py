"""What is wrong with a spec, said for whoever writes it: the file, and a line for each problem with the field it is in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

_LONGEST_VALUE = 60
_WANTED = {
    "string_type": "write a text, in quotes where YAML takes it for something else",
    "int_type": "write a whole number",
    "int_parsing": "write a whole number",
    "float_type": "write a number",
    "float_parsing": "write a number",
    "bool_type": "write true or false",
    "bool_parsing": "write true or false",
    "tuple_type": "write a list, such as [a, b]",
    "dict_type": "write a mapping, such as {key: value}",
    "model_type": "write a mapping of its fields",
}
"""Kind of error -> what to do, where pydantic speaks of Python's types."""
_IN_QUOTES = 'a text that begins with { or * stands in quotes, such as "{subject}.nii.gz"'


class SpecError(ValueError):
    """A file that is no usable spec.

    Attributes:
        file: The file.
        problems: What is wrong with it and what to do, a line each.
    """

    def __init__(self, file: Path, problems: Sequence[str], beside: Sequence[str] = ()) -> None:
        """Put the message together; `beside` names the bases the file is laid over, where the fault may lie as well."""
        self.file = file
        self.problems = tuple(problems)
        over = f", laid over {' and '.join(beside)}," if beside else ""
        super().__init__("\n".join([f"{file}{over} is no usable spec:", *(f"  {problem}" for problem in problems)]))

    @property
    def short(self) -> str:
        """One line: the file's name and its first problem."""
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"{self.file.name} is no usable spec: {self.problems[0].splitlines()[0]}{more}"


def problem_of_yaml(text: str, error: yaml.YAMLError) -> str:
    """Line, column, what YAML met there, what to do where that can be told, and below it the text of the line."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return " ".join(str(error).split())
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    what = str(getattr(error, "problem", None) or "no YAML")
    hint = _hint(line)
    said = f"line {mark.line + 1}, column {mark.column + 1}: {what}{f'; {hint}' if hint else ''}"
    return f"{said}\n    {line.strip()}" if line.strip() else said


def _hint(line: str) -> str:
    if "\t" in line:
        return "indent with blanks, not with tabs"
    if re.search(r"(^|[:\-,\[{]\s+|[\[{])(\{[a-z_]+\}[^\s,}\]]|\*)", line):
        return _IN_QUOTES
    if re.search(r'"[^"]*\\[^"]*"', line):
        return "in double quotes a backslash has a meaning of YAML's; put regular expressions in single quotes"
    return ""


def problems_of(error: ValidationError, model: type[BaseModel], content: Mapping[str, Any]) -> list[str]:
    """A line for every field that is wrong: where it stands in the file, what was met there, what to write.

    Args:
        error: What validation says.
        model: What was validated against.
        content: The content of the file.
    """
    found: dict[str, dict[str, None]] = {}
    for details in error.errors(include_url=False):
        path, models = _place(details["loc"], model, content)
        found.setdefault(path, {})[_said(details, models)] = None
    return [f"{path}: {', or '.join(said)}" if path else ", or ".join(said) for path, said in found.items()]


def _place(loc: Iterable[int | str], model: type[BaseModel], content: Any) -> tuple[str, set[type[BaseModel]]]:
    """A problem's place as it is written in the file, without what is only in the model; and the models it lies in."""
    path: list[str] = []
    models, within, here = {model}, {model}, content
    for part in loc:
        written = isinstance(here, Mapping) and part in here
        listed = isinstance(here, list) and isinstance(part, int) and part < len(here)
        fields = [m.model_fields[part].annotation for m in models if isinstance(part, str) and part in m.model_fields]
        if not (written or listed or fields):
            continue
        path.append(str(part))
        within = models
        models = {inner for annotation in fields for inner in _models_in(annotation)} if fields else models
        here = here[part] if written or listed else None
    return ".".join(path), within


def _models_in(annotation: Any) -> set[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {annotation}
    return {model for inner in get_args(annotation) for model in _models_in(inner)}


def _said(details: ErrorDetails, models: set[type[BaseModel]]) -> str:
    """What one error says."""
    kind, value, message = details["type"], details["input"], details["msg"]
    if kind == "value_error":
        return message.removeprefix("Value error, ")
    if kind == "missing":
        place = details["loc"][-1]
        return f"it has no value number {place + 1}; add it" if isinstance(place, int) else "it is missing; add it"
    if kind == "extra_forbidden":
        return _unknown(str(details["loc"][-1]), value, models)
    if isinstance(value, Mapping) and list(value.values()) == [None]:
        return f"met {_shown(value)}; {_IN_QUOTES}"
    said = _WANTED.get(kind) or message.replace("Input should be ", "write ").replace(
        "String should match", "write a text that matches"
    )
    return f"met {_shown(value)}; {said[:1].lower()}{said[1:]}"


def _unknown(name: str, value: object, models: set[type[BaseModel]]) -> str:
    known = sorted({field for model in models for field in model.model_fields})
    if value is None and name not in known:
        return f"there is no such field; if it was to be part of a pattern, {_IN_QUOTES}"
    near = get_close_matches(name, known, n=3)
    choice = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
    return f"there is no such field; {choice}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
