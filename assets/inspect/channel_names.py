"""What the channels of images are called in a description of the dataset, as nnU-Net and the Decathlon write it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from assets.inspect.evidence import Evidence
from assets.inspect.labels import read_descriptions
from assets.inspect.layout import Plan, Source, plain

_KEYS = ("channel_names", "modality")


def with_channel_names(root: Path, planned: Plan, paths: Iterable[str]) -> tuple[Plan, Evidence | None]:
    """The plan with the names that the first JSON file gives, and why; the plan as it is where none does.

    Series that are called by a channel's number, such as `_0001` in `ct_17_0001.nii.gz`, are called by its name. For images of
    four axes the names are kept in the plan.

    Args:
        root: The folder.
        planned: What is known of the layout.
        paths: Files of text below the folder.
    """
    for path, content in read_descriptions(root, paths):
        if names := _names(content):
            said = ", ".join(f"{number}: {name}" for number, name in names.items())
            numbered = {source.name: _called(source, names) for source in planned.series}
            series = tuple(replace(source, name=numbered[source.name]) for source in planned.series)
            labels = tuple(replace(source, of=tuple(numbered.get(name, name) for name in source.of)) for source in planned.labels)
            told = replace(planned, series=series, labels=labels, channel_names=names)
            return told, Evidence("layout.series", said, 0.95, f"{path} names the channels")
    return planned, None


def _called(source: Source, names: dict[int, str]) -> str:
    number = re.fullmatch(r"0\d{3}", source.name)
    return names.get(int(source.name), source.name) if number else source.name


def _names(content: Any) -> dict[int, str]:
    """Number of a channel -> a name that a series may have; empty where two would be called alike."""
    if not isinstance(content, dict):
        return {}
    for said in (content.get(key) for key in _KEYS):
        if isinstance(said, dict) and said and all(str(n).isdecimal() and isinstance(name, str) for n, name in said.items()):
            names = {int(n): plain(name) for n, name in said.items()}
            if all(names.values()) and len(set(names.values())) == len(names):
                return names
    return {}
