"""Finds what a raw folder holds: every subject's files by the spec's patterns, and a reason for every other file.

Nothing is opened here but the dataset's own lists and tables; whether a file is whole is proven when it is read.
"""

from assets.raw.discovery import RawDataMissingError, discover
from assets.raw.tree import (
    ONLY_SCAN,
    SYNTHETIC_MARKER,
    FileEntry,
    FileState,
    LabelFile,
    RawScan,
    RawSubject,
    RawTree,
    natural_key,
)

__all__ = [
    "ONLY_SCAN",
    "SYNTHETIC_MARKER",
    "FileEntry",
    "FileState",
    "LabelFile",
    "RawDataMissingError",
    "RawScan",
    "RawSubject",
    "RawTree",
    "discover",
    "natural_key",
]
