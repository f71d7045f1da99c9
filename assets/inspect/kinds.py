"""Classes where no label of any kind is told: what kinds of images a folder holds, as far as that is no accident of its names.

The answers are the least certain of all. A set of series that everybody has is no class; where people differ in what they have,
or names speak of a condition or of several parts of the body, or people are numbered group by group, the kind is what a model
can be asked for.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from assets.inspect.classes import ClassRule
from assets.inspect.dicom_sets import DicomSet
from assets.inspect.evidence import Evidence
from assets.inspect.grouping import escaped
from assets.inspect.layout import Plan
from assets.inspect.lexicon import BODY_PARTS, CONDITIONS, IMAGE, OCCASION, SEQUENCES, SHARES, SPLITS, TIMES
from assets.inspect.patterns import Stretch, read
from assets.inspect.roles import Part
from assets.inspect.tokens import Token, words
from assets.templates import stem

_CONFIDENCE = 0.35
_MOST_GROUPS = 4
_FEWEST_SEQUENCES = 3
_MOST_NAMES = 12

_NO_CLASSES = IMAGE | OCCASION | SEQUENCES | SHARES | SPLITS | TIMES


def in_names(planned: Plan) -> ClassRule | None:
    """Classes that the names of images without labels tell by the way."""
    return _groups_of_people(planned) or _conditions(planned) or _sequences(planned) or _body_parts(planned)


def in_headers(instances: DicomSet) -> ClassRule | None:
    """Classes that headers of instances without labels tell by the way, and names that headers agree with."""
    return _modalities(instances) or _words_of_several_patients(instances)


def _modalities(instances: DicomSet) -> ClassRule | None:
    """The modality, where patients differ in which they have."""
    had: dict[str, set[str]] = defaultdict(set)
    for one in instances.seen:
        if one.kind == "image":
            had[one.patient].add(one.modality)
    if len(instances.modalities) < 2 or not _differ(had, instances.modalities):
        return None
    seen = f"no label is told, and patients differ in the Modality of their headers: {', '.join(instances.modalities)}"
    return ClassRule(instances.modalities, Evidence("classes", "tag", _CONFIDENCE, seen), tag="Modality")


def _words_of_several_patients(instances: DicomSet) -> ClassRule | None:
    """The word that names begin with, as in `Lund_0117.dcm`: no person's, as each stands before several patients.

    Where the PatientIDs begin with it too, it is a part of what patients are called, such as where they were seen, and no class.
    """
    begun = [re.match(r"([A-Za-z]{2,})[ _.-]*\d", path.rpartition("/")[2]) for path in instances.paths]
    spelled = [found[1] for found in begun if found]
    counts = Counter(word.lower() for word in spelled)
    if len(spelled) < len(begun) or not 2 <= len(counts) <= _MOST_NAMES or 2 * len(counts) > len(begun):
        return None
    if set(counts) & _NO_CLASSES or not _shared(instances) or _begin_patients(instances, set(counts)):
        return None
    names = {word: max(sorted({s for s in spelled if s.lower() == word}), key=spelled.count) for word in sorted(counts)}
    seen = f"no label is told, and names begin with {', '.join(names.values())}, which stand before several patients each"
    matches = {name: rf"(?i:{word})(?![A-Za-z]).*" for word, name in names.items()}
    return ClassRule(tuple(matches), Evidence("classes", "field", _CONFIDENCE, seen), told="{stem}", matches=matches)


def _shared(instances: DicomSet) -> bool:
    """Whether the headers of one first word name several patients, and those of none the same one again."""
    patients: dict[str, list[str]] = defaultdict(list)
    for one in instances.seen:
        patients[re.split("[^a-z]", one.path.rpartition("/")[2].lower())[0]].append(one.patient)
    several = [found for found in patients.values() if len(found) > 1]
    return bool(several) and all(len(set(found) - {""}) > 1 for found in several)


def _begin_patients(instances: DicomSet, spoken: AbstractSet[str]) -> bool:
    """Whether most PatientIDs begin with the first word of their file's name."""
    begun = [re.match("[A-Za-z]*", one.patient.strip()) for one in instances.seen if one.patient]
    return 2 * sum(found is not None and found[0].lower() in spoken for found in begun) > len(begun)


def _differ(had: Mapping[str, set[str]], kinds: Sequence[str]) -> bool:
    """Whether fewer than half of the people have every kind."""
    return 2 * sum(found >= set(kinds) for found in had.values()) < len(had)


def _groups_of_people(planned: Plan) -> ClassRule | None:
    """Letters in front of people's numbers, of which there are few: `sub-con01`, `sub-pat07`."""
    if not any(e.field == "layout.subject" and e.said == "person" for e in planned.evidence):
        return None
    people = sorted({person for part, where in _parts(planned) for person in read(part.group, where, "subject")})
    named = [re.fullmatch(r"([A-Za-z]+)[_-]?\d+", person) for person in people]
    counts = Counter(found[1] for found in named if found)
    if not all(named) or not 2 <= len(counts) <= _MOST_GROUPS or min(counts.values()) < 2 or _enumerates(sorted(counts)):
        return None
    seen = f"no label is told, and people are numbered under {', '.join(sorted(counts))}, whose meaning is not said"
    matches = {letters: rf"{letters}[_-]?\d+" for letters in sorted(counts)}
    return ClassRule(tuple(matches), Evidence("classes", "people", _CONFIDENCE, seen), told="{subject}", matches=matches)


def _enumerates(letters: Sequence[str]) -> bool:
    """Whether these are neighbours in the alphabet, as the rows of a plate are."""
    return all(len(one) == 1 for one in letters) and ord(letters[-1]) - ord(letters[0]) == len(letters) - 1


def _conditions(planned: Plan) -> ClassRule | None:
    """Images whose names differ in one stretch, which speaks of a condition in one of them, such as `neg`."""
    rows = [_spoken(part) for part, _ in _parts(planned)]
    texts = [["#" if token.kind == "number" else token.text for token in row] for row in rows]
    shortest = min(map(len, texts))
    start = next((n for n in range(shortest) if len({text[n] for text in texts}) > 1), shortest)
    end = next((n for n in range(shortest - start) if len({text[-1 - n] for text in texts}) > 1), shortest - start)
    middles = [row[start : len(row) - end] for row in rows]
    names = [_name(middle) for middle in middles]
    spoken = {word for middle in middles for token in middle if token.kind == "word" for word in words(token.text)}
    if len(set(names)) != len(names) or len(names) < 2 or not all(names) or not spoken & CONDITIONS:
        return None
    matches = {name: f".*{_expression(middle)}.*" for name, middle in zip(names, middles, strict=True)}
    stems = [stem(path.rpartition("/")[2]) for part, _ in _parts(planned) for path in part.group.paths]
    if any(sum(bool(re.fullmatch(how, text)) for how in matches.values()) != 1 for text in stems) or len(stems) <= len(names):
        return None
    seen = f"no label is told, and names differ in nothing but {' / '.join(names)}"
    return ClassRule(tuple(names), Evidence("classes", "field", _CONFIDENCE, seen), told="{stem}", matches=matches)


def _spoken(part: Part) -> list[Token]:
    """The name of its first file, without the ending."""
    return [token for token in part.group.rows[0][part.group.name_at :] if token.kind != "ending"]


def _name(middle: Sequence[Token]) -> str:
    return " ".join("".join(token.text for token in middle).strip(" _-+.,").split())


def _expression(middle: Sequence[Token]) -> str:
    return "".join(r"\d+" if token.kind == "number" else escaped(token.text) for token in middle)


def _sequences(planned: Plan) -> ClassRule | None:
    """Files called after their sequence and a number at most, where people differ in which sequences they have."""
    kinds: dict[str, set[str]] = defaultdict(set)
    for part, where in _parts(planned):
        name = _spoken(part)
        spoken = [token.text for token in name if token.kind == "word"]
        if len(spoken) != 1 or name[0].text != spoken[0] or any(token.kind not in ("word", "number", "sign") for token in name):
            return None
        kinds[spoken[0]] |= set(read(part.group, where, "subject"))
    known = [kind for kind in kinds if kind.lower() in SEQUENCES]
    had = {person: {kind for kind in kinds if person in kinds[kind]} for people in kinds.values() for person in people}
    if len(known) < _FEWEST_SEQUENCES or 2 * len(known) < len(kinds) or not _differ(had, list(kinds)):
        return None
    names = sorted(kinds)
    seen = f"no label is told, and people differ in the sequences that files are called after: {', '.join(names)}"
    matches = {name: rf"{escaped(name)}(?:[ _.-]\d+)?" for name in names}
    return ClassRule(tuple(names), Evidence("classes", "field", _CONFIDENCE, seen), told="{stem}", matches=matches)


def _body_parts(planned: Plan) -> ClassRule | None:
    """The same few names in several folders, each of which speaks of a part of the body, and not all of the same."""
    counts = Counter(stem(path.rpartition("/")[2]) for part, _ in _parts(planned) for path in part.group.paths)
    shown = {name: frozenset(words(name)) & BODY_PARTS for name in counts}
    if not 2 <= len(counts) <= _MOST_NAMES or min(counts.values()) < 2 or not all(shown.values()) or len(set(shown.values())) < 2:
        return None
    names = sorted(counts)
    seen = f"no label is told, and names that come again in several folders speak of parts of the body: {', '.join(names)}"
    return ClassRule(tuple(names), Evidence("classes", "field", _CONFIDENCE, seen), told="{stem}")


def _parts(planned: Plan) -> Iterator[tuple[Part, tuple[Stretch, ...]]]:
    for source in planned.series:
        yield from source.parts
