"""Who the subjects of a draft are, where the layout does not tell: by a table, or by what their names begin with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.tables import Table
from assets.inspect.who_tables import PeopleRule, from_tables

__all__ = ["PeopleRule", "people_of"]


def people_of(
    root: Path, subjects: Sequence[str], tables: Sequence[Table], said: tuple[Sequence[Evidence], Sequence[Unknown]]
) -> tuple[PeopleRule | None, list[Unknown]]:
    """Who the subjects are, and all that is unknown then.

    Args:
        root: The folder.
        subjects: What `{subject}` reads in the draft.
        tables: Tables in the folder.
        said: What is known of the draft, and what is not.
    """
    evidence, unknown = said
    rule = from_tables(root, subjects, tables, evidence)
    if isinstance(rule, PeopleRule):
        return rule, [*(one for one in unknown if one.field != "people"), *rule.unknown]
    return None, [*unknown, *([rule] if rule is not None else ())]
