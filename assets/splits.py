"""Divides subjects into train and test, by person, without regard to order.

A group of subjects known to be the same person goes to test when a hash of (seed, pool, group) falls below the test share, so
that adding subjects never moves others, and datasets of one pool of people (`people.pool` in the spec, else the dataset alone)
put the same person on the same side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import polars as pl

from assets.raw import natural_key
from assets.spec import DatasetSpec
from assets.tables import SPLITS, frame
from resources.findings import Code, Finding, finding


def position(seed: int, pool: str, group: str) -> float:
    """Where a group falls in [0, 1): BLAKE2b-64 of seed, pool of people and group, as a fraction."""
    digest = blake2b("\0".join([str(seed), pool, group]).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def split_subjects(
    spec: DatasetSpec,
    subjects: Sequence[str],
    people: Mapping[str, str] | None = None,
    official: Mapping[str, str] | None = None,
    *,
    synthetic: bool = False,
) -> tuple[pl.DataFrame, list[Finding]]:
    """The `splits` table and what is worth saying about it.

    Args:
        spec: Gives the seed, the test share, and whether the official split is followed.
        subjects: All published subjects.
        people: Subject -> the person, by a name that the whole pool of datasets uses; a subject alone is its own person.
        official: Subject -> the split its authors put it in.
        synthetic: Whether the data are made up.

    Returns:
        One row per subject, and findings: a split would have been empty, a person was in two official splits.
    """
    official = official or {}
    group_of = {subject: (people or {}).get(subject, subject) for subject in subjects}
    followed = spec.split.official is not None and spec.split.official.follow
    chosen = _follow(spec, group_of, official) if followed else _draw(spec, sorted(set(group_of.values())))
    rows = [
        {
            "dataset": spec.slug,
            "subject": subject,
            "group": group_of[subject],
            "split": "test" if group_of[subject] in chosen.test else "train",
            "official_split": official.get(subject),
            "reason": chosen.reasons[group_of[subject]],
            "synthetic": synthetic,
        }
        for subject in sorted(subjects, key=natural_key)
    ]
    return frame(SPLITS, rows), chosen.findings


@dataclass
class _Chosen:
    """The groups of the test split, and why each group is where it is."""

    test: set[str]
    reasons: dict[str, str]
    findings: list[Finding]


def _draw(spec: DatasetSpec, groups: Sequence[str]) -> _Chosen:
    """By the hash; where that leaves a split empty, the group with the nearest hash joins it."""
    at = {group: position(spec.split.seed, spec.people_pool, group) for group in groups}
    test = {group for group, place in at.items() if place < spec.split.test_share}
    share = f"the hash of the group falls {{}} the test share {spec.split.test_share}"
    reasons = {group: share.format("below" if group in test else "above") for group in at}
    findings: list[Finding] = []
    if len(at) > 1 and (not test or len(test) == len(at)):
        moved = min(at, key=lambda g: at[g]) if not test else max(at, key=lambda g: at[g])
        empty = "train" if moved in test else "test"
        test ^= {moved}
        reasons[moved] = f"{empty} would have been empty; this group's hash is the nearest to the test share"
        findings.append(finding(Code.SPLIT_SHARE, f"{reasons[moved]}: {moved} (of {len(at)} groups)"))
    return _Chosen(test, reasons, findings)


def _follow(spec: DatasetSpec, group_of: Mapping[str, str], official: Mapping[str, str]) -> _Chosen:
    """As published; whom the authors did not name is drawn, and a person they put on both sides is tested on."""
    tested = spec.split.official.test if spec.split.official else ()
    sides: dict[str, set[str]] = {}
    for subject, group in group_of.items():
        if subject in official:
            sides.setdefault(group, set()).add("test" if official[subject] in tested else "train")
    drawn = _draw(spec, sorted(set(group_of.values()) - set(sides)))
    split = sorted(group for group, both in sides.items() if len(both) > 1)
    if split:
        detail = f"{len(split)} people are on both sides of the official split; they are tested on: {', '.join(split[:10])}"
        drawn.findings.append(finding(Code.SPLIT_SHARE, detail))
    reasons = dict.fromkeys(sides, "the official split")
    test = {group for group, both in sides.items() if "test" in both}
    return _Chosen(test | drawn.test, reasons | drawn.reasons, drawn.findings)
