"""What one source dataset is: the typed form of a YAML file in `assets/catalog/`.

A spec says only what is particular to its dataset; every default suits a plain image and label set. Adding a dataset is
adding one YAML file. Unknown keys, undeclared lesion labels and the like are refused when the spec is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from importlib import resources as package_files
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from assets.spec_sources import Source


def _orientation_code(value: str) -> str:
    if sorted("RLAPSI".index(letter) // 2 if letter in "RLAPSI" else -1 for letter in value) != [0, 1, 2]:
        raise ValueError(f"an orientation names each of R/L, A/P and S/I once, e.g. LPS, not {value!r}")
    return value


OrientationCode = Annotated[str, AfterValidator(_orientation_code)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SeriesSource(_Part):
    """The file one series is read from.

    Attributes:
        path: Pattern under the raw folder, with `{subject}` and, where there are several, `{scan}`.
        channel: Index along the file's fourth axis; None for a plain 3-D image.
        channels: How many channels that file must have.
        assume_orientation: Direction in which the stored indices grow, e.g. `LPS`, for files that do not say.
    """

    path: str
    channel: int | None = None
    channels: int = 1
    assume_orientation: OrientationCode | None = None


class LabelsSource(_Part):
    """The file a label map is read from.

    Attributes:
        path: Pattern under the raw folder.
        of: The series whose grid it shares; None means every series of the scan.
        assume_orientation: As for a series.
    """

    path: str
    of: tuple[str, ...] | None = None
    assume_orientation: OrientationCode | None = None


class Listing(_Part):
    """The dataset's own list of its subjects.

    Attributes:
        file: A JSON file under the raw folder.
        each: Where the values stand, e.g. `[].case_id` or `training[].image`; the subject pattern is searched in each value.
    """

    file: str
    each: str


def _series_from_yaml(value: object) -> object:
    """`{name: path}`, `{name: {path: ...}}`, or `{path: ..., split_last_axis: [names]}` for one file with channels."""
    if not isinstance(value, Mapping):
        return value
    if "split_last_axis" in value:
        names = value["split_last_axis"]
        common = {k: v for k, v in value.items() if k != "split_last_axis"}
        return {name: {**common, "channel": n, "channels": len(names)} for n, name in enumerate(names)}
    return _spelled_out(value, "path")


def _spelled_out(value: object, field: str) -> object:
    """`{name: text}` is short for `{name: {field: text}}`."""
    if not isinstance(value, Mapping):
        return value
    return {name: {field: part} if isinstance(part, str) else part for name, part in value.items()}


class RawLayout(_Part):
    """Which raw file is what.

    Attributes:
        subject: Regular expression of a subject's name: a person, never a scan.
        scan: Regular expression of a scan's name; None where every subject has one.
        series: Series name -> file.
        labels: Label map name -> file.
        ignore: Pattern -> the reason why those files are not used.
        listing: The dataset's own list of subjects, if it has one.
    """

    subject: str
    scan: str | None = None
    series: Annotated[dict[str, SeriesSource], BeforeValidator(_series_from_yaml)]
    labels: Annotated[dict[str, LabelsSource], BeforeValidator(partial(_spelled_out, field="path"))] = Field(default_factory=dict)
    ignore: dict[str, str] = Field(default_factory=dict)
    listing: Listing | None = None

    @field_validator("subject", "scan")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None and re.compile(value).groups:
            raise ValueError(f"{value!r} has groups; write (?:...) instead")
        return value

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        sources: list[tuple[str, SeriesSource | LabelsSource]] = [*self.series.items(), *self.labels.items()]
        for name, source in sources:
            if "{subject}" not in source.path:
                raise ValueError(f"the path of {name} has no {{subject}}: {source.path}")
            if ("{scan}" in source.path) != (self.scan is not None):
                raise ValueError(f"the path of {name} and `scan` must both name the scan or neither: {source.path}")
        for name, labels in self.labels.items():
            strangers = set(labels.of or ()) - set(self.series)
            if strangers:
                raise ValueError(f"label map {name} is `of` series that are not declared: {sorted(strangers)}")
        return self


class Label(_Part):
    """One structure of a label map."""

    name: str


class Overlap(_Part):
    """Another dataset that holds some of the same people, and the rule that joins their names."""

    dataset: str
    rule: str


class People(_Part):
    """Who the subjects are, beyond their names in this dataset."""

    overlaps: tuple[Overlap, ...] = ()


class SplitPolicy(_Part):
    """How subjects are divided.

    Attributes:
        test_share: Share of subject groups that goes to the test split.
        seed: Enters the hash that decides; another seed is another split.
    """

    test_share: float = Field(default=0.3, gt=0, lt=1)
    seed: int = 1024


class Expect(_Part):
    """What must hold of the data; the gates are built from it.

    Attributes:
        subjects: How many subjects the full release has with labels.
        intensity: Range in which every voxel value of an image lies.
        spacing_mm: Range in which every voxel spacing lies.
        nonfinite_voxels: Whether NaN or infinite voxels are an error or stored as they are.
        quarantined_share: Largest share of subjects that may be quarantined before the dataset is refused.
        counts: Published totals that the full release must reproduce exactly, by name and plane.
    """

    subjects: int | None = None
    intensity: tuple[float, float] | None = None
    spacing_mm: tuple[float, float] = (0.01, 20.0)
    nonfinite_voxels: Literal["error", "keep"] = "error"
    quarantined_share: float = Field(default=0.25, ge=0, le=1)
    counts: dict[str, dict[str, int]] = Field(default_factory=dict)


class DatasetSpec(_Part):
    """Everything MedFoundry knows about one source dataset."""

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
    layout: RawLayout
    labels: Annotated[dict[int, Label], BeforeValidator(partial(_spelled_out, field="name"))] = Field(default_factory=dict)
    lesions: tuple[int, ...] = ()
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

    def label_name(self, label_id: int) -> str:
        """Name of a label id."""
        return self.labels[label_id].name

    @classmethod
    def from_yaml(cls, path: Path) -> DatasetSpec:
        """Load one spec.

        Raises:
            ValueError: The file is no mapping, or a field is missing, unknown or of the wrong kind; the message says which.
        """
        content: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict):
            raise ValueError(f"{path} holds {type(content).__name__}, not a dataset spec")  # noqa: TRY004
        return cls.model_validate(content)


def load_catalog() -> dict[str, DatasetSpec]:
    """All specs of `assets/catalog/`, by slug, in alphabetical order."""
    catalog: dict[str, DatasetSpec] = {}
    for entry in sorted(package_files.files("assets").joinpath("catalog").iterdir(), key=lambda e: e.name):
        path = Path(str(entry))
        if path.suffix == ".yaml":
            spec = DatasetSpec.from_yaml(path)
            if path.stem != spec.slug:
                raise ValueError(f"{path.name} declares slug {spec.slug!r}; the two must agree")
            catalog[spec.slug] = spec
    return catalog
