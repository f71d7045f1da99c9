from __future__ import annotations

import json
import shutil
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from resources.findings import Code
from tests.datasets.built import CATALOG, Miniature, build, check_built, check_found, check_label, make

TASKS = {slug: spec.layout.fields["task"] for slug, spec in CATALOG.items() if slug.startswith("msd_")}
INSIDE = {"msd_brain_tumour": [2, 3], "msd_liver": [2], "msd_prostate": [2], "msd_pancreas": [2]}
"""Labels drawn inside the first one."""


def ignored(miniature: Miniature) -> dict[str, str]:
    task = TASKS[miniature.spec.slug]
    tests = [p for p in (miniature.raw_root / task / "imagesTs").iterdir() if not p.name.startswith("._")]
    twins = miniature.raw_root.rglob("._*")
    return {
        f"{task}/dataset.json": "list of subjects",
        **{miniature.path(p): "labels are not published" for p in tests},
        **{miniature.path(p): "macOS" for p in twins},
    }


def test_all_ten_tasks_are_in_the_catalog() -> None:
    assert sorted(int(task[4:6]) for task in TASKS.values()) == list(range(1, 11))


@pytest.mark.parametrize("slug", TASKS)
def test_a_task_is_found_as_made(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    expected = ignored(miniature)
    assert len(expected) == 1 + 1 + (2 * 3 + 1)
    check_found(miniature, expected)


@pytest.mark.parametrize("slug", TASKS)
def test_listed_subjects_that_are_not_there_are_told(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    gone = list(miniature.made)[1]
    for path in miniature.raw_root.rglob(f"*{gone}.nii.gz"):
        path.unlink()
    (told,) = miniature.tree().findings
    assert told.code is Code.LISTED_BUT_ABSENT
    assert told.file == f"{TASKS[slug]}/dataset.json"
    assert gone in told.detail


@pytest.mark.parametrize("slug", sorted(TASKS.keys() - {"msd_hippocampus"}))
def test_a_task_is_built_as_drawn(slug: str, tmp_path: Path) -> None:
    miniature = make(slug, tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    subject = list(miniature.made)[-1]
    scan = miniature.made[subject].only_scan
    for label in miniature.spec.labels:
        holes = INSIDE.get(slug, []) if label == 1 else []
        check_label(built, subject, scan, label, holes=holes)


def test_hippocampi_are_built_as_drawn(tmp_path: Path) -> None:
    miniature = make("msd_hippocampus", tmp_path)
    built = build(miniature.spec, tmp_path)
    check_built(built, miniature.made)
    for subject, made in miniature.made.items():
        check_label(built, subject, made.only_scan, 1)


@pytest.mark.parametrize(
    ("slug", "series"), [("msd_brain_tumour", ["flair", "t1w", "t1gd", "t2w"]), ("msd_prostate", ["t2w", "adc"])]
)
def test_the_fourth_axis_becomes_series_in_its_order(slug: str, series: list[str], tmp_path: Path) -> None:
    miniature = make(slug, tmp_path, n=1)
    built = build(miniature.spec, tmp_path)
    ((subject, made),) = miniature.made.items()
    listing = json.loads((miniature.raw_root / TASKS[slug] / "dataset.json").read_text())
    assert [name.lower() for name in listing["modality"].values()] == [
        {"t2w": "t2"}.get(s, s) if len(series) == 2 else s for s in series
    ]
    stored = nib.load(next(iter(made.only_scan.series.values())))
    voxels = np.asarray(nib.as_closest_canonical(stored).dataobj)
    assert voxels.shape[3] == len(series)
    for channel, name in enumerate(series):
        np.testing.assert_array_equal(built.voxels(subject, "image", "0", name), voxels[..., channel])
        assert channel == 0 or (voxels[..., channel] != voxels[..., 0]).any()


def test_lesion_sizes_are_those_of_the_central_sections(tmp_path: Path) -> None:
    miniature = make("msd_lung", tmp_path, n=1)
    built = build(miniature.spec, tmp_path)
    ((subject, made),) = miniature.made.items()
    (shape,) = made.only_scan.of_label(1)
    sizes = built.rows("lesion_sizes", subject)
    for axis, plane in enumerate(("sagittal", "coronal", "axial")):
        largest = sizes.filter(plane=plane).sort("pixel_count")["major_mm", "minor_mm"].row(-1)
        whole = shape.section_axes_mm(tuple(float(n == axis) for n in range(3)))  # type: ignore[arg-type]
        assert largest == pytest.approx(whole, rel=0.03)


@pytest.mark.parametrize("n", [4])
def test_real_hippocampi_are_found_and_built(shared_data: Path, tmp_path: Path, n: int) -> None:
    source = shared_data / "layouts" / "MSD" / "Task04_Hippocampus"
    target = tmp_path / "raw" / "msd_hippocampus" / source.name
    names = [p.name for p in sorted((source / "labelsTr").iterdir())[:n]]
    for folder in ("imagesTr", "labelsTr"):
        (target / folder).mkdir(parents=True)
        for name in names:
            shutil.copyfile(source / folder / name, target / folder / name)
    shutil.copyfile(source / "dataset.json", target / "dataset.json")
    built = build(CATALOG["msd_hippocampus"], tmp_path)
    assert [f.code for f in built.survey.tree.findings] == [Code.LISTED_BUT_ABSENT]
    for name in names:
        subject = name.removesuffix(".nii.gz")
        assert built.manifests[subject].state == "published"
        labels = np.asarray(nib.as_closest_canonical(nib.load(source / "labelsTr" / name)).dataobj)
        np.testing.assert_array_equal(built.voxels(subject, "labels", "0", "t1w"), labels)
