"""Divides subjects into train and test, by person, without regard to order.

A group of subjects known to be the same person goes to test when a hash of (seed, dataset, group) falls below the test share, so
that adding subjects never moves others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b

import polars as pl

from assets.raw import natural_key
from assets.spec import DatasetSpec
from assets.tables import SPLITS, frame
from resources.findings import Code, Finding, finding


def position(seed: int, dataset: str, group: str) -> float:
    """Where a group falls in [0, 1): BLAKE2b-64 of seed, dataset and group, as a fraction."""
    digest = blake2b("\0".join([str(seed), dataset, group]).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def split_subjects(
    spec: DatasetSpec, subjects: Sequence[str], groups: Mapping[str, str] | None = None, *, synthetic: bool = False
) -> tuple[pl.DataFrame, list[Finding]]:
    """The `splits` table and what is worth saying about it.

    Args:
        spec: Gives the seed and the test share.
        subjects: All published subjects.
        groups: Subject -> name of the group of subjects that are the same person; a subject alone is its own group.
        synthetic: Whether the data are made up.

    Returns:
        One row per subject, and a finding when a split would have been empty and the nearest group was moved into it.
    """
    group_of = {subject: (groups or {}).get(subject, subject) for subject in subjects}
    at = {group: position(spec.split.seed, spec.slug, group) for group in sorted(set(group_of.values()))}
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
    rows = [
        {
            "dataset": spec.slug,
            "subject": subject,
            "group": group_of[subject],
            "split": "test" if group_of[subject] in test else "train",
            "official_split": None,
            "reason": reasons[group_of[subject]],
            "synthetic": synthetic,
        }
        for subject in sorted(subjects, key=natural_key)
    ]
    return frame(SPLITS, rows), findings
