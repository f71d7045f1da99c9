"""What is measured on one subject."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import ours
import peers
import tensorstore as ts
from cases import SLUG, Case, file_bytes
from timing import Line, interleaved

from assets.annotations.planes import in_plane
from assets.measure import Plane
from assets.measure.components import label_components
from assets.measure.ellipse import axes_mm, fill_holes
from assets.measure.labels import tight_box
from assets.spec import load_catalog
from resources import ome_zarr
from resources.geometry import closest_ras
from resources.layout import Layout, labels_path, series_path

KERNEL_ROUNDS = 9
SLICES = 7

LESIONS = tuple(load_catalog()[SLUG].lesions)


def describe(case: Case) -> str:
    """One line about the subject."""
    image: Any = nib.load(case.image)
    n_bytes = int(np.prod(image.shape)) * image.get_data_dtype().itemsize
    shape = " x ".join(map(str, image.shape))
    return f"{shape} {image.get_data_dtype()}, {n_bytes / 1e6:.0f} MB, {case.image.stat().st_size / 1e6:.1f} MB as nii.gz"


def subject(case: Case, out: Path, rounds: int) -> Iterator[Line]:
    """All lines about one subject."""
    out.mkdir(parents=True)
    yield from _kernels(case)
    yield from _whole(case, out, rounds)
    yield from _slices(case, out)
    yield from _sizes(case)


def _kernels(case: Case) -> Iterator[Line]:
    mask: Any = nib.load(case.labels)
    stored = np.asfortranarray(np.asarray(mask.dataobj).astype(np.uint8))
    canonical: Any = nib.as_closest_canonical(mask)
    floats, zooms = canonical.get_fdata(), tuple(float(z) for z in canonical.header.get_zooms())
    view = closest_ras(mask.affine).view(stored)
    tasks: dict[str, Callable[[], object]] = {
        "published": lambda: (peers.published_boxes(floats), peers.published_sizes(floats, LESIONS, zooms)),
        "lean": lambda: peers.lean_components(canonical_bytes, LESIONS, zooms),
        "careful": lambda: peers.careful_components(canonical_bytes, LESIONS, zooms),
        "ours": lambda: _measured(view, zooms),
    }
    canonical_bytes = np.ascontiguousarray(view)
    _require_equal(_measured(view, zooms), peers.published_boxes(floats))
    taken = interleaved(tasks, {"published": 1, "lean": 2, "careful": 3, "ours": KERNEL_ROUNDS})
    note = f"{taken['ours'].wall * 1e3:.1f} ms; every component equal to scipy's"
    yield Line("components, boxes, sizes: published / ours", taken["published"].wall / taken["ours"].wall, "x", 100, note=note)
    for name in ("lean", "careful"):
        yield Line(f"components, boxes, sizes: {name} / ours", taken[name].wall / taken["ours"].wall, "x")


def _measured(labels: Any, zooms: tuple[float, ...]) -> dict[Plane, Any]:
    """Box, crop, components in three planes, axes of the lesions: what the annotations are made of."""
    box = tight_box(labels) or ((0, 0),) * 3
    crop = np.ascontiguousarray(labels[tuple(slice(*side) for side in box)])
    offset = (box[0][0], box[1][0], box[2][0])
    found = {plane: label_components(crop, plane, offset) for plane in Plane}
    for plane, components in found.items():
        lesions = components.select(np.flatnonzero(np.isin(components.label_id, LESIONS)))
        axes_mm(fill_holes(lesions, crop, plane, offset), in_plane(plane, (zooms[0], zooms[1], zooms[2])))
    return found


def _require_equal(ours_found: dict[Plane, Any], scipys: list[peers.Component]) -> None:
    names = ("slice_index", "label_id", "component", "row_min", "row_max", "col_min", "col_max", "pixel_count")
    columns = [
        np.column_stack([np.full(len(c), plane.axis), *(getattr(c, name) for name in names)]) for plane, c in ours_found.items()
    ]
    mine = np.concatenate(columns)
    theirs = np.array(scipys).reshape(-1, len(peers.Component._fields))
    mine, theirs = (table[np.lexsort(table.T[::-1])] for table in (mine, theirs))
    if not np.array_equal(mine, theirs):
        raise AssertionError(f"{len(mine)} components here, {len(theirs)} by scipy, and they differ")


def _whole(case: Case, out: Path, rounds: int) -> Iterator[Line]:
    folders = {name: out / name for name in ("published", "published, lesions once", "lean", "careful")}
    for folder in folders.values():
        folder.mkdir()
    floor = peers.Floor((case.image, case.labels))
    ours.build(case.root)
    tasks: dict[str, Callable[[], object]] = {
        "floor": floor.run,
        "ours": partial(ours.build, case.root),
        "lean": partial(peers.lean, case.image, case.labels, folders["lean"], LESIONS),
        "careful": partial(peers.lean, case.image, case.labels, folders["careful"], LESIONS, peers.careful_components),
        "published": partial(peers.published, case.image, case.labels, folders["published"], LESIONS),
        "published, lesions once": partial(
            peers.published, case.image, case.labels, folders["published, lesions once"], LESIONS, 1
        ),
    }
    few = {name: max(1, rounds // 3) for name in tasks if name.startswith("published")}
    counts = dict.fromkeys(tasks, rounds) | few
    taken = interleaved(tasks, counts, before=partial(_settled, case))
    mine, floored = taken["ours"], taken["floor"]
    for name, target in (("published", 60), ("published, lesions once", None), ("lean", 12), ("careful", None)):
        theirs = taken[name]
        note = f"{theirs.wall:.2f} s; CPU time {theirs.cpu / mine.cpu:.0f}x"
        yield Line(f"whole subject: {name} / ours", theirs.wall / mine.wall, "x", target, note=note)
    note = f"{mine.wall * 1e3:.0f} / {floored.wall * 1e3:.0f} ms; CPU time {mine.cpu / floored.cpu:.1f}x"
    yield Line("whole subject: ours / inflate and one copy", mine.wall / floored.wall, "x", 2.5, "less", note)
    ours.forget(case.root)
    ours.build(case.root)


def _settled(case: Case) -> None:
    """Nothing left of our products, and nothing that others wrote still on its way to the disk: only our way waits for it."""
    ours.forget(case.root)
    os.sync()


def _slices(case: Case, out: Path) -> Iterator[Line]:
    """Random slices from the store, from the file as downloaded, and from the file that a peer has reoriented."""
    group = Layout(case.root).products(SLUG) / series_path(case.name, "0", "ct")
    shape = ome_zarr.open_volume(group).shape_ijk
    ome_zarr._reading = ts.Context({"cache_pool": {"total_bytes_limit": 0}})
    chance = random.Random(7)
    for plane in Plane:
        index = [chance.randrange(shape[plane.axis]) for _ in range(SLICES)]
        readers: dict[str, Callable[[int], Any]] = {
            "store": lambda k, p=plane: ome_zarr.open_volume(group).slice(p.axis, k),  # type: ignore[misc]
            "nii.gz": partial(_proxy_slice, case.image, plane),
            "reoriented nii.gz": partial(_proxy_slice, out / "lean" / "imaging.nii.gz", plane),
        }
        _require_same([read(index[0]) for read in readers.values()])
        tasks = {name: partial(_next, read, iter(index)) for name, read in readers.items()}
        taken = interleaved(tasks, dict.fromkeys(tasks, SLICES))
        store = taken.pop("store")
        for name, theirs in taken.items():
            note = f"{store.wall * 1e3:.1f} ms, cold handle, no cache; CPU time {theirs.cpu / store.cpu:.0f}x"
            target = 20 if name == "nii.gz" else None
            yield Line(f"{plane.value} slice: nibabel proxy, {name} / store", theirs.wall / store.wall, "x", target, note=note)


def _next(read: Callable[[int], Any], index: Iterator[int]) -> None:
    read(next(index))


def _require_same(slices: list[Any]) -> None:
    if not all(np.array_equal(slices[0], other) for other in slices[1:]):
        raise AssertionError("a slice of the store is not that of the file")


def _proxy_slice(path: Path, plane: Plane, index: int) -> Any:
    """A RAS+ slice of a NIfTI file that may be stored in another order."""
    image: Any = nib.load(path)
    reorientation = closest_ras(image.affine)
    stored_axis = reorientation.axes[plane.axis]
    flip = reorientation.flips[plane.axis]
    where: list[Any] = [slice(None)] * 3
    where[stored_axis] = slice(stored := image.shape[stored_axis] - 1 - index if flip else index, stored + 1)
    return np.take(reorientation.view(np.asarray(image.dataobj[tuple(where)])), 0, axis=plane.axis)


def _sizes(case: Case) -> Iterator[Line]:
    products = Layout(case.root).products(SLUG)
    image = file_bytes(products / series_path(case.name, "0", "ct"), without="labels")
    labels = file_bytes(products / labels_path(case.name, "0", "ct", "masses"))
    yield Line("bytes of the image: store / nii.gz", image / case.image.stat().st_size, "", 0.95, "less")
    # The borders of a phantom are so smooth that gzip has next to nothing to store.
    target = None if case.drawn else 0.2
    yield Line("bytes of the label map: store / nii.gz", labels / case.labels.stat().st_size, "", target, "less")
