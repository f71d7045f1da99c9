"""What a spec says of classes, of objects marked in tables, and of MDS-Bench's records."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from assets.spec_parts import Inside, Names, Part, Patterns, Regex
from assets.templates import FIELD

Template = str
"""Text with fields of the layout in braces, and with `{stem}` (file name without its ending), `{name}` (file name),
`{path}` (under the raw folder), `{folder}` (name of the file's folder) and `{joined}` (the path without its first folder and its
ending, `_` for every `/`) of the file it is about."""


class ClassTable(Part):
    """A table that says the class.

    Attributes:
        file: The table, CSV, a workbook or JSON, under the raw folder.
        each: Where the rows stand in a JSON file, as in a listing, e.g. `training[]`; with braces behind, as `labels{}` or `{}`
            alone, it is an object whose keys name the pictures.
        key: Its column that names the picture, or its subject; none where the keys of an object do.
        match: What `key` is held against.
        value: Its column with the class; for an object the key of the class in what stands under each name, with a point before
            keys of further objects inside, and none where that is the class itself.
        flags: Its columns of 0 and 1, one for each class, instead of `value`; a row with none or several set tells no class.
        separator: Between columns.
        columns: Names for the columns of a text table that has none; all of them, in order.
    """

    file: Inside
    each: str = ""
    key: str = ""
    match: Template = "{subject}"
    value: str = ""
    flags: tuple[str, ...] = ()
    separator: str = ","
    columns: tuple[str, ...] = ()

    @property
    def names_by_keys(self) -> bool:
        """Whether the keys of an object in a JSON file name the pictures."""
        return self.each.endswith("{}")

    @model_validator(mode="after")
    def _says_it_once(self) -> Self:
        if self.names_by_keys:
            if self.key or self.flags or "{}" in self.each[:-2]:
                raise ValueError("the keys of an object, `each: ...{}`, name the pictures; there is no `key`, and no `flags`")
            return self
        if not self.key or "{}" in self.each:
            raise ValueError("a table has a column that names the pictures, `key`, unless `each` ends with `{}`")
        if bool(self.value) == bool(self.flags):
            raise ValueError("a table says the class in one column, `value`, or in a column for each class, `flags`")
        if self.flags and self.each:
            raise ValueError("`flags` are columns of a table, and `each` is of a JSON file")
        return self


class ClassLines(Part):
    """Files of `key: value` lines or of JSON, one per subject or per scan, that say the class; or that are nothing but the class.

    Attributes:
        file: Pattern with `{subject}`, and with `{scan}` where each scan has a file of its own.
        key: What stands before the class; where the file is called `.json`, the key of the class in an object, with a point
            before keys of objects inside, as `meta.diagnosis`. Without it the file is the class: a JSON number or text where it
            is called `.json`, else one line of text. A whole number of JSON reads without its point, `0.0` as `0`.
    """

    file: Inside
    key: str = ""

    @model_validator(mode="after")
    def _is_of_somebody(self) -> Self:
        if "{subject}" not in self.file:
            whose = "a file that says a class in a line, or is one, is a subject's"
            raise ValueError(f"{whose}; its pattern names {{subject}}, unlike {self.file}")
        return self


class Classes(Part):
    """The classes of a dataset's images, and where an image's class is told: in exactly one of five ways.

    Attributes:
        names: The classes, in order of their ids, from 0.
        field: What the path says, e.g. `{class}`.
        table: A table that says it.
        lines: Files of `key: value` lines, or of JSON, that say it, or of nothing but the class.
        tag: DICOM keyword whose value says it.
        untold: Why nothing that can be read says which image has which class; none is given one.
        values: What is told -> name of the class, where the two differ.
        matches: Name of the class -> regular expression of the whole text that is told, where many texts stand for one class;
            asked in their order where `values` has no answer.
        missing: What an image without a class means.
    """

    names: tuple[str, ...]
    field: Template = ""
    table: ClassTable | None = None
    lines: ClassLines | None = None
    tag: str = ""
    untold: str = ""
    values: dict[str, str] = Field(default_factory=dict)
    matches: dict[str, Regex] = Field(default_factory=dict)
    missing: Literal["error", "none"] = "error"

    @model_validator(mode="after")
    def _is_told_once(self) -> Self:
        if sum(map(bool, (self.field, self.table, self.lines, self.tag, self.untold))) != 1:
            raise ValueError("a class is told by a `field`, a `table`, `lines`, a `tag`, or is `untold`")
        strangers = {*self.values.values(), *self.matches} - set(self.names)
        if strangers:
            raise ValueError(f"values or matches name classes that are not declared: {sorted(strangers)}")
        if len(set(self.names)) != len(self.names):
            raise ValueError(f"two classes share one name: {list(self.names)}")
        return self


def _columns(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


class Objects(Part):
    """Objects that a table or a file beside each image marks by boxes.

    Attributes:
        file: The table, or a pattern with the layout's fields for one file per image; for reports a glob that finds all.
        format: `csv`: one object per row; `voc`: Pascal VOC XML; `supervisely`: JSON with polygons, boxed; `sr`: DICOM structured
            reports (TID 1500), whose regions are boxed and belong to the instance they refer to.
        key: Column that names the image, for one table of many images; for reports `ReferencedSOPInstanceUID`.
        match: What `key` is held against.
        corners: Columns x_min, y_min, x_max, y_max in pixels.
        origin_size: Columns x, y, width, height in pixels.
        centre_lps_mm: Columns x, y, z in DICOM's frame, with `diameter_mm`.
        diameter_mm: Column.
        scale: What the pixels are multiplied by, where they were counted on a picture of another size.
        label: Column with the name of the object's class, or what is in the image's fields, as a template; the one label of the
            spec if not given.
        labels: What it says -> the label's name.
        matches: Label's name -> regular expression of the whole text, where many texts stand for one; asked behind `labels`.
        separator: Between columns.
    """

    file: Patterns
    format: Literal["csv", "voc", "supervisely", "sr"] = "csv"
    key: str = ""
    match: Template = "{stem}"
    corners: Annotated[tuple[str, str, str, str] | None, BeforeValidator(_columns)] = None
    origin_size: Annotated[tuple[str, str, str, str] | None, BeforeValidator(_columns)] = None
    centre_lps_mm: Annotated[tuple[str, str, str] | None, BeforeValidator(_columns)] = None
    diameter_mm: str = ""
    scale: float = Field(default=1, gt=0)
    label: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    matches: dict[str, Regex] = Field(default_factory=dict)
    separator: str = ","

    @model_validator(mode="after")
    def _is_told_once(self) -> Self:
        ways = sum(way is not None for way in (self.corners, self.origin_size, self.centre_lps_mm))
        if (self.format == "csv") != (ways == 1):
            raise ValueError("boxes of a csv are given by `corners`, `origin_size` or `centre_lps_mm`; other formats by none")
        return self


class MdsMeta(Part):
    """What `data_meta.json` says beyond the rest of the spec.

    Attributes:
        release_date: Month or day, `YYYY-MM` or `YYYY-MM-DD`; records bear it as their time.
        total: `data_volume.total`, where it is published as something else than the number of records.
    """

    release_date: str = Field(default="", pattern=r"^(\d{4}-\d{2}(-\d{2})?)?$")
    organization: tuple[str, ...] = ()
    challenge_series: str = "NA"
    modality_secondary: tuple[str, ...] = ()
    anatomical_structure: tuple[str, ...] = ()
    disease: tuple[str, ...] = ()
    total: int | None = None


File = Literal["source_file", "label_file", "mask_file", "seg_file", "bbox_file"]


class Mds(Part):
    """How a dataset appears in MDS-Bench (arXiv 2607.04694): which files are its targets, and what their records say.

    Attributes:
        name: `record.dataset_name`.
        folder: Group and folder in the public copy of the raw data.
        task: Task of every record.
        variant: `schema_variant` of the task's block.
        dimension: As published; not always the rank of the array.
        modality: `modality_primary`, as published.
        modalities: Modality -> regular expression of the whole path of a target, where samples are not of the modality of the
            set; the first that fits holds, and the set's where none does.
        classes: Names of the classes, in order of their ids, the background among them where it is counted.
        target: Series, or label maps, whose files are the targets; the first series if not given.
        targets: How many targets the published sample has.
        manifest: The sample's list of targets, in the raw folder or beside it; the first files in order of their paths
            where there is none.
        prefix: What stands before a path in a record and in the manifest, unless the path begins with it.
        source: Path of a target in the public copy, where that is laid out otherwise than the raw folder.
        instead: Pattern of targets without pixels, such as reports -> pattern of the file that is drawn for them; fields that
            both name must agree. A report whose marks are among the `objects` needs no pattern: the image it marks is drawn.
        subject_id: Of a record.
        files: `source_file`, `label_file`, `mask_file`, `seg_file`, `bbox_file` -> a template, or `labels:NAME` or
            `series:NAME` for a file of the same scan, `labels:NAME|OTHER` for the first that it has, or `order:GLOB` for the file
            that stands where the target does, both the files the glob finds and the target's series in order of their names; a
            glob without the prefix gives a path without it. The source file is the target itself if not given; none of the others
            is written for a key that is absent. The series or label map that `source_file` names is the one that is drawn.
        extra: Further keys of `extra`, or other values for those that are written.
        annotation_type: Of the media; the variant if not given.
        plane: In which a volume is drawn; axial, where it has that plane, if not given.
        window: Least and greatest value that are told apart in a picture; by modality and anatomy if not given.
        meta: For `data_meta.json`.
    """

    name: str
    folder: str
    task: Literal["classification", "segmentation", "detection"]
    variant: Literal["multiclass", "multilabel", "exam_level", "2d_coco", "2d_mask", "3d_mask", "video_coco", "2d", "3d", "video"]
    dimension: Literal["2D", "3D", "video"]
    modality: str
    modalities: dict[str, Regex] = Field(default_factory=dict)
    classes: tuple[str, ...]
    target: Names = ()
    targets: int = 20
    manifest: str = "random.txt"
    prefix: str = "data/"
    source: Template = "{path}"
    instead: dict[Inside, Inside] = Field(default_factory=dict)
    subject_id: Template = "{subject}"
    files: dict[File, Template] = Field(default_factory=dict)
    extra: dict[str, Template] = Field(default_factory=dict)
    annotation_type: str = ""
    plane: Literal["", "axial", "coronal", "sagittal"] = ""
    window: tuple[float, float] | None = None
    meta: MdsMeta = Field(default_factory=MdsMeta)

    @model_validator(mode="after")
    def _is_of_its_task(self) -> Self:
        if self.variant not in _VARIANTS[self.task]:
            raise ValueError(f"the variants of {self.task} are {', '.join(_VARIANTS[self.task])}, not {self.variant}")
        if self.window is not None and not self.window[0] < self.window[1]:
            raise ValueError(f"a window has a least and a greatest value, not {self.window}")
        return self

    @property
    def fields(self) -> set[str]:
        """Every field that a template names."""
        patterns = (text for pair in self.instead.items() for text in pair)
        written = (self.source, self.subject_id, *self.files.values(), *self.extra.values(), *patterns)
        return {field for text in written for field in FIELD.findall(text)}

    @property
    def references(self) -> set[tuple[str, str]]:
        """(`series` or `labels`, name) of everything that `files` names."""
        named = (text.partition(":") for text in self.files.values())
        return {(kind, name) for kind, _, names in named if kind in _KINDS for name in names.split("|") if name}


_KINDS = ("series", "labels")
_VARIANTS = {
    "classification": ("multiclass", "multilabel", "exam_level"),
    "segmentation": ("2d_coco", "2d_mask", "3d_mask", "video_coco"),
    "detection": ("2d", "3d", "video"),
}
