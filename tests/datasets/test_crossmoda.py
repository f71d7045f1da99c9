from __future__ import annotations

from pathlib import Path

from tests.datasets.built import build, check_built, check_found, check_label, check_lesion_axes, make


def test_only_the_source_domain_is_used(tmp_path: Path) -> None:
    miniature = make("crossmoda", tmp_path)
    assert list(miniature.made) == ["crossmoda_1", "crossmoda_2", "crossmoda_10"]
    check_found(
        miniature,
        {
            "crossmoda_training/target_training/crossmoda_106_hrT2.nii.gz": "target domain",
            "crossmoda_validation/target_validation/crossmoda_211_hrT2.nii.gz": "target domain",
        },
    )


def test_it_is_found_without_the_folder_of_the_archive(tmp_path: Path) -> None:
    miniature = make("crossmoda", tmp_path)
    for folder in (miniature.raw_root / "crossmoda_training").iterdir():
        folder.rename(miniature.raw_root / folder.name)
    tree = miniature.tree()
    assert tree.findings == ()
    assert list(tree.subjects) == list(miniature.made)


def test_it_is_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("crossmoda", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        check_lesion_axes(built, subject, made.only_scan, 1)
        for label in (1, 2):
            check_label(built, subject, made.only_scan, label)
