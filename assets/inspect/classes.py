"""Where the class of an image may be told: a folder, a word of its name, or a column of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from assets.inspect.evidence import Evidence
from assets.inspect.grouping import Variable
from assets.inspect.lexicon import words_of
from assets.inspect.roles import Part
from assets.inspect.tables import Table

_MOST_CLASSES = 30
_CLASS_COLUMNS = words_of("class label diagnosis category type pathology grade classification target quality finding")


@dataclass(frozen=True, slots=True)
class ClassRule:
    """Where a class is told.

    Attributes:
        names: The classes.
        variable: Number of the variable that reads the class; None where a table says it.
        table: Path of the table.
        key: Its column that names the image.
        keyed: Number of the variable that column is equal to.
        value: Its column with the class.
        evidence: Why.
    """

    names: tuple[str, ...]
    evidence: Evidence
    variable: int | None = None
    table: str = ""
    key: str = ""
    keyed: int | None = None
    value: str = ""


def from_names(part: Part) -> ClassRule | None:
    """A part of the path with few values that many files share."""
    for number, variable in enumerate(part.group.variables):
        if part.class_at in variable.at and _is_class(part, variable):
            names = _bare(variable.distinct)
            seen = f"images lie in folders, or have words in their names, that say {', '.join(names[:6])}"
            return ClassRule(names, Evidence("classes", "field", 0.75, seen), variable=number)
    for number, variable in enumerate(part.group.variables):
        if variable.kind == "number" and _is_numbered_folder(part, variable):
            start = max(n for n in range(variable.at[0]) if n == 0 or part.group.rows[0][n - 1].text == "/")
            prefix = "".join(token.text for token in part.group.rows[0][start : variable.at[0]])
            names = tuple(prefix + value for value in variable.distinct)
            seen = f"few numbered folders hold many images each: {', '.join(names[:6])}"
            return ClassRule(names, Evidence("classes", "field", 0.5, seen), variable=number)
    return None


def _bare(values: tuple[str, ...]) -> tuple[str, ...]:
    """The inmost of folders of one name, without the number that only orders them."""
    inmost = [value.rpartition("/")[2] for value in values]
    ordered = [re.fullmatch(r"\d+[ _.-]+(\D.*)", name) for name in inmost]
    bare = tuple(found[1] for found in ordered if found)
    return bare if len(set(bare)) == len(values) else tuple(inmost)


def _is_class(part: Part, variable: Variable) -> bool:
    counts = Counter(variable.values)
    repeated = any("/" in value for value in counts)
    if any(sum(letter.isalpha() for letter in value) < 2 for value in counts):
        return False
    return 2 <= len(counts) <= _MOST_CLASSES and (repeated or len(counts) < len(part.group.paths))


def _is_numbered_folder(part: Part, variable: Variable) -> bool:
    """A folder whose whole name but a word is one digit, such as `CT-0`, with other parts that vary below it."""
    row, group = part.group.rows[0], part.group
    inside = [at for at in variable.at if at < group.name_at]
    others = [v for v in group.variables if v is not variable]
    if not inside or not others or len(variable.distinct) > 6 or max(map(len, variable.distinct)) > 1:
        return False
    at = inside[0]
    return row[at + 1].text == "/" and at > 1 and row[at - 1].text in "-_" and len(group.paths) > len(variable.distinct)


def from_tables(columns: Sequence[Sequence[str]], tables: Sequence[Table]) -> ClassRule | None:
    """A column that is called like a class and has few values, in a table with a column that names the images.

    Args:
        columns: What may name an image: parts of the names of all images that vary.
        tables: The tables.
    """
    for table in tables:
        for number, values in enumerate(columns):
            key = table.column_equal_to(values)
            if key is None:
                continue
            for column in table.columns:
                found = sorted({value for value in table.columns[column] if value})
                if set(column.lower().replace("_", " ").split()) & _CLASS_COLUMNS and 2 <= len(found) <= _MOST_CLASSES:
                    seen = f"{table.path}: column {key!r} names the images, column {column!r} has {len(found)} values"
                    evidence = Evidence("classes", "table", 0.7, seen)
                    return ClassRule(tuple(found), evidence, table=table.path, key=key, keyed=number, value=column)
    return None
