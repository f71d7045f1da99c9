"""Who the subjects are and how they are divided: these parts of the dataset language, as pydantic models."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from assets.spec_parts import Inside, Part, Regex


class Overlap(Part):
    """Another dataset that holds some of the same people, and the rule that joins their names.

    Attributes:
        dataset: Its slug.
        rule: How the names are joined; or that they cannot be, and why.
    """

    dataset: str
    rule: str


class PeopleTable(Part):
    """A table of subjects, CSV or a workbook.

    Attributes:
        file: The table, under the raw folder.
        subject: Its column that names the subject.
        match: Regular expression that finds in a subject's name, and in the cells of that column, what the two have in common;
            the whole text if not given.
        person: Its column that names the person.
        separator: Between columns.
    """

    file: Inside
    subject: str
    match: Regex | None = None
    person: str
    separator: str = ","


class People(Part):
    """Who the subjects are, beyond their names in this dataset.

    Attributes:
        pool: Datasets of one pool name people alike: the same `id` in two of them is the same person, and lies in the same
            split in both. The slug if not given.
        field: One of the layout's `fields` or `tags` that names the person, e.g. one that reads `PatientID`.
        id: Regular expression that finds a person's id in a subject's name; the whole name if not given.
        consecutive: How many ids in a row, counted from 1, are one person: 2 where odd is the left and even the right side.
        table: A table that names the person of a subject, where names do not.
        tables: The same, where the subjects are spread over several tables.
        unit: What a subject stands for where nothing tells people apart.
        overlaps: Datasets that share people in a way that ids cannot join, or only partly.
    """

    pool: str = ""
    field: str = ""
    id: Regex | None = None
    consecutive: int = Field(default=1, ge=1)
    table: PeopleTable | None = None
    tables: tuple[PeopleTable, ...] = ()
    unit: Literal["person", "scan", "image", "specimen"] = "person"
    overlaps: tuple[Overlap, ...] = ()

    @property
    def all_tables(self) -> tuple[PeopleTable, ...]:
        """The tables that name people, one or several."""
        return (self.table,) if self.table is not None else self.tables

    @model_validator(mode="after")
    def _is_told_once(self) -> Self:
        ways = {"table": self.table is not None, "tables": bool(self.tables), "id": self.id is not None}
        ways["field"] = bool(self.field)
        given = [name for name, is_given in ways.items() if is_given]
        if len(given) > 1:
            raise ValueError(f"people are named in one way, not by {' and '.join(f'`{name}`' for name in given)}")
        return self


class SplitTable(Part):
    """Columns of a table of subjects: `subject` and `split`."""

    file: Inside
    subject: str
    split: str
    separator: str = ","


class OfficialSplit(Part):
    """The division the dataset's authors published; given in one of three ways.

    Attributes:
        roots: Root -> split.
        files: Split -> a file under the raw folder that names its subjects.
        each: Where the names stand in those files when they are JSON, as in a listing; each line of a text file is one.
        table: A table with a column that says it.
        test: Official splits that count as test when `follow` is set; all others are train.
        follow: Whether our split is the official one.
    """

    roots: dict[str, str] = Field(default_factory=dict)
    files: dict[str, Inside] = Field(default_factory=dict)
    each: str = ""
    table: SplitTable | None = None
    test: tuple[str, ...] = ("test",)
    follow: bool = False

    @model_validator(mode="after")
    def _is_given_once(self) -> Self:
        if sum(map(bool, (self.roots, self.files, self.table))) != 1:
            raise ValueError("an official split is given by `roots`, by `files` or by a `table`")
        return self


class SplitPolicy(Part):
    """How subjects are divided.

    Attributes:
        test_share: Share of subject groups that goes to the test split.
        seed: Enters the hash that decides; another seed is another split.
        official: The published division, if there is one.
    """

    test_share: float = Field(default=0.3, gt=0, lt=1)
    seed: int = 1024
    official: OfficialSplit | None = None
