"""Other readings of a folder than that of inspection: what it would say if what it rests on were not there.

A statement that inspection is not sure of, or that had a rival, is taken away by taking away its files: the rest of the folder is
looked at once more, through links. So a second reader's label maps, the classes behind a doubtful pairing, or the pictures behind
a doubtful table get a draft of their own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any

from assets.inspect import Inspection, inspect_folder
from assets.inspect.draft import as_mapping
from assets.inspect.listing import list_folder
from assets.strategies.drafts import SLUG, Draft, loaded, sureness

_SUREST = 0.9
"""What inspection is less sure of than this may be otherwise."""

_MOST_SERIES = 4

_LEFT = "files that this reading leaves out"


def rivals(found: Inspection, first: Draft, work: Path) -> list[Draft]:
    """Drafts that are specs and differ from the first and from one another; in the order in which they are likely.

    Args:
        found: What inspection found in a folder.
        first: Its draft.
        work: A folder to work in.
    """
    drafts = [first]
    for name, why, content, task, sure in (*_whole_series(found, first), *_without_files(found, work), *_one_series(first)):
        rival = loaded(f"rules, {name}", "rules", content, why, task=task, sure=sure)
        if rival.spec is not None and all(rival.spec != draft.spec for draft in drafts):
            drafts.append(rival)
    return drafts[1:]


Reading = tuple[str, str, dict[str, Any], str, float]
"""Name, reason, content, task and sureness of a rival."""


def _without_files(found: Inspection, work: Path) -> Iterator[Reading]:
    for name, why, left in _doubtful(found):
        view = work / "view"
        shutil.rmtree(view, ignore_errors=True)
        _link_all_but(found.root, left, view)
        again = inspect_folder(view)
        shutil.rmtree(view)
        content = as_mapping(again, SLUG)
        if "layout" in content and (again.said("task") or not found.said("task")):
            ignore = dict.fromkeys(sorted(left), _LEFT) if len(left) <= 200 else {}
            content["layout"]["ignore"] = {**(content["layout"].get("ignore") or {}), **ignore}
            yield name, why, content, again.said("task"), sureness(again)


def _whole_series(found: Inspection, first: Draft) -> Iterator[Reading]:
    """DICOM series as they are, with the label maps of what is outlined on them, where everybody has one of each."""
    if found.whole is None or found.whole.doubt or first.task != "segmentation":
        return
    layout, fields = first.content["layout"], found.whole.candidate.fields
    kept = {key: layout[key] for key in ("tags", "ignore") if key in layout}
    content = {**first.content, **fields, "layout": {**fields["layout"], **kept}}
    yield "whole series", "outlines are of whole series", content, first.task, first.confidence


def _doubtful(found: Inspection) -> Iterator[tuple[str, str, AbstractSet[str]]]:
    """Name, reason and files of everything that may be otherwise."""
    plan = found.plan
    if plan is not None and plan.labels:
        used = {path for source in plan.labels for path in source.part.group.paths}
        used -= {path for source in plan.series for path in source.part.group.paths}
        others = [p for p in found.parts if p.role in ("mask", "structures") and not used & set(p.group.paths)]
        sure = _sure(found, "pairing")
        if used and others:
            yield "other label maps", f"there are other label maps too, such as {others[0].group.paths[0]}", used
        elif used and sure < _SUREST:
            yield "no label maps", f"the pairing is only {sure:.2f} sure", used
    if found.objects is not None and (sure := _sure(found, "objects")) < _SUREST:
        path = str(getattr(found.objects.table, "path", found.objects.files))
        yield "no objects", f"the marked objects are only {sure:.2f} sure", _tables_like(found, path)
    if found.classes is not None and found.classes.table and (sure := _sure(found, "classes")) < _SUREST:
        path = str(getattr(found.classes.table, "path", found.classes.table))
        yield "no table of classes", f"the table of classes is only {sure:.2f} sure", _tables_like(found, path)


def _tables_like(found: Inspection, path: str) -> AbstractSet[str]:
    """A table, and those whose names have the same shape."""
    return next((frozenset(part.group.paths) for part in found.parts if path in part.group.paths), frozenset((path,)))


def _sure(found: Inspection, name: str) -> float:
    return max((e.confidence for e in found.evidence if e.field == name), default=0.0)


def _link_all_but(root: Path, left: AbstractSet[str], view: Path) -> None:
    """A folder with a link to every file that inspection looks at, but for some."""
    view.mkdir(parents=True)
    for path in list_folder(root).paths:
        if path not in left:
            link = view / path
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(root / path)


def _one_series(first: Draft) -> Iterator[Reading]:
    """Each series by itself, where images of several belong to the same label maps."""
    layout: Mapping[str, Any] = first.content.get("layout") or {}
    labels, series = layout.get("labels"), layout.get("series") or {}
    if not labels or not 1 < len(series) <= _MOST_SERIES:
        return
    for name in series:
        kept = {key: said for key, said in labels.items() if not isinstance(said, dict) or name in said.get("of", [name])}
        content = {**first.content, "layout": {**layout, "series": {name: series[name]}, "labels": kept}}
        yield f"series {name} alone", "each series could be the one that is meant", content, first.task, first.confidence
