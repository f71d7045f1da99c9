from __future__ import annotations

from hashlib import blake2b

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from assets.spec import DatasetSpec, load_catalog
from assets.splits import position, split_subjects
from assets.tables import SPLITS
from resources.findings import Code

NAMES = st.lists(st.integers(0, 99_999).map(lambda n: f"case_{n:05d}"), unique=True, max_size=60)
SHARES = st.floats(0.01, 0.99)


KITS = load_catalog()["kits23"].model_dump(exclude_defaults=True) | {"mds": None}


def spec_with(share: float = 0.3, seed: int = 1024) -> DatasetSpec:
    content = KITS
    return DatasetSpec.model_validate({**content, "split": {"test_share": share, "seed": seed}})


def as_map(table: pl.DataFrame) -> dict[str, str]:
    return dict(table.select("subject", "split").iter_rows())


def test_the_position_is_the_documented_hash_as_a_fraction() -> None:
    whole = blake2b(b"1024\x00kits23\x00case_00000", digest_size=8).hexdigest()
    assert position(1024, "kits23", "case_00000") == int(whole, 16) / 16**16


def test_positions_are_spread_evenly() -> None:
    places = sorted(position(1024, "kits23", f"case_{n:05d}") for n in range(4000))
    furthest = max(abs(place - (n + 0.5) / 4000) for n, place in enumerate(places))
    assert furthest < 1.95 / 4000**0.5  # Kolmogorov-Smirnov at 0.1 %


@given(NAMES, SHARES, st.integers(0, 2**31))
def test_every_subject_is_in_exactly_one_split(names: list[str], share: float, seed: int) -> None:
    table, _ = split_subjects(spec_with(share, seed), names)
    assert dict(table.schema) == dict(pl.DataFrame(schema=dict(SPLITS)).schema)
    assert sorted(table["subject"]) == sorted(names)
    assert set(table["split"]) <= {"train", "test"}
    assert all(table["reason"])


@given(NAMES, st.randoms(use_true_random=False))
def test_the_order_of_the_subjects_does_not_matter(names: list[str], random: object) -> None:
    shuffled = list(names)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    table, findings = split_subjects(spec_with(), names)
    again, findings_again = split_subjects(spec_with(), shuffled)
    assert table.equals(again)
    assert findings == findings_again


@given(NAMES, NAMES, SHARES)
def test_adding_subjects_moves_no_other_but_the_one_that_filled_an_empty_split(
    names: list[str], more: list[str], share: float
) -> None:
    before, found = split_subjects(spec_with(share), names)
    after, found_after = split_subjects(spec_with(share), list(dict.fromkeys([*names, *more])))
    was, now = as_map(before), as_map(after)
    moved = {subject for subject in names if was[subject] != now[subject]}
    filled = {f.detail.split(": ", 1)[1].split(" ")[0] for f in (*found, *found_after)}
    assert moved <= filled
    if not found and not found_after and len(names) != 1:
        assert not moved


@given(NAMES, SHARES)
def test_the_share_decides_unless_a_split_would_be_empty(names: list[str], share: float) -> None:
    table, findings = split_subjects(spec_with(share), names)
    expected = {name: "test" if position(1024, "kits23", name) < share else "train" for name in names}
    different = {name for name, split in as_map(table).items() if split != expected[name]}
    one_sided = len(names) > 1 and len(set(expected.values())) == 1
    assert len(different) == len(findings) == one_sided
    if one_sided:
        (moved,) = different
        nearest = min(names, key=lambda name: abs(position(1024, "kits23", name) - share))
        assert moved == nearest
        assert findings[0].code is Code.SPLIT_SHARE
        assert moved in findings[0].detail
        assert set(as_map(table).values()) == {"train", "test"}


@given(NAMES, st.integers(1, 7), SHARES)
def test_subjects_that_are_one_person_stay_together(names: list[str], people: int, share: float) -> None:
    groups = {name: f"person_{int(name[5:]) % people}" for name in names if int(name[5:]) % 3}
    table, _ = split_subjects(spec_with(share), names, groups)
    assert table.group_by("group").agg(pl.col("split").n_unique())["split"].to_list() == [1] * table["group"].n_unique()
    for subject, group in table.select("subject", "group").iter_rows():
        assert group == groups.get(subject, subject)


def test_another_seed_or_dataset_is_another_split() -> None:
    names = [f"case_{n:05d}" for n in range(100)]
    one, other = (as_map(split_subjects(spec_with(seed=seed), names)[0]) for seed in (1024, 1025))
    assert one != other
    assert position(1, "a", "x") != position(1, "b", "x")


def test_no_subjects_make_an_empty_table() -> None:
    table, findings = split_subjects(spec_with(), [])
    assert table.height == 0
    assert findings == []


def test_two_datasets_of_one_pool_put_a_person_on_the_same_side() -> None:
    content = KITS
    one = DatasetSpec.model_validate({**content, "slug": "one", "people": {"pool": "clinic", "id": r"\d+$"}})
    two = DatasetSpec.model_validate({**content, "slug": "two", "people": {"pool": "clinic", "id": r"\d+$"}})
    first = {f"case_{n:05d}": f"{n:05d}" for n in range(200)}
    second = {f"img{n:05d}": f"{n:05d}" for n in range(200)}
    sides = [
        dict(split_subjects(spec, list(who), who)[0].select("group", "split").iter_rows())
        for spec, who in ((one, first), (two, second))
    ]
    assert sides[0] == sides[1]
    assert set(sides[0].values()) == {"train", "test"}


def test_all_of_a_person_is_on_one_side() -> None:
    who = {f"case_{n:05d}": f"person {n // 3}" for n in range(90)}
    table, _ = split_subjects(spec_with(), list(who), who)
    assert table.group_by("group").agg(pl.col("split").n_unique())["split"].to_list() == [1] * 30


def test_an_official_split_is_told_and_followed_only_when_the_spec_says_so() -> None:
    content = KITS
    official = {f"case_{n:05d}": "test" if n < 5 else "val" if n < 10 else "train" for n in range(40)}
    names = [*official, "case_00099"]
    for follow in (False, True):
        split = {"official": {"files": {"test": "test.txt"}, "follow": follow}}
        table, findings = split_subjects(DatasetSpec.model_validate({**content, "split": split}), names, official=official)
        told = dict(table.select("subject", "official_split").iter_rows())
        assert {s: told[s] for s in official} == official
        assert told["case_00099"] is None
        tested = {s for s, side in as_map(table).items() if side == "test" and s in official}
        assert (tested == {s for s, side in official.items() if side == "test"}) == follow
        assert findings == []


def test_a_person_on_both_sides_of_an_official_split_is_tested_on_and_told() -> None:
    content = KITS
    split = {"official": {"files": {"test": "test.txt"}, "follow": True}}
    who = {"case_00001": "a", "case_00002": "a", "case_00003": "b", "case_00004": "c"}
    official = {"case_00001": "train", "case_00002": "test", "case_00003": "train", "case_00004": "test"}
    table, findings = split_subjects(DatasetSpec.model_validate({**content, "split": split}), list(who), who, official)
    assert as_map(table) == {"case_00001": "test", "case_00002": "test", "case_00003": "train", "case_00004": "test"}
    assert [f.code for f in findings] == [Code.SPLIT_SHARE]


def groups_of(table: pl.DataFrame) -> dict[str, str]:
    return dict(table.select("subject", "group").iter_rows())


@given(NAMES.filter(bool), st.lists(st.lists(st.integers(0, 59), min_size=2, max_size=5), max_size=4), SHARES)
def test_subjects_that_share_an_image_stay_together_and_move_nobody_else(
    names: list[str], places: list[list[int]], share: float
) -> None:
    links = [[n % len(names) for n in link] for link in places]
    graph = np.zeros((len(names), len(names)))
    for link in links:
        graph[link[:-1], link[1:]] = 1
    _, part = connected_components(graph, directed=False)
    expected = {name: min(other for m, other in enumerate(names) if part[m] == part[n]) for n, name in enumerate(names)}
    table, findings = split_subjects(spec_with(share), names, sharing=[[names[n] for n in dict.fromkeys(link)] for link in links])
    alone, found_alone = split_subjects(spec_with(share), names)
    assert groups_of(table) == expected
    split, was = as_map(table), as_map(alone)
    assert all(split[name] == split[group] for name, group in expected.items())
    if not findings and not found_alone:
        assert all(split[name] == was[group] for name, group in expected.items())
    told = dict(table.select("subject", "reason").iter_rows())
    size = {group: sum(g == group for g in expected.values()) for group in expected.values()}
    assert all(("images are the same" in told[name]) == (size[group] > 1) for name, group in expected.items())


def test_the_words_say_who_shares_an_image_and_people_are_joined_whole() -> None:
    who = {"pt1": "x", "pt2": "x", "pt3": "y", "pt10": "z", "pt11": "z", "pt12": "w"}
    table, _ = split_subjects(spec_with(), list(who), who, sharing=[("pt2", "pt10"), ("pt3", "pt2")])
    assert groups_of(table) == {"pt1": "x", "pt2": "x", "pt3": "x", "pt10": "x", "pt11": "x", "pt12": "w"}
    reason = dict(table.select("subject", "reason").iter_rows())
    assert reason["pt11"].endswith("; one group, because images are the same: pt1, pt2, pt3, pt10, pt11")
    assert "images" not in reason["pt12"]


def test_what_two_official_splits_share_is_told_and_moves_only_where_they_are_not_followed() -> None:
    official = {"pt1": "train", "pt2": "test", "pt3": "train", "pt4": "test"}
    names = [*official, "pt5", "pt6", "pt7"]
    sharing = [("pt1", "pt2", "pt5"), ("pt3", "pt6")]
    for follow in (False, True):
        spec = DatasetSpec.model_validate({**KITS, "split": {"official": {"files": {"test": "test.txt"}, "follow": follow}}})
        table, findings = split_subjects(spec, names, official=official, sharing=sharing)
        split, group = as_map(table), groups_of(table)
        assert [f.code for f in findings] == [Code.SAME_IMAGE_TWICE]
        assert "pt1 (train), pt2 (test)" in findings[0].detail
        assert "pt3" not in findings[0].detail
        if follow:
            assert {name: split[name] for name in official} == official
            assert (split["pt5"], split["pt6"]) == ("test", "train")
            assert (group["pt1"], group["pt2"], group["pt5"], group["pt6"]) == ("pt1", "pt2", "pt2", "pt3")
        else:
            assert len({split[name] for name in sharing[0]}) == len({split[name] for name in sharing[1]}) == 1
