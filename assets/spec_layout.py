"""How a spec says which raw file is what: the layout part of the dataset language, as pydantic models.

Patterns are globs with named fields (`assets/patterns.py`). What each key means
for the user is told in `docs/adding-a-dataset.md`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from assets.patterns import fields_of
from assets.spec_parts import Axes, Globs, Inside, NameRegex, Names, OrientationCode, Part, Patterns, Regex, spelled_out


class FileSource(Part):
    """A file, and what must be said to read it because it does not say so itself.

    Attributes:
        dicom: Pattern of DICOM files, among which one series (or one annotation) is chosen by what the headers say, wherever
            its files lie; takes the place of `path`.
        where: With `dicom`: keyword -> glob, or globs, of the whole value: what the headers of the wanted files say. Only `*`
            and `?` have a meaning; an element that is missing reads as nothing.
        several: With `dicom`: what holds when more than one series fits.
        path: Pattern under the raw folder, with `{subject}` and, where there are several, `{scan}`; more than one where
            the same file goes by several names, of which each scan has one.
        header: DICOM keyword -> regular expression of its whole value: a DICOM file whose header says something else is not
            this source's, whatever its name. A file that does not have the element is.
        key: Name of the array inside a container such as HDF5; `{stem}` in it reads as the file's name without its ending.
        axes: Order of the stored axes, e.g. `xyt` for a film stored as a volume.
        plane: Which one is taken of a file of many pictures, counted from 0 along the third axis; the others are left.
        spacing_mm: Spacing along x, y (and z) for files that do not say.
        assume_orientation: Direction in which the stored indices grow, e.g. `LPS`, for files that do not say.
    """

    dicom: Patterns = ()
    where: Globs = Field(default_factory=dict)
    several: Literal["error", "lowest series number", "highest series number"] = "error"
    path: Patterns = ()
    header: dict[str, Regex] = Field(default_factory=dict)
    key: str | None = None
    axes: Axes | None = None
    plane: int | None = Field(default=None, ge=0)
    spacing_mm: tuple[float, ...] | None = None
    assume_orientation: OrientationCode | None = None

    @property
    def patterns(self) -> tuple[str, ...]:
        """Every pattern that claims a file for this source."""
        return self.path + self.dicom

    def fits(self, values: Mapping[str, str]) -> bool:
        """Whether a header with these values is that of a wanted file."""
        return all(any(_glob(text, values.get(keyword, "")) for text in texts) for keyword, texts in self.where.items())

    @model_validator(mode="after")
    def _one_kind_of_file(self) -> Self:
        if self.dicom and (self.path or self.header):
            raise ValueError("files are told apart by `path` and `header`, or by `dicom` and `where`")
        if not self.dicom and (self.where or self.several != "error"):
            raise ValueError("`where` and `several` choose among the files of `dicom`, which is missing")
        return self


def _glob(text: str, value: str) -> bool:
    return re.fullmatch(re.escape(text).replace(r"\*", ".*").replace(r"\?", "."), value, re.DOTALL) is not None


class SeriesSource(FileSource):
    """The file one series is read from.

    Attributes:
        channel: Index along the file's fourth axis; None for a plain 3-D image.
        channels: How many channels that file must have; `any` for a file of which one is taken, however many there are.
        grid_of: A label map whose file gives the geometry, for arrays in containers; the shapes must be equal.
        lies_as: With `grid_of`: another array of the container, with that label map's masks, one per label along its last axis;
            which way the arrays of the container lie is taken from how the two agree.
        required: Whether a scan without it is an error.
        description: What a person would call such a picture, in a sentence about it.
    """

    channel: int | None = None
    channels: int | Literal["any"] = 1
    grid_of: str | None = None
    lies_as: str = ""
    required: bool = True
    description: str = ""

    @model_validator(mode="after")
    def _keys_go_together(self) -> Self:
        if self.channels == "any" and self.channel is None:
            raise ValueError("of a file with any number of channels `channel` says which one is taken")
        if self.lies_as and not self.grid_of:
            raise ValueError("`lies_as` goes with `grid_of`, the label map that the array agrees with")
        return self


class LabelsSource(FileSource):
    """The file, or the files, a label map is read from: `path` for a map of ids, `masks` for one binary mask per label.

    With `dicom` it is an annotation whose structures have names: a name reads as the `file` or the name of one of the spec's
    labels, whatever its case.

    Attributes:
        kind: With `dicom`: a segmentation, or a structure set whose contours are filled on the grid of its series.
        structures: With `dicom`: name in the file -> label id, for names that are no label's.
        others: With `dicom`: what holds for structures that stand for no label.
        masks: Pattern with `{label}`, which reads as the `file` (or the name) of one of the spec's labels.
        page_tag: Number of the TIFF tag in which a page names the label whose binary mask it is, for a file of many masks;
            pages without it are left.
        one_hot: The channels of the file are binary masks, in order of the label ids.
        at_least: For a map of probabilities: the least value that counts as inside, as label 1.
        nonzero_is: The label id of every value but 0, for a map of one structure.
        values: Value in the file -> label id, where the two differ; other values keep theirs.
        colours: Label id -> red, green and blue of the pixels that stand for it, for a map drawn in colours. Black is 0 unless
            a colour of 0 is given; a pixel of any other colour is an error.
        overlap: What holds where masks meet.
        absent: What a missing mask file means.
        of: The series whose grid it shares; None means every series of the scan.
        required: Whether a scan without it is an error.
    """

    kind: Literal["seg", "rtstruct"] | None = None
    structures: dict[str, int] = Field(default_factory=dict)
    others: Literal["error", "leave"] = "error"
    masks: Patterns = ()
    page_tag: int | None = Field(default=None, gt=0, lt=1 << 16)
    one_hot: bool = False
    at_least: float | None = None
    nonzero_is: int | None = None
    values: dict[int, int] = Field(default_factory=dict)
    colours: dict[int, tuple[int, int, int]] = Field(default_factory=dict)
    overlap: Literal["error", "lower id wins", "higher id wins"] = "error"
    absent: Literal["error", "empty"] = "error"
    of: tuple[str, ...] | None = None
    required: bool = True

    @property
    def patterns(self) -> tuple[str, ...]:
        """Every pattern that claims a file for this label map."""
        return self.path + self.masks + self.dicom

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if [bool(self.path), bool(self.masks), bool(self.dicom)].count(True) != 1:
            raise ValueError("a label map is read from one of `path`, `masks` and `dicom`")
        if any("{label}" not in pattern for pattern in self.masks):
            raise ValueError(f"a pattern of masks names {{label}}: {self.masks}")
        others = (self.one_hot, self.values, self.nonzero_is is not None, self.key, self.plane is not None)
        if self.page_tag is not None and (not self.path or any(others)):
            raise ValueError("`page_tag` goes with `path`, without `one_hot`, `values`, `nonzero_is`, `key` and `plane`")
        return self

    @model_validator(mode="after")
    def _colours_are_apart(self) -> Self:
        others = (self.masks, self.dicom, self.page_tag, self.one_hot, self.values, self.nonzero_is, self.at_least)
        if self.colours and any(other not in (None, (), {}, False) for other in others):
            raise ValueError("`colours` goes with `path` alone, without another way of saying what the values mean")
        if len(set(self.colours.values())) < len(self.colours):
            raise ValueError(f"each label of `colours` has a colour of its own, not {self.colours}")
        return self

    @property
    def in_parts(self) -> bool:
        """Whether it is put together of binary masks."""
        return bool(self.masks) or self.one_hot or self.page_tag is not None

    @model_validator(mode="after")
    def _of_a_series(self) -> Self:
        if not self.dicom and (self.kind or self.structures or self.others != "error"):
            raise ValueError("`kind`, `structures` and `others` go with `dicom`")
        if self.dicom and not (self.kind and self.of):
            raise ValueError("a label map from `dicom` says which `kind` it is and `of` which series")
        if self.dicom and (self.one_hot or self.values or self.key or self.plane is not None):
            raise ValueError("`one_hot`, `values`, `key` and `plane` do not go with `dicom`")
        return self


class LandmarkPair(Part):
    """Two landmarks stored as two voxels of one value.

    Attributes:
        points: Their names; the first is the one further along `along`.
        along: R, A or S (or L, P, I): the direction in the patient that tells them apart.
    """

    points: tuple[str, str]
    along: Literal["R", "L", "A", "P", "S", "I"]


class LandmarksSource(Part):
    """The file landmarks are read from.

    Attributes:
        path: Pattern under the raw folder.
        of: The series they were set on.
        reader: `xy_lines`: one `x,y` in pixels per line, in order of the spec's landmarks, anything behind them left;
            `label_pairs`: a label map with two voxels per value.
        pairs: Value -> the two landmarks, for `label_pairs`.
        transform: Pattern of an ITK transform from the space of the landmark file to that of the series.
        exclude: Subject -> why its landmarks are not used.
    """

    path: Patterns
    of: str
    reader: Literal["xy_lines", "label_pairs"]
    pairs: dict[int, LandmarkPair] = Field(default_factory=dict)
    transform: Patterns = ()
    exclude: dict[str, str] = Field(default_factory=dict)

    @property
    def patterns(self) -> tuple[str, ...]:
        """Every pattern that claims a landmark file."""
        return self.path


class Listing(Part):
    """The dataset's own list of its subjects.

    Attributes:
        file: A JSON file under the raw folder.
        each: Where the values stand, e.g. `[].case_id` or `training[].image`; the subject pattern is searched in each value.
    """

    file: Inside
    each: str


class ScanNames(Part):
    """Better names for scans, from a file of `key: value` lines that each subject has.

    Attributes:
        file: Pattern with `{subject}`.
        keys: Key -> the name of the scan that the value points to.
        scan: How a scan is called in the file names, with `{value}`: `frame{value:02d}`.
    """

    file: Inside
    keys: dict[str, str]
    scan: str


def _series_from_yaml(value: object) -> object:
    """`{name: path}`, `{name: {path: ...}}`, or `{path: ..., split_last_axis: [names]}` for one file with channels."""
    if not isinstance(value, Mapping):
        return value
    if "split_last_axis" in value:
        names = value["split_last_axis"]
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"`split_last_axis` lists names of series, such as [flair, t1w], not {names!r}")
        common = {k: v for k, v in value.items() if k != "split_last_axis"}
        return {name: {**common, "channel": n, "channels": len(names)} for n, name in enumerate(names)}
    return spelled_out(value, "path")


class RawLayout(Part):
    """Which raw file is what.

    Attributes:
        subject: Regular expression of a subject's name: a person, never a scan.
        scan: Regular expression of a scan's name; None where every subject has one.
        scan_names: Better names for the scans.
        roots: What `{root}` reads in the patterns; a scan found under a later root replaces that of an earlier one.
        fields: Further fields of the patterns -> their regular expressions; they are kept with the scan.
        tags: Further fields that templates may name -> DICOM keyword of the element whose value they have.
        rows: Pattern of Parquet tables -> columns with pictures, each of which counts as a file `<table>/<column>/<row>/<name>`.
        series: Series name -> file.
        labels: Label map name -> file or files.
        landmarks: Landmark set name -> file.
        unlabelled: Whether a scan without its label maps is an error or left out.
        ignore: Pattern -> the reason why those files are not used.
        listing: The dataset's own list of subjects, if it has one.
    """

    subject: NameRegex
    scan: NameRegex | None = None
    scan_names: ScanNames | None = None
    roots: tuple[Inside, ...] = ()
    fields: dict[str, Regex] = Field(default_factory=dict)
    tags: dict[str, str] = Field(default_factory=dict)
    rows: dict[Inside, Names] = Field(default_factory=dict)
    series: Annotated[dict[str, SeriesSource], BeforeValidator(_series_from_yaml)]
    labels: Annotated[dict[str, LabelsSource], BeforeValidator(partial(spelled_out, field="path"))] = Field(default_factory=dict)
    landmarks: dict[str, LandmarksSource] = Field(default_factory=dict)
    unlabelled: Literal["error", "leave"] = "error"
    ignore: dict[Inside, str] = Field(default_factory=dict)
    listing: Listing | None = None

    @field_validator("fields", "tags")
    @classmethod
    def _fields_are_new(cls, value: dict[str, str]) -> dict[str, str]:
        taken = set(value) & {"subject", "scan", "root", "label"}
        if taken:
            raise ValueError(f"{sorted(taken)} have keys of their own in the layout")
        return value

    @model_validator(mode="after")
    def _fields_have_one_source(self) -> Self:
        if twice := set(self.fields) & set(self.tags):
            raise ValueError(f"{sorted(twice)} are read from paths and from headers; give one of each another name")
        return self

    @model_validator(mode="after")
    def _names_agree(self) -> Self:
        claimed: dict[str, tuple[str, ...]] = {
            **{name: source.patterns for name, source in self.series.items()},
            **{name: source.patterns for name, source in self.labels.items()},
            **{name: source.patterns for name, source in self.landmarks.items()},
        }
        for name, patterns in claimed.items():
            if not patterns:
                raise ValueError(f"{name} has no path")
            for pattern in patterns:
                if "{subject}" not in pattern:
                    raise ValueError(f"the path of {name} has no {{subject}}: {pattern}")
                if ("{scan}" in pattern) != (self.scan is not None):
                    raise ValueError(f"the path of {name} and `scan` must both name the scan or neither: {pattern}")
                if "{root}" in pattern and not self.roots:
                    raise ValueError(f"the path of {name} names {{root}}, but the layout has no `roots`: {pattern}")
        for name, labels in self.labels.items():
            _require_known(f"label map {name} is `of` series", labels.of or (), self.series)
        for name, series in self.series.items():
            _require_known(f"series {name} has the grid of label maps", (series.grid_of,) if series.grid_of else (), self.labels)
        for name, landmarks in self.landmarks.items():
            _require_known(f"landmark set {name} is `of` series", (landmarks.of,), self.series)
        return self

    @model_validator(mode="after")
    def _sources_differ(self) -> Self:
        """Two series of one pattern would each publish the images of both, or one would take the files of the other."""
        for sources in (self.series, self.labels):
            known: dict[str, str] = {}
            for name, source in sources.items():
                read = source.model_dump_json(exclude={"required", "description", "of", "absent"})
                if (other := known.setdefault(read, name)) != name:
                    raise ValueError(
                        f"{other} and {name} read the same of the same files ({', '.join(source.patterns)}); leave one"
                    )
        return self

    @model_validator(mode="after")
    def _fields_are_known(self) -> Self:
        known = {"subject", "scan", "root", "label", *self.fields}
        claiming = [text for files in (self.series, self.labels) for source in files.values() for text in source.patterns]
        claiming += [text for source in self.landmarks.values() for text in source.path + source.transform]
        for text in (*claiming, *self.ignore, *self.rows):
            if strange := fields_of(text) - known:
                raise ValueError(f"{text} names {strange}; say under `fields` what is read there, or name one of {sorted(known)}")
        return self


def _require_known(who: str, names: tuple[str, ...], known: Mapping[str, object]) -> None:
    strangers = set(names) - set(known)
    if strangers:
        raise ValueError(f"{who} that are not declared: {sorted(strangers)}")
