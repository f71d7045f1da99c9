"""Who the subjects of a draft are, where the layout does not tell: by a table, or by what their names begin with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.tables import Table
from assets.inspect.who_names import from_names
from assets.inspect.who_tables import PeopleRule, from_tables

__all__ = ["PeopleRule", "people_of"]


Said = tuple[Sequence[Evidence], Sequence[Unknown]]
"""What is known of a draft, and what is not."""


def people_of(
    root: Path, subjects: Sequence[str], tables: Sequence[Table], said: Said, by_header: PeopleRule | None = None
) -> tuple[PeopleRule | None, list[Unknown]]:
    """Who the subjects are, and all that is unknown then.

    Args:
        root: The folder.
        subjects: What `{subject}` reads in the draft.
        tables: Tables in the folder.
        said: What is known of the draft, and what is not.
        by_header: How DICOM headers tell it, where the layout does not.
    """
    evidence, unknown = said
    answers = [from_tables(root, subjects, tables, evidence), by_header, from_names(subjects, evidence)]
    others = [one for one in unknown if one.field != "people"]
    rule = next((answer for answer in answers if isinstance(answer, PeopleRule)), None)
    untold = [answer for answer in answers if isinstance(answer, Unknown)]
    if rule is not None:
        by_name = untold if "id" in rule.fields else []
        return rule, [*others, *by_name, *rule.unknown]
    return None, [*unknown, *untold]
