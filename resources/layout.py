"""Where everything lies under the data root."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

DATA_ROOT_VARIABLE = "MEDFOUNDRY_DATA"

RECORDS = "records"
"""Folder of a dataset's MDS-Bench records, relative to its products folder."""

MANIFESTS = "manifest"
"""Folder of the subjects' manifests, relative to its products folder."""

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_TAKEN = re.compile(
    r".*(-(?=[0-9]*[a-f])[0-9a-f]{8}|\.|\.parquet|\.json|\.zarr|\.png|\.tmp|\.lock)|labels", re.IGNORECASE | re.DOTALL
)
"""Endings that mean something to the store, and those that `safe_name` itself makes."""


def safe_name(text: str) -> str:
    """A file name for an identifier that came from outside.

    A name of up to 100 letters, digits, dots, dashes and underscores that begins with a letter or digit is kept, unless it ends
    like a file of the store or like a name made here. Anything else is reduced to such letters and told apart by eight
    hexadecimal digits of its BLAKE2b hash (not all of them 0 to 9, so that a date is no such ending). No identifier can leave
    its folder, and none takes the name of a kept one. Kept names that differ by case alone stay different, which a file system
    that ignores case cannot hold side by side.
    """
    if _PLAIN.fullmatch(text) and not _TAKEN.fullmatch(text):
        return text
    reduced = re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:60] or "x"
    digits = blake2b(text.encode(errors="surrogatepass")).hexdigest()
    return f"{reduced}-{next(d for d in re.findall('.{8}', digits) if not d.isdigit())}"


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of one data root."""

    root: Path

    @classmethod
    def from_environment(cls) -> Layout:
        """The root `$MEDFOUNDRY_DATA` names, else `data` in the current folder; `~` is the user's home, as in a shell."""
        named = os.environ.get(DATA_ROOT_VARIABLE) or "data"
        return cls(Path(os.path.expanduser(named)).absolute())  # noqa: PTH111 - leaves ~nobody as it is, like a shell

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
    return f"{MANIFESTS}/{safe_name(subject)}.json"


def is_product(path: str) -> bool:
    """Whether a file, relative to the products folder, lies where subjects' products, tables and their records lie."""
    parts = path.split("/")
    if parts[0] in {"volumes", "previews", MANIFESTS, RECORDS}:
        return len(parts) > 1
    return len(parts) <= 2 and path.endswith((".parquet", ".tmp"))


def is_dataset_product(path: str) -> bool:
    """Whether a product, relative to the products folder, is one of the whole dataset: a table, or one of its records."""
    return "/" not in path or path.startswith(f"{RECORDS}/")
