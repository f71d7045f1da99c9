"""From the sources of a dataset to what is to be done: which files, which archives, what a person must do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from resources.download.errors import ByHandError, DownloadError, StoppedError
from resources.download.folders import OURS, Folders, source_folder
from resources.download.hosts import addresses, figshare, huggingface, synapse, zenodo
from resources.download.hosts.listing import Asker, Lister
from resources.download.joined import archive_kind, is_foreign, missing_parts, part_name, unpacked_by_default
from resources.download.journal import Journal
from resources.download.names import UnsafeNameError, safe_path
from resources.download.values import Published, RemoteFile, Rule, SourceRequest

_LISTERS: dict[str, Lister] = {
    "http": addresses.http,
    "git": addresses.github,
    "zenodo": zenodo.files,
    "huggingface": huggingface.files,
    "figshare": figshare.files,
    "synapse": synapse.files,
}
_PARTIAL = (".crdownload", ".download", ".aria2", ".partial", ".incomplete", ".tmp")


@dataclass(frozen=True, slots=True)
class Piece:
    """A file to fetch and where it is kept: below the downloads folder, as `local`."""

    remote: RemoteFile
    local: str


@dataclass(frozen=True, slots=True)
class PlainItem:
    """A file that goes into the raw folder as it is.

    Attributes:
        source: Where it comes from.
        piece: The file.
        target: Path below the raw folder.
        rule: What is said about it.
    """

    source: SourceRequest
    piece: Piece
    target: str
    rule: Rule

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.piece.remote.name

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The file."""
        return (self.piece,)


@dataclass(frozen=True, slots=True)
class ArchiveItem:
    """An archive, whole or in parts, that is unpacked into the raw folder.

    Attributes:
        source: Where it comes from.
        name: Its name without the number of a part.
        local: Where it is kept, below the downloads folder, without the number of a part.
        pieces: Its parts in order.
        rule: What is wanted of it.
        foreign: Whether it is of a kind that a person must unpack.
    """

    source: SourceRequest
    name: str
    local: str
    pieces: tuple[Piece, ...]
    rule: Rule
    foreign: bool = False


Item = PlainItem | ArchiveItem


@dataclass(frozen=True, slots=True)
class HandWork:
    """A source that a person must fetch.

    Attributes:
        source: The source.
        reason: Why.
        begun: Whether any of its files is known; what is missing of them is for the items to tell.
    """

    source: SourceRequest
    reason: str
    begun: bool


@dataclass
class Plan:
    """What is to be done for a dataset.

    Attributes:
        items: Files and archives, in the order of the spec.
        by_hand: What a person must fetch.
        failures: Sources that could not be listed, and why.
    """

    items: list[Item] = field(default_factory=list)
    by_hand: list[HandWork] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


def make_plan(sources: Sequence[SourceRequest], folders: Folders, journal: Journal, asker: Asker) -> Plan:
    """List every source. One that cannot be listed does not hinder the others.

    Raises:
        StoppedError: Somebody asked to stop.
    """
    plan = Plan()
    for source in sources:
        try:
            plan.items += _items(source, _LISTERS.get(source.kind, addresses.given)(source, asker))
        except ByHandError as error:
            _add_hand_work(plan, source, str(error), _put_by_hand(source, folders, journal))
        except StoppedError:
            raise
        except DownloadError as error:
            plan.failures.append(f"{source.kind} {source.id}: {error}")
    _refuse_double(plan)
    return plan


def _add_hand_work(plan: Plan, source: SourceRequest, reason: str, there: set[str]) -> None:
    """The files that a spec names, and those that a person has put in place, are items like others, but have no address."""
    named = {rule.name: rule.published for rule in source.rules if not _is_pattern(rule.name)}
    names = [*named, *sorted(there - set(named))]
    try:
        plan.items += _items(source, [RemoteFile(name, "", named.get(name, Published())) for name in names], partly=True)
    except DownloadError as error:
        plan.failures.append(f"{source.kind} {source.id}: {error}")
    plan.by_hand.append(HandWork(source, reason, begun=bool(names)))


def _put_by_hand(source: SourceRequest, folders: Folders, journal: Journal) -> set[str]:
    """Names of the files that a person has put into the source's folder, those that were moved on from there included."""
    name = source_folder(source)
    folder = folders.here(name)
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if _is_put(path, folder)}
    moved = {entry.local for entry in journal.fetched.values() if not entry.url}
    return found | {local.removeprefix(f"{name}/") for local in moved if local.startswith(f"{name}/")}


def _is_put(path: Path, folder: Path) -> bool:
    """Whether a person put a file there, and it is no half of one."""
    inside = path.relative_to(folder).parts
    if any(part.endswith(".unpacking") for part in inside) or any(part.startswith(".") for part in inside):
        return False
    return path.is_file() and not path.name.endswith((*OURS, *_PARTIAL))


def _items(source: SourceRequest, files: list[RemoteFile], *, partly: bool = False) -> list[Item]:
    if source.kind == "git" and not partly:
        return [_git_archive(source, file) for file in files]
    wanted = [(file, rule) for file in files if (rule := _rule(source, file.name)) is not None]
    _refuse_unmatched(source, files, partly=partly)
    items: list[Item] = []
    parts: dict[str, list[tuple[str, Piece, Rule]]] = {}
    for file, rule in wanted:
        piece = _piece(source, file, rule)
        if not _is_unpacked(file.name, rule):
            items.append(PlainItem(source, piece, _target(source, file.name, rule), rule))
        elif part := part_name(piece.local):
            parts.setdefault(part.base, []).append((part.order, piece, rule))
        else:
            items.append(ArchiveItem(source, file.name, piece.local, (piece,), rule, foreign=archive_kind(file.name) is None))
    return items + [_joined(source, local, found) for local, found in parts.items()]


def _is_unpacked(name: str, rule: Rule) -> bool:
    if rule.extract is None:
        return unpacked_by_default(name) or is_foreign(name)
    return rule.extract


def _rule(source: SourceRequest, name: str) -> Rule | None:
    """The first rule that wants a file; what has a placement is wanted without one."""
    for rule in source.rules:
        if rule.name == name or rule.regex.fullmatch(name):
            return rule
    if source.rules:
        return None
    placed = not source.placements or any(placement.place(name) for placement in source.placements)
    return Rule(published=source.published) if placed else None


def _refuse_unmatched(source: SourceRequest, files: list[RemoteFile], *, partly: bool) -> None:
    if partly:
        return
    for rule in source.rules:
        if not any(rule.name == file.name or rule.regex.fullmatch(file.name) for file in files):
            shown = ", ".join(file.name for file in files[:10]) + (", ..." if len(files) > 10 else "")
            raise DownloadError(f"there is no {rule.name}; the source holds {len(files)} files: {shown}")


def _piece(source: SourceRequest, file: RemoteFile, rule: Rule) -> Piece:
    said, listed = rule.published, file.published
    for fact in ("size_bytes", "md5", "sha256"):
        ours, theirs = getattr(said, fact), getattr(listed, fact)
        if ours is not None and theirs is not None and ours != theirs:
            raise DownloadError(
                f"{file.name}: the host gives {fact} {theirs}, the spec says {ours}; the host has replaced the file, or the spec "
                "is wrong"
            )
    return Piece(replace(file, published=said.or_else(listed)), f"{source_folder(source)}/{_safe(file.name)}")


def _target(source: SourceRequest, name: str, rule: Rule) -> str:
    for placement in source.placements:
        if target := placement.place(name):
            return _safe(target)
    path = _safe(name)
    return f"{rule.into}/{path}" if rule.into else path


def _joined(source: SourceRequest, local: str, found: list[tuple[str, Piece, Rule]]) -> ArchiveItem:
    found.sort(key=lambda entry: entry[0])
    name = local.rpartition("/")[2]
    if missing_parts(order for order, _, _ in found):
        raise DownloadError(f"{name} comes in parts, of which only these are here: {', '.join(order for order, _, _ in found)}")
    return ArchiveItem(source, name, local, tuple(piece for _, piece, _ in found), found[0][2])


def _git_archive(source: SourceRequest, file: RemoteFile) -> ArchiveItem:
    """The rules of a git source are about paths of the repository, which the archive keeps in one folder."""
    first = source.rules[0] if source.rules else Rule()
    if any((rule.into, rule.strip) != (first.into, first.strip) for rule in source.rules):
        raise DownloadError(f"{source.id}: the files of a git source share `into` and `strip`, because they come in one archive")
    members = tuple(re.compile(f"[^/]+/(?:{rule.regex.pattern})", rule.regex.flags) for rule in source.rules)
    rule = replace(first, members=members, strip=first.strip + 1)
    piece = Piece(file, f"{source_folder(source)}/{_safe(file.name)}")
    return ArchiveItem(source, file.name, piece.local, (piece,), rule)


def _refuse_double(plan: Plan) -> None:
    """Two files must not be kept, or put, in one place."""
    kept: list[tuple[Callable[[Item], str], set[str]]] = [
        (lambda item: item.local if isinstance(item, ArchiveItem) else item.piece.local, set()),
        (lambda item: "" if isinstance(item, ArchiveItem) else item.target, set()),
    ]
    for item in list(plan.items):
        for place, taken in kept:
            if (where := place(item)) and where in taken:
                plan.items.remove(item)
                plan.failures.append(f"{item.name}: another file is kept at {where} already; the spec gives one of them `into`")
                break
            taken.add(where)


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name or "{" in name


def _safe(name: str) -> str:
    try:
        path = safe_path(name)
    except UnsafeNameError as error:
        raise DownloadError(f"the host calls a file what must not be a path: {error}") from None
    if not path:
        raise DownloadError(f"the host calls a file {name!r}, which is no name")
    return path
