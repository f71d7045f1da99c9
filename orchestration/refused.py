"""What a command says when the file system refuses it."""

from __future__ import annotations

import errno
from collections.abc import Mapping

from resources.layout import DATA_ROOT_VARIABLE, Layout

_FREE = "free space there"
_ALLOW = "change its permissions, or run the command as a user who has them"
_LOOK = "look at the path and what lies there"
_DISK = "look at the disk and whether it is mounted"

_ADVICE: Mapping[int, str] = {
    errno.EROFS: "the disk is mounted read-only: mount it so that it can be written",
    errno.EACCES: _ALLOW,
    errno.EPERM: _ALLOW,
    errno.ENOSPC: _FREE,
    errno.EDQUOT: _FREE,
    errno.EFBIG: "the disk does not hold files of this size: use another",
    errno.ENOENT: _LOOK,
    errno.ENOTDIR: _LOOK,
    errno.EISDIR: _LOOK,
    errno.EEXIST: _LOOK,
    errno.ENOTEMPTY: _LOOK,
    errno.ELOOP: "a link leads back to itself: mend it",
    errno.ENAMETOOLONG: "use shorter names",
    errno.EXDEV: "it and the place it is moved to must lie on one disk",
    errno.EBUSY: "another program uses it: try again later",
    errno.EMFILE: "too many files are open: raise the limit (`ulimit -n`)",
    errno.ENFILE: "too many files are open on this machine: try again later",
    errno.ENOLCK: "the disk keeps no locks: use another for the products",
    errno.EIO: _DISK,
    errno.ENODEV: _DISK,
    errno.ENXIO: _DISK,
    errno.ENOTCONN: _DISK,
    errno.EHOSTDOWN: _DISK,
    errno.ESTALE: _DISK,
}
"""What to do about errors that come from outside; all others are faults of ours."""

_ANYWHERE = frozenset({errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ESTALE, errno.EMFILE, errno.ENFILE})
"""Errors of reading and writing, for which the system names no path."""


def told(error: OSError) -> str | None:
    """One line that says which path is refused, why, and what to do; None for an error that is not the file system's."""
    advice = _ADVICE.get(error.errno or 0)
    path = error.filename if error.filename is not None else error.filename2
    if advice is None or (path is None and error.errno not in _ANYWHERE):
        return None
    root = Layout.from_environment().root
    shown = root if path is None else path if isinstance(path, str) else repr(path)
    line = f"error: {shown}: {error.strerror}; {advice}. The data root is {root}; {DATA_ROOT_VARIABLE} names another"
    return "".join(letter if letter.isprintable() else "?" for letter in line)
