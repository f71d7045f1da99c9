"""What `medfoundry inspect` finds in miniatures whose specs are known, and what it does not.

    python benchmarks/inspect_layouts.py [--only SLUG ...] [--renamed] [--json FILE]

Every miniature is made anew, what is MDS-Bench's own (`random.txt`, `VLM/`) and marker files are left out, and the rest is
looked at under a folder name that says nothing. Its draft and the spec of the catalog are then held against the same files.
With `--renamed` the layouts are looked at once more with made-up words for all names that have no general meaning, and with
other widths of numbers and other signs between the parts of names; the verdict should be the same.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from class_parts import classes_of, same_parts
from inspect_truth import ENOUGH, Truth, agree, images, pairs, plain, tables, truth_of

from assets.inspect.draft import as_spec
from assets.inspect.inspection import inspect_folder
from assets.raw import SYNTHETIC_MARKER, RawDataMissingError, RawTree, discover
from assets.spec import LABEL_GROUPS, DatasetSpec
from assets.spec_mds import Classes
from tests import data_makers
from tests.inspect.renaming import Renamed, with_other_numbers, with_other_words

CATALOG = Path(__file__).parents[1] / "assets" / "catalog"
FOUR = ("source", "pairing", "task", "classes")


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
        stored: The same, where ids that stand in the files count too and not only those that a spec makes of them, and classes
            by the images they hold and not by the names a spec gives them.
        offered: Whether the classes are not told, but are among those that the draft says they could be.
        names: Whether their names are too; not asked of label ids whose names no file of the miniature says.
        answer: Whether the folder holds the answer at all.
        said: The task that was said.
        unclaimed: Files that the draft leaves without a reason.
        seconds: How long the look took.
        trouble: Why there is no draft.
        words: Whether all four are the same under other words; None where it was not asked.
        numbers: The same with other numbers and signs.
    """

    slug: str
    loads: bool = False
    source: bool = False
    pairing: bool = False
    task: bool = False
    classes: bool = False
    stored: bool = False
    offered: bool = False
    names: bool = False
    answer: bool = True
    said: str = ""
    unclaimed: int = 0
    seconds: float = 0.0
    trouble: str = ""
    words: bool | None = None
    numbers: bool | None = None

    @property
    def all_four(self) -> bool:
        """Strictly."""
        return all(getattr(self, name) for name in FOUR)

    @property
    def all_stored(self) -> bool:
        """With label ids as the files hold them."""
        return self.source and self.pairing and self.task and (self.classes or self.stored)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", nargs="*", default=[])
    options.add_argument("--renamed", action="store_true")
    options.add_argument("--json", type=Path)
    chosen = options.parse_args()
    scores = []
    for slug, spec in specs().items():
        if not chosen.only or slug in chosen.only:
            scores.append(score(spec, renamed=chosen.renamed))
            print(line(scores[-1]), flush=True)
    for title, some in (("all", scores), ("of MDS-Bench's hundred", [s for s in scores if s.slug.startswith("mds_")])):
        for text in totals(some):
            print(f"{title}: {text}")
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


MARKS = ("loads", *FOUR, "names")


def line(score: Score) -> str:
    marks = " ".join(f"{name}={'yes' if getattr(score, name) else 'NO '}" for name in MARKS)
    asked = "" if score.words is None else f" words={'yes' if score.words else 'NO'} numbers={'yes' if score.numbers else 'NO'}"
    merged = " as-stored" if score.stored and not score.classes else " offered" if score.offered else ""
    beyond = "" if score.answer else " not-in-folder"
    rest = f"unclaimed={score.unclaimed} {score.seconds:.1f}s {score.said} {score.trouble[:150]}"
    return f"{score.slug:24} {marks}{asked}{merged}{beyond} {rest}"


def totals(scores: list[Score]) -> Iterator[str]:
    """Figures, the strict ones first."""
    wrong = sum(bool(s.said) and not s.task for s in scores)
    counts = ", ".join(f"{name} {sum(getattr(s, name) for s in scores)}" for name in MARKS)
    yield f"{len(scores)} layouts; {counts}; all four {sum(s.all_four for s in scores)}; wrong task said {wrong}"
    inside = [s for s in scores if s.answer or s.all_four]
    unknown = sum(not s.said for s in scores if s not in inside)
    offered = sum(s.offered for s in inside)
    found = sum(s.all_stored for s in inside)
    yield (
        f"the folder holds the answer of {len(inside)}; of these all four {found}, with label ids and classes as the files hold "
        f"them ({sum(s.all_four for s in inside)} with those of the specs), and {offered} more drafts offer them to choose; "
        f"of the other {len(scores) - len(inside)}, the task is called unknown in {unknown}"
    )
    if any(s.words is not None for s in scores):
        full = [s for s in scores if s.all_stored]
        both = sum(bool(s.words and s.numbers) for s in full)
        words, numbers = sum(bool(s.words) for s in full), sum(bool(s.numbers) for s in full)
        yield f"of {len(full)} with all four, so too other words {words}, other numbers and signs {numbers}, both {both}"


def score(spec: DatasetSpec, *, renamed: bool) -> Score:
    """Of one layout."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made" / "group" / "set"
        getattr(data_makers, spec.slug)(made)
        root = Path(folder) / "raw"
        shutil.copytree(made, root, ignore=lambda _, names: {n for n in names if n in ("random.txt", "VLM", SYNTHETIC_MARKER)})
        try:
            truth = truth_of(spec, root)
        except RawDataMissingError as error:
            return Score(spec.slug, trouble=str(error))
        found = looked_at(spec.slug, root, truth)
        if not renamed or not found.all_stored:
            return found
        again = [survives(found, truth, root, Path(folder) / name, how) for name, how in VARIATIONS.items()]
        return replace(found, words=again[0], numbers=again[1])


VARIATIONS: dict[str, Callable[[Path, Path], Renamed]] = {"other": with_other_words, "again": with_other_numbers}


def survives(found: Score, truth: Truth, root: Path, target: Path, how: Callable[[Path, Path], Renamed]) -> bool:
    """Whether all four are found under other names too."""
    by = how(root, target)
    return looked_at(found.slug, target, truth.renamed(by)).all_stored


def looked_at(slug: str, root: Path, truth: Truth) -> Score:
    started = time.perf_counter()
    found = inspect_folder(root)
    seconds = time.perf_counter() - started
    said = found.said("task")
    base = Score(slug, task=said == truth.task, said=said, seconds=seconds, answer=truth.answer)
    try:
        draft = as_spec(found, "draft")
        tree = discover(draft, root)
    except (ValueError, RawDataMissingError) as error:
        return replace(base, trouble=" ".join(str(error).split()))
    source = agree(truth.images, images(draft, tree))
    ids, stored, names = labels_agree(truth, draft, tree)
    return replace(
        base,
        loads=True,
        source=source,
        pairing=source and paired(truth, draft, tree),
        classes=ids,
        stored=stored,
        offered=source and not said and any(offers(truth, draft, tree, one.fields) for one in found.candidates),
        names=names,
        unclaimed=sum(f.state == "unclaimed" for f in tree.files),
    )


def offers(truth: Truth, draft: DatasetSpec, tree: RawTree, fields: Mapping[str, Any]) -> bool:
    """Whether the draft would be right with the classes among these fields."""
    if "classes" not in fields:
        return False
    told = draft.model_copy(update={"classes": Classes.model_validate(fields["classes"])})
    return paired(truth, told, tree) and same_parts(truth.parts, classes_of(told, tree), ENOUGH)


def paired(truth: Truth, draft: DatasetSpec, tree: RawTree) -> bool:
    """Whether images belong to the same label maps and tables, and have a class where the catalog's spec tells one."""
    told = not truth.told or draft.classes is not None
    return told and agree(truth.pairs, pairs(draft, tree)) and truth.tables <= tables(draft)


def labels_agree(truth: Truth, draft: DatasetSpec, tree: RawTree) -> tuple[bool, bool, bool]:
    """Whether ids or classes agree, whether those in the files do, and whether their names do."""
    if truth.task == "classification" and truth.told | bool(truth.classes):
        ours = {plain(n) for n in draft.classes.names} if draft.classes else set()
        same = bool(ours) and ours <= truth.classes and len(ours) >= truth.n_classes
        return same, same or same_parts(truth.parts, classes_of(draft, tree), ENOUGH), same
    if truth.task == "detection":
        return (draft.objects is not None,) * 3
    if not truth.ids:
        ours = {plain(label.name) for label in draft.labels.values()}
        same = bool(ours) and ours <= truth.classes
        return same, same, same
    if truth.files and any(source.masks for source in draft.layout.labels.values()):
        ours = {plain(label.file_name) for label in draft.labels.values()}
        return (ours <= truth.files,) * 3
    ids = set(draft.labels)
    named = bool(ids) and all(plain(label.name) in truth.ids.get(number, ()) for number, label in draft.labels.items())
    return bool(ids) and ids <= set(truth.ids), bool(ids) and (ids == truth.stored or ids <= set(truth.ids)), named


if __name__ == "__main__":
    main()
