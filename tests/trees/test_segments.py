"""The words for ragged arrays, against loops over lists."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dgltrees.trees.segments import (
    cumcount,
    inverse,
    lasts,
    locate,
    mask_of,
    offsets_of,
    owner,
    ranges,
    rows_of,
    run_offsets,
    running_sum,
    starts,
    within,
)

SIZES = st.lists(st.integers(0, 4), max_size=8)
KEYS = st.lists(st.integers(0, 3), max_size=12)

OF_SIZES: list[tuple[Callable[[Any], Any], Callable[[list[int]], list[int]]]] = [
    (starts, lambda sizes: [sum(sizes[:t]) for t in range(len(sizes))]),
    (lasts, lambda sizes: [sum(sizes[:t]) + size - 1 for t, size in enumerate(sizes)]),
    (owner, lambda sizes: [t for t, size in enumerate(sizes) for _ in range(size)]),
    (within, lambda sizes: [i for size in sizes for i in range(size)]),
]


def array(values: list[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


@pytest.mark.parametrize(("word", "loop"), OF_SIZES, ids=[word.__name__ for word, _ in OF_SIZES])
@given(sizes=SIZES)
def test_words_of_sizes_take_arrays_and_tensors(
    word: Callable[[Any], Any], loop: Callable[[list[int]], list[int]], sizes: list[int]
) -> None:
    of_array, of_tensor = word(array(sizes)), word(torch.tensor(sizes, dtype=torch.int64))
    assert of_array.tolist() == of_tensor.tolist() == loop(sizes)
    assert of_array.dtype == np.int64
    assert of_tensor.dtype == torch.int64


@given(sizes=SIZES)
def test_offsets_begin_and_end_every_segment(sizes: list[int]) -> None:
    offsets = offsets_of(sizes)
    assert offsets.tolist() == [sum(sizes[:t]) for t in range(len(sizes) + 1)]
    for row in range(sum(sizes)):
        assert locate(offsets, row) == (owner(array(sizes))[row], within(array(sizes))[row])


@given(sizes=SIZES, width=st.integers(0, 6))
def test_a_mask_has_the_rows_of_each_segment_in_its_first_columns(
    sizes: list[int], width: int
) -> None:
    mask = mask_of(torch.tensor(sizes, dtype=torch.int64), width)
    assert mask.shape == (len(sizes), width)
    assert mask.tolist() == [[column < size for column in range(width)] for size in sizes]


@given(sizes=st.lists(st.integers(0, 4), min_size=1, max_size=8), data=st.data())
def test_rows_of_some_segments_are_their_slices(sizes: list[int], data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, len(sizes) - 1), max_size=6))
    offsets = offsets_of(sizes)
    rows = [row for t in ids for row in range(offsets[t], offsets[t + 1])]
    assert rows_of(offsets, array(ids)).tolist() == rows
    chosen = array(sizes)[array(ids)]
    assert ranges(offsets[array(ids)], chosen).tolist() == rows


@given(permutation=st.integers(0, 9).flatmap(lambda n: st.permutations(range(n))))
def test_an_inverse_undoes_a_permutation(permutation: list[int]) -> None:
    back = [permutation.index(i) for i in range(len(permutation))]
    assert inverse(array(permutation)).tolist() == back
    of_tensor: Tensor = inverse(torch.tensor(permutation, dtype=torch.int64))
    assert of_tensor.tolist() == back


@given(pairs=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=12))
def test_runs_end_where_any_key_changes(pairs: list[tuple[int, int]]) -> None:
    n = len(pairs)
    begins = [i for i in range(n) if i == 0 or pairs[i] != pairs[i - 1]]
    first, second = (array([pair[k] for pair in pairs]) for k in range(2))
    assert run_offsets(first, second).tolist() == [*begins, n]
    alone = [i for i in range(n) if i == 0 or pairs[i][0] != pairs[i - 1][0]]
    assert run_offsets(first).tolist() == [*alone, n]


@given(keys=KEYS)
def test_cumcount_counts_the_equal_entries_before(keys: list[int]) -> None:
    assert cumcount(array(keys)).tolist() == [keys[:i].count(key) for i, key in enumerate(keys)]


@given(parts=st.lists(st.lists(st.integers(-3, 3), max_size=4), max_size=6))
def test_a_running_sum_begins_anew_in_every_segment(parts: list[list[int]]) -> None:
    values = array([value for part in parts for value in part])
    sums = [sum(part[: i + 1]) for part in parts for i in range(len(part))]
    assert running_sum(values, array([len(part) for part in parts])).tolist() == sums
    flags = running_sum(values > 0, array([len(part) for part in parts]))
    assert flags.tolist() == [
        sum(v > 0 for v in part[: i + 1]) for part in parts for i in range(len(part))
    ]
