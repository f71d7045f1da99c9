"""What columns and fields are called that name people."""

from __future__ import annotations

import re

from assets.inspect.lexicon import PERSON

PART_OF_ONE = ("animal", "specimen", "lesion")
"""What belongs to one person, or stands for one: better than nobody, if the column counts them."""
_WORDS = (*sorted(PERSON - {"case"}), "participant", "volunteer", "donor", "case", *PART_OF_ONE)
"""What a column of people is called; of a patient and a case in one table the patient is meant."""
_INITIALS = frozenset(("pid", "ptid", "mrn"))
"""Short for the id or the medical record number of a patient."""
_COUNTS = "id|ids|no|nr|num|number|uid|name|code|identifier"
_COLUMN = re.compile(rf"(.*_)?({'|'.join(sorted(_WORDS, key=len, reverse=True))})_?({_COUNTS})?")


def is_person_column(name: str) -> bool:
    """Whether a column is called like a person: `patient_id`, `PatientID`, `subject`, `anon_patient_number`."""
    return person_word(name) is not None


def person_word(name: str) -> str | None:
    """Which word for a person a column is called by; None for other columns, such as `patient_age`."""
    if name.strip().lower() in _INITIALS:
        return "patient"
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    found = _COLUMN.fullmatch(re.sub(r"[\W_]+", "_", apart).strip("_").lower())
    if found is None or ((found[1] or found[2] in PART_OF_ONE) and not found[3]):
        return None
    return found[2]


def rank(name: str) -> int:
    """How likely a column means the person, the lower the likelier; of one that is not called so, the last."""
    word = person_word(name)
    return _WORDS.index(word) if word is not None else len(_WORDS)


def is_loose(name: str) -> bool:
    """Whether a column is called by a word that may mean other things than people: a case, or a part of somebody."""
    return rank(name) >= _WORDS.index("case")
