from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.measure.labels import NO_OFFENDERS, Offenders, compact_labels, id_counts, tight_box

STORED = ["?", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]


def largest_held(dtype: str) -> int:
    if dtype[0] in "?f":
        return 1 if dtype == "?" else 65535
    return int(np.iinfo(np.dtype(dtype)).max)


@st.composite
def sparse_maps(draw: st.DrawFn, dtypes: list[str]) -> npt.NDArray[Any]:
    """Mostly empty label maps in any memory order, with flips, whole or cut from a larger array, at any address."""
    shape = draw(st.tuples(*[st.integers(1, 40)] * 3))
    dtype = draw(st.sampled_from(dtypes))
    shift = draw(st.integers(0, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    memory = np.zeros(int(np.prod(shape)) + 8, dtype)[shift:]
    stored = memory[: int(np.prod(shape))].reshape(shape, order=draw(st.sampled_from(["C", "F"])))
    for _ in range(draw(st.integers(0, 4))):
        where = tuple(slice(low, low + rng.integers(0, 9)) for low in rng.integers(0, shape))
        stored[where] = rng.integers(0, min(largest_held(dtype), 70_000), endpoint=True)
    cut = tuple(slice(draw(st.integers(0, 2)), None, draw(st.sampled_from([1, 1, 1, 2]))) for _ in range(3))
    flip = tuple(slice(None, None, draw(st.sampled_from([1, -1]))) for _ in range(3))
    return stored[cut][flip].transpose(draw(st.permutations(range(3))))


@given(sparse_maps(["?", "u1", "u2", "i2", "i4", "u8"]))
def test_the_box_just_holds_what_is_not_zero(label_map: npt.NDArray[Any]) -> None:
    where = np.nonzero(label_map)
    expected = tuple((int(index.min()), int(index.max()) + 1) for index in where) if where[0].size else None
    assert tight_box(label_map) == expected


@given(sparse_maps(["?", "u1", "u2"]))
def test_ids_are_counted(label_map: npt.NDArray[Any]) -> None:
    ids, counts = np.unique(label_map.astype(np.int64), return_counts=True)
    assert id_counts(label_map) == dict(zip(ids.tolist(), counts.tolist(), strict=True))


def test_the_largest_id_is_counted() -> None:
    label_map = np.full((3, 3, 3), 65535, np.uint16)
    label_map[0, 0, 0] = 256
    assert id_counts(label_map) == {256: 1, 65535: 26}


@pytest.mark.parametrize("shape", [(0, 4, 4), (4, 4, 0)])
def test_an_empty_array_has_no_box_and_no_ids(shape: tuple[int, int, int]) -> None:
    assert tight_box(np.zeros(shape, np.uint8)) is None
    assert id_counts(np.zeros(shape, np.uint8)) == {}
    assert compact_labels(np.zeros(shape, np.float32))[0].shape == shape


@pytest.mark.parametrize(
    ("dtype", "largest"), [(dtype, n) for dtype in STORED for n in (1, 127, 255, 256, 65535) if n <= largest_held(dtype)]
)
@pytest.mark.parametrize("order", ["C", "F"])
def test_ids_of_any_stored_type_come_in_the_smallest(dtype: str, largest: int, order: Any) -> None:
    kind = np.dtype(dtype)
    ids = np.random.default_rng(largest).integers(0, largest, (50, 60, 47), endpoint=True)
    ids[3, 4, 5] = largest
    slab = np.asarray(ids.astype(kind), order=order)
    compact, offenders = compact_labels(slab)
    assert not offenders
    assert np.array_equal(compact, ids)
    assert compact.strides == tuple(step // kind.itemsize * compact.itemsize for step in slab.strides)
    assert compact.dtype == (np.uint8 if largest <= 255 else np.uint16)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_views_keep_their_order(dtype: str) -> None:
    slab = np.arange(24, dtype=dtype).reshape(2, 3, 4).transpose(1, 2, 0)[::-1, :, ::-1]
    assert np.array_equal(compact_labels(slab)[0], slab)
    assert np.array_equal(compact_labels(slab[::2, 1:3])[0], slab[::2, 1:3])


@pytest.mark.parametrize(
    ("stored", "label"),
    [("0.99999997", 1), ("0.9999999", 1), ("2.0000002", 2), ("-0.0", 0), ("-1e-9", 0), ("65535.004", 65535)],
)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_rounding_noise_is_taken_for_the_whole_number(dtype: str, stored: str, label: int) -> None:
    compact, offenders = compact_labels(np.array([[[float(stored)]]], dtype))
    assert compact.tolist() == [[[label]]]
    assert not offenders


def test_ids_scaled_in_float32_are_whole() -> None:
    for slope in (0.1, 1 / 3, 1 / 255, 1 / 65535):
        raw = np.rint(np.arange(200) / slope)
        scaled = (raw.astype(np.float32) * np.float32(slope)).reshape(1, 1, -1)
        compact, offenders = compact_labels(scaled)
        assert not offenders
        assert compact.ravel().tolist() == list(range(200))


@pytest.mark.parametrize("value", [0.5, 0.25, 1.001, 254.99, 1 / 65535, 1 / 255, float("nan"), float("inf"), -0.5])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_what_is_not_whole_is_reported_and_reads_as_zero(dtype: str, value: float) -> None:
    slab = np.ones((3, 3, 3), dtype)
    slab[1] = value
    compact, offenders = compact_labels(slab)
    assert (offenders.n_not_whole, offenders.n_out_of_range) == (9, 0)
    assert compact[1].max() == 0
    assert compact[0].min() == compact[2].min() == 1
    ((example, count),) = offenders.examples
    assert count == 9
    assert np.array([example], dtype).tobytes() == np.array([value], dtype).tobytes()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("i1", -1), ("i2", -32768), ("i4", 65536), ("u4", 70000), ("i8", -5), ("u8", 2**40), ("f4", -2.0), ("f8", 65536.0)],
)
def test_whole_numbers_that_are_no_ids_are_reported(dtype: str, value: float) -> None:
    slab = np.full((2, 2, 2), 7, dtype)
    slab[0, 0, 0] = value
    compact, offenders = compact_labels(slab)
    assert offenders == Offenders(0, 1, ((float(value), 1),))
    assert compact.ravel().tolist() == [0] + [7] * 7


def test_a_few_different_offenders_are_named_with_all_their_counts() -> None:
    slab = (np.arange(200_000) % 20 / 10).reshape(20, 100, 100)
    _, offenders = compact_labels(slab)
    assert offenders.n_not_whole == 180_000
    assert offenders.examples == tuple((tenths / 10, 10_000) for tenths in (1, 2, 3, 4, 5))


def test_offenders_add_up_over_slabs() -> None:
    first = np.array([[[0.5, np.nan, 1, -3]]])
    _, offenders = compact_labels(first)
    _, offenders = compact_labels(np.ones((2, 2, 2), np.uint8), offenders)
    _, offenders = compact_labels(np.array([[[np.nan, 0.5, 0.5, 0.75]]]), offenders)
    assert (offenders.n_not_whole, offenders.n_out_of_range) == (6, 1)
    counts = {str(value): count for value, count in offenders.examples}
    assert counts == {"-3.0": 1, "0.5": 3, "nan": 2, "0.75": 1}
    assert not NO_OFFENDERS


def test_no_copy_is_made_where_none_is_needed() -> None:
    for dtype in ("?", "u1", "i1"):
        slab = np.ones((2, 3, 4), dtype)
        assert np.shares_memory(compact_labels(slab)[0], slab)


@pytest.mark.parametrize("dtype", [">f4", ">i2", "c8", "O"])
def test_types_that_hold_no_ids_are_refused_by_name(dtype: str) -> None:
    with pytest.raises(TypeError, match="native byte order, not"):
        compact_labels(np.full((1, 1, 1), -1, dtype))


def test_wrong_types_and_shapes_are_refused() -> None:
    with pytest.raises(TypeError, match="float32"):
        tight_box(np.zeros((1, 1, 1), np.float32))
    with pytest.raises(ValueError, match="three axes"):
        tight_box(np.zeros((1, 1), np.uint8))
    with pytest.raises(TypeError, match="int16"):
        id_counts(np.zeros((1, 1, 1), np.int16))
