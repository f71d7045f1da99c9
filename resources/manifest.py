"""What is recorded of one subject's products: the only thing readers trust.

A manifest holds no time of day, so that equal inputs give equal bytes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from resources.findings import Code, Finding, Severity

_SEAL = re.compile(rb',\n "checksum": "([0-9a-f]{64})"\n}\n\Z')


def sealed(content: Mapping[str, Any]) -> bytes:
    """Canonical JSON of a record that is not empty, a line for each of its fields, closed by a SHA-256 of all that precedes it.

    Raises:
        ValueError: It holds a number that JSON cannot say, NaN for example.
    """
    lines = [f" {json.dumps(name)}: {_canonical(content[name])}" for name in sorted(content)]
    text = "{\n" + ",\n".join(lines)
    return f'{text},\n "checksum": "{sha256(text.encode()).hexdigest()}"\n}}\n'.encode()


def _canonical(value: Any) -> str:
    # With `indent` the standard library would encode in Python: 0.4 of the time of a commit.
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


def unsealed(content: bytes) -> bytes:
    """The JSON that `sealed` closed, proven to be what was written.

    Raises:
        ValueError: A byte of it differs.
    """
    seal = _SEAL.search(content)
    text = content[: seal.start()] if seal else b""
    if seal is None or sha256(text).hexdigest().encode() != seal[1]:
        raise ValueError("the record is not what was written (SHA-256 differs)")
    return text + b"\n}"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceRecord(_Record):
    """One raw file as it was when it was read.

    Attributes:
        path: Relative to the raw folder.
        size: Bytes.
        mtime_ns: Modification time.
        sha256: Hash of its bytes; empty when the file was not read to its end.
    """

    path: str
    size: int
    mtime_ns: int
    sha256: str


class FileRecord(_Record):
    """One file of a product, relative to the dataset's products folder, with its XXH128."""

    path: str
    size: int
    xxh128: str


class StepRecord(_Record):
    """What one step made and from what.

    Attributes:
        key: See `assets/incremental.py`.
        code_version: The step's hand-kept number.
        parameters: The spec fields it depended on.
        files: What it wrote; empty for a quarantined subject.
        n_rows: Rows of its table.
    """

    key: str
    code_version: int
    parameters: dict[str, Any]
    files: tuple[FileRecord, ...] = ()
    n_rows: int = 0


class FindingRecord(_Record):
    """A finding as it is kept."""

    code: Code
    severity: Severity
    file: str
    detail: str

    @classmethod
    def of(cls, finding: Finding) -> FindingRecord:
        """The record of a finding."""
        return cls(code=finding.code, severity=finding.severity, file=finding.file, detail=finding.detail)

    def finding(self) -> Finding:
        """The finding it records."""
        return Finding(self.code, self.severity, self.file, self.detail)


class Manifest(_Record):
    """Everything recorded of one subject."""

    schema_version: Literal[2] = 2
    subject: str
    state: Literal["published", "quarantined"]
    synthetic: bool
    sources: tuple[SourceRecord, ...]
    steps: dict[str, StepRecord]
    findings: tuple[FindingRecord, ...] = Field(default=())

    def to_bytes(self) -> bytes:
        """Canonical JSON with its own checksum: the same manifest is always the same bytes."""
        return sealed(self.model_dump(mode="json"))

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """Read a manifest back.

        Raises:
            ValueError: It is not what was written, or of another schema version.
        """
        return cls.model_validate_json(unsealed(content))

    def errors(self) -> tuple[FindingRecord, ...]:
        """The findings that keep the subject out."""
        return tuple(f for f in self.findings if f.severity is Severity.ERROR)


def manifest_at(path: Path) -> Manifest | None:
    """The manifest in a file; None where there is no file, or it cannot be read."""
    try:
        return Manifest.from_bytes(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
