"""S1: a draft is held against its folder, and what the folder contradicts is repaired or left out.

For a draft of inspection by the rules below, each of them general. For a draft of a model by the model itself, which is told what
the machine found and may answer once more.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assets.inspect.peek import Opener
from assets.strategies.candidate import Candidate
from assets.strategies.drafts import Draft, loaded
from assets.strategies.repair import Repair
from assets.templates import stem
from resources.findings import BadInputError, Code, Finding, Severity
from resources.readers.registry import list_arrays

Json = dict[str, Any]

_CHANNELS = re.compile(r"(?:\d+ frames or pages of|the image is 4D with) (\d+) (?:colours|volumes|time points)")

_OPTIONAL = ("objects", "classes", "labels")
"""What a draft can do without, in the order in which it is left out."""

_PLAIN = frozenset((Code.GRID_MISMATCH, Code.UNEXPECTED_DIMENSIONS, Code.UNKNOWN_LABEL, Code.NO_SUCH_ARRAY))

_MOST_LINES, _MOST_LETTERS = 20, 300


def without_what_does_not_load(draft: Draft) -> tuple[Draft, list[Repair]]:
    """A draft that is no spec without the parts that keep it from being one, if that helps."""
    if draft.spec is not None or "layout" not in draft.content:
        return draft, []
    content = copy.deepcopy(dict(draft.content))
    left: list[str] = []
    for name in _OPTIONAL:
        if name in content or name in content["layout"]:
            content.pop(name, None)
            content["layout"].pop(name, None)
            left.append(name)
            again = loaded(draft.name, draft.source, content, draft.why, sure=draft.confidence)
            if again.spec is not None:
                return again, [Repair("spec", "the draft loads", f"{', '.join(left)} left out", draft.problem[:_MOST_LETTERS])]
    return draft, []


def contradictions(candidate: Candidate) -> list[str]:
    """What the machine found wrong with a draft, one line each, the errors only and a bounded number of them."""
    lines = list(dict.fromkeys(str(f)[:_MOST_LETTERS] for f in candidate.findings if f.severity is Severity.ERROR or _counts(f)))
    missing = candidate.listed - len(candidate.records)
    first = [f"{missing} of {candidate.listed} targets have no record"] if missing else []
    return [*first, *lines[:_MOST_LINES]]


def for_a_model(candidate: Candidate) -> list[str]:
    """The same for a model: what was found and in which files, with details only where they are extents, ids and names of files.

    A detail may hold what a table or a header says of a person, and a draft decides which of them are read.
    """
    missing = candidate.listed - len(candidate.records)
    lines = [f"{missing} of {candidate.listed} targets have no record"] if missing else []
    found = [f for f in candidate.findings if f.severity is Severity.ERROR or _counts(f)]
    for code in dict.fromkeys(f.code for f in found):
        some = [f for f in found if f.code is code]
        told = f": {some[0].detail}" if code in _PLAIN else ""
        lines.append(f"{code.value}: {len(some)} times, such as in {some[0].file or 'the dataset'}{told}"[:_MOST_LETTERS])
    return lines[:_MOST_LINES]


def _counts(finding: Finding) -> bool:
    return finding.code in (Code.NO_RECORD, Code.CLASS_UNKNOWN, Code.OBJECT_UNUSABLE)


def repaired(draft: Draft, candidate: Candidate, raw: Path) -> tuple[Draft, list[Repair]]:
    """The draft with everything changed that the folder contradicts and a rule knows an answer to.

    Args:
        draft: A draft of rules.
        candidate: What was made of it.
        raw: The raw folder.
    """
    check = _Check(copy.deepcopy(dict(draft.content)), candidate.findings, [*candidate.records.values()], raw, [])
    for rule in (
        check.axes,
        check.colours,
        check.label_ids,
        check.class_names,
        check.grids,
        check.missing_files,
        check.unlabelled,
        check.listed,
    ):
        rule()
    if not check.repairs:
        return draft, []
    kept = bool(check.content["layout"].get("labels")) == bool(draft.content["layout"].get("labels"))
    task = draft.task if kept else ""
    again = loaded(draft.name, draft.source, check.content, draft.why, task=task, sure=draft.confidence)
    if again.spec is None:
        return draft, [Repair("spec", "the repaired draft loads", "", again.problem[:_MOST_LETTERS])]
    return again, check.repairs


@dataclass
class _Check:
    """The rules; each looks at the findings it knows and changes `content`."""

    content: Json
    findings: Sequence[Finding]
    records: Sequence[Json]
    raw: Path
    repairs: list[Repair]

    def _of(self, code: Code) -> list[Finding]:
        return [f for f in self.findings if f.code is code and f.severity is not Severity.INFO]

    def _say(self, check: str, done: str, met: str) -> None:
        self.repairs.append(Repair("spec", check, done, met[:_MOST_LETTERS]))

    def axes(self) -> None:
        """Arrays of files that do not say what their axes are: the usual order for their number, which is a guess."""
        for finding in self._of(Code.UNEXPECTED_DIMENSIONS):
            if "nothing says what its axes are" not in finding.detail:
                continue
            for kind, name, source in self._claiming(finding.file):
                shape = self._shape(finding.file, source.get("key"))
                if "axes" not in source and (order := usual_axes(shape)):
                    self.content["layout"][kind][name] = {**source, "axes": order}
                    self._say(f"axes of {name}", f"taken as {order}, the usual order", f"an array of shape {shape}")

    def colours(self) -> None:
        """Films in colours, and volumes of several channels, of which only one can be stored: the first."""
        for finding in (*self._of(Code.UNSUPPORTED_DATA), *self._of(Code.UNEXPECTED_DIMENSIONS)):
            if (met := _CHANNELS.match(finding.detail)) is None:
                continue
            for kind, name, source in self._claiming(finding.file):
                if kind == "series" and "channel" not in source:
                    self.content["layout"][kind][name] = {**source, "channel": 0, "channels": int(met[1])}
                    self._say(f"{name} is one volume or film", "its first channel is taken", finding.detail)

    def _shape(self, path: str, key: str | None) -> tuple[int, ...]:
        try:
            arrays = list_arrays(self.raw / path, name=path)
        except (BadInputError, OSError):
            return ()
        return next((array.shape for array in arrays if key in (None, array.name)), ())

    def _claiming(self, path: str) -> Iterator[tuple[str, str, Json]]:
        """Kind, name and source, written out, of everything whose pattern could be that of a file."""
        for kind in ("series", "labels"):
            for name, said in (self.content["layout"].get(kind) or {}).items():
                source = dict(said) if isinstance(said, Mapping) else {"path": said}
                texts = source.get("path") or source.get("masks") or ()
                if any(_ending(text) == _ending(path) for text in ([texts] if isinstance(texts, str) else texts)):
                    yield kind, name, source

    def label_ids(self) -> None:
        """Ids in label maps that the draft, which looked into a few, does not know."""
        known = {int(number) for number in self.content.get("labels") or {}}
        opener, met = Opener(self.raw), set[int]()
        for finding in self._of(Code.UNKNOWN_LABEL):
            peek = opener.peek(finding.file) if finding.file else None
            met |= {value for value in (peek.values or () if peek is not None else ()) if value > 0}
        if new := sorted(met - known):
            self.content["labels"] = {**(self.content.get("labels") or {}), **{number: f"label {number}" for number in new}}
            self._say("label ids are known", f"added without a name: {new}", f"label maps hold ids beside {sorted(known)}")

    def class_names(self) -> None:
        """Classes that are told and that the draft, which looked at the first rows, does not name."""
        declared = self.content.get("classes")
        if not declared:
            return
        met = [found[1] for f in self._of(Code.CLASS_UNKNOWN) if (found := re.match(r"the class is ('.*?'|\".*?\"),", f.detail))]
        new = sorted({str(ast.literal_eval(text)) for text in met} - set(declared["names"]))
        if new:
            self.content["classes"] = {**declared, "names": [*declared["names"], *new]}
            self._say(
                "classes are known", f"added: {new}", f"images are told to be other than {declared['names']}"[:_MOST_LETTERS]
            )

    def grids(self) -> None:
        """Label maps that lie on another grid than their images, most of them: they do not belong together."""
        bad = {f.file for f in self._of(Code.GRID_MISMATCH)}
        n_good = sum(bool(_drawn(record)) for record in self.records)
        if bad and len(bad) > n_good and self.content["layout"].get("labels"):
            for name in ("labels", "unlabelled"):
                self.content["layout"].pop(name, None)
            self.content.pop("labels", None)
            self._say("label maps lie on the grid of their images", "label maps left out", f"{len(bad)} do not, {n_good} do")

    def missing_files(self) -> None:
        """Series and label maps that some scans do not have."""
        for code, kind in ((Code.MISSING_IMAGE, "series"), (Code.MISSING_LABELS, "labels")):
            sources = self.content["layout"].get(kind) or {}
            if not self._of(code) or (kind == "series" and len(sources) < 2):
                continue
            self._ask_for_less(kind)
            self._say(f"every scan has its {kind}", "not required any more", f"{len(self._of(code))} are missing")

    def _ask_for_less(self, kind: str) -> None:
        """A scan may be without any one of its series, or of its label maps."""
        sources = self.content["layout"].get(kind) or {}
        for name, said in sources.items():
            sources[name] = {**(dict(said) if isinstance(said, Mapping) else {"path": said}), "required": False}

    def _unrecorded(self, reason: str) -> list[str]:
        """Files that are targets and have no record for a reason, in order of the targets."""
        return [_inside(self.raw, f.file) for f in self._of(Code.NO_RECORD) if f.file and reason in f.detail]

    def unlabelled(self) -> None:
        """Targets without a label map: they have a record all the same, which tells of no mask."""
        if found := self._unrecorded("no label map was published"):
            self.content["layout"].pop("unlabelled", None)
            self._ask_for_less("labels")
            self._say("every target is used", "label maps not required any more", f"{len(found)} have none, such as {found[0]}")

    def listed(self) -> None:
        """Targets that the draft leaves out as images of another kind: each becomes a subject of its own, named like its file."""
        layout = self.content["layout"]
        found = [path for path in self._unrecorded("images that the draft does not use") if (self.raw / path).is_file()]
        if not found:
            return
        stems = {path: stem(path) for path in found}
        parents = {path: text.rpartition("/") for path, text in stems.items()}
        scanned = "scan" in layout and all(parent for parent, _, _ in parents.values())
        if "scan" in layout and not scanned:
            return
        own = [parent for parent, _, _ in parents.values()] if scanned else list(stems.values())
        layout["subject"] = _either(layout["subject"], own)
        if scanned:
            layout["scan"] = _either(layout["scan"], [name for _, _, name in parents.values()])
        endings = sorted({path[len(text) :] for path, text in stems.items()})
        form = "{subject}/{scan}" if scanned else "{subject}"
        self._ask_for_less("series")
        self._ask_for_less("labels")
        layout["series"]["listed"] = {"path": [form + ending for ending in endings], "required": False}
        self._say("every target is used", "taken as images of their own", f"{len(found)} were not, such as {found[0]}")


def _inside(raw: Path, source: str) -> str:
    """The path under the raw folder of what records call a source."""
    return source if (raw / source).exists() else source.removeprefix("data/")


def _either(expression: str, texts: Sequence[str]) -> str:
    """An expression that reads what it did, or one of some texts."""
    return "|".join([*(re.escape(text) for text in dict.fromkeys(texts)), f"(?:{expression})"])


def usual_axes(shape: Sequence[int]) -> str:
    """The order in which arrays of so many axes are mostly stored; empty where there is none."""
    colours = len(shape) > 2 and shape[-1] in (3, 4)
    if len(shape) == 2:
        return "yx"
    if len(shape) == 3:
        return "yxc" if colours else "zyx"
    return ("zyxc" if colours else "tzyx") if len(shape) == 4 else ""


def _ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()


def _drawn(record: Mapping[str, Any]) -> bool:
    branch = record["tasks"]["segmentation"]
    return any((branch.get(key) or {}).get("annotations") for key in ("coco_2d", "mask_3d", "video_coco"))
