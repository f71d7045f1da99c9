"""Names in a raw folder behind which nothing can be seen, and whether that matters."""

from __future__ import annotations

import errno
import os

from assets.junk import junk_reason
from assets.patterns import Pattern, compile_pattern
from assets.raw.claims import Claims

_ANY = "-"
"""Stands for whatever lies behind a link that may lead to a folder."""


def is_hidden(status: os.stat_result | OSError) -> bool:
    """Whether the system refuses to say what a name stands for; a name that is no text alone hides nothing."""
    return isinstance(status, OSError) and status.errno != errno.EILSEQ


def why_indifferent(claims: Claims, path: str) -> str | None:
    """Why nobody needs what is hidden at `path`, be it a file or a folder; None where it may be a subject's.

    What a spec ignores with all that lies below (`imagesTs/**`) can be done without, but not where its patterns also take files
    from there: a spec that ignores all the rest (`**`) does not ignore its subjects.
    """
    junk = junk_reason(path) or junk_reason(f"{path}/{_ANY}")
    if junk is not None:
        return junk
    own = claims.why_ignored(path)
    by = [pattern for pattern, _ in claims.ignored if pattern.match(path) is not None]
    if own is not None and not (by and all(map(_is_broad, by))):
        return own
    return None if _may_hold(claims, path) else own or claims.why_ignored(f"{path}/{_ANY}")


def _is_broad(pattern: Pattern) -> bool:
    return set(pattern.text.rpartition("/")[2]) == {"*"}


def _may_hold(claims: Claims, folder: str) -> bool:
    """Whether a pattern of the spec claims files below a folder of this name."""
    texts = {pattern.text for _, _, pattern in claims.patterns}
    above = {"/".join(parts[:n]) for parts in (text.split("/") for text in texts) for n in range(1, len(parts))}
    return any(compile_pattern(text, claims.fields).match(folder) is not None for text in above)
