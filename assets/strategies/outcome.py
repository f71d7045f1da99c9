"""What became of one draft: records, pictures and what is said of the dataset, with every repair and a score."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assets.benchmark.mdsbench.files import open_picture, picture_problem
from assets.benchmark.mdsbench.values import at
from assets.mds.json_text import json_text
from assets.mds.meta import META_PATH
from assets.mds.record import image_path, record_path
from assets.spec import DatasetSpec
from assets.strategies.candidate import Candidate
from assets.strategies.checklist import Facts, repair_records
from assets.strategies.drafts import Draft
from assets.strategies.metadata import repair_metadata
from assets.strategies.repair import Repair
from assets.strategies.validator import IsThere, RecordScore, Validation, validate_record

Json = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """Records by one draft, as a strategy left them.

    Attributes:
        draft: What they were made by.
        spec: The same with its `mds` block.
        listed: How many records there should be.
        records: Index -> record.
        meta: `data_meta.json`.
        pictures: Index -> a file with the picture.
        sizes: Index -> width and height of the picture, where it opens.
        repairs: What was changed.
        contradictions: What the folder says against the draft.
    """

    draft: Draft
    spec: DatasetSpec
    listed: int
    records: Mapping[int, Json]
    meta: Json
    pictures: Mapping[int, Path]
    sizes: Mapping[int, tuple[int, int]]
    repairs: tuple[Repair, ...] = ()
    contradictions: tuple[str, ...] = ()

    def validation(self, is_there: IsThere | None) -> Validation:
        """What the validator says."""
        scores = {index: self.score(index, is_there) for index in self.records}
        return Validation(self.listed, scores, frozenset(index for index in self.records if self._is_paired(index)))

    def score(self, index: int, is_there: IsThere | None) -> RecordScore:
        """What the validator says of one record."""
        return validate_record(self.records[index], image_is_right=self._is_paired(index), is_there=is_there)

    def _is_paired(self, index: int) -> bool:
        return index in self.sizes and at(self.records[index], "record", "image_path") == image_path(index)

    def write(self, folder: Path) -> None:
        """Write it as a folder of records; equal outcomes give equal bytes.

        Raises:
            OSError: The disk failed or is full.
        """
        for index, record in self.records.items():
            _write(folder / record_path(index), record)
            target = folder / image_path(index)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.pictures[index], target)
        _write(folder / META_PATH, self.meta)


def outcome_of(draft: Draft, candidate: Candidate, meta: Json, contradictions: Sequence[str] = ()) -> Outcome:
    """A candidate as it is, but for the place of its volumes, which are not kept."""
    records = {index: without_volumes(record) for index, record in candidate.records.items()}
    pictures = {index: candidate.folder / image_path(index) for index in records}
    sizes = dict(_sizes(pictures))
    return Outcome(draft, candidate.spec, candidate.listed, records, meta, pictures, sizes, (), tuple(contradictions))


def checked(outcome: Outcome, sources: frozenset[str]) -> Outcome:
    """An outcome after the checklist (S2).

    Args:
        outcome: What a draft gave.
        sources: Paths of the raw folder, as records call them.
    """
    mds = outcome.spec.mds
    facts = Facts(
        dataset_name=mds.name if mds is not None else outcome.spec.name,
        modality=mds.modality if mds is not None else outcome.spec.modality,
        sizes=outcome.sizes,
        images={index: image_path(index) for index in outcome.records},
        sources=sources,
    )
    records, repairs = repair_records(outcome.records, facts)
    meta, more = repair_metadata(outcome.meta, records)
    pictures = {index: outcome.pictures[index] for index in records}
    return replace(outcome, records=records, meta=meta, pictures=pictures, repairs=(*outcome.repairs, *repairs, *more))


def without_volumes(value: Any) -> Any:
    """A record, or a part of one, that does not speak of stored arrays, which are gone when the work is done."""
    if isinstance(value, dict):
        return {key: without_volumes(item) for key, item in value.items() if key != "zarr"}
    return [without_volumes(item) for item in value] if isinstance(value, list) else value


def _sizes(pictures: Mapping[int, Path]) -> Iterator[tuple[int, tuple[int, int]]]:
    for index, path in pictures.items():
        if not picture_problem(path):
            with open_picture(path) as picture:
                yield index, picture.size


def _write(path: Path, content: Json) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(f"{json_text(content)}\n".encode())
