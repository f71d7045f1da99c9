"""Reads the file of a spec, and the bases it is laid over, as plain values."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from assets.spec_errors import SpecError, problem_of_yaml


class _NoKeyTwice(yaml.constructor.SafeConstructor):
    """Refuses a key that stands twice in one mapping, where YAML's own takes the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - as in the base
        """A mapping of different keys."""
        lines: dict[Hashable, int] = {}
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                continue
            line = key_node.start_mark.line + 1
            if key in lines:
                problem = f"the key {key!r} stands here and on line {lines[key]}; remove one of them"
                raise yaml.constructor.ConstructorError(None, None, problem, key_node.start_mark)
            lines[key] = line
        mapping: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return mapping


_LOADER: Any = type("_Loader", (_NoKeyTwice, getattr(yaml, "CSafeLoader", yaml.SafeLoader)), {})
"""On libyaml where PyYAML was built with it: a hundred specs load in a tenth of the time."""


def read_spec_file(path: Path) -> tuple[dict[str, Any], list[str]]:
    """The content of a file laid over its bases, and the names of their files.

    With `base: NAME` a file is laid over `_NAME.yaml` beside it, mappings key by key, all else whole; of several, the later lies
    over the earlier.

    Raises:
        SpecError: The file or a base of it cannot be read, is no YAML, has a key twice, is no mapping, or is a base of itself.
    """
    return _with_bases(path, ())


def _with_bases(path: Path, above: tuple[str, ...]) -> tuple[dict[str, Any], list[str]]:
    if path.name in above:
        raise SpecError(path, [f"{path.name} is a base of itself, by way of {', '.join(above)}"])
    content = _mapping(path, above)
    below: dict[str, Any] = {}
    files: list[str] = []
    for base in _bases(path, content.pop("base", [])):
        beneath, its_files = _with_bases(path.with_name(f"_{base}.yaml"), (*above, path.name))
        below = _laid_over(below, beneath)
        files += [f"_{base}.yaml", *its_files]
    return _laid_over(below, content), list(dict.fromkeys(files))


def _bases(path: Path, said: object) -> list[str]:
    bases = [said] if isinstance(said, str) else said
    if not isinstance(bases, list) or not all(isinstance(base, str) for base in bases):
        raise SpecError(path, [f"base: met {said!r}; write the name of a base, or a list of names"])
    return bases


def _mapping(path: Path, above: tuple[str, ...]) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        asked = f"; {above[-1]} names it as its base" if above else ""
        raise SpecError(path, [f"it cannot be read: {error.strerror}{asked}"]) from None
    except UnicodeDecodeError as error:
        raise SpecError(path, [f"it is no text in UTF-8: byte {error.object[error.start]:#04x} at {error.start}"]) from None
    try:
        content: Any = yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        raise SpecError(path, [problem_of_yaml(text, error)]) from None
    except ValueError as error:
        raise SpecError(path, [f"a value that looks like a date or a number is none: {error}; put it in quotes"]) from None
    if not isinstance(content, dict):
        raise SpecError(path, [f"it holds {type(content).__name__}, not a mapping of a spec's fields"])
    return content


def _laid_over(base: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in content.items():
        below = merged.get(key)
        merged[key] = _laid_over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged
