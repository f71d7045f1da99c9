"""Images that lie with their label maps in one group of a container, and have classes besides: which of the two a set is for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assets.inspect.class_numbers import ClassNumber
from assets.inspect.classes import ClassRule, called_like_classes
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.layout import Plan
from assets.inspect.numbered_names import bare_namings, without_zeros
from assets.inspect.tables import Naming, Table

_TWICE = 0.4


@dataclass(frozen=True, slots=True)
class Told:
    """What numbers and tables say of the task.

    Attributes:
        task: The task, or why it is open.
        rule: Where classes are told, where these are the task.
    """

    task: Evidence | Unknown
    rule: ClassRule | None = None


def told_twice(planned: Plan, columns: Sequence[Sequence[str]], tables: Sequence[Table]) -> Told | None:
    """What is said of the task; None where label maps have no class beside them.

    A number that is called like a class, in the group of the image and its label map, leaves the task open, and so does a table
    that tells a class for every image of nested groups. Where both are there and put the same images together, the set is
    classified twice over and taken for classification.

    Args:
        planned: The layout.
        columns: What may name an image: parts of the names of all images that vary, and their whole names.
        tables: The tables.
    """
    key = planned.labels[0].key if planned.labels else ""
    if not key or not (planned.numbers or "/" in key):
        return None
    rules = {(table.path, rule.value): rule for table in tables for rule in _rules(planned, columns, table)}
    first = planned.reference.group.paths[0]
    held = f"{first} holds an image and its label map"
    if not planned.numbers:
        why = f"{held}, and {' and '.join(map(_column, rules.values()))} tells a class for every image"
        return Told(Unknown("task", why)) if rules else None
    held += f", and beside them the number {planned.numbers[0].key!r}, which is called like a class"
    agreeing = [(rule, number) for rule in rules.values() for number in planned.numbers if _agree(planned, columns, rule, number)]
    if len(agreeing) == 1:
        rule, number = agreeing[0]
        looked = f"by the number {number.key!r} in the same group, seen in {len(number.values)} files"
        seen = f"images are classified twice: {looked}, and by {_column(rule)}, which says the same of these and a class of all"
        return Told(Evidence("task", "classification", _TWICE, seen), rule)
    if agreeing:
        held += f"; {' and '.join(_column(rule) for rule, _ in agreeing)} agree with it, and nothing says which is meant"
    elif rules:
        held += f", but not as {' or '.join(map(_column, rules.values()))} does"
    return Told(Unknown("task", held))


def _column(rule: ClassRule) -> str:
    return f"column {rule.value!r} of {rule.table.path if rule.table is not None else ''}"


def _rules(planned: Plan, columns: Sequence[Sequence[str]], table: Table) -> Iterator[ClassRule]:
    """Columns called like a class, in a table that has one class for each image."""
    plain = [(number, naming, False) for number, naming in table.namings(columns)]
    for number, naming, bare in (*plain, *((number, naming, True) for number, naming in bare_namings(columns, table))):
        values = without_zeros(columns[number]) if bare else columns[number]
        if not _is_read(planned, number, values, bare=bare):
            continue
        for column in called_like_classes(table, naming, values):
            cells = _cells(table, naming, values, column)
            if cells is not None:
                names = tuple(sorted(set(cells)))
                seen = f"{table.path}: column {naming.column!r} names the images, column {column!r} has {len(names)} values"
                evidence = Evidence("classes", "table", _TWICE, seen)
                yield ClassRule(names, evidence, None, table, naming, number, column, bare=bare)


def _is_read(planned: Plan, number: int, values: Sequence[str], *, bare: bool) -> bool:
    """Whether values name one image each, and a field of the layout reads them, or they are the whole names."""
    variables = planned.reference.group.variables
    if len(set(values)) < len(planned.reference.group.paths):
        return False
    if number == len(variables):
        return not bare
    own = [stretch for stretch in planned.series[0].where if stretch.start in variables[number].at]
    return bool(own) and all(stretch.end - stretch.start == 1 for stretch in own)


def _cells(table: Table, naming: Naming, values: Sequence[str], column: str) -> tuple[str, ...] | None:
    """What the table says of each image; None unless it says one thing of each."""
    said = [set(table.of(naming, [value], column)) for value in values]
    return tuple(cells.pop() for cells in said) if all(len(cells) == 1 and "" not in cells for cells in said) else None


def _agree(planned: Plan, columns: Sequence[Sequence[str]], rule: ClassRule, number: ClassNumber) -> bool:
    """Whether a column and a number put the images that were looked at together in the same way."""
    if rule.table is None or rule.naming is None:
        return False
    values = without_zeros(columns[rule.keyed]) if rule.bare else columns[rule.keyed]
    cells = _cells(rule.table, rule.naming, values, rule.value)
    if cells is None:
        return False
    told = dict(zip(planned.reference.group.paths, cells, strict=True))
    both = {(value, told[path]) for path, value in number.values.items()}
    return len(both) > 1 and all(len({pair[side] for pair in both}) == len(both) for side in (0, 1))
