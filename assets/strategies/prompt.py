"""What a model is told of a folder: names and what few headers say, bounded. No pixels, no values of tables, no patients.

`docs/strategies.md` tells the user what is sent; whoever adds to this changes that page too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from assets.inspect import Inspection
from assets.inspect.peek import Peek
from assets.inspect.roles import Part
from assets.inspect.tables import read_tables
from assets.strategies.endpoint import Message

MOST_GROUPS, MOST_NAMES, MOST_COLUMNS, MOST_LETTERS = 40, 4, 40, 16_000
"""Of what is sent: groups of files, names of each, columns of each table, letters in all."""

_LANGUAGE = """\
You describe how a folder of raw medical images is laid out. Answer with one YAML mapping and nothing else. Its fields:
task: segmentation | classification | detection
name, modality (CT, MRI, X-ray, Ultrasound, Microscopy, Fundus, Endoscopy, PET ...), anatomy, description, licence, homepage:
  texts; leave out what you do not know
layout:
  subject: regular expression of what names a person, or an image where persons are not told apart
  scan: regular expression of what tells several images of one subject apart; leave it out where there is one
  fields: {FIELD: regular expression} for further parts of paths, such as a class
  series: {NAME: PATTERN} or {NAME: {path: PATTERN, key: array in a container, axes: order of its axes such as yxc}}
  labels: {NAME: PATTERN} for label maps of whole numbers; {NAME: {path: PATTERN, nonzero_is: 1}} for masks of one structure;
    {NAME: {masks: PATTERN with {label}}} for one file per structure
  unlabelled: leave   (where some images have no label map)
  ignore: {PATTERN: why these files are not used}
labels: {1: name, 2: name}   (structures of label maps, or classes of marked objects)
classes: {names: [in order of their ids], field: "{FIELD}"} or {names: [...], table: {file: PATH, key: COLUMN, match: "{stem}",
  value: COLUMN}}, with values: {what is told: name} where the two differ
objects: {file: PATH of a table, key: COLUMN, match: "{stem}", corners: [x_min, y_min, x_max, y_max columns], label: COLUMN}, or
  origin_size: [x, y, width, height columns], or centre_lps_mm: [x, y, z columns] with diameter_mm: COLUMN
PATTERN is a path relative to the folder: {subject}, {scan}, {FIELD} stand for their expressions, * and ? stay in a folder, **
crosses folders. Every pattern of series and labels has {subject}, and {scan} if and only if `scan` is given; images and label
maps that belong together read the same in both. Expressions have no groups but (?:...), and no group is repeated. Do not use
YAML anchors.
"""


def question(found: Inspection) -> list[Message]:
    """What is asked about a folder."""
    return [
        {"role": "system", "content": _LANGUAGE},
        {"role": "user", "content": described(found)},
    ]


def once_more(asked: Sequence[Message], answer: str, contradictions: Sequence[str]) -> list[Message]:
    """The question with the model's answer and what the machine found wrong with it (S1)."""
    lines = "\n".join(f"- {line}" for line in contradictions) or "- nothing"
    told = f"Held against the folder, your description gave:\n{lines}\nAnswer once more with the whole YAML mapping, corrected."
    return [*asked, {"role": "assistant", "content": answer}, {"role": "user", "content": told[:MOST_LETTERS]}]


def described(found: Inspection) -> str:
    """The listing that is sent, a bounded number of letters."""
    lines = [f"The folder holds {found.n_files} files. Groups of files whose names have one shape:"]
    for number, part in enumerate(found.parts[:MOST_GROUPS], 1):
        lines += _group(number, part)
    if len(found.parts) > MOST_GROUPS:
        lines.append(f"and {len(found.parts) - MOST_GROUPS} smaller groups")
    lines += _tables(found.root, found.parts)
    if found.dicom is not None:
        lines.append(f"DICOM headers say Modality {', '.join(found.dicom.modalities)}")
    return "\n".join(lines)[:MOST_LETTERS]


def _group(number: int, part: Part) -> Iterator[str]:
    yield f"{number}. {len(part.group.paths)} files, {part.role}: {part.group.shape}"
    yield from (f"   {path}" for path in _spread(part.group.paths))
    for peek in part.peeks[:1]:
        if told := _told(peek):
            yield f"   one of them: {told}"


def _spread(paths: Sequence[str]) -> Sequence[str]:
    """A few names, from the first to the last."""
    step = max(1, len(paths) // MOST_NAMES)
    return paths[::step][:MOST_NAMES]


def _told(peek: Peek) -> str:
    """Format, extents, whether its values are few, arrays of a container; of DICOM only modality and kind of object."""
    said = [peek.format] if peek.format else []
    if peek.shape:
        said.append("x".join(map(str, peek.shape)) + (f", {peek.channels} channels" if peek.channels > 1 else ""))
    if peek.values is not None:
        said.append(f"values {', '.join(map(str, peek.values[:20]))}")
    said += [f"array {array.name} {'x'.join(map(str, array.shape))}" for array in peek.arrays[:12]]
    said += [text for text in (peek.modality, peek.kind) if text]
    return "; ".join(said)


def _tables(root: Path, parts: Sequence[Part]) -> Iterator[str]:
    """Names of columns; no cell of a table is sent."""
    files = [path for part in parts if part.role == "table" for path in part.group.paths[:2]]
    for table in read_tables(root, files):
        yield f"table {table.path}: columns {', '.join(list(table.columns)[:MOST_COLUMNS])}"
