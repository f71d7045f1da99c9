"""Where a dataset's raw files come from: the sources part of the dataset language, as pydantic models.

How a source is fetched is told in `docs/downloading.md`.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

Kind = Literal[
    "git",
    "http",
    "zenodo",
    "huggingface",
    "google_drive",
    "synapse",
    "grand_challenge",
    "tcia",
    "figshare",
    "kaggle",
    "other",
]


def _folder(value: str) -> str:
    path = PurePosixPath(value)
    if path.is_absolute() or ".." in path.parts or "\\" in value:
        raise ValueError(f"a folder under the raw folder is written like a/b, not {value!r}")
    return "" if path == PurePosixPath() else path.as_posix()


Folder = Annotated[str, AfterValidator(_folder)]
Md5 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class SourceFile(BaseModel):
    """A file of a source, or the files a pattern matches, and what becomes of it.

    Attributes:
        name: Name, path or pattern (`*`, `?`, `**`), as the host writes it; in a git source a pattern of its paths.
        url: Its address, where that does not follow from the source's `id` and `name`.
        size_bytes: Published size.
        md5: Published checksum.
        sha256: Published checksum.
        extract: Whether it is unpacked; None unpacks .zip, .tar (.gz, .bz2, .xz), .7z and their numbered parts.
        into: Folder under the raw folder where it, or what it holds, is put.
        strip: How many leading folders of the members' paths are dropped.
        members: Patterns of the members to unpack, as they are in the archive; all of them when empty.
        nested: How deep archives inside are unpacked too, each into a folder of its name.
        replace: Whether its files take the place of others of the same name that differ, as corrected releases do.
        unpacked_bytes: Size of all it holds, for archives that rightly unpack to more than 200 times their size.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1)
    url: str = Field(default="", pattern=r"^(https?://.*)?$")
    size_bytes: int | None = Field(default=None, ge=0)
    md5: Md5 | None = None
    sha256: Sha256 | None = None
    extract: bool | None = None
    into: Folder = ""
    strip: int = Field(default=0, ge=0, le=10)
    members: tuple[str, ...] = ()
    nested: int = Field(default=0, ge=0, le=3)
    replace: bool = False
    unpacked_bytes: int | None = Field(default=None, ge=0)

    @property
    def is_pattern(self) -> bool:
        """Whether it may stand for several files."""
        return any(sign in self.name for sign in "*?")

    @model_validator(mode="after")
    def _facts_of_one_file(self) -> Self:
        if self.is_pattern and (self.url or self.md5 or self.sha256 or self.size_bytes is not None):
            raise ValueError(f"{self.name} may match several files: an address, a size or a checksum is that of one")
        return self


class Source(BaseModel):
    """Where the raw files come from.

    Attributes:
        kind: How it is fetched.
        id: Repository, record number or address, as its host writes it.
        note: What a person must know to fetch it.
        files: Which of its files are wanted and what becomes of them; all of them when empty.
        revision: Commit, tag or branch (git, huggingface), version (synapse).
        mirror: Whether it holds what the sources before it hold; then it is fetched only when it is asked for.
        place: Remote pattern -> path under the raw folder, where the two layouts differ.
        md5: Published checksum, where the source is one file.
        sha256: Published checksum, where the source is one file.
        size_bytes: Published size, where the source is one file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    id: str
    note: str = ""
    files: tuple[SourceFile, ...] = ()
    revision: str | None = None
    mirror: bool = False
    place: dict[str, str] = Field(default_factory=dict)
    md5: Md5 | None = None
    sha256: Sha256 | None = None
    size_bytes: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _facts_are_said_once(self) -> Self:
        if self.files and (self.md5 or self.sha256 or self.size_bytes is not None):
            raise ValueError(f"{self.id}: the size and checksum of a file stand with it, under `files`")
        if self.kind == "http" and not self.id.startswith(("http://", "https://")):
            raise ValueError(f"an http source's id is its address, not {self.id!r}")
        return self
