"""What the files of a group are for: by their names, and by what one or two of them hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from assets.inspect.evidence import Evidence
from assets.inspect.formats import IMAGES
from assets.inspect.grouping import Group, split_by
from assets.inspect.lexicon import IMAGE, MASK
from assets.inspect.peek import Opener, Peek
from assets.inspect.tokens import words

FEW_VALUES = 16

Role = Literal["image", "mask", "structures", "table", "text", "other"]


@dataclass(frozen=True)
class Part:
    """A group with its role.

    Attributes:
        group: The files.
        role: What they are for.
        name: What they may be called in a draft.
        peeks: What those that were opened say.
        label_at: For `structures`, the token that names the structure.
        class_at: The token that may name a class.
        unnamed: Whether it is a label map by what it holds alone.
        evidence: Why.
    """

    group: Group
    role: Role
    name: str = ""
    peeks: tuple[Peek, ...] = ()
    label_at: int | None = None
    class_at: int | None = None
    unnamed: bool = False
    evidence: tuple[Evidence, ...] = ()


def says_mask(group: Group) -> bool:
    """Whether the names say that these are label maps: the file's own words first, then those of its folders, inmost first."""
    own = _constant_words(group, group.name_at, len(group.rows[0]))
    if own & MASK:
        return True
    folders = _folder_words(group)
    for inner in folders:
        if inner & MASK:
            return not (own & IMAGE and not inner & {"labels", "label", "masks", "mask"})
        if inner & IMAGE:
            return False
    return False


def _constant_words(group: Group, start: int, end: int) -> set[str]:
    return _with_mask_apart(word for token in group.rows[0][start:end] if token.kind == "word" for word in words(token.text))


def _with_mask_apart(found: Iterable[str]) -> set[str]:
    """The words, and `mask` besides where one ends with it, as `brainmask` does."""
    said = set(found)
    return said | {"mask" for word in said if word.endswith(("mask", "masks"))}


def _folder_words(group: Group) -> list[set[str]]:
    """Words of each folder, the inmost first."""
    folders: list[set[str]] = [set()]
    for token in group.rows[0][: group.name_at]:
        if token.text == "/":
            folders.append(set())
        elif token.kind == "word":
            folders[-1] |= _with_mask_apart(words(token.text))
    return folders[::-1]


def by_name(group: Group) -> Part:
    """The role that names and endings suggest."""
    if group.family in ("table", "text"):
        return Part(group, "table" if group.family == "table" else "text")
    if group.family not in IMAGES:
        return Part(group, "other")
    return Part(group, "mask" if says_mask(group) else "image")


def checked(part: Part, opener: Opener) -> Part:
    """The part with its role checked against the content of its first and last file."""
    if part.role not in ("image", "mask", "structures"):
        return part
    paths = part.group.paths
    ends = [path for path in dict.fromkeys((paths[0], paths[-1])) if part.group.family != "video" or opener.is_short(path)]
    peeks = tuple(peek for path in ends if (peek := opener.peek(path)) is not None)
    if part.group.family == "video":
        return replace(part, peeks=tuple(peek for peek in peeks if not peek.trouble))
    part = replace(part, peeks=peeks)
    read = [peek for peek in peeks if not peek.trouble]
    if not read:
        return part if not peeks else replace(part, role="other", evidence=(_unread(peeks[0], part),))
    if part.role == "image" and _mask_in_folder(part, read):
        part = replace(part, role="mask")
    if part.role == "image" or part.group.family == "dicom":
        return part
    return _as_mask(part, read)


def _mask_in_folder(part: Part, read: Sequence[Peek]) -> bool:
    """Whether files that are called like images lie in a folder of label maps and hold what label maps do."""
    folders = _folder_words(part.group)
    few = all(peek.is_mask and len(peek.values or ()) <= FEW_VALUES for peek in read)
    return few and part.class_at is None and len(folders) > 1 and bool(folders[1] & MASK)


def readable(part: Part, opener: Opener) -> list[Part]:
    """The part without those parts of an official split whose first file cannot be read, and these apart."""
    split = next((v for v in part.group.variables if v.kind == "split"), None)
    if split is None or part.role not in ("image", "mask") or part.group.family in ("video", "dicom"):
        return [part]
    shares = split_by(part.group, split)
    peeks = {name: opener.peek(share.paths[0]) for name, share in shares.items()}
    spoiled = {name for name, peek in peeks.items() if peek is not None and peek.trouble}
    if not spoiled or len(spoiled) == len(shares):
        return [part]
    kept = Group(tuple(row for name, share in shares.items() if name not in spoiled for row in share.rows))
    return [replace(part, group=kept), *(Part(shares[name], "other") for name in sorted(spoiled))]


def without_objects(parts: Sequence[Part]) -> list[Part]:
    """The parts, where DICOM objects were found to be no images: structure sets, reports and the like."""
    return [replace(part, role="other", peeks=()) if part.group.family == "dicom" else part for part in parts]


def _as_mask(part: Part, read: Sequence[Peek]) -> Part:
    """What is called a label map, once it has been seen whether it can be one."""
    first = part.group.paths[0]
    if (told := _looks(part, read)) is not None:
        confidence, looks = told
        return replace(part, evidence=(Evidence("role", part.role, confidence, f"names say so, and {first} {looks}"),))
    if all(peek.arrays or (peek.values is None and math.isnan(peek.low)) for peek in read):
        return part
    seen = f"names suggest label maps, but {first} holds more than few whole numbers"
    return replace(part, role="image", label_at=None, evidence=(Evidence("role", "image", 0.7, seen),))


def _looks(part: Part, read: Sequence[Peek]) -> tuple[float, str] | None:
    """How sure it is that these are label maps, and what the first holds; None where the content speaks against it."""
    if any(peek.blurred for peek in read) and all(peek.blurred or peek.values is not None for peek in read):
        return 0.8, "is black and white but for values near these, as of a mask packed as a photograph"
    if any(peek.is_mask for peek in read) or all(peek.values is not None and len(peek.values) < 2 for peek in read):
        return 0.95, f"holds few whole numbers: {_few(next((peek.values or () for peek in read if peek.is_mask), (0,)))}"
    if all(peek.values is not None and len(peek.values) <= FEW_VALUES for peek in read):
        return 0.7, f"holds few whole numbers, though no 0: {_few(read[0].values or ())}"
    if part.role == "mask" and any(peek.numbered for peek in read):
        return 0.8, "holds many whole numbers, in patches of one each: numbered objects"
    if part.role == "mask" and all(peek.is_probability or peek.is_share for peek in read):
        return 0.6, "holds values from 0 to 1, taken for probabilities"
    return None


def _unread(peek: Peek, part: Part) -> Evidence:
    return Evidence("role", "other", 0.5, f"{part.group.paths[0]} cannot be read: {peek.trouble}")


def _few(values: tuple[int, ...]) -> str:
    return ", ".join(map(str, values[:12])) + (", ..." if len(values) > 12 else "")
