"""Reads paths of BIDS, as in `derivatives/manual/sub-01/ses-02/anat/sub-01_ses-02_run-1_desc-brain_mask.nii.gz`.

In the Brain Imaging Data Structure a person is `sub-<label>` and a visit `ses-<label>`, in folders and names alike; other parts
of a name are entities such as `run-1`, and the last is a suffix that says what the file is. What was made of the images lies in
a folder `derivatives`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from assets.inspect.grouping import Group
from assets.inspect.layout import plain
from assets.inspect.lexicon import DERIVED, MASK
from assets.inspect.patterns import Stretch
from assets.inspect.roles import Part, Role
from assets.inspect.tokens import Token, ending_of, words

_SUBJECT = re.compile(r"sub-[A-Za-z0-9]+")
_FIELD = re.compile(r"(?<![A-Za-z0-9])(sub|ses)-([A-Za-z0-9]+)")
_VERSION = re.compile(r"[vV]\d+")
_CUT = re.compile(
    r"(?<![A-Za-z0-9])(?:(?P<field>(?:sub|ses)-)(?P<label>[A-Za-z0-9]+)|(?P<v>[vV])(?P<n>\d+)(?![A-Za-z0-9]))|(?P<slash>/)"
)
_ENTITY = re.compile(r"([a-z]+)-([A-Za-z0-9+.]+)")
_OF_THE_MAKING = frozenset(("space", "cohort", "res", "den", "hemi", "label", "desc", "atlas", "seg", "scale"))
"""What was made of an image and how; all other entities are those of the image that it was made of."""
_ENTITIES = _OF_THE_MAKING | frozenset((
    "task", "acq", "nuc", "voi", "ce", "trc", "stain", "sample", "rec", "dir", "run", "mod", "echo", "flip", "inv", "mt", "part",
    "proc", "chunk", "split", "recording", "tracksys",
))  # fmt: skip
_MOST_SHORT = 2
"""Letters of a label that is an abbreviation, such as `L`, and says too little alone."""
_NATIVE = frozenset(("orig", "native", "individual", "scanner"))
"""Spaces that are the image's own."""

Owner = tuple[str, str]
"""Subject, and visit where there are several."""


@dataclass(frozen=True)
class Place:
    """Where a file lies, and what its name says.

    Attributes:
        path: The whole path.
        root: The folder around those of the subjects and of the derivatives, with its slash; empty for the one looked at.
        pipeline: For derivatives, the folders between the root and the subject's, with a slash.
        subject: Label of the subject.
        session: Label of the visit; empty where nothing says it.
        folder: The last folder below these, such as `anat`; empty where there is none.
        entities: What the name says besides.
        said: Its other parts: the suffix, and words before it.
    """

    path: str
    root: str
    pipeline: str
    subject: str
    session: str
    folder: str
    entities: dict[str, str]
    said: tuple[str, ...]

    @property
    def space(self) -> str:
        """The space that the file lies in; empty where it is the image's own."""
        space = self.entities.get("space", "")
        return "" if space.lower() in _NATIVE else space

    @property
    def grid(self) -> tuple[str, ...]:
        """The space and which of its grids."""
        return (self.space, *(self.entities.get(name, "") for name in ("cohort", "res", "den")))

    @property
    def source(self) -> dict[str, str]:
        """The entities of the image that it was made of, or is."""
        return {name: value for name, value in self.entities.items() if name not in _OF_THE_MAKING}

    @property
    def suffix(self) -> str:
        """What kind of file it is."""
        return self.said[-1] if self.said else ""

    @property
    def sort(self) -> tuple[str, ...]:
        """What a label map of it shows; that of another visit, run or space shows the same."""
        return (*(self.entities.get(name, "") for name in ("label", "desc", "atlas", "seg", "hemi")), *self.said)

    @property
    def name(self) -> str:
        """What a series or label map may be called."""
        own = [(key, value) for key, value in self.entities.items() if key != "space" or self.space]
        parts = [value if key in ("desc", "label", "atlas", "seg") else f"{key}_{value}" for key, value in own]
        return plain("_".join([*parts, *self.said]))

    def structure(self, images: Sequence[Place]) -> str:
        """What a label map of one structure shows: its label, its description, or words; empty where none of these says it.

        Args:
            images: Those it belongs to, whose names may stand in its own.
        """
        of_images = {word for image in images for said in image.said for word in words(said)}
        others = [text for text in self.said if not set(words(text)) & of_images]
        label, desc = self.entities.get("label", ""), self.entities.get("desc", "")
        told = (label if len(label) > _MOST_SHORT else f"{label} {desc}".strip(), desc, " ".join(others))
        found = next((text for text in map(_without_mask, told) if text), "")
        return " ".join(filter(None, (found, self.entities.get("hemi", "") if found else "")))

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """What is behind the root, cut at labels of subject and visit, and at numbers of versions."""
        ending = ending_of(self.path)
        text = self.path[len(self.root) : len(self.path) - len(ending)]
        return (*_cut(text), Token(ending, "ending"))

    @property
    def kind(self) -> tuple[str, ...]:
        """What files of several people and visits have in common that differ in nothing else."""
        return tuple("" if token.kind in ("id", "number") else token.text for token in self.tokens)


def _without_mask(text: str) -> str:
    return "" if all(word in MASK for word in words(text)) else " ".join(w for w in text.split() if w.lower() not in MASK)


def _cut(text: str) -> Iterator[Token]:
    behind = 0
    for found in _CUT.finditer(text):
        if found.start() > behind:
            yield Token(text[behind : found.start()], "word")
        if found["slash"]:
            yield Token("/", "sign")
        else:
            yield Token(found["field"] or found["v"], "word")
            yield Token(found["label"] or found["n"], "id" if found["label"] else "number")
        behind = found.end()
    if behind < len(text):
        yield Token(text[behind:], "word")


def place_of(path: str) -> Place | None:
    """The parts of a path; None where no folder is a subject's, the name begins otherwise, or it speaks of two."""
    *folders, name = path.split("/")
    at = next((n for n, folder in enumerate(folders) if _SUBJECT.fullmatch(folder)), None)
    labels = {field: {label for found, label in _FIELD.findall(path) if found == field} for field in ("sub", "ses")}
    if at is None or len(labels["sub"]) != 1 or len(labels["ses"]) > 1 or not name.startswith(f"{folders[at]}_"):
        return None
    derived = next((n for n, folder in enumerate(folders[:at]) if folder.lower() in DERIVED), None)
    entities: dict[str, str] = {}
    said: list[str] = []
    for part in name[: len(name) - len(ending_of(name))].split("_"):
        found = _ENTITY.fullmatch(part)
        if found and found[1] in _ENTITIES:
            entities[found[1]] = found[2]
        elif part and not _FIELD.fullmatch(part) and not _VERSION.fullmatch(part):
            said.append(part)
    below = [folder for folder in folders[at + 1 :] if not _FIELD.fullmatch(folder)]
    return Place(
        path=path,
        root="".join(f"{folder}/" for folder in folders[: at if derived is None else derived]),
        pipeline="" if derived is None else "".join(f"{folder}/" for folder in folders[derived:at]),
        subject=min(labels["sub"]),
        session=min(labels["ses"], default=""),
        folder=below[-1] if below else "",
        entities=entities,
        said=tuple(said),
    )


def part_of(places: Sequence[Place], role: Role, *, rooted: bool, visits: bool) -> tuple[Part, tuple[Stretch, ...]]:
    """Files of one kind as one group, and where subject and visit stand in their paths.

    Args:
        places: The files.
        role: What they are for.
        rooted: Whether any file of the layout has a root, so that all rows begin with one.
        visits: Whether the visit is a field.
    """
    before = 1 if rooted else 0
    rows = tuple((*([Token(place.root, "root")] if rooted else []), *place.tokens) for place in places)
    fields = {"sub-": "subject"} | ({"ses-": "scan"} if visits else {})
    where = [
        Stretch(fields[token.text], before + n + 1, before + n + 2)
        for n, token in enumerate(places[0].tokens)
        if token.text in fields and places[0].tokens[n + 1].kind == "id"
    ]
    return Part(Group(rows), role), tuple(where)
