"""What is to be fetched, in plain values: files of a host, the rules for them, and what they belong to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import blake2b

from resources.download.tokens import Token


@dataclass(frozen=True, slots=True)
class Published:
    """What a host or a spec publishes about the bytes of a file; None where it says nothing.

    Attributes:
        size_bytes: Size.
        md5: MD5 in hexadecimal.
        sha256: SHA-256 in hexadecimal.
        git_sha1: Git's blob id: SHA-1 of the content after the header `blob <size>` and a zero byte.
    """

    size_bytes: int | None = None
    md5: str | None = None
    sha256: str | None = None
    git_sha1: str | None = None

    @property
    def has_checksum(self) -> bool:
        """Whether any checksum is published."""
        return bool(self.md5 or self.sha256 or self.git_sha1)

    def or_else(self, other: Published) -> Published:
        """These facts, completed by others."""
        return Published(
            size_bytes=self.size_bytes if self.size_bytes is not None else other.size_bytes,
            md5=self.md5 or other.md5,
            sha256=self.sha256 or other.sha256,
            git_sha1=self.git_sha1 or other.git_sha1,
        )


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of a host.

    Attributes:
        name: Path or name, as the host writes it.
        url: Where it is fetched; empty for a file that a person fetches.
        published: What is known of its bytes.
        token: The token its host takes, if any.
    """

    name: str
    url: str
    published: Published = Published()
    token: Token | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """Which files of a source are wanted and what becomes of them; `SourceFile` of the spec says what each field means."""

    name: str = "**"
    regex: re.Pattern[str] = re.compile(r".*", re.DOTALL)
    url: str = ""
    published: Published = Published()
    extract: bool | None = None
    into: str = ""
    strip: int = 0
    members: tuple[re.Pattern[str], ...] = ()
    nested: int = 0
    replace: bool = False
    unpacked_bytes: int | None = None

    def digest(self) -> str:
        """Differs when an archive would be unpacked to other files or to another place."""
        said = (self.into, self.strip, tuple(m.pattern for m in self.members), self.nested)
        return blake2b(repr(said).encode(), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Placement:
    """Where files go whose remote layout differs.

    Attributes:
        regex: Matches the whole remote path; its named groups are fields.
        target: Path under the raw folder, with `{field}`.
    """

    regex: re.Pattern[str]
    target: str

    def place(self, path: str) -> str | None:
        """Path under the raw folder, or None where the remote path does not match."""
        found = self.regex.fullmatch(path)
        return re.sub(r"\{([a-z_]+)\}", lambda m: found[m[1]], self.target) if found else None


@dataclass(frozen=True, slots=True)
class SourceRequest:
    """A source as the plan needs it; `Source` of the spec says what each field means."""

    kind: str
    id: str
    note: str = ""
    revision: str | None = None
    mirror: bool = False
    rules: tuple[Rule, ...] = ()
    placements: tuple[Placement, ...] = ()
    published: Published = Published()


@dataclass(frozen=True, slots=True)
class DatasetRequest:
    """A dataset to fetch.

    Attributes:
        slug: Its name in paths and commands.
        name: Its name for readers.
        version: Its version.
        licence: SPDX id or text.
        access: `open`, `registration` or `restricted`.
        homepage: Where it is described.
        citation: How it wants to be cited.
        sources: Where it comes from.
    """

    slug: str
    name: str
    version: str
    licence: str
    access: str
    homepage: str = ""
    citation: str = ""
    sources: tuple[SourceRequest, ...] = field(default=())
