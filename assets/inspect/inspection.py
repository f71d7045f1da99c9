"""Looks at a folder: lists names, groups them, opens a few files, and says what it found and what it did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assets.inspect import classes as class_rules
from assets.inspect import dicom_marks, kinds, merging, objects, who
from assets.inspect.annotations import Annotated, annotated_in, run_lengths
from assets.inspect.axes import with_axes
from assets.inspect.candidates import Candidate, class_candidates
from assets.inspect.channel_names import with_channel_names
from assets.inspect.circumstances import told_of_circumstances
from assets.inspect.class_files import class_files
from assets.inspect.class_keys import class_keys
from assets.inspect.content import told_by_content
from assets.inspect.dicom_sets import DicomSet, spoken_of
from assets.inspect.dicom_task import FEW, dimension_of_instances, task_of_instances
from assets.inspect.dimension import dimension
from assets.inspect.evidence import Evidence, Unknown
from assets.inspect.fourth_axis import told_of_channels
from assets.inspect.grouping import Group, gathered
from assets.inspect.halves import without_halves
from assets.inspect.instances import instances_in
from assets.inspect.label_names import LabelNames, label_names
from assets.inspect.listing import list_folder
from assets.inspect.marks_beside import marks_beside
from assets.inspect.modality import modality, texts_of
from assets.inspect.named_folders import with_named_folders
from assets.inspect.official import told_in_tables, told_of_parts
from assets.inspect.one_structure import named_apart
from assets.inspect.only_objects import with_reasons
from assets.inspect.outlined import Whole, as_volumes
from assets.inspect.pages import other_pages
from assets.inspect.patterns import read
from assets.inspect.peek import Opener
from assets.inspect.plan import Plan, plan
from assets.inspect.roles import Part, by_name, checked, readable, without_objects
from assets.inspect.roots import roots
from assets.inspect.rows import with_rows
from assets.inspect.segments import Alone
from assets.inspect.side_by_side import side_by_side
from assets.inspect.stems import by_stem
from assets.inspect.tables import Table, read_lists, read_tables
from assets.inspect.task import task
from assets.inspect.told_twice import Told, told_twice
from assets.inspect.unnamed_masks import with_unnamed_masks
from assets.inspect.who_inside import with_person_inside
from assets.templates import stem

_OUTLINED = "names of segments or regions, which name the classes of records; ids are ours"
_MOST_PARTS = 60
"""Groups that are looked into, the largest first; a folder with more shapes of names than that has no plain layout."""


@dataclass(frozen=True)
class Inspection:
    """What was found in a folder.

    Attributes:
        root: The folder.
        parts: Groups of files with their roles.
        plan: Which are series and label maps, and how files are keyed; None where no images were recognised.
        dicom: The layout of DICOM instances, where most images are such.
        labels: Label id -> name.
        named_by: The file that names them; empty where none does.
        classes: Where classes are told.
        rival: Where a table tells classes of images that have label maps.
        told: What is said of the task where images of containers have a label map and a class, or JSON tells classes.
        objects: How objects are marked.
        evidence: What was seen, per field.
        unknown: What could not be told.
        annotated: A file that marks objects in a format that no draft can use.
        people: Who the subjects are, where their names do not say it.
        rows: Tables whose rows are looked at as files, with their columns of pictures.
        junk: Files that are nobody's data, with the reason.
        n_files: How many names were looked at.
        candidates: What the draft might say besides.
        whole: The layout of whole DICOM series, where something is outlined on them.
    """

    root: Path
    parts: tuple[Part, ...]
    plan: Plan | None
    dicom: DicomSet | None = None
    labels: dict[int, str] = field(default_factory=dict)
    named_by: str = ""
    classes: class_rules.ClassRule | None = None
    rival: class_rules.ClassRule | None = None
    told: Told | None = None
    objects: objects.ObjectRule | None = None
    evidence: tuple[Evidence, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    annotated: Annotated | None = None
    people: who.PeopleRule | None = None
    rows: dict[str, tuple[str, ...]] = field(default_factory=dict)
    junk: dict[str, str] = field(default_factory=dict)
    n_files: int = 0
    candidates: tuple[Candidate, ...] = ()
    whole: Whole | None = None

    def said(self, name: str) -> str:
        """What is said of a field; empty when it is unknown."""
        return next((evidence.said for evidence in self.evidence if evidence.field == name), "")


def inspect_folder(root: Path) -> Inspection:
    """Look at a folder of raw data.

    Raises:
        NotADirectoryError: There is no such folder.
    """
    listing = list_folder(root)
    whole, halves = without_halves(root, listing.paths)
    paths, rows = with_rows(root, whole)
    groups, junk = gathered(paths, halves, told_by_content(root, paths, halves))
    opener = Opener(root)
    parts = [
        checked(part, opener) for merged in _merged(with_named_folders(groups))[:_MOST_PARTS] for part in readable(merged, opener)
    ]
    parts = with_unnamed_masks(parts, opener)
    tables = [
        *read_tables(root, (path for part in parts if part.role == "table" for path in part.group.paths)),
        *read_lists(root, (path for part in parts if part.role == "text" for path in part.group.paths[:2])),
    ]
    unknown = [*(Unknown("files", why) for why in listing.left_out), *told_in_tables(tables)]
    evidence: list[Evidence] = []
    instances = instances_in(root, parts)
    lost = instances if isinstance(instances, tuple) else ()
    if isinstance(instances, tuple):
        unknown += instances[:1]
        parts, instances = without_objects(parts), None
    if instances is not None:
        planned = None
        found = _of_dicom(Inspection(root, tuple(parts), None, dicom=instances), instances, tables)
    else:
        planned = with_axes(plan(parts, _class_of(parts, tables), opener), opener)
        planned = planned and with_person_inside(root, planned)
        found = Inspection(root, tuple(parts), planned)
    if planned is not None:
        found = _told(found, planned, tables, opener)
        planned = found.plan or planned
        evidence += planned.evidence
        unknown += planned.unknown
    elif instances is None:
        unknown.append(Unknown("layout", "no images were recognised"))
    found = replace(found, annotated=_annotated(found, tables))
    if found.annotated is not None:
        why = f"{found.annotated.path} is {found.annotated.format}, which no draft can use; it names "
        unknown.append(Unknown("objects", why + (", ".join(found.annotated.names[:20]) or "nothing")))
    found = _with_kinds(found)
    evidence += found.evidence
    unknown += found.unknown
    seen = [part for part in parts if part.role in ("image", "mask", "structures")]
    for answer in (*_told_of_plan(found), _task(found), _dimension(found), _modality(found, seen, texts_of(root, parts))):
        _sort_in(answer, evidence, unknown)
    unknown = with_reasons(unknown, lost) if planned is None else unknown
    by_header = found.dicom.people if found.dicom is not None else None
    people, unknown = who.people_of(root, _subjects(found), tables, (evidence, unknown), by_header)
    return replace(
        found,
        evidence=(*evidence, *([people.evidence] if people is not None else ())),
        unknown=tuple(unknown),
        people=people,
        rows=rows,
        junk=junk,
        n_files=len(listing.paths),
        candidates=_offered(found),
    )


def _of_dicom(found: Inspection, instances: DicomSet, tables: list[Table]) -> Inspection:
    if instances.alone is not None:
        return _of_segmentations(found, instances, instances.alone, tables)
    names = dict(enumerate(instances.structures, start=1))
    evidence = [*instances.evidence]
    if names:
        evidence.append(Evidence("labels", f"{len(names)} names", 0.8, _OUTLINED))
    columns = [instances.subjects, tuple(stem(path.rpartition("/")[2]) for path in instances.paths)]
    marked = None if instances.outlined else objects.from_tables(columns, tables)
    marked = marked or dicom_marks.in_reports(found.root, instances) or dicom_marks.in_files(found.root, instances, found.parts)
    rule = None if marked else class_rules.from_tables(columns, tables)
    rule = rule if instances.outlined else rule or (None if marked else instances.classes)
    evidence += [answer.evidence for answer in (marked, rule) if answer is not None]
    told = marked.table.columns[marked.key] if marked and marked.table else ()
    unknown = (*instances.unknown, *(rule.unknown if rule is not None else ()))
    whole = as_volumes(found.root, instances, names)
    if whole is not None:
        unknown = (*unknown, whole.unknown)
    instances = spoken_of(instances, frozenset(told)) if told else instances
    found = replace(found, dicom=instances, labels=names, objects=marked, classes=rule, whole=whole)
    return replace(found, evidence=tuple(evidence), unknown=unknown)


def _of_segmentations(found: Inspection, instances: DicomSet, alone: Alone, tables: list[Table]) -> Inspection:
    """Of segmentations without images: what reports mark lies in images that are not there."""
    rule = class_rules.from_tables([instances.subjects, tuple(stem(path.rpartition("/")[2]) for path in instances.paths)], tables)
    evidence = (*instances.evidence, *alone.evidence, *([rule.evidence] if rule is not None else ()))
    unknown = (*instances.unknown, *alone.unknown, *(rule.unknown if rule is not None else ()))
    return replace(found, labels=dict(alone.labels), classes=rule, evidence=evidence, unknown=unknown)


def _modality(found: Inspection, parts: Sequence[Part], texts: list[str]) -> Evidence | Unknown:
    if found.dicom is None:
        return modality(parts, texts)
    if found.dicom.alone is not None:
        return found.dicom.alone.modality or modality([replace(part, peeks=()) for part in parts], texts)
    first, *others = found.dicom.modalities
    return Evidence("modality", first, 0.6 if others else 0.95, f"Modality in DICOM headers: {', '.join(found.dicom.modalities)}")


def _merged(groups: Sequence[Group]) -> list[Part]:
    parts = merging.structures(by_stem([by_name(group) for group in groups]))
    parts = side_by_side(merging.masks_of_classes(merging.class_folders(parts)))
    parts = merging.class_words(merging.class_words(parts), "mask")
    parts = merging.class_words(parts, "table")
    parts = roots(merging.free_names(parts))
    return sorted(parts, key=lambda part: (-len(part.group.paths), part.group.paths))


def _class_of(parts: Sequence[Part], tables: list[Table]) -> dict[int, class_rules.ClassRule]:
    """Number of an image part -> where its class is told, if it may have one."""
    columns = {number: _columns(part) for number, part in enumerate(parts) if part.role == "image"}
    stems = [own[-1] for own in columns.values()]
    rules = {}
    for number, own in columns.items():
        if rule := class_rules.of_images(parts[number], own, tables):
            rules[number] = class_rules.with_all_names(rule, stems) if rule.keyed == len(own) - 1 else rule
    return rules


def _columns(part: Part) -> list[tuple[str, ...]]:
    """What may name an image in a table: each part of the names that varies, and the names without their endings."""
    return [
        *(variable.values for variable in part.group.variables),
        tuple(stem(path.rpartition("/")[2]) for path in part.group.paths),
    ]


def _told(found: Inspection, planned: Plan, tables: list[Table], opener: Opener) -> Inspection:
    """With labels, classes and objects."""
    marked = objects.from_tables(_columns(planned.reference), tables) or marks_beside(found.root, found.parts, planned, tables)
    evidence: list[Evidence] = []
    unknown: list[Unknown] = []
    ids = LabelNames({}, (), planned)
    planned, called = with_channel_names(found.root, planned, _descriptions(found))
    evidence += [called] if called is not None else []
    if planned.labels:
        ids = named_apart(planned, opener, lambda several: label_names(found.root, found.parts, several, opener))
        planned = ids.plan
        for answer in ids.answers:
            _sort_in(answer, evidence, unknown)
    rival = class_rules.from_tables(_columns(planned.reference), tables) if planned.labels and not planned.few else None
    rule = planned.classes if (planned.few or not planned.labels) and marked is None else None
    told = told_twice(planned, _columns(planned.reference), tables) if marked is None else None
    rule = told.rule if told is not None and told.rule is not None else rule
    if rule is None and rival is None and told is None and marked is None:
        rule, rival, doubts = _in_files(found, planned)
        if not (rule or rival or doubts):
            keyed = class_keys(found.root, found.parts, planned, lambda: _marks_of_no_use(found, tables))
            rule, told, doubts = keyed.rule, keyed.told, keyed.doubts
        unknown += doubts
    unknown += rule.unknown if rule is not None else ()
    evidence += [one.evidence for one in (rule, marked) if one is not None]
    return replace(
        found,
        plan=planned,
        labels=ids.names,
        named_by=ids.path,
        classes=rule,
        rival=rival,
        told=told,
        objects=marked,
        evidence=tuple(evidence),
        unknown=tuple(unknown),
    )


def _in_files(
    found: Inspection, planned: Plan
) -> tuple[class_rules.ClassRule | None, class_rules.ClassRule | None, Sequence[Unknown]]:
    """Classes in files of their own: of images without label maps, of images with such; and what is left open."""
    told = class_files(found.root, found.parts, planned)
    if not isinstance(told, class_rules.ClassRule):
        return None, None, [told] if told is not None else []
    return (None, told, []) if planned.labels else (told, None, [])


def _sort_in(answer: Evidence | Unknown, evidence: list[Evidence], unknown: list[Unknown]) -> None:
    if isinstance(answer, Evidence):
        evidence.append(answer)
    else:
        unknown.append(answer)


def _descriptions(found: Inspection) -> list[str]:
    return [path for part in found.parts if part.role == "text" for path in part.group.paths if path.endswith(".json")]


def _annotated(found: Inspection, tables: Sequence[Table]) -> Annotated | None:
    """Marked objects of no use for a draft, where there are images and nothing else tells a task."""
    planned = found.plan is not None and not found.plan.labels
    instances = found.dicom is not None and not found.dicom.outlined
    if not (planned or instances) or found.objects is not None or found.classes is not None:
        return None
    return _marks_of_no_use(found, tables)


def _marks_of_no_use(found: Inspection, tables: Sequence[Table]) -> Annotated | None:
    texts = (path for part in found.parts if part.role == "text" for path in part.group.paths[:2])
    return annotated_in(found.root, texts) or run_lengths(tables)


def _with_kinds(found: Inspection) -> Inspection:
    """With what kind an image is as its class, where nothing else was told of any."""
    if found.classes is not None or found.told is not None or not _is_unlabelled(found):
        return found
    rule = None
    if found.dicom is not None:
        rule = kinds.in_headers(found.dicom)
    elif found.plan is not None:
        rule = kinds.in_names(found.plan)
    return found if rule is None else replace(found, classes=rule, evidence=(*found.evidence, rule.evidence))


def _offered(found: Inspection) -> tuple[Candidate, ...]:
    """What a person may choose instead of what the draft says, or where it says nothing."""
    if _is_unlabelled(found) and found.classes is None:
        return class_candidates(_image_paths(found), found.dicom)
    return (found.whole.candidate,) if found.whole is not None else ()


def _is_unlabelled(found: Inspection) -> bool:
    """Whether no object, and of most images nothing, is marked."""
    outlined = found.dicom is not None and found.dicom.outlined and found.dicom.share >= FEW
    masked = found.plan is not None and (bool(found.plan.labels) or found.plan.is_unpaired)
    return found.objects is None and found.annotated is None and not outlined and not masked


def _image_paths(found: Inspection) -> tuple[str, ...]:
    if found.dicom is not None:
        return found.dicom.paths
    return tuple(path for part in _images(found) for path in part.group.paths)


def _told_of_plan(found: Inspection) -> list[Evidence | Unknown]:
    """What is said of channels, of parts of an official split, and of folders that may name classes and name none here."""
    if found.plan is None:
        return []
    of_folders = told_of_circumstances(found.plan.reference.group) if found.classes is None and _is_unlabelled(found) else ()
    return [*told_of_channels(found.plan), *told_of_parts(found.plan), *of_folders]


def _task(found: Inspection) -> Evidence | Unknown:
    if found.annotated is not None:
        said = "segmentation" if found.annotated.outlined else "detection"
        return Evidence("task", said, 0.6, f"{found.annotated.path} marks objects in the form of {found.annotated.format}")
    if found.told is not None:
        return found.told.task
    boxes = found.objects is not None
    if found.dicom is not None:
        return task_of_instances(found.dicom, found.classes, boxes=boxes)
    if found.plan is None:
        return task(masks=False, boxes=boxes, classes=found.classes)
    own = any(source.part is not found.plan.reference for source in found.plan.labels)
    masks = bool(found.plan.labels) and not found.plan.few and (own or not boxes)
    maps = [path for part in found.parts if part.role in ("mask", "structures") for path in part.group.paths]
    loose = [path for path in maps if path not in found.plan.claimed]
    classes, n_images = found.classes or found.rival, sum(len(part.group.paths) for part in _images(found))
    share, unpaired = found.plan.share, found.plan.is_unpaired
    return task(masks=masks, boxes=boxes, classes=classes, share=share, loose=loose, n_images=n_images, unpaired=unpaired)


def _subjects(found: Inspection) -> tuple[str, ...]:
    """What names of images say of whose they are."""
    if found.dicom is not None:
        return found.dicom.subjects
    series = found.plan.series if found.plan is not None else ()
    return tuple(name for source in series for part, where in source.parts for name in read(part.group, where, "subject"))


def _images(found: Inspection) -> list[Part]:
    """What stands as images in the draft; none of DICOM series."""
    return [] if found.plan is None else [part for source in found.plan.series for part, _ in source.parts]


def _dimension(found: Inspection) -> Evidence | Unknown:
    """Of the images of the draft; where there are none, why those that names suggest are none."""
    if found.dicom is not None:
        return dimension_of_instances(found.dicom)
    unread = [part for part in found.parts if part.role == "other" and part.peeks]
    pages = other_pages(found.plan) if found.plan is not None else ""
    return dimension(_images(found) or unread, pages=pages)
