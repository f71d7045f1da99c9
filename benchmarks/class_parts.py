"""Which images belong to one class, whatever the class is called: folders often show the parts and not their names."""

from __future__ import annotations

from collections.abc import Mapping

from assets.classes import classes_table
from assets.raw import RawTree
from assets.spec import DatasetSpec
from resources.readers.dicom.tags import read_tag


def classes_of(spec: DatasetSpec, tree: RawTree) -> dict[str, str]:
    """Image file -> name of its class, by the spec; without the images of which it tells none."""
    table, _ = classes_table(spec, tree, set(tree.subjects), read_tag)
    told = {(row["subject"], row["scan"], row["series"]): row["class"] for row in table.iter_rows(named=True)}
    images = {
        (subject.subject, scan.scan, series): path
        for subject in tree.subjects.values()
        for scan in subject.scans
        for series, path in scan.series.items()
    }
    return {images[key]: name for key, name in told.items()}


def same_parts(true: Mapping[str, str], said: Mapping[str, str], enough: float) -> bool:
    """Whether two tellings put the same images together.

    Args:
        true: Image -> class.
        said: Image -> class, which may be called otherwise; more images may have one.
        enough: Share of the images that have a true class that must have one here.
    """
    both = true.keys() & said.keys()
    if not both or len(both) < enough * len(true):
        return False
    names = {(true[image], said[image]) for image in both}
    counts = [len({pair[side] for pair in names}) for side in (0, 1)]
    return counts == [len(names)] * 2 and len(names) > 1
