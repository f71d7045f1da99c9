"""Every file below a raw folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path


def walk(root: Path, unlisted: list[OSError]) -> Iterator[tuple[str, os.stat_result | OSError]]:
    """Every file below `root`, sorted, with its status; links are followed. What cannot be listed goes to `unlisted`."""
    for folder, folders, names in os.walk(root, onerror=unlisted.append, followlinks=True):
        here = Path(folder)
        folders[:] = sorted(f for f in folders if not (here / f).is_symlink() or _leads_on(here / f, root))
        for name in sorted(names):
            path = here / name
            try:
                status: os.stat_result | OSError = path.stat()
            except OSError as error:
                status = error
            shown = path.relative_to(root).as_posix()
            if not _is_text(shown):
                shown = os.fsencode(shown).decode("utf-8", "backslashreplace")
                status = OSError(errno.EILSEQ, "the name is not valid UTF-8; rename the file")
            yield shown, status


def _is_text(name: str) -> bool:
    """Whether a file name can be written down; bytes that are no UTF-8 come as lone surrogates, which cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _leads_on(link: Path, root: Path) -> bool:
    """A linked folder is followed when it does not lead back to a folder on the way to it, or to one that holds such a folder."""
    target = link.resolve()
    way = (folder for folder in link.parents if folder.is_relative_to(root))
    return not any(folder.resolve().is_relative_to(target) for folder in way)
