"""Graphs of operations, edge by edge."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given

from dgltrees import TreeBatch, TreeError
from dgltrees.papers.rrnet.graphs import operation_graph
from dgltrees.trees.operation_kinds import OPERATIONS, Flow, Operation
from tests.cells.sequences import (
    OPEN,
    RECUR,
    SPLIT,
    START,
    Sequences,
    by_a_loop,
    by_a_stack,
    flat,
    sequences,
    spelled,
)


def edges_of(batch: TreeBatch) -> list[tuple[int, int, int]]:
    """(dst, flow, src) in the order of the batch's edges."""
    ends = batch.dst, batch.edata["pos"], batch.src
    return list(zip(*(each.tolist() for each in ends)))


@given(sequences())
def test_equals_a_reader_with_a_stack(drawn: Sequences) -> None:
    batch = operation_graph(*flat(drawn))
    assert edges_of(batch) == by_a_loop(drawn)
    assert batch.sizes.tolist() == [len(each) for each in drawn]
    assert batch.ndata["op"].tolist() == flat(drawn)[0]
    depths = [depth for each in drawn for depth in by_a_stack(each)[2]]
    assert batch.ndata["open"].tolist() == depths


def test_what_was_pushed_last_returns_first() -> None:
    batch = operation_graph(*flat(spelled("RSRSRRMRM")), complete=True)
    returned = [(src, dst) for dst, flow, src in edges_of(batch) if flow == Flow.RETURN]
    assert returned == [(4, 7), (2, 9)]


def test_mailboxes_hold_the_state_before_what_returns() -> None:
    batch = operation_graph(*flat(spelled("SRM")))
    into_merge = [(flow, src) for dst, flow, src in edges_of(batch) if dst == 3]
    assert into_merge == [(Flow.NEXT, 2), (Flow.RETURN, 1)]
    src, dst = batch.graph.in_edges(3)
    assert src.tolist() == [2, 1]  # DGL's mailboxes are in the order of the edges


def test_a_merge_right_after_its_split_hears_it_twice() -> None:
    batch = operation_graph(*flat(spelled("SM")))
    assert edges_of(batch) == [(1, 0, 0), (2, 0, 1), (2, 1, 1)]


def test_splits_of_earlier_windows_return_from_open() -> None:
    """The last OPEN is the top of the stack; steps follow START, whatever is open."""
    batch = operation_graph(*flat(spelled("OOMRM", "OSRM")))
    assert edges_of(batch) == [
        (3, 0, 0),
        (3, 1, 2),
        (4, 0, 3),
        (5, 0, 4),
        (5, 1, 1),
        (8, 0, 6),
        (9, 0, 8),
        (10, 0, 9),
        (10, 1, 8),
    ]


def test_windows_of_a_sequence() -> None:
    """Windows with an OPEN for each split left open return from the same splits as the whole."""
    whole = spelled("SRSRMSMRMR")[0]
    pairs = by_a_stack(whole)[0]
    for cut in range(1, len(whole)):
        left = by_a_stack(whole[:cut])[1]
        later = [START, *[OPEN] * len(left), *whole[cut:]]
        found = {}
        for dst, flow, src in edges_of(operation_graph(later, [len(later)])):
            if flow == Flow.RETURN:
                shift = cut - 1 - len(left)
                found[dst + shift] = left[src - 1] if src <= len(left) else src + shift
        assert found == {merge: split for split, merge in pairs if merge >= cut}


def test_node_fields_and_a_copy_of_the_operations() -> None:
    operations = np.array([START, RECUR])
    operations.setflags(write=False)  # as a memory-mapped column is
    x = torch.ones(2, 3)
    batch = operation_graph(operations, np.array([2]), ndata={"x": x})
    assert batch.ndata["x"] is x
    operations.setflags(write=True)
    operations[1] = SPLIT
    assert batch.ndata["op"].tolist() == [START, RECUR]


def test_no_sequences() -> None:
    batch = operation_graph([], [])
    assert (batch.num_trees, batch.num_nodes, len(batch.src)) == (0, 0, 0)


def test_names() -> None:
    for operation in Operation:
        assert OPERATIONS.decode([operation]) == [operation.name]


@pytest.mark.parametrize(
    ("operations", "sizes", "message"),
    [
        (
            [0, 2, 0, 2, 9],
            [2, 3],
            r"^tree 1, node 2: expected an operation \(START 0, SPLIT 1, RECUR 2, MERGE 3, OPEN 4\)"
            r", got 9$",
        ),
        ([0, -1], [2], r"^tree 0, node 1: expected an operation .*, got -1$"),
        ([0, 2], [2, 0], r"^tree 1: expected a START in every sequence, got none$"),
        (
            [0, 0, 2, 0],
            [1, 3],
            r"^tree 1, node 2: expected START first in a sequence and nowhere else, and OPEN only "
            r"right after it or another OPEN, got START$",
        ),
        ([0, 2, 2, 2], [2, 2], r"^tree 1, node 0: expected START first .*, got RECUR$"),
        ([0, 4, 2, 4], [4], r"^tree 0, node 3: expected START first .*, got OPEN$"),
        ([4, 2], [2], r"^tree 0, node 0: expected START first .*, got OPEN$"),
        (
            [0, 0, 1, 3, 3],
            [1, 4],
            r"^tree 1, node 3: expected a split for every merge, got none to merge$",
        ),
        ([0, 2], [3], r"expected sizes that add up to the 2 operations, got 3; give each"),
        ([0, 2], [3, -1], r"expected sizes of 0 or more, got -1"),
    ],
)
def test_errors(operations: list[int], sizes: list[int], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        operation_graph(operations, sizes)


def test_a_split_left_open_is_refused_where_it_may_not() -> None:
    drawn = flat(spelled("SM", "SSM"))
    operation_graph(*drawn)
    message = r"^tree 1, node 1: expected a merge for every split, got none for this SPLIT$"
    with pytest.raises(TreeError, match=message):
        operation_graph(*drawn, complete=True)
    message = r"^tree 0, node 1: expected a merge for every split, got none for this OPEN$"
    with pytest.raises(TreeError, match=message):
        operation_graph(*flat(spelled("O")), complete=True)
