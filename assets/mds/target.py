"""One target of a dataset's MDS-Bench sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["series", "labels"]


@dataclass(frozen=True, slots=True)
class Target:
    """One file of the sample.

    Attributes:
        index: Its index; names the picture and the record.
        path: The raw file, relative to the raw folder.
        source: The same as records call it.
        subject: Whose it is.
        scan: Of which scan.
        role: Whether it is an image or a label map.
        name: Which series or label map.
        label_id: Of a mask of one label: which.
    """

    index: int
    path: str
    source: str
    subject: str
    scan: str
    role: Role
    name: str
    label_id: int | None = None
