"""What the headers of DICOM files say, kept beside the products so that a file which has not been touched is not opened again."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path

import polars as pl

from assets.raw.walk import Stamp
from resources import durable
from resources.findings import RETRIED, Code, Finding, Severity
from resources.readers.dicom.kinds import Identity, SeriesKey

CACHE_NAME = "dicom-headers.arrow"
"""File in a dataset's products folder; it may be removed at any time."""

_FORMAT = 2
_STAMP = {"size": pl.Int64, "mtime_ns": pl.Int64, "ctime_ns": pl.Int64}
_SCHEMA = {"format": pl.Int64, "path": pl.String, **_STAMP, "asked": pl.String, "said": pl.String}


@dataclass
class Identities:
    """Reads headers, each once for as long as nothing was done to its file.

    Attributes:
        root: The raw folder.
        cache: The file that keeps them; None keeps nothing.
        keywords: The elements whose values are wanted.
        read: How many files were opened.
    """

    root: Path
    cache: Path | None
    keywords: tuple[str, ...]
    read: int = 0
    _known: dict[tuple[str, Stamp], str] | None = None
    _met: dict[tuple[str, Stamp], str] = field(default_factory=dict)

    def of(self, path: str, stamp: Stamp) -> Identity | None:
        """What a file is; None when it is no DICOM file."""
        if self._known is None:
            self._known = _load(self.cache, self._asked)
        mark = (path, stamp)
        if mark not in self._known:
            from resources.readers.dicom.identity import identify  # noqa: PLC0415  # pydicom is loaded for new files alone

            found = identify(self.root / path, path, self.keywords)
            self.read += 1
            if found is not None and found.problem is not None and found.problem.code in RETRIED:
                return found
            self._known[mark] = _as_text(found)
        self._met[mark] = self._known[mark]
        return _from_text(self._known[mark])

    def keep(self) -> None:
        """Write down what was read, if anything is new; what is known of files that are gone goes.

        Raises:
            OSError: The disk failed or is full.
        """
        if self.cache is None or self._known is None or (self.read == 0 and len(self._met) == len(self._known)):
            return
        rows = [(_FORMAT, path, *stamp, self._asked, said) for (path, stamp), said in self._met.items()]
        content = io.BytesIO()
        pl.DataFrame(rows, schema=_SCHEMA, orient="row").write_ipc(content, compression="zstd")
        durable.write_bytes(self.cache, content.getvalue())
        self._known, self.read = dict(self._met), 0

    @property
    def _asked(self) -> str:
        return " ".join(sorted(self.keywords))


def _load(cache: Path | None, asked: str) -> dict[tuple[str, Stamp], str]:
    """What is kept, as far as it answers the same question; nothing where the file is gone or damaged."""
    if cache is None or not cache.is_file():
        return {}
    try:
        table = pl.read_ipc(cache.read_bytes(), use_pyarrow=False)
        table = table.filter(format=_FORMAT, asked=asked) if dict(table.schema) == _SCHEMA else table.clear()
    except (OSError, pl.exceptions.PolarsError):
        return {}
    columns = ("path", *_STAMP, "said")
    if table.is_empty():
        return {}
    return {(path, Stamp(*stamp)): said for path, *stamp, said in table.select(columns).iter_rows()}


def _as_text(identity: Identity | None) -> str:
    return json.dumps(asdict(identity), sort_keys=True) if identity is not None else ""


@lru_cache(maxsize=4096)
def _from_text(text: str) -> Identity | None:
    """The files of a series say the same, so that few texts stand for many files."""
    if not text:
        return None
    told = json.loads(text)
    problem = told["problem"] and Finding(
        Code(told["problem"]["code"]), Severity(told["problem"]["severity"]), told["problem"]["file"], told["problem"]["detail"]
    )
    return Identity(
        told["kind"],
        SeriesKey(**told["key"]),
        told["description"],
        told["frame_of_reference"],
        tuple(told["refers_to"]),
        told["values"],
        problem,
    )
