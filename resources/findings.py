"""What may be said about an input: a code, how grave it is, which file, and the values met.

Every complaint of the product is a `Finding`. An `error` quarantines the subject; a `warning` and an `info` go with it
into the tables. Code that cannot go on with a file raises `BadInputError`, which carries the finding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Severity(StrEnum):
    """How grave a finding is; only `ERROR` keeps a subject out of the products."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Code(StrEnum):
    """Every kind of finding, by its stable name in tables and checks."""

    # The raw tree
    SYNTHETIC = "synthetic"
    UNCLAIMED_FILE = "unclaimed-file"
    INCOMPLETE_DOWNLOAD = "incomplete-download"
    EXACT_COPY = "exact-copy"
    ALTERED_COPY = "altered-copy"
    LISTED_BUT_ABSENT = "listed-but-absent"
    MISSING_IMAGE = "missing-image"
    MISSING_LABELS = "missing-labels"
    AMBIGUOUS_FILE = "ambiguous-file"
    SUPERSEDED = "superseded"
    SCAN_NAME_ASTRAY = "scan-name-astray"
    REPAIRED = "repaired"
    UNREADABLE = "unreadable"

    # The bytes of a file
    EMPTY_FILE = "empty-file"
    GIT_LFS_POINTER = "git-lfs-pointer"
    HTML_PAGE = "html-page"
    WRONG_MAGIC = "wrong-magic"
    WRONG_EXTENSION = "wrong-extension"
    TRUNCATED = "truncated"
    CHECKSUM_MISMATCH = "checksum-mismatch"
    TRAILING_BYTES = "trailing-bytes"
    BAD_HEADER = "bad-header"
    TOO_LARGE = "too-large"
    UNSUPPORTED_DATA = "unsupported-data"
    NO_SUCH_ARRAY = "no-such-array"
    UNWRITTEN_CHUNKS = "unwritten-chunks"
    FILE_CHANGED = "file-changed-while-read"

    # Geometry
    ORIENTATION_UNKNOWN = "orientation-unknown"
    FORMS_DISAGREE = "sform-qform-disagree"
    PIXDIM_IGNORED = "pixdim-ignored"
    BAD_AFFINE = "bad-affine"
    SHEAR = "shear"
    UNITS_UNKNOWN = "units-unknown"
    UNITS_CONVERTED = "units-converted"
    IDENTITY_AFFINE = "identity-affine"
    ORIGIN_UNKNOWN = "origin-unknown"
    SPACING_DISAGREES = "spacing-disagrees"
    GRID_MISMATCH = "grid-mismatch"
    UNEXPECTED_DIMENSIONS = "unexpected-dimensions"

    # Series of slices
    MIXED_SERIES = "mixed-series"
    MISSING_SLICE = "missing-slice"
    DUPLICATE_SLICE = "duplicate-slice"
    UNEVEN_SPACING = "uneven-spacing"
    GANTRY_TILT = "gantry-tilt"
    NOT_A_VOLUME = "not-a-volume"
    SPACING_IGNORED = "spacing-ignored"
    SPACING_ESTIMATED = "spacing-estimated"
    DECODER_FAILED = "decoder-failed"
    RESCALE_MISSING = "rescale-missing"
    PADDING_VALUE = "padding-value"
    MONOCHROME1 = "monochrome1"
    LOSSY_COMPRESSION = "lossy-compression"
    BURNED_IN_TEXT = "burned-in-text"
    SEGMENTS_OVERLAP = "segments-overlap"
    CONTOUR_SKIPPED = "contour-skipped"

    # Landmarks
    MISSING_LANDMARKS = "missing-landmarks"
    BAD_LANDMARKS = "bad-landmarks"
    LANDMARKS_EXCLUDED = "landmarks-excluded"

    # Voxels
    NONFINITE_VOXELS = "nonfinite-voxels"
    SLOPE_IGNORED = "slope-ignored"
    TRANSPARENCY = "transparency"
    MIN_IS_WHITE = "min-is-white"
    FRAME_COUNT = "frame-count"
    EXIF_ORIENTATION = "exif-orientation"
    CONSTANT_IMAGE = "constant-image"
    NOT_WHOLE_LABELS = "non-integer-labels"
    UNKNOWN_LABEL = "unknown-label"
    EMPTY_MASK = "empty-mask"
    OVERLAPPING_MASKS = "overlapping-masks"
    LESION_WITHOUT_AXES = "lesion-without-axes"
    LESION_AT_BORDER = "lesion-at-border"

    # What the dataset says of an image
    CLASS_UNKNOWN = "class-unknown"
    OBJECT_UNUSABLE = "object-unusable"
    OBJECT_WITHOUT_IMAGE = "object-without-image"

    # What was made of it
    EXPECTATION_FAILED = "expectation-failed"
    SAME_IMAGE_TWICE = "same-image"
    SPLIT_SHARE = "split-share"
    NO_RECORD = "no-record"
    OFFICIAL_SPLIT_UNKNOWN = "official-split-unknown"


DEFAULT_SEVERITY: dict[Code, Severity] = {
    Code.SYNTHETIC: Severity.INFO,
    Code.EXACT_COPY: Severity.INFO,
    Code.SUPERSEDED: Severity.INFO,
    Code.REPAIRED: Severity.INFO,
    Code.UNITS_CONVERTED: Severity.INFO,
    Code.ORIGIN_UNKNOWN: Severity.INFO,
    Code.SLOPE_IGNORED: Severity.INFO,
    Code.EMPTY_MASK: Severity.INFO,
    Code.LANDMARKS_EXCLUDED: Severity.INFO,
    Code.UNCLAIMED_FILE: Severity.WARNING,
    Code.INCOMPLETE_DOWNLOAD: Severity.WARNING,
    Code.ALTERED_COPY: Severity.WARNING,
    Code.LISTED_BUT_ABSENT: Severity.WARNING,
    Code.WRONG_EXTENSION: Severity.WARNING,
    Code.TRAILING_BYTES: Severity.WARNING,
    Code.UNWRITTEN_CHUNKS: Severity.WARNING,
    Code.SPACING_DISAGREES: Severity.WARNING,
    Code.FORMS_DISAGREE: Severity.WARNING,
    Code.PIXDIM_IGNORED: Severity.WARNING,
    Code.UNITS_UNKNOWN: Severity.WARNING,
    Code.IDENTITY_AFFINE: Severity.WARNING,
    Code.MISSING_LANDMARKS: Severity.WARNING,
    Code.PADDING_VALUE: Severity.INFO,
    Code.MONOCHROME1: Severity.INFO,
    Code.LOSSY_COMPRESSION: Severity.INFO,
    Code.SPACING_IGNORED: Severity.WARNING,
    Code.SPACING_ESTIMATED: Severity.WARNING,
    Code.RESCALE_MISSING: Severity.WARNING,
    Code.BURNED_IN_TEXT: Severity.WARNING,
    Code.CONTOUR_SKIPPED: Severity.WARNING,
    Code.CONSTANT_IMAGE: Severity.WARNING,
    Code.TRANSPARENCY: Severity.WARNING,
    Code.MIN_IS_WHITE: Severity.WARNING,
    Code.FRAME_COUNT: Severity.WARNING,
    Code.EXIF_ORIENTATION: Severity.WARNING,
    Code.LESION_WITHOUT_AXES: Severity.WARNING,
    Code.LESION_AT_BORDER: Severity.WARNING,
    Code.CLASS_UNKNOWN: Severity.WARNING,
    Code.SCAN_NAME_ASTRAY: Severity.WARNING,
    Code.OBJECT_UNUSABLE: Severity.WARNING,
    Code.OBJECT_WITHOUT_IMAGE: Severity.WARNING,
    Code.SAME_IMAGE_TWICE: Severity.WARNING,
    Code.SPLIT_SHARE: Severity.WARNING,
    Code.NO_RECORD: Severity.WARNING,
    Code.OFFICIAL_SPLIT_UNKNOWN: Severity.WARNING,
}
"""Severity where the place that finds it says nothing else; a code that is not listed is an error."""

RETRIED: frozenset[Code] = frozenset({Code.UNREADABLE, Code.FILE_CHANGED})
"""Findings that may pass without the file changing, so that a quarantine resting on them is never taken as final."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement about an input.

    Attributes:
        code: What kind of statement.
        severity: How grave.
        file: Path under the raw root with forward slashes; empty when it concerns the whole subject or dataset.
        detail: One sentence with the values met, and what to do where that is not plain.
    """

    code: Code
    severity: Severity
    file: str
    detail: str

    def __str__(self) -> str:
        where = f" {self.file}:" if self.file else ""
        return f"[{self.code}]{where} {self.detail}"


def finding(code: Code, detail: str, *, file: str = "", severity: Severity | None = None) -> Finding:
    """A finding with its code's usual severity unless `severity` says otherwise."""
    return Finding(code, severity or DEFAULT_SEVERITY.get(code, Severity.ERROR), file, detail)


class BadInputError(Exception):
    """An input that cannot be used; its finding says which file and why."""

    def __init__(self, code: Code, detail: str, *, file: str = "") -> None:
        super().__init__(detail)
        self.finding = Finding(code, Severity.ERROR, file, detail)

    def about(self, file: str) -> BadInputError:
        """The same error, naming `file` where no file was named yet."""
        if not self.finding.file:
            self.finding = replace(self.finding, file=file)
        return self

    def __str__(self) -> str:
        return str(self.finding)
