"""What one source dataset is: the typed form of a YAML file in `assets/catalog/`.

A spec says only what is particular to its dataset; every default suits a plain image and label set. Adding a dataset is
adding one YAML file. Unknown keys, undeclared lesion labels and the like are refused when the spec is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import resources as package_files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, field_validator, model_validator

from assets.mds.naming import class_ids
from assets.patterns import require_inside
from assets.spec_errors import SpecError, problems_of
from assets.spec_file import read_spec_file
from assets.spec_layout import RawLayout
from assets.spec_mds import Classes, Mds, Objects
from assets.spec_parts import Part, spelled_out
from assets.spec_people import People, SplitPolicy
from assets.spec_sources import Source
from assets.templates import ALWAYS_THERE

LABEL_GROUPS = "label_groups.yaml"
"""File of the catalog that is no spec: label name -> anatomical group."""


class Label(Part):
    """One structure of a label map.

    Attributes:
        name: Its name, one spelling throughout the catalog.
        file: What `{label}` reads where each structure has a file of its own; the name with `_` for blanks if not given.
        aliases: Other spellings in use, such as those of a publication.
    """

    name: str
    file: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """What `{label}` reads in a path."""
        return self.file or self.name.replace(" ", "_")


class Measurement(Part):
    """A length or an angle between landmarks.

    Attributes:
        name: Its name.
        distance: Two landmarks; the length between them in mm, in 3-D.
        angle: Two lines of two landmarks each; the angle between them in degrees.
        description: What it says, in a sentence about it.
    """

    name: str
    distance: tuple[str, str] | None = None
    angle: tuple[tuple[str, str], tuple[str, str]] | None = None
    description: str = ""

    @property
    def landmarks(self) -> tuple[str, ...]:
        """The landmarks it is made of."""
        return self.distance or tuple(point for line in self.angle or () for point in line)

    @model_validator(mode="after")
    def _is_one_thing(self) -> Self:
        if (self.distance is None) == (self.angle is None):
            raise ValueError(f"measurement {self.name} is either a distance or an angle")
        return self


class Repair(Part):
    """A known fault of the raw data and what is done about it; every file it touches is named in a finding.

    Attributes:
        kind: `copy_header`: the label map takes the geometry of a series of equal shape; `scale_labels`: its values are
            multiplied by `factor` before they are taken for ids; `round_labels`: values within `tolerance` of a whole
            number are taken for it.
        labels: The label map.
        series: The series whose geometry is copied.
        factor: For `scale_labels`.
        tolerance: For `round_labels` and `scale_labels`.
        reason: Why, with the source that says so.
    """

    kind: Literal["copy_header", "scale_labels", "round_labels"]
    labels: str
    series: str = ""
    factor: float = 1
    tolerance: float = Field(default=0.01, gt=0, lt=0.5)
    reason: str


class Expect(Part):
    """What must hold of the data; the gates are built from it.

    Attributes:
        subjects: How many subjects the full release has with labels.
        intensity: Range in which every voxel value of an image lies; or series -> range, where they differ.
        spacing_mm: Range in which every voxel spacing lies.
        nonfinite_voxels: Whether NaN or infinite voxels are an error or stored as they are.
        quarantined_share: Largest share of subjects that may be quarantined before the dataset is refused.
        counts: Published totals that the full release must reproduce exactly, by name and plane.
    """

    subjects: int | None = None
    intensity: tuple[float, float] | dict[str, tuple[float, float]] | None = None
    spacing_mm: tuple[float, float] = (0.01, 20.0)
    nonfinite_voxels: Literal["error", "keep"] = "error"
    quarantined_share: float = Field(default=0.25, ge=0, le=1)
    counts: dict[str, dict[str, int]] = Field(default_factory=dict)

    @property
    def intensity_of(self) -> dict[str, tuple[float, float]]:
        """Series -> range; a range of all series is under the empty name."""
        if self.intensity is None:
            return {}
        return self.intensity if isinstance(self.intensity, dict) else {"": self.intensity}

    @field_validator("intensity")
    @classmethod
    def _ranges_are_ranges(cls, value: Any) -> Any:
        ranges = value.values() if isinstance(value, dict) else [value] if value is not None else []
        if backward := [pair for pair in ranges if not pair[0] < pair[1]]:
            raise ValueError(f"a range has a least and a greatest value, not {backward[0]}")
        return value


def _inside_if_given(value: str) -> str:
    return require_inside(value) if value else value


class DatasetSpec(Part):
    """Everything MedFoundry knows about one source dataset.

    Attributes:
        checked_on: What the spec has been run on: a miniature of the published layout, real label files, or real data;
            None where nobody has said so.
        raw_folder: Its folder under `data/raw`, where two datasets share one; the slug if not given.
        lesions: Label ids whose sizes are measured.
        lesion_series: The series on which lesion sizes are asked about; the first if not given.
        landmarks: Names of all landmarks, in the order of the landmark files.
    """

    slug: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    name: str
    version: str
    homepage: str = ""
    licence: str
    access: Literal["open", "registration", "restricted"]
    modality: str
    anatomy: str
    description: str
    citation: str = ""
    sources: tuple[Source, ...]
    checked_on: Literal["miniature", "labels", "real data"] | None = None
    raw_folder: Annotated[str, AfterValidator(_inside_if_given)] = ""
    layout: RawLayout
    labels: Annotated[dict[int, Label], BeforeValidator(partial(spelled_out, field="name"))] = Field(default_factory=dict)
    lesions: tuple[int, ...] = ()
    lesion_series: str | None = None
    landmarks: tuple[str, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    classes: Classes | None = None
    objects: Objects | None = None
    mds: Mds | None = None
    repairs: tuple[Repair, ...] = ()
    people: People = Field(default_factory=People)
    split: SplitPolicy = Field(default_factory=SplitPolicy)
    expect: Expect = Field(default_factory=Expect)

    @field_validator("labels")
    @classmethod
    def _labels_are_legal(cls, value: dict[int, Label]) -> dict[int, Label]:
        bad = [number for number in value if not 1 <= number <= 65535]
        if bad:
            raise ValueError(f"label ids are 1 to 65535 (0 is background), not {bad}")
        names = [label.name for label in value.values()]
        if len(set(names)) != len(names):
            raise ValueError(f"two labels share one name: {sorted(names)}")
        return value

    @model_validator(mode="after")
    def _lesions_are_labels(self) -> Self:
        strangers = set(self.lesions) - set(self.labels)
        if strangers:
            raise ValueError(f"lesions {sorted(strangers)} are not among the labels {sorted(self.labels)}")
        if self.layout.labels and not self.labels:
            raise ValueError("there are label maps but no `labels` that say what their ids mean")
        return self

    @model_validator(mode="after")
    def _names_are_declared(self) -> Self:
        points = {p for m in self.measurements for p in m.landmarks}
        points |= {p for source in self.layout.landmarks.values() for pair in source.pairs.values() for p in pair.points}
        series = {r.series for r in self.repairs if r.series} | ({self.lesion_series} if self.lesion_series else set())
        for what, used, known in (
            ("landmarks", points, set(self.landmarks)),
            ("label maps to repair", {r.labels for r in self.repairs}, set(self.layout.labels)),
            ("series", series | set(self.expect.intensity_of) - {""}, set(self.layout.series)),
        ):
            if used - known:
                raise ValueError(f"{what} that are not declared: {sorted(used - known)}")
        known = {*self.layout.fields, *self.layout.tags}
        if self.people.field and self.people.field not in known:
            raise ValueError(
                f"people are named by the field {self.people.field!r}, which the layout has neither under `fields` nor `tags`"
            )
        if self.layout.landmarks and not self.landmarks:
            raise ValueError("there are landmark files but no `landmarks` that name them")
        return self

    @model_validator(mode="after")
    def _mds_is_of_this_dataset(self) -> Self:
        if self.mds is None:
            return self
        known = {("series", name) for name in self.layout.series} | {("labels", name) for name in self.layout.labels}
        strangers = self.mds.references - known
        strangers |= {("target", name) for name in self.mds.target if name not in {name for _, name in known}}
        if strangers:
            raise ValueError(f"the mds block names what is not declared: {sorted(strangers)}")
        if unknown := self.mds.fields - ALWAYS_THERE - set(self.layout.fields) - set(self.layout.tags):
            raise ValueError(f"the mds block names fields that the layout does not have: {sorted(unknown)}")
        for task, name, part in (("classification", "classes", self.classes), ("detection", "objects", self.objects)):
            if self.mds.task == task and part is None:
                raise ValueError(f"records of {task} need `{name}`, which the spec does not have")
        self.mds_classes()
        return self

    def mds_classes(self) -> dict[int, int]:
        """Label id, or class id where classes are told -> id in MDS-Bench; empty without an `mds` block.

        Raises:
            ClassesUnclearError: It cannot be told which is which.
        """
        if self.mds is None:
            return {}
        if self.mds.task == "classification" and self.classes is not None:
            return class_ids({n: (name,) for n, name in enumerate(self.classes.names)}, self.mds.classes)
        return class_ids({n: (label.name, *label.aliases) for n, label in self.labels.items()}, self.mds.classes)

    @property
    def raw_name(self) -> str:
        """Folder of its raw files under `data/raw`."""
        return self.raw_folder or self.slug

    @property
    def people_pool(self) -> str:
        """Name of the pool of people its subjects belong to."""
        return self.people.pool or self.slug

    def label_name(self, label_id: int) -> str:
        """Name of a label id."""
        return self.labels[label_id].name

    @classmethod
    def from_yaml(cls, path: Path) -> DatasetSpec:
        """Load one spec; with `base: NAME` it is laid over `_NAME.yaml` beside it, mappings key by key, all else whole.

        A base may have a base of its own; of several, `base: [FIRST, SECOND]`, the later lies over the earlier.

        Raises:
            SpecError: The file is no YAML, has a key twice, or a field is missing, unknown or of the wrong kind; the message
                says which.
        """
        content, bases = read_spec_file(path)
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            raise SpecError(path, problems_of(error, cls, content), bases) from None


@dataclass(frozen=True)
class Catalog:
    """What is in the catalog's folder.

    Attributes:
        specs: Slug -> spec, in alphabetical order.
        broken: Name of a file without its ending -> why it is no usable spec.
    """

    specs: Mapping[str, DatasetSpec]
    broken: Mapping[str, SpecError] = field(default_factory=dict)


def catalog_folder() -> Path:
    """Where the specs lie."""
    return Path(str(package_files.files("assets").joinpath("catalog")))


def read_catalog() -> Catalog:
    """All specs of `assets/catalog/`, the broken apart; files that begin with `_` are bases of others."""
    specs: dict[str, DatasetSpec] = {}
    broken: dict[str, SpecError] = {}
    for path in sorted(catalog_folder().iterdir(), key=lambda p: p.name):
        if path.suffix in {".yaml", ".yml"} and not path.name.startswith("_") and path.name != LABEL_GROUPS:
            try:
                specs[path.stem] = _named_as_its_file(path)
            except SpecError as error:
                broken[path.stem] = error
    return Catalog(specs, broken)


def _named_as_its_file(path: Path) -> DatasetSpec:
    if path.suffix != ".yaml":
        raise SpecError(path, [f"the name of a spec ends in .yaml; call it {path.stem}.yaml"])
    spec = DatasetSpec.from_yaml(path)
    if path.stem != spec.slug:
        raise SpecError(path, [f"slug: met {spec.slug!r}; it is also the file's name, so write {path.stem}, or rename the file"])
    return spec


def load_catalog() -> dict[str, DatasetSpec]:
    """All specs of `assets/catalog/`, by slug, in alphabetical order, for whoever needs every one of them.

    Raises:
        SpecError: One of them is broken.
    """
    catalog = read_catalog()
    for error in catalog.broken.values():
        raise error
    return dict(catalog.specs)
