from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.layout import Layout, is_product, labels_path, manifest_path, safe_name, scan_path, subject_table_path


@pytest.mark.parametrize("name", ["case_00000", "BraTS-GLI-00002-000", "sub-01", "sub-20230101", "0", "1.2.840.1.3", "a" * 100])
def test_a_plain_identifier_is_kept(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../evil", "a/b", "a\\b", ".hidden", "-rf", "a b", "ä", "x.json", "x.PARQUET", "x.ome.zarr", "x.", "labels",
     "line\nbreak", "nul\0", "a" * 101, "a-1234abcd", "\udce4"],
)  # fmt: skip
def test_an_odd_identifier_becomes_one_harmless_path_part(name: str) -> None:
    made = safe_name(name)
    assert made != name
    assert PurePosixPath(made).parts == (made,)
    assert len(made) <= 100
    assert made.isascii()
    assert made[0].isalnum()


def test_identifiers_that_reduce_to_the_same_letters_stay_apart() -> None:
    names = ["a b", "a/b", "a_b", "a-b", "a\tb", "a  b", "å b", "a\u0301b", "\u00e1b"]
    assert len({safe_name(n) for n in names}) == len(names)


@given(st.lists(st.text(max_size=12) | st.from_regex(r"[a-c]-[0-9a-f]{8}", fullmatch=True), min_size=2, max_size=30, unique=True))
def test_names_are_injective(names: list[str]) -> None:
    assert len({safe_name(n) for n in names}) == len(names)


@given(st.text(max_size=20))
def test_a_made_name_is_never_that_of_a_kept_identifier(text: str) -> None:
    made = safe_name(text)
    assert made == text or safe_name(made) != made


@given(st.text(max_size=20), st.text(max_size=20))
def test_paths_stay_inside_the_products_folder(subject: str, scan: str) -> None:
    for path in (scan_path(subject, scan), labels_path(subject, scan, scan, subject), manifest_path(subject)):
        assert ".." not in PurePosixPath(path).parts
        assert not PurePosixPath(path).is_absolute()
        assert is_product(path + "/0" if path.endswith("zarr") else path)


def test_the_root_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEDFOUNDRY_DATA", str(tmp_path / "elsewhere"))
    assert Layout.from_environment().raw("kits23") == tmp_path / "elsewhere" / "raw" / "kits23"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEDFOUNDRY_DATA", "~/x")
    assert Layout.from_environment().root == tmp_path / "home" / "x"
    monkeypatch.delenv("MEDFOUNDRY_DATA")
    monkeypatch.chdir(tmp_path)
    assert Layout.from_environment().products("kits23") == tmp_path / "data" / "products" / "kits23"


@pytest.mark.parametrize(
    ("path", "ours"),
    [(subject_table_path("boxes", "s"), True), ("boxes.parquet", True), (".dataset.json.7.tmp", True), ("previews/s.png", True),
     ("records/images/1.png", True), ("report/index.html", False), ("dataset.json", False), ("notes.txt", False)],
)  # fmt: skip
def test_only_what_the_store_writes_is_its_own_to_remove(path: str, *, ours: bool) -> None:
    assert is_product(path) is ours
