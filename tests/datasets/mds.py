"""What must hold of the miniature of every MDS-Bench dataset: files, pixels, label maps, classes and marked objects as made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from assets.classes import classes_table
from assets.objects import objects_table
from resources.readers.dicom.tags import read_tag
from resources.readers.registry import companions
from tests.data_makers import MadePicture, MadeSubject
from tests.datasets.built import Built, Miniature, build, check_found, make, reasons


def check(slug: str, root: Path) -> Built:
    """Make, find, build and compare a dataset of pictures; other scans are found alone."""
    miniature = make(slug, root)
    check_layout(miniature)
    check_told(miniature)
    built = build(miniature.spec, root)
    check_pictures(built, miniature)
    return built


def check_layout(miniature: Miniature) -> None:
    """Every made file is used as made, and there is a reason for every other one."""
    paths = {path.relative_to(miniature.raw_root).as_posix() for path in miniature.raw_root.rglob("*") if path.is_file()}
    used = [path for one in _used(miniature) for path in (one, *companions(one))]
    named = {miniature.path(path) for path in used}
    check_found(miniature, dict.fromkeys(paths - named, ""), also_used=named)


def _used(miniature: Miniature) -> Iterator[Path]:
    for made in miniature.made.values():
        for scan in made.scans:
            yield from scan.series.values()
            yield from (path for files in scan.labels.values() for path in files)


def pictures(made: Mapping[str, MadeSubject]) -> Iterator[tuple[str, MadePicture]]:
    """Every scan that is given by its pixels, and whose it is."""
    for name, one in made.items():
        yield from ((name, scan) for scan in one.scans if isinstance(scan, MadePicture))


def check_told(miniature: Miniature) -> None:
    """Classes and marked objects are those that were made, and nothing is said against their telling."""
    spec, tree = miniature.spec, miniature.tree()
    table, findings = classes_table(spec, tree, set(miniature.made), read_tag)
    told = {(row["subject"], row["scan"], row["series"]): row["class"] for row in table.to_dicts()}
    made = {
        (name, scan.scan, series): of_class
        for name, scan in pictures(miniature.made)
        for series, of_class in scan.classes.items()
    }
    assert told == made
    marks, more = objects_table(spec, tree, set(miniature.made))
    assert [str(f) for f in (*findings, *more)] == []
    found = [(row["subject"], row["scan"], row["label"], *row["min_px"], *row["max_px"]) for row in marks.to_dicts()]
    assert found == [(name, scan.scan, *mark) for name, scan in pictures(miniature.made) for mark in scan.objects]


def check_pictures(built: Built, miniature: Miniature) -> None:
    """Every subject is published; pixels and label maps are those that were written, one by one."""
    assert {s: m.state for s, m in built.manifests.items()} == dict.fromkeys(miniature.made, "published"), reasons(built)
    for name, scan in pictures(miniature.made):
        for series, pixels in scan.pixels.items():
            np.testing.assert_array_equal(built.voxels(name, "image", scan.scan, series), pixels)
        if scan.mask is not None:
            (row,) = built.rows("volumes", name).filter(kind="labels", scan=scan.scan).to_dicts()
            np.testing.assert_array_equal(built.voxels(name, "labels", scan.scan, row["series"]), scan.mask)
