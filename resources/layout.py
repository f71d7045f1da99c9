"""Where everything lies under the data root."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

DATA_ROOT_VARIABLE = "MEDFOUNDRY_DATA"

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def safe_name(text: str) -> str:
    """A file name for an identifier that came from outside.

    A name of letters, digits, dots, dashes and underscores is kept; anything else is reduced to those and told apart by eight
    hexadecimal digits of its BLAKE2b hash, so that no identifier can leave its folder and no two share a name.
    """
    if _PLAIN.fullmatch(text) and not text.endswith((".", ".parquet", ".json")):
        return text
    reduced = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:60] or "x"
    return f"{reduced}-{blake2b(text.encode(), digest_size=4).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one data root."""

    root: Path

    @classmethod
    def from_environment(cls) -> Layout:
        """The root `$MEDFOUNDRY_DATA` names, else `data` in the current folder."""
        return cls(Path(os.environ.get(DATA_ROOT_VARIABLE) or "data").absolute())

    def raw(self, slug: str) -> Path:
        """The raw folder of a dataset; never written to."""
        return self.root / "raw" / slug

    def products(self, slug: str) -> Path:
        """The folder of everything made of a dataset."""
        return self.root / "products" / slug


def series_path(subject: str, scan: str, series: str) -> str:
    """The image group of a series, relative to the products folder."""
    return f"{scan_path(subject, scan)}/{safe_name(series)}"


def labels_path(subject: str, scan: str, series: str, name: str) -> str:
    """The group of a label map stored with a series, relative to the products folder."""
    return f"{series_path(subject, scan, series)}/labels/{safe_name(name)}"


def scan_path(subject: str, scan: str) -> str:
    """The OME-Zarr hierarchy of a scan, relative to the products folder."""
    return f"volumes/{safe_name(subject)}/{safe_name(scan)}.ome.zarr"


def subject_table_path(table: str, subject: str) -> str:
    """A subject's part of a table, relative to the products folder."""
    return f"{table}/{safe_name(subject)}.parquet"


def preview_path(subject: str) -> str:
    """A subject's overlay picture, relative to the products folder."""
    return f"previews/{safe_name(subject)}.png"


def manifest_path(subject: str) -> str:
    """A subject's manifest, relative to the products folder."""
    return f"manifest/{safe_name(subject)}.json"
