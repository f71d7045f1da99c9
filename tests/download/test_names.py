from __future__ import annotations

import os
import unicodedata
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resources.download.names import Names, UnsafeNameError, safe_path


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a/b.nii.gz", "a/b.nii.gz"), ("./a//b/./c", "a/b/c"), ("a/", "a"), ("./", ""), ("", ""), ("a\\b.txt", "a/b.txt"),
        ("...", "..."), ("..a/b..", "..a/b.."), ("sub ject/ä (1).nii", "sub ject/ä (1).nii"), ("数据/1.dcm", "数据/1.dcm"),
        ("x" * 255, "x" * 255),
    ],
)  # fmt: skip
def test_honest_names_are_kept(name: str, path: str) -> None:
    assert safe_path(name) == path


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("../evil", "leads out"), ("a/../../evil", "leads out"), ("a/..", "leads out"), ("..\\evil", "leads out"),
        ("a\\..\\..\\evil", "leads out"), ("/etc/passwd", "absolute"), ("\\\\host\\share", "absolute"), ("//x", "absolute"),
        ("C:\\evil", "drive"), ("c:evil", "drive"), ("a/D:/x", "drive"), ("a\0b", "control"), ("a\nb", "control"),
        ("a\x7fb", "control"), ("a\x85b", "control"), ("gpj\u202egif", "invisible"), ("a\u200bb", "invisible"),
        ("\ufeffa", "invisible"), ("a\u2028b", "line separator"), ("a\u2029b", "paragraph separator"), ("a\udcffb", "not UTF-8"),
        ("x" * 256, "256 bytes"), ("ä" * 128, "256 bytes"), ("a/" * 65 + "b", "66 folders deep"),
        ("/".join(["x" * 250] * 5), "bytes long"),
    ],
)  # fmt: skip
def test_dangerous_names_are_refused(name: str, why: str) -> None:
    with pytest.raises(UnsafeNameError, match=why):
        safe_path(name)


_LETTERS = st.sampled_from([*"./\\:abC~-\0\n ä", "é", "e\u0301", "\u202e", "\udc80"]) | st.characters()


@given(st.lists(_LETTERS, max_size=40).map("".join))
def test_a_name_that_is_let_through_stays_in_its_folder(name: str) -> None:
    try:
        path = safe_path(name)
    except UnsafeNameError:
        return
    root = Path("/data/raw")
    assert os.path.normpath(root / path).startswith(str(root))
    assert not PureWindowsPath(path).drive
    assert not PureWindowsPath(path).is_absolute()
    assert not PurePosixPath(path).is_absolute()
    assert ".." not in PurePosixPath(path).parts
    assert "\\" not in path
    path.encode()
    assert safe_path(path) == path


@given(st.lists(st.lists(_LETTERS, min_size=1, max_size=6).map("".join), max_size=12))
def test_names_that_are_let_through_together_are_different_files_on_every_disk(names: list[str]) -> None:
    known, kept = Names(), []
    for name in names:
        try:
            if path := safe_path(name):
                known.add_file(path)
                kept.append(path)
        except UnsafeNameError:
            continue
    for shape in ("NFC", "NFD"):
        folded = [unicodedata.normalize(shape, path).casefold() for path in kept]
        assert len(set(folded)) == len(kept)
    for one in kept:
        assert not any(other.startswith(f"{one}/") for other in kept)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a", "a"), ("a", "A"), ("Scan.nii", "scan.NII"), ("é", "e\u0301"), ("straße", "STRASSE"), ("a/b", "A/c"), ("a", "a/b"),
        ("a/b", "a"), ("ﬁle", "file"),
    ],
)  # fmt: skip
def test_names_that_are_one_on_some_disks_are_refused(first: str, second: str) -> None:
    names = Names()
    names.add_file(first)
    with pytest.raises(UnsafeNameError):
        names.add_file(second)


def test_folders_may_be_named_often() -> None:
    names = Names()
    names.add_folder("a/b")
    names.add_folder("a/b")
    names.add_folder("a")
    names.add_file("a/b/c")
    with pytest.raises(UnsafeNameError, match="both a file and a folder"):
        names.add_file("a/b")
    with pytest.raises(UnsafeNameError, match="both a file and a folder"):
        names.add_folder("a/b/c")
    with pytest.raises(UnsafeNameError, match="one name on some disks"):
        names.add_folder("a/B")
