"""Makes a small KiTS23 out of phantoms, in the layout of the real one, to try the product without a download.

Nothing in it comes from a patient. The raw folder says so itself: it holds `MARKER`, from which every product made of it is
told to be synthetic. Real data are never touched: a folder that holds anything but an earlier demo is refused.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assets.demo_body import KIDNEY, Lesion, abdomen, place
from assets.junk import junk_reason
from assets.raw import SYNTHETIC_MARKER
from resources import durable
from resources.phantoms import UPRIGHT, Ellipsoid, Grid, Shape, Vector, draw_ct, draw_labels, rotation, write_nifti

MARKER = SYNTHETIC_MARKER
"""File at the top of the raw folder that says that the data are made up, and which files the demo wrote."""

FEWEST_SUBJECTS = 4
"""With fewer, the damaged one would be more than the quarter of a dataset that may be quarantined."""

_NOTE = (
    "SYNTHETIC DATA. These are analytic phantoms (ellipsoids and noise) made by MedFoundry's demo in the file layout of KiTS23. "
    "No image here shows a patient and nothing clinical can be learned from them. To work with the real KiTS23, remove this "
    "folder and the products made from it, and download the dataset."
)
_MAC_JUNK = bytes.fromhex("0005160700020000") + b"Mac OS X        " + bytes(4096 - 24)
_KEPT_OF_DAMAGED = 0.6


class RawDataPresentError(Exception):
    """The demo would have to write where other data lie; the message says what was found and what to do."""


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """What the demo made, or found already made.

    Attributes:
        raw_root: The raw folder.
        subjects: Names of all subjects, in order.
        damaged: Those of them with a file that is cut short on purpose.
        files: How many files the folder holds.
        size_bytes: Their size together.
        made: False when an earlier demo was found whole and left as it is.
    """

    raw_root: Path
    subjects: tuple[str, ...]
    damaged: tuple[str, ...]
    files: int
    size_bytes: int
    made: bool

    def __str__(self) -> str:
        what = f"{len(self.subjects)} synthetic subjects ({', '.join(self.damaged)} damaged on purpose)"
        size = f"{self.files} files, {self.size_bytes / 1e6:.1f} MB"
        if self.made:
            return f"made {what} in {self.raw_root}: {size}"
        return f"{self.raw_root} already holds an earlier demo with {what}: {size}; left as it is"


@dataclass(frozen=True, slots=True)
class DemoSubject:
    """One subject of the demo before any voxel is drawn.

    Attributes:
        name: As in KiTS23, `case_00000`.
        orientation: Direction in which each stored index grows.
        grid: RAS+ grid of image and label map.
        shapes: What is drawn, in order.
    """

    name: str
    orientation: str
    grid: Grid
    shapes: tuple[Ellipsoid, ...]


@dataclass(frozen=True, slots=True)
class _Plan:
    orientation: str
    shape: Shape
    spacing_mm: Vector
    lesions: tuple[Lesion, ...]
    tilt_deg: float = 0.0


_PLANS = (
    _Plan(
        "IPL", (176, 160, 72), (1.95, 1.95, 3.0),
        (Lesion("right", "tumour", (46, 38, 42), 0.45), Lesion("left", "cyst", (24, 24, 22), -0.5)),
    ),
    _Plan(
        "IPL", (176, 144, 88), (0.78, 0.78, 0.8),
        (Lesion("left", "tumour", (34, 30, 36), -0.3), Lesion("right", "cyst", (18, 16, 20), 0.2)),
    ),
    _Plan(
        "LPS", (192, 160, 44), (1.75, 1.75, 5.0),
        (Lesion("right", "tumour", (28, 22, 30), -0.5), Lesion("left", "tumour", (58, 50, 54), 0.4)),
    ),
    _Plan(
        "IPL", (160, 144, 80), (2.1, 2.1, 2.5),
        (Lesion("right", "cyst", (40, 36, 44), 0.6), Lesion("left", "cyst", (15, 15, 15), 0.0)),
    ),
    _Plan(
        "RAS", (144, 128, 90), (2.3, 2.3, 2.0),
        (
            Lesion("left", "tumour", (36, 30, 30), 0.7), Lesion("left", "tumour", (22, 26, 24), -0.65),
            Lesion("right", "cyst", (26, 22, 28), -0.2),
        ),
    ),
    _Plan(
        "ASR", (160, 144, 52), (2.05, 2.05, 3.75),
        (
            Lesion("right", "tumour", (32, 40, 34), 0.1), Lesion("right", "cyst", (20, 20, 24), -0.8),
            Lesion("left", "cyst", (30, 28, 26), 0.6),
        ),
    ),
    _Plan(
        "IPL", (168, 160, 64), (2.0, 2.0, 3.2),
        (Lesion("left", "tumour", (50, 40, 46), 0.0), Lesion("right", "tumour", (20, 18, 20), 0.55)), 12.0,
    ),
    _Plan(
        "IPL", (152, 136, 60), (2.2, 2.2, 3.0),
        (Lesion("right", "tumour", (40, 34, 44), -0.2), Lesion("left", "cyst", (22, 18, 20), 0.3)),
    ),
)  # fmt: skip

_ADULT_WIDTH_MM = 340.0
"""Field of view that shows a whole adult; a narrower one gets a body as much smaller."""


def demo_subject(number: int, seed: int) -> DemoSubject:
    """One subject's phantom, in closed form.

    Args:
        number: 0, 1, ...; its kind repeats after eight.
        seed: Another seed moves and resizes organs and lesions.
    """
    plan = _PLANS[number % len(_PLANS)]
    turn = rotation(0, plan.tilt_deg) if plan.tilt_deg else UPRIGHT
    grid = Grid.centred(plan.shape, plan.spacing_mm, _centre(plan), turn)
    scale = min(1.0, plan.shape[0] * plan.spacing_mm[0] / _ADULT_WIDTH_MM)
    shapes = place(abdomen(plan.lesions, np.random.default_rng((seed, number, 0))), scale, grid.centre_ras_mm())
    return DemoSubject(f"case_{number:05d}", plan.orientation, grid, shapes)


def _centre(plan: _Plan) -> Vector:
    """Middle of the grid: the real set's files have their first stored voxel at the origin, other scanners' have not."""
    if plan.orientation != "IPL":
        return 4.5, -161.0, -388.25
    x, y, z = (-(n - 1) / 2 * step for n, step in zip(plan.shape, plan.spacing_mm, strict=True))
    return x, y, z


def make_kits23(raw_root: Path, subjects: int = 8, seed: int = 2023) -> DemoSummary:
    """Write the demo's raw data; the last subject's image is cut short.

    The folder appears under its name only when it is whole, so a run that is killed leaves nothing half made there.

    Args:
        raw_root: Where KiTS23's raw data are looked for, e.g. `data/raw/kits23`; missing or empty.
        subjects: How many; at least `FEWEST_SUBJECTS`.
        seed: The same numbers give the same bytes.

    Raises:
        RawDataPresentError: `raw_root` holds something other than an earlier demo that is whole.
        ValueError: Too few subjects.
    """
    if subjects < FEWEST_SUBJECTS:
        raise ValueError(f"the demo has at least {FEWEST_SUBJECTS} subjects, one of them damaged; {subjects} were asked for")
    target = raw_root.resolve()
    if (found := _earlier(target)) is not None:
        return found
    durable.make_folder(target.parent)
    _sweep(target)
    staging = target.with_name(f".{target.name}.demo-{os.getpid()}")
    try:
        staging.mkdir()
        marker = _fill(staging, subjects, seed)
        _sync(staging)
        return _publish(staging, target, marker)
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _publish(staging: Path, target: Path, marker: dict[str, Any]) -> DemoSummary:
    try:
        durable.rename(staging, target)
    except OSError as error:
        # Another demo, or a download, was faster.
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST} or (found := _earlier(target)) is None:
            raise
        return found
    durable.sync(target.parent)
    return _summary(target, marker, made=True)


def _sync(root: Path) -> None:
    """Force everything below a folder, and the folder itself, to the disk."""
    for path in (*root.rglob("*"), root):
        durable.sync(path)


def _sweep(target: Path) -> None:
    """Remove what a killed demo left beside the raw folder."""
    for stale in target.parent.glob(f".{target.name}.demo-*"):
        owner = stale.name.rpartition("-")[2]
        if owner.isdigit() and not _at_work(int(owner)):
            shutil.rmtree(stale, ignore_errors=True)


def _at_work(process: int) -> bool:
    """Whether another process of that number runs."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _earlier(target: Path) -> DemoSummary | None:
    """The earlier demo in a folder; None where there is nothing.

    Raises:
        RawDataPresentError: There is something else.
    """
    if not target.exists():
        return None
    if not target.is_dir():
        raise RawDataPresentError(f"{target} is a file, not a folder; move it away and run the demo again")
    names = sorted(entry.name for entry in target.iterdir())
    if not names:
        return None
    if MARKER not in names:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise RawDataPresentError(
            f"{target} already holds data that no demo made ({shown}); nothing was written. Work with these data, or run the "
            "demo under another data root (set MEDFOUNDRY_DATA to an empty folder)"
        )
    marker = _read_marker(target)
    if complaints := _differences(target, marker["files"]):
        shown = "; ".join(complaints[:5]) + ("; ..." if len(complaints) > 5 else "")
        raise RawDataPresentError(
            f"{target} holds an earlier demo that is no longer as it was made ({shown}); nothing was written. Move away what "
            "is not the demo's, remove the folder and run the demo again"
        )
    return _summary(target, marker, made=False)


def _read_marker(target: Path) -> dict[str, Any]:
    try:
        marker = json.loads((target / MARKER).read_text(encoding="utf-8"))
        whole = all(isinstance(marker[key], kind) for key, kind in _MARKER_KEYS.items())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RawDataPresentError(_foreign_marker(target, repr(error))) from error
    if not whole:
        raise RawDataPresentError(_foreign_marker(target, "its fields are of other kinds"))
    return dict(marker)


_MARKER_KEYS = {"files": dict, "subjects": list, "damaged": list}


def _foreign_marker(target: Path, why: str) -> str:
    return (
        f"{target / MARKER} was not written by this demo ({why}); nothing was written. Remove the folder if its data are a "
        "demo's, or run the demo under another data root (set MEDFOUNDRY_DATA to an empty folder)"
    )


def _differences(target: Path, promised: dict[str, int]) -> list[str]:
    """How the folder differs from what its marker says, by name and size."""
    present = dict(_sizes(target))
    wrong = [f"{path} is missing" for path in promised if path not in present]
    wrong += [
        f"{path} has {present[path]} bytes instead of {size}"
        for path, size in promised.items()
        if path in present and present[path] != size
    ]
    return wrong + [f"{path} is not the demo's" for path in present if path not in promised and not junk_reason(path)]


def _sizes(root: Path) -> Iterator[tuple[str, int]]:
    """Path and size of every file below a folder but the marker, sorted."""
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not path.is_dir() and name != MARKER:
            yield name, path.lstat().st_size


def _summary(target: Path, marker: dict[str, Any], *, made: bool) -> DemoSummary:
    sizes = [*marker["files"].values(), (target / MARKER).stat().st_size]
    return DemoSummary(target, tuple(marker["subjects"]), tuple(marker["damaged"]), len(sizes), sum(sizes), made)


def _fill(root: Path, subjects: int, seed: int) -> dict[str, Any]:
    """Write everything, the marker last; returns what the marker says."""
    dataset = root / "dataset"
    plans = [demo_subject(number, seed) for number in range(subjects)]
    for number, subject in enumerate(plans):
        _write_subject(dataset / subject.name, subject, np.random.default_rng((seed, number, 1)))
    _add_oddities(dataset / plans[0].name, plans[0])
    damaged = dataset / plans[-1].name / "imaging.nii.gz"
    os.truncate(damaged, int(damaged.stat().st_size * _KEPT_OF_DAMAGED))
    records = [{"case_id": subject.name, "synthetic": True} for subject in plans]
    (dataset / "kits23.json").write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    marker: dict[str, Any] = {
        "synthetic": True,
        "note": _NOTE,
        "made_by": "MedFoundry demo",
        "seed": seed,
        "subjects": [subject.name for subject in plans],
        "damaged": [plans[-1].name],
        "files": dict(_sizes(root)),
    }
    (root / MARKER).write_text(json.dumps(marker, indent=1) + "\n", encoding="utf-8")
    return marker


def _write_subject(folder: Path, subject: DemoSubject, random: np.random.Generator) -> None:
    image = draw_ct(subject.shapes, subject.grid, noise_hu=14, random=random)
    write_nifti(folder / "imaging.nii.gz", image, subject.grid.affine, subject.orientation)
    labels = draw_labels(subject.shapes, subject.grid)
    write_nifti(folder / "segmentation.nii.gz", labels, subject.grid.affine, subject.orientation)


def _add_oddities(folder: Path, subject: DemoSubject) -> None:
    """What real raw folders hold beside the data: one annotator's mask of one kidney, and a file that macOS left."""
    kidney = next(shape for shape in subject.shapes if shape.label == KIDNEY)
    path = folder / "instances" / "kidney_instance-1_annotation-1.nii.gz"
    write_nifti(path, np.minimum(draw_labels([kidney], subject.grid), 1), subject.grid.affine, subject.orientation)
    (folder / "._imaging.nii.gz").write_bytes(_MAC_JUNK)
