"""Which annotation answers which sample: by source first, by number where no source fits.

The ground truths say `match_annotations_to_gt: by_index`; the evaluator's code does not obey it, and neither do we.
"""

from __future__ import annotations

from dataclasses import dataclass

from assets.benchmark.mdsbench.files import Folder
from assets.benchmark.mdsbench.record import take_apart
from assets.benchmark.mdsbench.sources import main_stem
from assets.benchmark.mdsbench.stems import stem
from assets.benchmark.mdsbench.truth import GroundTruth, TruthSample


@dataclass(frozen=True)
class Pairing:
    """Annotations by sample.

    Attributes:
        annotation_of: Sample index -> name of its annotation; samples without one are absent.
        unused: Annotations no sample took.
    """

    annotation_of: dict[str, str]
    unused: tuple[str, ...]


def pair(truth: GroundTruth, folder: Folder) -> Pairing:
    """Give every sample, in order, the lowest-numbered annotation that is still free and names its source.

    Where none does, the annotation with the sample's own number is taken, if it is free.
    """
    names = folder.annotations()
    by_stem: dict[str, list[str]] = {}
    for name in names:
        read = folder.annotation(name)
        key = main_stem(take_apart(read.value)) if read.value is not None else ""
        if key:
            by_stem.setdefault(key, []).append(name)
    order = {name: position for position, name in enumerate(names)}
    free, taken = set(names), {}
    for sample in truth.samples:
        choice = _choose(sample, by_stem, free, order)
        if choice is not None:
            taken[sample.index] = choice
            free.remove(choice)
    return Pairing(taken, tuple(name for name in names if name in free))


def _choose(sample: TruthSample, by_stem: dict[str, list[str]], free: set[str], order: dict[str, int]) -> str | None:
    stems = {stem(source) for source in sample.sources} - {""}
    candidates = {name for key in stems for name in by_stem.get(key, []) if name in free}
    if candidates:
        return min(candidates, key=order.__getitem__)
    return sample.index if sample.index in free else None
