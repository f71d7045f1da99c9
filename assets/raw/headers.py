"""Holds the claims of DICOM files against what their headers say, and takes fields from them.

Names do not tell an image from a structure set, nor whose an image is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from assets.raw.claims import Claim
from assets.raw.identities import Identities
from assets.raw.walk import Stamp
from assets.spec import DatasetSpec
from assets.spec_layout import RawLayout


@dataclass(frozen=True)
class Headers:
    """What the spec's series and label maps ask of the headers of their files.

    Attributes:
        spec: The dataset.
        identities: Reads the headers.
    """

    spec: DatasetSpec
    identities: Identities

    @cached_property
    def _asked(self) -> dict[tuple[str, str], Mapping[str, str]]:
        layout = self.spec.layout
        asked: dict[tuple[str, str], Mapping[str, str]] = {
            **{("image", name): source.header for name, source in layout.series.items()},
            **{("labels", name): source.header for name, source in layout.labels.items()},
        }
        return asked

    def fitting(self, claims: Sequence[Claim], path: str, stamp: Stamp) -> tuple[list[Claim], str | None]:
        """The claims that the file's header allows, with the fields it fills, and, if it allows none of several, why.

        A file that is no DICOM file, or does not have an element that is asked for, stays claimed: what is wrong with it is for
        its reader to tell.
        """
        tags = self.spec.layout.tags
        keywords = {keyword for claim in claims for keyword in self._asked.get((claim.role, claim.name), ())}
        keywords |= set(tags.values()) if claims else set()
        if not keywords:
            return list(claims), None
        identity = self.identities.of(path, stamp)
        values = identity.values if identity is not None else {}
        fits, unfit = [], None
        for claim in claims:
            refusal = _refusal(claim, self._asked.get((claim.role, claim.name), {}), values)
            if refusal is None:
                said = {field: values[keyword] for field, keyword in tags.items() if keyword in values}
                fits.append(replace(claim, fields=claim.fields | said) if said else claim)
            else:
                unfit = unfit or refusal
        return fits, unfit


def _refusal(claim: Claim, asked: Mapping[str, str], values: Mapping[str, str]) -> str | None:
    for keyword, expression in asked.items():
        value = values.get(keyword)
        if value is not None and re.fullmatch(expression, value) is None:
            return f"its DICOM {keyword} is {value}, and {claim.name} is of {expression}"
    return None


def asked_of_headers(layout: RawLayout) -> set[str]:
    """Keywords of the elements that headers are held against."""
    sources = (*layout.series.values(), *layout.labels.values())
    return {keyword for source in sources for keyword in (*source.header, *source.where)} | set(layout.tags.values())
