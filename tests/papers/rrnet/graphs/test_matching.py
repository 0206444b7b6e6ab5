"""Matching all sequences at once against one stack a sequence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from dgltrees import TreeError
from dgltrees.papers.rrnet.graphs import match_splits
from tests.cells.sequences import (
    MERGE,
    RECUR,
    SPLIT,
    Sequences,
    by_a_stack,
    flat,
    sequences,
    spelled,
)


@given(sequences())
def test_equals_a_stack(drawn: Sequences) -> None:
    pairs, left, depths, begin = [], [], [], 0
    for operations in drawn:
        own, stack, depth = by_a_stack(operations)
        pairs += [(begin + split, begin + merge) for split, merge in own]
        left += [begin + place for place in stack]
        depths += depth
        begin += len(operations)
    found = match_splits(*flat(drawn))
    assert list(zip(found.split.tolist(), found.merge.tolist())) == pairs
    assert found.open.tolist() == left
    assert found.depth.tolist() == depths


@given(sequences())
def test_a_split_left_open_can_be_refused(drawn: Sequences) -> None:
    if not len(match_splits(*flat(drawn)).open):
        match_splits(*flat(drawn), complete=True)
        return
    with pytest.raises(TreeError, match="expected a merge for every split, got none") as error:
        match_splits(*flat(drawn), complete=True)
    found = [(t, by_a_stack(each)[1]) for t, each in enumerate(drawn)]
    tree, stack = next((t, stack) for t, stack in found if stack)
    assert (error.value.tree, error.value.node) == (tree, stack[0])


def test_sequences_do_not_share_a_stack() -> None:
    found = match_splits(*flat(spelled("SR", "SM", "OM")))
    assert found.split.tolist() == [4, 7]
    assert found.merge.tolist() == [5, 8]
    assert found.open.tolist() == [1]
    with pytest.raises(TreeError, match=r"^tree 1, node 2: expected a split for every merge, got"):
        match_splits(*flat(spelled("SR", "RMS")))


def test_what_is_no_operation_does_nothing() -> None:
    found = match_splits([SPLIT, RECUR, MERGE], [3])  # START is not asked for
    assert (found.split.tolist(), found.merge.tolist()) == ([0], [2])


@pytest.mark.parametrize("sizes", [[], [0], [0, 0]])
def test_nothing(sizes: list[int]) -> None:
    found = match_splits([], sizes)
    for each in (found.split, found.merge, found.open, found.depth):
        assert each.shape == (0,)


def test_sequences_without_operations_among_others() -> None:
    found = match_splits([SPLIT, MERGE, SPLIT], [0, 2, 0, 1, 0])
    assert (found.split.tolist(), found.merge.tolist()) == ([0], [1])
    assert found.open.tolist() == [2]


def test_a_deep_stack() -> None:
    depth = 100_000
    operations = np.repeat([SPLIT, MERGE], depth)
    found = match_splits(operations, [2 * depth], complete=True)
    np.testing.assert_array_equal(found.split, np.arange(depth)[::-1])
    np.testing.assert_array_equal(found.merge, np.arange(depth, 2 * depth))


def test_sizes_that_do_not_add_up() -> None:
    with pytest.raises(TreeError, match="expected sizes that add up to the 2 operations, got 3"):
        match_splits([SPLIT, MERGE], [1, 2])
