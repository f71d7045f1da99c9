"""Fetches one file: resumed by range, checked against what is published, and never two versions glued together."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from resources.download.errors import ContentError, DownloadError, PassingError, StoppedError
from resources.download.network import Answer, Network
from resources.download.part import Part, Version
from resources.download.patience import persist
from resources.download.values import Published, RemoteFile
from resources.download.watch import Watch

_CONTENT_RANGE = re.compile(r"bytes (?P<first>\d+)-(?P<last>\d+)/(?P<total>\d+|\*)")
_PAGE = re.compile(rb"\s*(<!--.*?-->\s*)?<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
_PAGES = (".html", ".htm", ".xhtml", ".xml", ".svg", ".md", ".txt")
_COMPRESSED = (".gz", ".tgz")


@dataclass(frozen=True, slots=True)
class Fetched:
    """A file that is whole.

    Attributes:
        size: Bytes.
        checksums: Of its content, always with `sha256`.
        proof: What its content was compared with: `sha256`, `md5`, `git_sha1`, `size`; nothing when nothing was published.
        etag: The host's tag.
    """

    size: int
    checksums: dict[str, str]
    proof: tuple[str, ...]
    etag: str = ""


def fetch(file: RemoteFile, path: Path, network: Network, watch: Watch) -> Fetched:
    """Bring a file to `path`, its `.part`, going on where an earlier attempt ended.

    Raises:
        ContentError: What came is not what is published, twice.
        DownloadError: It cannot be had; the message says why. What came so far is kept where it is of use.
    """
    part = Part(path, file.published, network.policy.checkpoint_bytes)
    transfer = _Transfer(file, part, network, watch)
    watch.begin(file.name, "fetching", file.published.size_bytes)
    try:
        return persist(transfer.attempt, network, watch, reached=lambda: part.kept)
    finally:
        part.close()
        watch.end(file.name)


@dataclass
class _Transfer:
    file: RemoteFile
    part: Part
    network: Network
    watch: Watch
    mismatches: int = 0

    def attempt(self) -> Fetched:
        offset = self.part.resume(self._proceed)
        if offset == 0 or offset != self.file.published.size_bytes:
            whole = False
            try:
                self._transfer(offset)
                whole = True
            finally:
                self.part.checkpoint(record=not whole)
        return self._verified()

    def _transfer(self, offset: int) -> None:
        headers = {"Range": f"bytes={offset}-"} if offset else {}
        validator = self.part.version.validator if self.part.version else ""
        if offset and validator:
            headers["If-Range"] = validator
        with self.network.open(self.file.url, self.file.token, headers) as answer:
            if answer.status == 416:
                if _total(answer) != offset:
                    raise self._start_over(f"{answer.address}: has no bytes from {offset} on")
                return
            self._check_kind(answer)
            if offset and answer.status == 206:
                self._check_continues(answer, offset)
            elif answer.status == 200:
                self._begin(answer)
            else:
                raise self._start_over(f"{answer.address}: answered {answer.status} to a request for the bytes from {offset} on")
            self.part.check_room(self._size())
            self._receive(answer)

    def _check_kind(self, answer: Answer) -> None:
        kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind in {"text/html", "application/xhtml+xml"} and not self.file.name.lower().endswith(_PAGES):
            raise _web_page(answer, self.file.name)
        coding = answer.headers.get("Content-Encoding", "identity").lower()
        if coding not in {"", "identity"} and not self.file.name.lower().endswith(_COMPRESSED):
            raise DownloadError(f"{answer.address}: the host sends {self.file.name} compressed ({coding}) without being asked to")

    def _check_continues(self, answer: Answer, offset: int) -> None:
        said = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if said is None or int(said["first"]) != offset:
            shown = answer.headers.get("Content-Range", "no Content-Range")
            raise self._start_over(f"{answer.address}: asked for the bytes from {offset} on, got {shown!r}")
        total = None if said["total"] == "*" else int(said["total"])
        if self.part.version is None or self.part.version.differs(Version.of(answer.headers, total)):
            raise self._start_over(f"{answer.address}: the file has changed since its first bytes came")

    def _start_over(self, why: str) -> PassingError:
        self.part.discard()
        return PassingError(f"{why}; starting over")

    def _begin(self, answer: Answer) -> None:
        length = answer.headers.get("Content-Length", "")
        size = int(length) if length.isdigit() else None
        published = self.file.published.size_bytes
        if size is not None and published is not None and size != published:
            raise ContentError(
                f"{answer.address}: offers {size:,} bytes, but {published:,} are published; the file was replaced by its host, "
                "or the published size is wrong"
            )
        self.part.begin(Version.of(answer.headers, size))

    def _size(self) -> int | None:
        if self.file.published.size_bytes is not None:
            return self.file.published.size_bytes
        return self.part.version.size if self.part.version else None

    def _receive(self, answer: Answer) -> None:
        size = self._size()
        self.watch.begin(self.file.name, "fetching", size)
        try:
            self._take(answer, size)
        except PassingError as error:
            of = "" if size is None else f" of {size:,}"
            raise PassingError(f"{error} after {self.part.position:,}{of} bytes") from None
        if size is not None and self.part.position < size:
            raise PassingError(f"{answer.address}: the connection ended after {self.part.position:,} of {size:,} bytes")

    def _take(self, answer: Answer, size: int | None) -> None:
        policy = self.network.policy
        mark, since = self.part.position, time.monotonic()
        for chunk in answer.chunks():
            if self.part.position == 0 and _PAGE.match(chunk) and not self.file.name.lower().endswith(_PAGES):
                raise _web_page(answer, self.file.name)
            self.part.write(chunk)
            self._proceed(self.part.position)
            if size is not None and self.part.position > size:
                self.part.discard()
                raise ContentError(f"{answer.address}: sends more than the {size:,} bytes {self.file.name} has")
            if (now := time.monotonic()) - since > policy.slow_window_s:
                if self.part.position - mark < policy.slow_bytes:
                    raise PassingError(
                        f"{answer.address}: only {self.part.position - mark} bytes in {now - since:.0f} s, stalled"
                    )
                mark, since = self.part.position, now

    def _proceed(self, position: int) -> None:
        if self.network.stop.is_set():
            raise StoppedError("stopped")
        self.watch.reach(self.file.name, position)

    def _verified(self) -> Fetched:
        made = self.part.digests()
        size = self.part.position
        wrong = differences(self.file.published, size, made)
        if wrong:
            self.mismatches += 1
            self.part.discard()
            message = f"{self.file.name} from {self.file.url}: {wrong}"
            if self.mismatches < 2:
                raise PassingError(f"{message}; fetching it anew")
            raise ContentError(f"{message}, again after fetching it anew. The host's file is not the published one")
        version = self.part.version or Version()
        proof = proofs(self.file.published, made)
        if not proof and version.size is not None:
            proof = ("length",)
        if not proof:
            self.watch.say(f"{self.file.name}: the host gives neither a size nor a checksum, so that nothing proves it whole")
        return Fetched(size, made, proof, version.etag)


def proofs(published: Published, made: Mapping[str, str]) -> tuple[str, ...]:
    """What a file of these checksums was compared with."""
    kinds = [kind for kind, value in checksums(published) if value and kind in made]
    return (*kinds, "size") if published.size_bytes is not None else tuple(kinds)


def differences(published: Published, size: int, made: Mapping[str, str]) -> str:
    """How bytes of this size and these checksums differ from what is published; empty when they do not."""
    if published.size_bytes is not None and size != published.size_bytes:
        return f"{size:,} bytes instead of {published.size_bytes:,}"
    for kind, value in checksums(published):
        if value and kind in made and made[kind] != value:
            return f"{kind} is {made[kind]}, published is {value}"
    return ""


def checksums(published: Published) -> tuple[tuple[str, str | None], ...]:
    """Kind and hexadecimal digits of every checksum that may be published, strongest first."""
    return ("sha256", published.sha256), ("md5", published.md5), ("git_sha1", published.git_sha1)


def _total(answer: Answer) -> int | None:
    said = re.fullmatch(r"bytes \*/(\d+)", answer.headers.get("Content-Range", ""))
    return int(said[1]) if said else None


def _web_page(answer: Answer, name: str) -> DownloadError:
    return DownloadError(
        f"{answer.address}: a web page came instead of {name}; open the address in a browser, the host may want a login, a "
        "confirmation or accepted terms"
    )
