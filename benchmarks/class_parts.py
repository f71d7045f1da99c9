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


def same_parts(one: Mapping[str, str], two: Mapping[str, str], enough: float) -> bool:
    """Whether two tellings put the same images together.

    Args:
        one: Image -> class.
        two: The same images under classes that may be called otherwise.
        enough: Share of the images of either that both must tell a class of.
    """
    both = one.keys() & two.keys()
    if not both or len(both) < enough * len(one.keys() | two.keys()):
        return False
    names = {(one[image], two[image]) for image in both}
    counts = [len({pair[side] for pair in names}) for side in (0, 1)]
    return counts == [len(names)] * 2 and len(names) > 1
