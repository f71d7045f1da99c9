from __future__ import annotations

import itertools
from typing import Any

import nibabel
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.measure.reorient import NO_VOXELS, SlabStatistics, copy_strided, gather_ras, statistics
from resources.geometry import closest_ras

TYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
PERMUTATIONS = list(itertools.permutations(range(3)))
FLIPS = list(itertools.product([False, True], repeat=3))


def noise(shape: tuple[int, ...], dtype: str, seed: int = 0) -> npt.NDArray[Any]:
    """Every bit pattern for integers, plain values for floats."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.normal(0, 1000, shape).astype(kind)
    return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind, endpoint=True)


def gathered(slab: npt.NDArray[Any], axes: tuple[int, ...], flips: tuple[bool, ...]) -> tuple[npt.NDArray[Any], SlabStatistics]:
    out = np.empty(tuple(slab.shape[axis] for axis in axes)[::-1], slab.dtype)
    return out, gather_ras(slab, axes, flips, out)


def turned(slab: npt.NDArray[Any], axes: tuple[int, ...], flips: tuple[bool, ...]) -> npt.NDArray[Any]:
    return np.flip(np.transpose(slab, axes), tuple(axis for axis in range(3) if flips[axis])).T


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_every_permutation_and_flip_is_numpys(dtype: str, order: Any) -> None:
    slab = np.asarray(noise((19, 34, 21), dtype), order=order)
    for axes, flips in itertools.product(PERMUTATIONS, FLIPS):
        out, _ = gathered(slab, axes, flips)
        assert np.array_equal(out, turned(slab, axes, flips)), (axes, flips)


@given(
    st.tuples(*[st.integers(1, 40)] * 3),
    st.sampled_from(["u1", "i2", "f4", "f8"]),
    st.sampled_from(PERMUTATIONS),
    st.sampled_from(FLIPS),
    st.tuples(*[st.integers(0, 3)] * 3),
    st.sampled_from(["C", "F"]),
)
def test_slabs_cut_from_a_volume_are_numpys(
    shape: tuple[int, int, int],
    dtype: str,
    axes: tuple[int, int, int],
    flips: tuple[bool, bool, bool],
    margin: tuple[int, int, int],
    order: Any,
) -> None:
    volume = np.asarray(noise(tuple(n + 2 * m for n, m in zip(shape, margin, strict=True)), dtype), order=order)
    slab = volume[tuple(slice(m, m + n) for n, m in zip(shape, margin, strict=True))]
    out, summary = gathered(slab, axes, flips)
    assert np.array_equal(out, turned(slab, axes, flips))
    assert (summary.minimum, summary.maximum) == (slab.min(), slab.max())


@given(st.integers(0, 2**32 - 1), st.sampled_from(["u1", "u2", "u4", "u8"]))
def test_any_strided_array_is_copied_to_any_other(seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 24, 3))

    def strided() -> npt.NDArray[Any]:
        order, steps = rng.permutation(3), rng.choice([-2, -1, 1, 1, 2], 3)
        whole = noise(tuple(shape[axis] * abs(step) for axis, step in zip(order, steps, strict=True)), dtype, seed)
        return whole[tuple(slice(None, None, step) for step in steps)].transpose(np.argsort(order))

    source, target = strided(), strided()
    copy_strided(source, target)
    assert np.array_equal(source, target)


def test_nothing_beside_the_target_is_written() -> None:
    whole = np.zeros((30, 40, 50), np.int16)
    copy_strided(noise((20, 21, 22), "i2").transpose(2, 0, 1), whole[5:27, 7:27, 9:30])
    whole[5:27, 7:27, 9:30] = 0
    assert not whole.any()


@pytest.mark.parametrize("seed", range(12))
def test_nibabel_brings_an_oblique_image_into_the_same_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    affine = np.eye(4)
    affine[:3, :3] = turn * rng.uniform(0.5, 5, 3)
    voxels = np.asfortranarray(noise((9, 11, 13), "i2", seed))
    ours = closest_ras(affine)
    out, _ = gathered(voxels, ours.axes, ours.flips)
    theirs = nibabel.as_closest_canonical(nibabel.Nifti1Image(voxels, affine))
    assert np.array_equal(out.T, np.asarray(theirs.dataobj))


@pytest.mark.parametrize("dtype", TYPES)
def test_statistics_are_exact_for_every_type(dtype: str) -> None:
    voxels = noise((13, 17, 29), dtype)
    found = statistics(voxels)
    values = voxels.ravel().tolist()
    assert (found.minimum, found.maximum) == (min(values), max(values))
    assert (found.n_finite, found.n_nonfinite) == (len(values), 0)
    if voxels.dtype.kind == "f":
        assert found.total == pytest.approx(sum(values), rel=1e-12, abs=1e-6)
    else:
        assert found.total == sum(values)
        assert isinstance(found.total, int)


def test_sums_beyond_64_bits_are_exact() -> None:
    for dtype in ("i8", "u8"):
        top = np.iinfo(dtype).max
        assert statistics(np.full((4, 5, 6), top, dtype)).total == 120 * int(top)
    assert statistics(np.full((4, 5, 6), np.iinfo("i8").min)).total == 120 * -(2**63)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_is_not_finite_is_counted_and_left_out(dtype: str) -> None:
    voxels = np.arange(60, dtype=dtype).reshape(3, 4, 5)
    voxels[0, 0, :3] = np.nan, np.inf, -np.inf
    found = statistics(voxels)
    assert (found.minimum, found.maximum) == (3, 59)
    assert (found.n_finite, found.n_nonfinite) == (57, 3)
    assert found.total == sum(range(3, 60))


def test_an_image_of_nan_has_no_extremes_and_no_mean() -> None:
    found = statistics(np.full((2, 2, 2), np.nan))
    assert (found.minimum, found.maximum, found.n_finite, found.n_nonfinite) == (np.inf, -np.inf, 0, 8)
    assert np.isnan(found.mean)


def test_large_float32_sums_keep_float64_precision() -> None:
    voxels = np.full((100, 100, 200), 16_777_216, np.float32)
    voxels[0, 0, 0] = 1
    assert statistics(voxels).total == 16_777_216 * (voxels.size - 1) + 1


def test_statistics_of_slabs_add_up_to_those_of_the_volume() -> None:
    volume = noise((30, 20, 10), "i2")
    total = NO_VOXELS
    for start in range(0, 30, 7):
        total += statistics(volume[start : start + 7])
    assert total == statistics(volume)
    assert total.mean == pytest.approx(volume.mean())
    assert statistics(volume[:0]) == NO_VOXELS


def test_a_target_that_does_not_fit_is_refused() -> None:
    slab = np.zeros((2, 3, 4), np.int16)
    for out in (np.zeros((2, 3, 4), np.int16), np.zeros((4, 3, 2), np.uint16), np.zeros((4, 3, 2), np.int16, order="F")):
        with pytest.raises(ValueError, match=r"must be C-contiguous int16 \(4, 3, 2\)"):
            gather_ras(slab, (0, 1, 2), (False, False, False), out)
    with pytest.raises(ValueError, match="cannot copy"):
        copy_strided(slab, np.zeros((2, 3, 5), np.int16))


@pytest.mark.parametrize("voxels", [np.zeros((2, 2, 2), ">i2"), np.zeros((2, 3, 4)).T, np.zeros((2, 2, 2), np.complex64)])
def test_statistics_of_other_arrays_are_refused(voxels: npt.NDArray[Any]) -> None:
    with pytest.raises(ValueError, match="C-contiguous native"):
        statistics(voxels)
