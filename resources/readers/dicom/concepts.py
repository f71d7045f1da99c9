"""Coded concepts: what a segment, a finding or a measurement is, in the words of a published vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

from resources.readers.dicom.elements import Elements


@dataclass(frozen=True, slots=True)
class Concept:
    """One coded concept (PS3.3 8.8).

    Attributes:
        value: Its code, e.g. `10200004`.
        scheme: Whose code it is, e.g. `SCT`.
        meaning: What it means, in words.
    """

    value: str
    scheme: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.meaning} ({self.value}, {self.scheme})"


def read_concept(elements: Elements, keyword: str) -> Concept | None:
    """The first concept of a code sequence, if there is one."""
    item = elements.item(keyword)
    if item is None:
        return None
    value = item.text("CodeValue") or item.text("LongCodeValue") or item.text("URNCodeValue")
    return Concept(value, item.text("CodingSchemeDesignator"), item.text("CodeMeaning"))
