"""Every file below a raw folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self


class Stamp(NamedTuple):
    """What tells, without opening it, whether a file is the one that it was.

    Attributes:
        size: Bytes.
        mtime_ns: Modification time, which programs set at will.
        ctime_ns: Time of the last change of anything about it, its name included, which they cannot set; 0 where it is not known.
    """

    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, status: os.stat_result | OSError) -> Self:
        """Of a file; zeros where the system refuses to say."""
        return cls(0, 0, 0) if isinstance(status, OSError) else cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def walk(
    root: Path, unlisted: list[OSError], leading_back: list[tuple[str, os.stat_result | OSError]] | None = None
) -> Iterator[tuple[str, os.stat_result | OSError]]:
    """Every file below `root`, sorted, with its status; links are followed.

    Args:
        root: The folder.
        unlisted: Takes what cannot be listed.
        leading_back: Takes the links to folders that they lie in, which are not followed, with the status of the link.
    """
    for folder, folders, names in os.walk(root, onerror=unlisted.append, followlinks=True):
        here = Path(folder)
        back = {f for f in folders if (here / f).is_symlink() and not _leads_on(here / f, root)}
        folders[:] = sorted(set(folders) - back)
        if leading_back is not None:
            leading_back += [_entry(here / name, root, follow=False) for name in sorted(back)]
        yield from (_entry(here / name, root) for name in sorted(names))


def _entry(path: Path, root: Path, *, follow: bool = True) -> tuple[str, os.stat_result | OSError]:
    """What a file is called, and its status or that of the link; why there is none also says where a link leads."""
    name = path.relative_to(root).as_posix()
    try:
        status: os.stat_result | OSError = path.stat(follow_symlinks=follow)
    except OSError as error:
        return _as_text(name), _with_target(error, path)
    if not _is_text(name):
        status = OSError(errno.EILSEQ, "the name is not valid UTF-8; rename the file")
    return _as_text(name), status


def _with_target(error: OSError, path: Path) -> OSError:
    try:
        target = os.fspath(path.readlink())
    except OSError:
        return error
    return OSError(error.errno, f"it is a link to {_as_text(target)}: {error.strerror}")


def _as_text(name: str) -> str:
    return name if _is_text(name) else os.fsencode(name).decode("utf-8", "backslashreplace")


def _is_text(name: str) -> bool:
    """Whether a file name can be written down; bytes that are no UTF-8 come as lone surrogates, which cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _leads_on(link: Path, root: Path) -> bool:
    """A linked folder is followed when it does not lead back to a folder on the way to it, or to one that holds such a folder."""
    target = link.resolve()
    way = (folder for folder in link.parents if folder.is_relative_to(root))
    return not any(folder.resolve().is_relative_to(target) for folder in way)
