"""What `medfoundry inspect` finds in miniatures whose specs are known, and what it does not.

    python benchmarks/inspect_layouts.py [--only SLUG ...] [--json FILE]

Every miniature is made anew, what is MDS-Bench's own (`random.txt`, `VLM/`) and marker files are left out, and the rest is
looked at under a folder name that says nothing. Its draft and the spec of the catalog are then held against the same files.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from assets.inspect.draft import as_spec
from assets.inspect.inspection import inspect_folder
from assets.raw import SYNTHETIC_MARKER, RawDataMissingError, RawTree, discover
from assets.spec import LABEL_GROUPS, DatasetSpec
from tests import data_makers

CATALOG = Path(__file__).parents[1] / "assets" / "catalog"
ENOUGH = 0.9
"""Share of files or pairs, of those that either side names, that both must name."""


@dataclass(frozen=True)
class Score:
    """What was found of one layout.

    Attributes:
        slug: The dataset.
        loads: Whether the draft is a spec.
        source: Whether its images are those of the catalog's spec.
        pairing: Whether they belong to the same label maps, classes or tables.
        task: Whether the task is.
        classes: Whether the label ids, or the classes, are.
        names: Whether their names are too; not asked of label ids whose names no file of the miniature says.
        said: The task that was said.
        unclaimed: Files that the draft leaves without a reason.
        seconds: How long the look took.
        trouble: Why there is no draft.
    """

    slug: str
    loads: bool = False
    source: bool = False
    pairing: bool = False
    task: bool = False
    classes: bool = False
    names: bool = False
    said: str = ""
    unclaimed: int = 0
    seconds: float = 0.0
    trouble: str = ""

    @property
    def all_four(self) -> bool:
        return self.source and self.pairing and self.task and self.classes


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    scores = []
    for slug, spec in specs().items():
        if not chosen.only or slug in chosen.only:
            scores.append(score(spec))
            print(line(scores[-1]), flush=True)
    for title, some in (("all", scores), ("of MDS-Bench's hundred", [s for s in scores if s.slug.startswith("mds_")])):
        print(f"{title}: {total(some)}")
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(s) for s in scores], indent=1), encoding="utf-8")


def specs() -> dict[str, DatasetSpec]:
    """Those of the catalog's specs that load and have a miniature; what is left out is said."""
    found = {}
    for path in sorted(CATALOG.glob("*.yaml")):
        if path.name.startswith("_") or path.name == LABEL_GROUPS:
            continue
        if not hasattr(data_makers, path.stem):
            print(f"{path.stem:24} has no miniature")
            continue
        try:
            found[path.stem] = DatasetSpec.from_yaml(path)
        except ValueError as error:
            print(f"{path.stem:24} is no spec: {error}")
    return found


def line(score: Score) -> str:
    marks = " ".join(f"{name}={'yes' if getattr(score, name) else 'NO '}" for name in FIELDS)
    return f"{score.slug:24} {marks} unclaimed={score.unclaimed} {score.seconds:.1f}s {score.said} {score.trouble[:150]}"


FIELDS = ("loads", "source", "pairing", "task", "classes", "names")


def total(scores: list[Score]) -> str:
    wrong = sum(bool(s.said) and not s.task for s in scores)
    parts = [f"{name} {sum(getattr(s, name) for s in scores)}" for name in FIELDS]
    together = sum(s.all_four for s in scores)
    counts = ", ".join(parts)
    return f"{len(scores)} layouts; {counts}; source, pairing, task and classes together {together}; wrong task said {wrong}"


def score(spec: DatasetSpec) -> Score:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made" / "group" / "set"
        getattr(data_makers, spec.slug)(made)
        root = Path(folder) / "raw"
        shutil.copytree(made, root, ignore=lambda _, names: {n for n in names if n in ("random.txt", "VLM", SYNTHETIC_MARKER)})
        try:
            truth = discover(spec, root)
        except RawDataMissingError as error:
            return Score(spec.slug, trouble=str(error))
        started = time.perf_counter()
        found = inspect_folder(root)
        seconds = time.perf_counter() - started
        said = found.said("task")
        base = Score(spec.slug, task=said == task_of(spec), said=said, seconds=seconds)
        try:
            draft = as_spec(found, "draft")
            tree = discover(draft, root)
        except (ValueError, RawDataMissingError) as error:
            return Score(**{**asdict(base), "trouble": " ".join(str(error).split())})
        return compared(base, spec, truth, draft, tree)


def compared(base: Score, spec: DatasetSpec, truth: RawTree, draft: DatasetSpec, tree: RawTree) -> Score:
    source = agree(images(spec, truth), images(draft, tree))
    ids, names = labels_agree(spec, truth, draft)
    values = {
        "loads": True,
        "source": source,
        "pairing": source and paired(spec, truth, draft, tree),
        "classes": ids,
        "names": names,
        "unclaimed": sum(f.state == "unclaimed" for f in tree.files),
    }
    return Score(**{**{f.name: getattr(base, f.name) for f in fields(base)}, **values})


def task_of(spec: DatasetSpec) -> str:
    if spec.mds is not None:
        return spec.mds.task
    return "segmentation" if spec.layout.labels else "detection" if spec.objects else "classification" if spec.classes else ""


def agree(one: AbstractSet[object], two: AbstractSet[object]) -> bool:
    return len(one & two) >= ENOUGH * len(one | two)


def images(spec: DatasetSpec, tree: RawTree) -> set[object]:
    """The image files; where there are label maps only those that have one, as a spec may well leave the others out."""
    if labelled := {image for image, _ in pairs(spec, tree)}:
        return set(labelled)
    return {str(path) for s in tree.subjects.values() for scan in s.scans for path in scan.series.values()}


def pairs(spec: DatasetSpec, tree: RawTree) -> set[tuple[str, str]]:
    """(image, label file) pairs."""
    found: set[tuple[str, str]] = set()
    for subject in tree.subjects.values():
        for scan in subject.scans:
            for name, files in scan.labels.items():
                of = spec.layout.labels[name].of or tuple(spec.layout.series)
                found |= {(str(scan.series[s]), f.path) for f in files for s in of if s in scan.series}
    return found


def paired(spec: DatasetSpec, truth: RawTree, draft: DatasetSpec, tree: RawTree) -> bool:
    """Whether images belong to the same label maps and tables, and have a class where the catalog's spec tells one."""
    told = spec.classes is None or bool(spec.classes.untold) or task_of(spec) != "classification" or draft.classes is not None
    return told and agree(pairs(spec, truth), pairs(draft, tree)) and tables(spec) <= tables(draft)


def tables(spec: DatasetSpec) -> set[str]:
    told = [spec.classes.table.file] if spec.classes and spec.classes.table else []
    beside = [re.sub(r"\{[a-z_]+\}", "*", name) for name in (spec.objects.file if spec.objects else ())]
    return {re.sub(r"\*[_-]?(?:\*)+", "*", name.rpartition("/")[2]) for name in (*told, *beside)}


def plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()


def labels_agree(spec: DatasetSpec, truth: RawTree, draft: DatasetSpec) -> tuple[bool, bool]:
    """Whether ids or classes agree, and whether their names do."""
    if task_of(spec) == "classification" and spec.classes is not None:
        theirs = {plain(n) for n in (*spec.classes.names, *spec.classes.values)}
        ours = {plain(n) for n in draft.classes.names} if draft.classes else set()
        same = bool(ours) and ours <= theirs and len(ours) >= len(seen_classes(spec, truth))
        return same, same
    if task_of(spec) == "detection":
        return draft.objects is not None, draft.objects is not None
    if not spec.layout.labels:
        theirs = {plain(name) for name in spec.mds.classes} if spec.mds else set()
        ours = {plain(label.name) for label in draft.labels.values()}
        same = bool(ours) and ours <= theirs
        return same, same
    masks = any(source.masks for source in spec.layout.labels.values())
    drafted = any(source.masks for source in draft.layout.labels.values())
    if masks and drafted:
        files = {plain(label.file_name) for label in spec.labels.values()}
        ours = {plain(label.file_name) for label in draft.labels.values()}
        return ours <= files, ours <= files
    return set(draft.labels) <= set(spec.labels) and bool(draft.labels), named(spec.labels, draft.labels)


def seen_classes(spec: DatasetSpec, truth: RawTree) -> set[str]:
    """How many classes the fields of the miniature's paths can tell; one where a table or header does."""
    if spec.classes is None or "{class}" not in spec.classes.field:
        return {""}
    return {scan.fields.get("class", "") for s in truth.subjects.values() for scan in s.scans}


def named(truth: Mapping[int, object], draft: Mapping[int, object]) -> bool:
    for number, label in draft.items():
        known = truth.get(number)
        spellings = {plain(n) for n in (known.name, *known.aliases)} if known else set()  # type: ignore[attr-defined]
        if plain(label.name) not in spellings:  # type: ignore[attr-defined]
            return False
    return bool(draft)


if __name__ == "__main__":
    main()
