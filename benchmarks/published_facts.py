"""What is known of MDS-Bench's published ground truths, read from a table of facts, and the files of a miniature it is about."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from tests.data_makers import MadePicture, MadeScan, MadeSubject

Json = dict[str, Any]

UNTOLD = "(not known)"
"""Stands for a class that the table does not name."""


@dataclass(frozen=True)
class Row:
    """What is known of one published ground truth."""

    name: str
    folder: str
    modality: str
    task: str
    variant: str
    dimension: str
    pairing: str
    classes: str
    caveat: str
    header_read: bool

    @property
    def tail(self) -> str:
        return self.folder.partition("/")[2]

    @property
    def group(self) -> str:
        return self.folder.partition("/")[0]


def read_rows(table: Path) -> dict[str, Row]:
    """Folder -> row of the table of facts."""
    rows = {}
    with table.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            variant, _, dimension = line["variant_dim"].partition(" ")
            said = dimension or ("3D" if variant.startswith("3d") else "2D")
            modality = line["modality"].partition(" (")[0]
            row = Row(
                line["name"], line["folder"], modality, line["task"], variant, said, line["pairing"], line["classes"],
                line["caveat"], line["read"] == "H",
            )  # fmt: skip
            rows[row.folder] = row
    return rows


@dataclass(frozen=True)
class Published:
    """The published classes as far as they are known.

    Attributes:
        names: In order of their ids where that is known.
        ids: Name -> id, of those that are known.
        number: How many there are; 0 where that is not known.
    """

    names: tuple[str, ...]
    ids: Mapping[str, int]
    number: int

    def spelled(self, name: str) -> str:
        """The published spelling of a class."""
        return next((known for known in self.names if plain(known) == plain(name)), name)


def plain(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


_UNLISTED = ("not read", "EDD2020", "laser power", "sample class", "+ 6 discs", "..L5", "long names", "OAR names")
_NOT_ALL = (
    "…",
    "seen",
    "not read",
    "folders)",
    "sample class",
    "phrases",
    "(BACH",
    "EDD2020",
    "acquisition",
    "power",
    "long names",
)
_COUNTED = {"HaN-Seg": 31, "Lumbar_Spine_Segmentation": 11, "Breast-MRI-NACT-Pilot": 4, "RetinalAVM_CaseStudy_5002837": 7,
            "Spine_Mets_CT_Seg": 11, "human-protein-atlas-cells-dataset": 2}  # fmt: skip
"""Name -> number of its classes, where the words count them and do not list them."""


def published_classes(row: Row) -> Published:
    """The class list, from its words."""
    text = row.classes
    if any(words in text for words in _UNLISTED):
        return Published((), {}, _COUNTED.get(row.name, 0))
    listed = re.sub(r"\s*\((?:…|\+|\d|others|from|sample|BACH|seen|104|13)[^)]*\)|\bseen\b", "", text)
    if " x " in listed:
        kinds, _, what = listed.partition(" x ")
        kinds_full = [f"{kind.rstrip('_')}_" for kind in kinds.split("/")]
        names = [f"{kind}{one.strip()}" for kind in kinds_full for one in what.split(",")]
        return Published(tuple(names), {name: n for n, name in enumerate(names)}, len(names))
    separator = " | " if " | " in listed else ";" if ";" in listed else "," if "(from" in text else "\0"
    pieces = [piece.strip() for piece in listed.split(separator) if piece.strip()]
    ids: dict[str, int] = {}
    names = []
    for piece in pieces:
        name, _, stated = piece.strip("'").partition("=")
        expanded = _run(name.strip().strip("'"))
        names += expanded
        if stated:
            ids[expanded[0]] = int(stated)
    complete = not any(word in text for word in _NOT_ALL) and row.name not in _COUNTED and "…" not in text
    if complete:
        # Of ground truths whose header was not read, the classes are those that their samples showed.
        number = len(names) if row.header_read or ids or " | " in text else 0
        return Published(tuple(names), {name: n for n, name in enumerate(names)} | ids, number)
    known = [name for name in names if name in ids or "class" not in name]
    return Published(tuple(known), ids, _COUNTED.get(row.name, 0))


def _run(text: str) -> list[str]:
    """`x_1..4` -> x_1, x_2, x_3, x_4."""
    found = re.fullmatch(r"(.*?)(\d+)\.\.(\d+)", text)
    return [f"{found[1]}{n}" for n in range(int(found[2]), int(found[3]) + 1)] if found else [text]


@dataclass(frozen=True)
class Target:
    """A file of the sample and what the maker wrote of it."""

    index: int
    path: str
    subject: MadeSubject | None
    scan: MadeScan | MadePicture | None
    series: str = ""

    @property
    def file(self) -> PurePosixPath:
        return PurePosixPath(self.path)

    @property
    def stem(self) -> str:
        return stem_of(self.file.name)

    def masks(self, root: Path) -> list[str]:
        """All label files of the scan."""
        if self.scan is None:
            return []
        return [path.relative_to(root).as_posix() for paths in self.scan.labels.values() for path in paths]


def stem_of(name: str) -> str:
    endings = r"(?:\.ome)?\.(?:nii\.gz|nii|tiff?|mha|mhd|nrrd|dcm|png|jpe?g|bmp|npy|npz|h5|mat|czi|pgm|avi|dat)$"
    return re.sub(endings, "", name, flags=re.IGNORECASE)


class Known(Protocol):
    """What a rule about one dataset may look at: its row of the table, and its raw folder."""

    row: Row
    root: Path
