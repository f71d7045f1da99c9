"""Gives a folder other names that say the same: other words, numbers of another width, other signs between the parts.

What names mean to anybody stays: words for images, masks, people, sequences, parts of a split, and for what tables and JSON files
hold. Everything else, such as names of classes, of datasets and of places, becomes a made-up word, wherever it stands: in paths,
in tables and texts, in the headers of DICOM files, and in MAT files whose structure is called like the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pydicom
from pydicom.errors import InvalidDicomError
from scipy.io import loadmat, savemat

from assets.inspect.lexicon import (
    AGREED,
    DERIVED,
    IMAGE,
    MASK,
    MODALITIES,
    OCCASION,
    PERSON,
    SEQUENCES,
    SHARES,
    SPLITS,
    TIMES,
    WORD_MODALITIES,
    words_of,
)

KEPT = (
    MASK | IMAGE | TIMES | SHARES | AGREED | DERIVED | OCCASION | PERSON | SEQUENCES | SPLITS | frozenset(WORD_MODALITIES)
    | words_of("""
        name names path file files id ids uid key class classes diagnosis category type pathology grade classification target
        quality finding abnormality severity outcome status dataset data readme info metadata license licence
        xmin ymin xmax ymax width height left top right bottom none nan null true false
        annotations bbox boxes objects points exterior interior geometry polygon shapes size description
        nii gz dcm png jpg jpeg tif tiff csv tsv json xlsx mha mhd zraw raw hdr dat npz npy mat bmp pgm avi xml txt
    """)
)  # fmt: skip
"""Words that have a meaning of their own."""

_IDS = re.compile(
    r"\d+(?:\.\d+){5,}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|(?<![A-Za-z0-9])(?=[a-f]*\d)[0-9a-f]{10,}"
)
_TEXTS = frozenset((".csv", ".tsv", ".txt", ".json", ".xml", ".mhd"))
_KEYWORDS = ("PatientID", "PatientName", "SeriesDescription")


@dataclass(frozen=True)
class Renamed:
    """A folder under other names.

    Attributes:
        root: The folder.
        paths: Old path -> new path, of every file.
        text: What turns an old name into the new one.
    """

    root: Path
    paths: dict[str, str]
    text: Callable[[str], str]


def with_other_words(source: Path, target: Path) -> Renamed:
    """A copy whose words are made up, but for those that are kept."""
    paths = _files(source)
    said: dict[str, str] = {}
    for run in sorted({run for path in paths for run in re.findall(r"[A-Za-z]+", _IDS.sub("", _bare(path)))}):
        if len(run) > 2 and not _kept(run):
            _made_up(run.lower(), said)

    def text(content: str) -> str:
        return _outside_ids(content, lambda part: re.sub("[A-Za-z]+", lambda run: _cased(run[0], said), part))

    return _copied(source, target, paths, text)


def with_other_numbers(source: Path, target: Path) -> Renamed:
    """A copy with a digit more in numbers that have a fixed width, and with `-` instead of `_`."""
    paths = _files(source)
    whole = "\n".join(paths)
    numbers = {run for run in re.findall(r"\d+", _IDS.sub("", whole)) if len(run) > 3 or (run[0] == "0" and len(run) > 1)}

    def wider(run: re.Match[str]) -> str:
        return ("0" if run[0][0] == "0" else "9") * (run[0] in numbers) + run[0]

    def signs(run: re.Match[str]) -> str:
        return run[0].replace("_", "-") if run[0] in whole else run[0]

    def text(content: str) -> str:
        joined = re.sub(r"[A-Za-z0-9-]+(?:_[A-Za-z0-9-]*)+", signs, content)
        return _outside_ids(joined, lambda part: re.sub(r"\d+", wider, part))

    return _copied(source, target, paths, text)


def _files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def _bare(path: str) -> str:
    """The path without the ending of its name."""
    return re.sub(r"(?:\.[A-Za-z0-9]{1,7}){1,2}$", "", path)


def _kept(run: str) -> bool:
    parts = {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", run)} | {run.lower()}
    return bool(parts & KEPT) or any(sign in run.lower() for sign, _ in MODALITIES)


def _made_up(word: str, said: dict[str, str]) -> None:
    taken = set(said) | set(said.values()) | KEPT
    for attempt in range(1000):
        digest = hashlib.sha256(f"{word}{attempt}".encode()).digest()
        letters = [("bdfgklmnprsv"[a % 12], "aeiou"[b % 5]) for a, b in zip(digest[:4], digest[4:8], strict=True)]
        new = "".join(one + two for one, two in letters)[: 5 + digest[8] % 4]
        if new not in taken:
            said[word] = new
            return


def _cased(run: str, said: dict[str, str]) -> str:
    new = said.get(run.lower(), run)
    if new == run:
        return run
    return new.upper() if run.isupper() else new.capitalize() if run[0].isupper() else new


def _outside_ids(content: str, change: Callable[[str], str]) -> str:
    found, end = [], 0
    for match in _IDS.finditer(content):
        found += [change(content[end : match.start()]), match[0]]
        end = match.end()
    return "".join([*found, change(content[end:])])


def _copied(source: Path, target: Path, paths: Iterable[str], text: Callable[[str], str]) -> Renamed:
    new = {path: _new_path(path, text) for path in paths}
    if len(set(new.values())) < len(new):
        raise ValueError(f"two files of {source} would have one name")
    for old, path in new.items():
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((source / old).read_bytes())
        if place.suffix.lower() in _TEXTS:
            place.write_text(text(place.read_text(encoding="utf-8", errors="surrogateescape")), "utf-8", "surrogateescape")
        elif place.suffix.lower() == ".mat":
            _recalled(place, Path(old).stem)
        else:
            _retitle(place, text)
    return Renamed(target, new, text)


def _new_path(path: str, text: Callable[[str], str]) -> str:
    bare = _bare(path)
    return text(bare) + path[len(bare) :]


def _recalled(path: Path, old: str) -> None:
    """The structure of a MAT file of version 5 that is called like the file, under the file's new name."""
    if path.read_bytes()[:10] != b"MATLAB 5.0":
        return
    content = {name: value for name, value in loadmat(path).items() if not name.startswith("__")}
    if old in content and old != path.stem:
        savemat(path, {path.stem if name == old else name: value for name, value in content.items()})


def _retitle(path: Path, text: Callable[[str], str]) -> None:
    """The same words in the header of a DICOM file."""
    with path.open("rb") as file:
        if file.read(132)[128:] != b"DICM":
            return
    try:
        header = pydicom.dcmread(path)
    except InvalidDicomError:
        return
    changed = False
    for keyword in _KEYWORDS:
        old = str(header.get(keyword, ""))
        if old and text(old) != old:
            setattr(header, keyword, text(old))
            changed = True
    if changed:
        header.save_as(path)
