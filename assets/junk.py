"""Files that operating systems, browsers and download tools leave in a dataset folder."""

from __future__ import annotations

import re

_LEFT_BY_SYSTEMS = {
    ".ds_store": "macOS folder settings",
    "thumbs.db": "Windows thumbnails",
    "desktop.ini": "Windows folder settings",
    ".gitignore": "git settings",
    ".gitattributes": "git settings",
}
_PARTIAL = (".part", ".crdownload", ".download", ".aria2", ".partial", ".incomplete", ".tmp", ".filepart", ".!qb")
_TEXTS = re.compile(
    r"(readme|licen[cs]e|copying|changelog|citation|notice)([._-].*)?(\.(txt|md|rst|pdf|html|cff))?", re.IGNORECASE
)
_COPY = re.compile(r"^(?P<stem>.+?)(?: \((?P<n>\d+)\)| - Copy(?: \(\d+\))?| copy(?: \d+)?)(?P<ends>(?:\.[A-Za-z0-9]+)+)$")


def junk_reason(path: str) -> str | None:
    """Why a file is nobody's data, or None. `path` is relative to the raw folder."""
    *folders, name = path.split("/")
    if "__MACOSX" in folders or name.startswith("._"):
        return "macOS resource fork"
    if {".git", ".datalad", ".svn"} & set(folders):
        return "version control"
    if reason := _LEFT_BY_SYSTEMS.get(name.lower()):
        return reason
    return "text for readers" if _TEXTS.fullmatch(name) else None


def is_partial_download(path: str) -> bool:
    """Whether the name is that of a download that did not finish."""
    return path.lower().endswith(_PARTIAL)


def copied_from(path: str) -> str | None:
    """The path a copy such as `scan (1).nii.gz` was made from, or None."""
    folder, slash, name = path.rpartition("/")
    found = _COPY.match(name)
    return f"{folder}{slash}{found['stem']}{found['ends']}" if found else None
