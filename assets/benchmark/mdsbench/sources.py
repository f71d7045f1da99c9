"""Which raw file a record says it came from, and whether that is the one the ground truth names.

A record offers one stem by which it is paired with a sample, and a set of stems, from every source-like string it holds, by
which its source is judged.

The public evaluator knows about 110 key names in order of preference and about 300 that count as trace. Those a record
following the published template is likely to hold are here, in the same order; the fragments of `_SOURCE_LIKE` cover others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from assets.benchmark.mdsbench.record import Record
from assets.benchmark.mdsbench.stems import MAX_SOURCE_CHARACTERS, aliases, film_frame, frame_number, stem, test_number
from assets.benchmark.mdsbench.values import JsonObject, is_filled, objects, text

_SHORT_NAME = 96

_PREFERRED = (
    "source_file", "source_relative", "source_h5", "original_h5", "original_filename", "original_file", "source_filename",
    "source_file_name", "experiment_id", "source_image_path", "source_image_relative", "raw_image_path", "image_id",
    "source_npz", "source_parquet", "slice_stem", "original_stem", "original_relative_path", "source_relative_path",
    "source_path", "bids_subject", "original_path", "source_rel_path", "source_relpath", "source_stem", "source_image_file",
    "original_image_path", "source_image", "source_label", "source_mask_file", "source_label_file", "source_video",
    "source_dicom", "filename", "subject_id", "original_subject_id", "mat_file", "source_subset", "source_sample_dir",
    "source_dir",
)  # fmt: skip
_PREFERRED_RAW = (
    "source_image_path", "source_path", "source_file", "source_relative", "source_filename", "source_file_name",
    "original_filename", "original_file", "original_path", "raw_image_path", "image_path",
)  # fmt: skip
_NAME_KEYS = ("source_label_name", "anatomy_name", "name_in_mat", "mat_name_field")
_NAME_FILES = ("original_filename", "original_file", "mat_basename", "mat_file")
_CONFIGURATION_KEYS = ("acceleration_dir", "radial_config_dir", "sampling_pattern", "sampling_scheme", "sampling_rate")
_PARAMETER_KEYS = ("parameter_setting", "radial_undersampling_dir", "radial_spokes", "acceleration_factor", "parameter")
_FRAME_KEYS = ("source_image_relative", "source_path", "original_path", "subpath", "source_file", "original_filename")

_FRAGMENTS = (
    "antenna", "case", "cell", "channel", "class", "cohort", "condition", "dcm", "description", "dicom", "dir", "extracted",
    "file", "folder", "frequency", "h5", "image", "isotope", "label", "mask", "mat", "mha", "mhd", "name", "nifti", "nii",
    "npz", "nrrd", "origin", "parameter", "participant", "path", "raw", "relative", "roi", "sample", "sampling", "seg",
    "series", "slice", "sop", "source", "split", "stem", "study", "subset", "tif", "tissue", "volume",
)  # fmt: skip
_SOURCE_LIKE = re.compile("|".join(_FRAGMENTS), re.IGNORECASE)
_TRACE_IDS = frozenset({"bids_subject", "experiment_id", "frame_index", "patient_id", "sequence", "sequence_id", "subject_id"})
_PATH_LIKE = re.compile(r"[/\\]|\.[a-z0-9]{2,5}$", re.IGNORECASE)
_PICTURE_NAME = re.compile(r"(.+)\.(dcm|jpg|jpeg|png|bmp|tif|tiff)", re.IGNORECASE)
_SOURCE_NOTE = re.compile(r"\b(converted from|(?:original|source) ?file(?:name)?)(\s*:)?\s*", re.IGNORECASE)


def main_stem(record: Record) -> str:
    """The stem by which a record is paired with a sample; empty when it names no source."""
    composed = _frame_stem(record) or _picture_stem(record)
    if composed:
        return stem(composed)
    for candidate in _candidates(record):
        if is_filled(candidate):
            return stem(candidate)
    return stem(_source_in_note(record))


def _candidates(record: Record) -> Iterator[object]:
    extra, raw = record.extra, objects(record.whole.get("raw"))
    volume, slice_ = extra.get("volume_id"), extra.get("slice_id")
    if volume is not None and slice_ is not None and str(volume).strip() and str(slice_).strip():
        yield f"volume_{str(volume).strip()}_slice_{str(slice_).strip()}"
    yield _reconstruction(extra)
    yield from (extra.get(key) for key in _PREFERRED)
    yield from (raw.get(key) for key in _PREFERRED_RAW)
    patient, visit = extra.get("patient_id"), extra.get("visit")
    if isinstance(patient, str) and patient.strip():
        seen = visit.strip() if isinstance(visit, str) and visit.strip() else "VISIT_01"
        yield f"{patient.strip()}-{seen}-ADC_ss"


def _first(extra: JsonObject, keys: Iterable[str]) -> object:
    return next((extra[key] for key in keys if extra.get(key)), None)


def _reconstruction(extra: JsonObject) -> str:
    """Name, configuration and parameter of a reconstruction, where all three are given."""
    name = _first(extra, _NAME_KEYS)
    if not is_filled(name):
        file = next((extra[key] for key in _NAME_FILES if isinstance(extra.get(key), str) and extra[key].strip()), "")
        name = str(file).rsplit("/", 1)[-1].rsplit(".", 1)[0]
    parts = (_first(extra, _CONFIGURATION_KEYS), _first(extra, _PARAMETER_KEYS), name)
    return "_".join(str(part).strip() for part in parts) if all(is_filled(part) for part in parts) else ""


def _frame_stem(record: Record) -> str:
    """Sequence and frame of a film that is kept as single frames."""
    extra = record.extra
    paths = [value for key in _FRAME_KEYS if isinstance(value := extra.get(key), str) and len(value) <= MAX_SOURCE_CHARACTERS]
    whole = next((name for path in paths if (name := film_frame(path))), "")
    if whole:
        return whole
    sequence, frame = _sequence(extra), _frame_token(extra, paths)
    if not sequence or not frame:
        return ""
    known = text(record.record.get("dataset_name")) == "microscopy-demo" or any("dynamicnuclearnet" in p.lower() for p in paths)
    return f"{'dynamicnuclearnet_' if known else ''}{sequence}_{frame}"


def _sequence(extra: JsonObject) -> str:
    named = extra.get("sequence_id") or extra.get("sequence")
    if is_filled(named):
        return text(named)
    subject = extra.get("subject_id")
    return test_number(subject) if isinstance(subject, str) else ""


def _frame_token(extra: JsonObject, paths: list[str]) -> str:
    index = extra.get("frame_index")
    if isinstance(index, int) or (isinstance(index, float) and index.is_integer()):
        return f"frame_{int(index):04d}"
    return next((number for path in paths if (number := frame_number(path))), "")


def _picture_stem(record: Record) -> str:
    """The one dataset that holds the same picture in two formats: the extension is part of its stem."""
    if text(record.record.get("dataset_name")) != "mri-rd":
        return ""
    for key in ("source_path", "source_relative", "source_file", "original_filename", "original_file"):
        value = record.extra.get(key)
        match = _PICTURE_NAME.fullmatch(value.replace("\\", "/").rsplit("/", 1)[-1].strip()) if isinstance(value, str) else None
        if match:
            return f"{match[1].strip()}_{match[2].lower().replace('jpeg', 'jpg')}"
    return ""


def _source_in_note(record: Record) -> str:
    """The path in `provenance.notes`: all behind `Converted from:`, one word behind `Converted from`, else up to a comma."""
    note = objects(record.whole.get("provenance")).get("notes")
    match = _SOURCE_NOTE.search(note) if isinstance(note, str) and len(note) <= MAX_SOURCE_CHARACTERS else None
    if match is None:
        return ""
    rest = match.string[match.end() :].strip()
    if match[1].lower() == "converted from":
        return rest if match[2] else rest.split(" ", 1)[0].rstrip(".,")
    return rest.split(",", 1)[0].split("\n", 1)[0].strip() if match[2] else ""


def offered(record: Record) -> frozenset[str]:
    """Every stem a record offers as its source: its main one, and those of source-like strings in extra, raw and record."""
    found = set(aliases(main_stem(record)))
    for block in _blocks(record):
        for key, value in block.items():
            if isinstance(value, str) and _SOURCE_LIKE.search(key) and _may_name_a_source(value.strip()):
                found |= aliases(stem(value))
    return frozenset(found)


def _blocks(record: Record) -> tuple[JsonObject, ...]:
    return (record.extra, objects(record.whole.get("raw")), record.record)


def _may_name_a_source(value: str) -> bool:
    return len(value) <= _SHORT_NAME or _PATH_LIKE.search(value) is not None


def accepted(sources: Iterable[str]) -> frozenset[str]:
    """Every stem that counts as the expected source."""
    return frozenset(alias for source in sources for alias in aliases(stem(source)))


def is_traced(record: Record) -> bool:
    """Whether a record says at all where it came from.

    `record.image_path` and `record.dataset_name` count, as they do in the evaluator, so that nearly every record passes.
    """
    for block in _blocks(record):
        if any(is_filled(value) and (key in _TRACE_IDS or _SOURCE_LIKE.search(key)) for key, value in block.items()):
            return True
    return bool(_source_in_note(record))
