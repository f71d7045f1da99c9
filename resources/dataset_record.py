"""What is recorded of a dataset's own products, those that belong to no single subject: tables, folders, facts."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from resources.manifest import FileRecord, sealed, unsealed


@dataclass(frozen=True)
class DatasetRecord:
    """What is recorded of the dataset's own products.

    Attributes:
        tables: Table name -> its rows, size, xxh128.
        keys: Step -> the key its products were made under.
        facts: The gate's verdict and the like.
        folders: Folder name -> path, size and xxh128 of every file in it.
    """

    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    folders: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Canonical JSON with its own checksum; `folders` are not in it where there are none."""
        content = asdict(self)
        if not self.folders:
            del content["folders"]
        return sealed(content)

    @classmethod
    def from_bytes(cls, content: bytes) -> DatasetRecord:
        """Read a record back.

        Raises:
            ValueError: It is not what was written, or names files as another version did.
            TypeError: It has other parts: another version wrote it.
        """
        record = cls(**json.loads(unsealed(content)))
        named = (*record.tables.values(), *(file for files in record.folders.values() for file in files))
        if any("xxh128" not in file for file in named):
            raise ValueError("it names files without their XXH128: another version wrote it")
        return record

    def without(self, products: Collection[str], steps: Collection[str], facts: Collection[str]) -> DatasetRecord:
        """The record with these tables or folders, the keys of these steps, and these facts forgotten."""
        return DatasetRecord(
            {name: table for name, table in self.tables.items() if name not in products},
            {step: key for step, key in self.keys.items() if step not in steps},
            {name: fact for name, fact in self.facts.items() if name not in facts},
            {name: files for name, files in self.folders.items() if name not in products},
        )

    def with_step(self, step: str, key: str, facts: Mapping[str, Any]) -> DatasetRecord:
        """The record with the key of a step and the facts that belong to it."""
        return replace(self, keys={**self.keys, step: key}, facts={**self.facts, **facts})

    def with_folder(self, name: str, files: Sequence[FileRecord]) -> DatasetRecord:
        """The record with a folder."""
        return replace(self, folders={**self.folders, name: [file.model_dump() for file in files]})

    def folder_files(self, name: str) -> tuple[FileRecord, ...]:
        """The files of a folder; none where it is not recorded."""
        return tuple(FileRecord(**file) for file in self.folders.get(name, ()))

    def files(self) -> Iterator[FileRecord]:
        """Every file it names."""
        for name, table in self.tables.items():
            yield table_file(name, table)
        for name in self.folders:
            yield from self.folder_files(name)


def table_file(name: str, recorded: Mapping[str, Any]) -> FileRecord:
    """The file of a table."""
    return FileRecord(path=f"{name}.parquet", size=recorded["size"], xxh128=recorded["xxh128"])
