"""Where the class of an image may be told: a folder, a word of its name, or a column of a table."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from assets.inspect.annotations import is_run_lengths
from assets.inspect.circumstances import circumstance_of, is_no_class
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.grouping import Variable
from assets.inspect.lexicon import CONDITIONS, IMAGE, MASK, OCCASION, PERSON, SHARES, words_of
from assets.inspect.numbered_names import bare_namings, without_zeros
from assets.inspect.person_columns import is_person_column
from assets.inspect.roles import Part
from assets.inspect.subjects import word_before
from assets.inspect.tables import Naming, Table
from assets.inspect.tokens import words

MOST_CLASSES = 30
CLASS_WORDS = words_of("""
    class label labels diagnosis diagnostic dx category type subtype pathology grade severity disease classification target
    quality finding abnormality outcome group
    """)

_SET = frozenset(("1", "1.0"))
_FLAGS = _SET | {"0", "0.0"}
_NEARLY_ALL = 0.95
_CONDITIONS, _UNKNOWN_WORDS = 0.75, 0.6
"""How sure classes are that speak of conditions, and those of whose names no rule knows the meaning."""


@dataclass(frozen=True, slots=True)
class ClassRule:
    """Where a class is told.

    Attributes:
        names: The classes.
        evidence: Why.
        variable: Number of the variable that reads the class; None where a table says it.
        table: The table.
        naming: How it names the image.
        keyed: Number of what that is equal to, among the parts of the images' names.
        value: Its column with the class; of JSON the key.
        flags: Its columns of 0 and 1, one for each class, where there is no such column.
        some: Whether only some images have a class in it, or some have several.
        told: Template of what tells it, where that is no variable of one group.
        matches: Class -> regular expression of what is told.
        bare: Whether the table names images by a number without the zeros before it.
        tag: DICOM keyword whose value is the class.
        lines: Pattern of files that are nothing but the class of an image, or have it under a key.
        names_by: Template of what a key of JSON names an image by, where that is its path or its name.
        unknown: What it leaves untold.
    """

    names: tuple[str, ...]
    evidence: Evidence
    variable: int | None = None
    table: Table | None = None
    naming: Naming | None = None
    keyed: int = 0
    value: str = ""
    flags: tuple[str, ...] = ()
    some: bool = False
    told: str = ""
    matches: Mapping[str, str] = field(default_factory=dict)
    bare: bool = False
    tag: str = ""
    lines: str = ""
    names_by: str = ""
    unknown: tuple[Unknown, ...] = ()


def of_images(part: Part, columns: Sequence[Sequence[str]], tables: Sequence[Table]) -> ClassRule | None:
    """Where the class of images is told: by their folders and names, or by a table.

    A table that has a class for every image and puts other images together than the folders do is preferred to words of which
    no rule knows the meaning, as they may be those of hospitals; either way the other is said.

    Args:
        part: The images.
        columns: What may name an image: parts of the names of all images that vary.
        tables: The tables.
    """
    named, tabled = from_names(part), from_tables(columns, tables) or _by_bare_numbers(columns, tables)
    if named is None or tabled is None or tabled.table is None or tabled.naming is None or tabled.some or not tabled.value:
        return named or tabled
    told = tabled.table.told(tabled.naming, tabled.value)
    names = columns[tabled.keyed]
    cells = [told.get(value, "") for value in (without_zeros(names) if tabled.bare else names)]
    folders = part.group.variables[named.variable].values if named.variable is not None else ()
    finer = named.evidence.confidence < tabled.evidence.confidence and len(set(cells)) > len(set(folders))
    if not folders or _refines(folders, cells) or (_refines(cells, folders) and not finer):
        return named
    chosen, other = (named, tabled) if named.evidence.confidence > tabled.evidence.confidence else (tabled, named)
    doubt = f"{chosen.evidence.said} is chosen, and it puts other images together than this does: {other.evidence.seen}"
    return replace(chosen, unknown=(*chosen.unknown, Unknown("classes", doubt)))


def with_all_names(rule: ClassRule, columns: Iterable[Sequence[str]]) -> ClassRule:
    """The rule of a table with the classes that it tells of any images: of right eyes too, where it was found for left ones.

    Args:
        rule: A rule.
        columns: What may name an image of any group.
    """
    if rule.table is None or rule.naming is None or not rule.value:
        return rule
    told = rule.table.told(rule.naming, rule.value)
    names = {*rule.names, *(cell for values in columns for value in values if (cell := told.get(value)))}
    if len(names) > MOST_CLASSES:
        return rule
    seen = rule.evidence.seen.replace(f"has {len(rule.names)} values", f"has {len(names)} values")
    return replace(rule, names=tuple(sorted(names)), evidence=replace(rule.evidence, seen=seen))


def _refines(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether what is equal in the first is equal in the second."""
    return len(set(zip(one, other, strict=True))) == len(set(one))


def from_names(part: Part) -> ClassRule | None:
    """A part of the path with few values that many files share."""
    for number, variable in enumerate(part.group.variables):
        if part.class_at in variable.at and _is_class(part, variable) and not circumstance_of(variable.distinct):
            rule = _of_words(variable, number)
            return rule if rule.evidence.confidence > _UNKNOWN_WORDS else _conditions(part) or rule
    for number, variable in enumerate(part.group.variables):
        if variable.kind == "number" and _is_numbered_folder(part, variable):
            start = max(n for n in range(variable.at[0]) if n == 0 or part.group.rows[0][n - 1].text == "/")
            prefix = "".join(token.text for token in part.group.rows[0][start : variable.at[0]])
            names = tuple(prefix + value for value in variable.distinct)
            seen = f"few numbered folders hold many images each: {', '.join(names[:6])}"
            return ClassRule(names, Evidence("classes", "field", 0.5, seen), variable=number)
    return _flag(part)


def _of_words(variable: Variable, number: int) -> ClassRule:
    """Classes in folders or words: trusted less where none is a word for a condition, as with names of towns or people."""
    names = _bare(variable.distinct)
    seen = f"images lie in folders, or have words in their names, that say {', '.join(names[:6])}"
    trust = trust_in(names)
    if trust == _UNKNOWN_WORDS:
        seen = f"{seen}, of which no rule knows the meaning: a person must see that these are classes"
    return ClassRule(names, Evidence("classes", "field", trust, seen), variable=number)


def trust_in(names: Collection[str]) -> float:
    """How sure it is that words are classes: surer where one is a word for a condition."""
    return _CONDITIONS if {word for name in names for word in words(name)} & CONDITIONS else _UNKNOWN_WORDS


def _conditions(part: Part) -> ClassRule | None:
    """Paths that each speak of one of several conditions anywhere, as `hand/patient3/study1_positive/2` does."""
    spoken = [set(words(path)) & CONDITIONS for path in part.group.paths]
    if any(len(said) != 1 for said in spoken):
        return None
    names = tuple(sorted(set.union(*spoken)))
    if not 2 <= len(names) <= MOST_CLASSES:
        return None
    matches = {name: rf"(?i:.*(?<![a-z]){name}(?![a-z]).*)" for name in names}
    if any(sum(bool(re.fullmatch(how, path)) for how in matches.values()) != 1 for path in part.group.paths):
        return None
    seen = f"every path speaks of one of {', '.join(names)}"
    return ClassRule(names, Evidence("classes", "field", 0.7, seen), told="{path}", matches=matches)


def _flag(part: Part) -> ClassRule | None:
    """A 0 or 1 behind a word in names that differ without it, as in `ID_17_CONTRAST_1`."""
    group = part.group
    for number, variable in enumerate(group.variables):
        before = word_before(group, variable)
        if set(variable.distinct) != {"0", "1"} or not before or before & (OCCASION | PERSON | SHARES | IMAGE | MASK):
            continue
        others = [v.values for v in group.variables if v is not variable and v.kind != "split"]
        if others and len(set(zip(*others, strict=True))) == len(group.paths):
            seen = f"names say 0 or 1 behind {' '.join(sorted(before))}: {group.shape}"
            return ClassRule(variable.distinct, Evidence("classes", "field", 0.45, seen), variable=number)
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
    return 2 <= len(counts) <= MOST_CLASSES and (repeated or len(counts) < len(part.group.paths))


def _is_numbered_folder(part: Part, variable: Variable) -> bool:
    """A folder whose whole name but a word is one digit, such as `CT-0`, with other parts that vary below it."""
    row, group = part.group.rows[0], part.group
    inside = [at for at in variable.at if at < group.name_at]
    others = [v for v in group.variables if v is not variable]
    if not inside or not others or len(variable.distinct) > 6 or max(map(len, variable.distinct)) > 1:
        return False
    at = inside[0]
    numbers = sorted(map(int, variable.distinct))
    rising = numbers == list(range(numbers[0], numbers[0] + len(numbers))) and numbers[0] < 2
    graded = rising and not word_before(group, variable) & (OCCASION | PERSON | SHARES)
    return graded and row[at + 1].text == "/" and at > 1 and row[at - 1].text in "-_" and len(group.paths) > len(numbers)


def from_tables(columns: Sequence[Sequence[str]], tables: Sequence[Table]) -> ClassRule | None:
    """A column that says the class, in a table with a column that names the images.

    Args:
        columns: What may name an image: parts of the names of all images that vary.
        tables: The tables.
    """
    for table in tables:
        for number, naming in table.namings(columns):
            values = columns[number]
            for column, confidence in _candidates(table, naming, values):
                return _fullest(table, [t for t in tables if t.path != table.path], (number, naming, column, confidence), values)
    return _from_flags(columns, tables)


def _by_bare_numbers(columns: Sequence[Sequence[str]], tables: Sequence[Table]) -> ClassRule | None:
    """The same where the table names images by numbers without the zeros that stand before them in names."""
    for table in tables:
        for number, naming in bare_namings(columns[:-1], table):
            values = without_zeros(columns[number])
            for column, confidence in _candidates(table, naming, values):
                others = [other for other in tables if other.path != table.path]
                return replace(_fullest(table, others, (number, naming, column, confidence), values), bare=True)
    return None


def _from_flags(columns: Sequence[Sequence[str]], tables: Sequence[Table]) -> ClassRule | None:
    """Columns of 0 and 1 of which one is set for nearly every image, in a table with a column that names the images."""
    for table in (table for table in tables if not table.each and not table.headless):
        for number, naming in table.namings(columns):
            values = columns[number]
            cells = {name: table.of(naming, values, name) for name in table.columns if name != naming.column}
            flags = tuple(name for name, said in cells.items() if set(said) <= _FLAGS and len(set(said)) == 2)
            rows = [sum(cell in _SET for cell in row) for row in zip(*(cells[name] for name in flags), strict=True)]
            if len(flags) > 1 and rows and rows.count(1) >= _NEARLY_ALL * len(rows):
                seen = f"{table.path}: column {naming.column!r} names the images, one of {len(flags)} columns of 0 and 1 is set"
                some = rows.count(1) < len(set(values))
                evidence = Evidence("classes", "table", 0.6, seen)
                return ClassRule(flags, evidence, None, table, naming, number, flags=flags, some=some)
    return None


def _fullest(first: Table, tables: Sequence[Table], how: tuple[int, Naming, str, float], values: Sequence[str]) -> ClassRule:
    """The rule of the table that tells most images of all with the same columns, and how many the others would tell."""
    number, naming, column, confidence = how
    alike = [first, *(table for table in tables if list(table.columns) == list(first.columns) and table.each == first.each)]
    telling = {table.path: table.telling(naming, values, column) for table in alike}
    table = max(alike, key=lambda one: len(telling[one.path]))
    told = table.of(naming, values, column)
    untold = set(values) - telling[table.path]
    unknown = []
    for other in alike:
        if more := len(untold & telling[other.path]):
            why = f"{len(untold)} of {len(set(values))} images have no class in {table.path}; "
            unknown.append(Unknown("classes", f"{why}{other.path} has the same columns and tells {more} of them"))
    names = tuple(sorted({value for one in alike for value in one.of(naming, values, column) if value}))
    if both := _several_in_one(names):
        unknown.append(
            Unknown("classes", f"cells such as {both!r} seem to tell several classes at once; the draft takes it for one")
        )
    seen = f"{table.path}: column {naming.column!r} names the images, column {column!r} has {len(names)} values"
    some = len(told) != len(set(values)) or not all(told)
    evidence = Evidence("classes", "table", confidence, seen)
    return ClassRule(names, evidence, None, table, naming, number, column, some=some, unknown=tuple(unknown))


def _several_in_one(names: Sequence[str]) -> str:
    """A cell that joins what other cells say alone, as `Mass|Effusion` does; empty where there is none."""
    joined = ((name, [part.strip() for part in re.split("[|;,+]", name)]) for name in names)
    return next((name for name, parts in joined if len(parts) > 1 and set(parts) & set(names)), "")


def _candidates(table: Table, naming: Naming, values: Sequence[str]) -> list[tuple[str, float]]:
    """Columns that may say a class, with how sure that is: called like one; the only other; the only one with few words."""
    if called := called_like_classes(table, naming, values):
        return [(name, 0.7) for name in called]
    others = [name for name in _with_few_values(table, naming, values) if not is_no_class(_said(table, naming, values, name))]
    few = [name for name in others if _repeats(table.of(naming, values, name))]
    if table.headless:
        wordy = [name for name in few if all(len(cell) > 1 and cell.isalpha() for cell in table.of(naming, values, name) if cell)]
        return [(name, 0.4) for name in wordy] if len(wordy) == 1 else []
    return [(name, 0.5) for name in few] if len(table.columns) == 2 else []


def called_like_classes(table: Table, naming: Naming, values: Sequence[str]) -> list[str]:
    """Columns with few values that are called like a class."""
    few = _with_few_values(table, naming, values)
    return [name for name in few if set(name.lower().replace("_", " ").split()) & CLASS_WORDS]


def _with_few_values(table: Table, naming: Naming, values: Sequence[str]) -> list[str]:
    spare = [n for n, cells in table.columns.items() if n != naming.column and not (is_person_column(n) or is_run_lengths(cells))]
    return [name for name in spare if _is_told(table.of(naming, values, name))]


def _said(table: Table, naming: Naming, values: Sequence[str], column: str) -> set[str]:
    return {cell for cell in table.of(naming, values, column) if cell}


def _is_told(cells: Sequence[str]) -> bool:
    """Whether cells have few values, and none that is a path."""
    found = {cell for cell in cells if cell}
    return 2 <= len(found) <= MOST_CLASSES and not any("/" in cell and "." in cell for cell in found)


def _repeats(cells: Sequence[str]) -> bool:
    found = [cell for cell in cells if cell]
    return len(set(found)) < len(found)
