"""What made the images: DICOM headers, values like Hounsfield units, and words of folders and readme files."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.lexicon import MODALITIES, WORD_MODALITIES
from assets.inspect.roles import Part
from assets.inspect.tokens import words

_DICOM = {"MG": "Mammography", "CR": "X-ray", "DX": "X-ray", "RG": "X-ray", "US": "Ultrasound", "PT": "PET", "OPT": "OCT"}
_HOUNSFIELD = (-1100.0, -150.0)
"""Least value of a CT of the body: air, or what was cut off below it."""


def modality(parts: Sequence[Part], texts: Iterable[str]) -> Evidence | Unknown:
    """The modality of most images.

    Args:
        parts: Groups of images.
        texts: What readme and description files say.
    """
    for found in (_from_headers(parts), _from_names(parts), _from_values(parts), _from_texts(texts)):
        if found is not None:
            return found
    return Unknown("modality", "no DICOM header, no word of a folder or file name, and no range of values says it")


def _from_headers(parts: Sequence[Part]) -> Evidence | None:
    said = Counter(peek.modality for part in parts for peek in part.peeks if peek.modality)
    if not said:
        return None
    (name, count), *others = said.most_common()
    seen = f"Modality {name} in {count} of {said.total()} DICOM headers"
    return Evidence("modality", _DICOM.get(name, name), 0.95 if not others else 0.6, seen)


def _from_names(parts: Sequence[Part]) -> Evidence | None:
    votes: Counter[str] = Counter()
    for part in parts:
        own = set(part.group.words)
        path = part.group.paths[0].lower()
        told = {WORD_MODALITIES[word] for word in own if word in WORD_MODALITIES}
        told |= {name for sign, name in MODALITIES if sign in path}
        if len(told) == 1:
            votes[told.pop()] += len(part.group.paths)
    if not votes:
        return None
    (name, count), *others = votes.most_common()
    if others and count <= 2 * others[0][1]:
        return None
    return Evidence("modality", name, 0.8 if not others else 0.5, f"words in the names of {count} files")


def _from_values(parts: Sequence[Part]) -> Evidence | None:
    lows = [peek.low for part in parts for peek in part.peeks if peek.patient and not math.isnan(peek.low)]
    if not lows:
        return None
    if all(_HOUNSFIELD[0] <= low <= _HOUNSFIELD[1] for low in lows):
        return Evidence("modality", "CT", 0.7, f"values down to {min(lows):g}, as Hounsfield units have")
    return None


def _from_texts(texts: Iterable[str]) -> Evidence | None:
    votes: Counter[str] = Counter()
    for text in texts:
        votes.update(WORD_MODALITIES[word] for word in words(text) if word in WORD_MODALITIES and word not in ("us", "tof"))
        votes.update(name for sign, name in MODALITIES if sign in text.lower())
    if not votes:
        return None
    (name, count), *others = votes.most_common()
    if others and count < 2 * others[0][1]:
        return None
    return Evidence("modality", name, 0.5, f"{count} word(s) of the texts that come with it")


def texts_of(root: Path, parts: Sequence[Part]) -> list[str]:
    """The first bytes of a few files that describe the data."""
    described = [path for part in parts if part.role == "text" for path in part.group.paths[:1]]
    texts = []
    for path in described[:8]:
        try:
            with (root / path).open("rb") as file:
                texts.append(file.read(4096).decode("utf-8", "replace"))
        except OSError:
            continue
    return texts
