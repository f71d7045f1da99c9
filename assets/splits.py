"""Divides subjects into train and test, by person, without regard to order.

A group of subjects known to be the same person, or that have an image in common, goes to test when a hash of (seed, pool, group)
falls below the test share, so that adding subjects never moves others, and datasets of one pool of people (`people.pool` in the
spec, else the dataset alone) put the same person on the same side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import polars as pl

from assets.people import few
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
    sharing: Sequence[Sequence[str]] = (),
    *,
    synthetic: bool = False,
) -> tuple[pl.DataFrame, list[Finding]]:
    """The `splits` table and what is worth saying about it.

    Args:
        spec: Gives the seed, the test share, and whether the official split is followed.
        subjects: All published subjects.
        people: Subject -> the person, by a name that the whole pool of datasets uses; a subject alone is its own person.
        official: Subject -> the split its authors put it in.
        sharing: Subjects that have an image in common, a sequence of them for every such image.
        synthetic: Whether the data are made up.

    Returns:
        One row per subject, and findings: a split would have been empty, a person or an image was in two official splits.
    """
    official = official or {}
    person_of = {subject: (people or {}).get(subject, subject) for subject in subjects}
    followed = spec.split.official is not None and spec.split.official.follow
    links = [[subject for subject in link if subject in person_of] for link in sharing]
    joined = _join(person_of, links, _sides(spec, person_of, official) if followed else {})
    group_of = {subject: joined[person] for subject, person in person_of.items()}
    together = _why_together(person_of, group_of)
    chosen = _follow(spec, group_of, official) if followed else _draw(spec, sorted(set(group_of.values())))
    rows = [
        {
            "dataset": spec.slug,
            "subject": subject,
            "group": group_of[subject],
            "split": "test" if group_of[subject] in chosen.test else "train",
            "official_split": official.get(subject),
            "reason": chosen.reasons[group_of[subject]] + together.get(group_of[subject], ""),
            "synthetic": synthetic,
        }
        for subject in sorted(subjects, key=natural_key)
    ]
    return frame(SPLITS, rows), chosen.findings + _images_on_both_sides(spec, links, official)


def _join(person_of: Mapping[str, str], links: Sequence[Sequence[str]], sides: Mapping[str, set[str]]) -> dict[str, str]:
    """Person -> the group: people whose subjects have an image in common, directly or through others, are one group.

    It is called by the first of its people in natural order, so that nobody else's place depends on it. `sides` are those of an
    official split that is followed: people it puts on different sides stay apart, as their authors want it.
    """
    group = {person: person for person in person_of.values()}
    side = {person: "test" if "test" in both else "train" for person, both in sides.items()}
    for link in links:
        roots = sorted({_root(group, person_of[subject]) for subject in link}, key=natural_key)
        for members in _that_may_join(roots, side):
            first = min(members, key=natural_key)
            group |= dict.fromkeys(members, first)
            if members[0] in side:
                side[first] = side[members[0]]
    return {person: _root(group, person) for person in group}


def _that_may_join(roots: Sequence[str], side: Mapping[str, str]) -> list[list[str]]:
    """All of them; or those of each side apart, and who is on neither goes, last, with the test side if there is one."""
    tested, trained, unnamed = ([root for root in roots if side.get(root) == which] for which in ("test", "train", None))
    parts = [[*tested, *unnamed], trained] if tested else [[*trained, *unnamed]]
    return [part for part in parts if part]


def _root(group: Mapping[str, str], person: str) -> str:
    while group[person] != person:
        person = group[person]
    return person


def _why_together(person_of: Mapping[str, str], group_of: Mapping[str, str]) -> dict[str, str]:
    """Group -> words on why it is more than one person; nothing where it is not."""
    members: dict[str, list[str]] = {}
    for subject in sorted(group_of, key=natural_key):
        members.setdefault(group_of[subject], []).append(subject)
    several = {group: who for group, who in members.items() if len({person_of[subject] for subject in who}) > 1}
    return {group: f"; one group, because images are the same: {few(who)}" for group, who in several.items()}


def _sides(spec: DatasetSpec, group_of: Mapping[str, str], official: Mapping[str, str]) -> dict[str, set[str]]:
    """Group -> the sides of the official split that its subjects are on; groups that it does not name are left out."""
    sides: dict[str, set[str]] = {}
    for subject, group in group_of.items():
        if subject in official:
            sides.setdefault(group, set()).add(_side(spec, official[subject]))
    return sides


def _side(spec: DatasetSpec, official: str) -> str:
    return "test" if spec.split.official is not None and official in spec.split.official.test else "train"


def _images_on_both_sides(
    spec: DatasetSpec, links: Sequence[Sequence[str]], official: Mapping[str, str]
) -> list[Finding]:  # fmt: skip
    """What the official split would leak, whether it is followed or not."""
    named = [[subject for subject in link if subject in official] for link in links]
    leaks = [link for link in named if len({_side(spec, official[subject]) for subject in link}) > 1]
    if not leaks:
        return []
    who = "; ".join(few([f"{subject} ({official[subject]})" for subject in link]) for link in leaks[:5])
    detail = f"subjects with the same image are on both sides of the official split: {who}"
    return [finding(Code.SAME_IMAGE_TWICE, detail + (f"; and {len(leaks) - 5} more" if len(leaks) > 5 else ""))]


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
    sides = _sides(spec, group_of, official)
    drawn = _draw(spec, sorted(set(group_of.values()) - set(sides)))
    split = sorted(group for group, both in sides.items() if len(both) > 1)
    if split:
        detail = f"{len(split)} people are on both sides of the official split; they are tested on: {', '.join(split[:10])}"
        drawn.findings.append(finding(Code.SPLIT_SHARE, detail))
    reasons = dict.fromkeys(sides, "the official split")
    test = {group for group, both in sides.items() if "test" in both}
    return _Chosen(test | drawn.test, reasons | drawn.reasons, drawn.findings)
