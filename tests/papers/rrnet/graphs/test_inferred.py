"""Inferred trees, against a reader with a stack that grows nested lists."""

from __future__ import annotations

import re
from typing import Union

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, Vocabulary
from dgltrees.draw import draw
from dgltrees.papers.rrnet.graphs import inferred_trees, operation_graph, spans
from tests.cells.sequences import (
    MERGE,
    OPEN,
    RECUR,
    SPLIT,
    START,
    Sequences,
    flat,
    sequences,
    spelled,
)

Nested = list[Union[int, "Nested"]]


def by_a_stack(operations: list[int], recur_only: bool) -> Nested:
    """The tree of one sequence: a list a sub-tree, a number a token."""
    root: Nested = []
    stack, token = [root], 0
    for operation in operations:
        if operation in (SPLIT, OPEN):
            below: Nested = []
            stack[-1].append(below)
            stack.append(below)
        if operation == RECUR or (operation in (SPLIT, MERGE) and not recur_only):
            stack[-1].append(token)
            token += 1
        if operation == MERGE:
            stack.pop()
    return root


def nested(forest: Forest, tree: int) -> Nested:
    """The same of a tree of the forest."""
    one = forest.tree(tree)
    tokens = one.columns["token"].tolist()
    made: list[int | Nested] = [[] if token < 0 else token for token in tokens]
    for node in np.lexsort((one.pos, one.parent)).tolist():
        if one.parent[node] >= 0:
            parent = made[one.parent[node]]
            assert isinstance(parent, list)
            parent.append(made[node])
    root = made[one.roots[0]]
    assert isinstance(root, list)
    return root


def covered(tree: Nested) -> list[tuple[int, int]]:
    """First and last token of each sub-tree that has one, in preorder."""
    leaves = [int(token) for token in re.findall(r"\d+", str(tree))]
    found = [(leaves[0], leaves[-1])] if leaves else []
    for child in tree:
        if isinstance(child, list):
            found += covered(child)
    return found


@given(sequences(), st.booleans())
def test_equals_a_reader_with_a_stack(drawn: Sequences, recur_only: bool) -> None:
    forest = inferred_trees(operation_graph(*flat(drawn)), recur_only=recur_only)
    expected = [by_a_stack(operations, recur_only) for operations in drawn]
    assert [nested(forest, tree) for tree in range(len(forest))] == expected
    found = [tuple(span) for span in spans(forest).tolist()]
    assert found == [(t, *span) for t, tree in enumerate(expected) for span in covered(tree)]


def test_nodes_stand_in_preorder_and_roots_first() -> None:
    forest = inferred_trees(operation_graph(*flat(spelled("RSRMR", "", "SS"))))
    assert forest.parent.tolist() == [-1, 0, 0, 2, 2, 2, 0, -1, -1, 0, 1, 1, 3]
    assert forest.columns["token"].tolist() == [-1, 0, -1, 1, 2, 3, 4, -1, -1, -1, 0, -1, 1]
    assert forest.offsets.tolist() == [0, 7, 8, 13]


def test_where_recur_alone_has_tokens() -> None:
    """As in the paper's Figure 1: seven tokens, eleven operations."""
    operations = spelled("RSRRSRRMRMR")
    forest = inferred_trees(operation_graph(*flat(operations)), recur_only=True)
    assert nested(forest, 0) == [0, [1, 2, [3, 4], 5], 6]
    assert spans(forest).tolist() == [[0, 0, 6], [0, 1, 5], [0, 3, 4]]


def test_what_is_left_open_ends_with_the_sequence() -> None:
    forest = inferred_trees(operation_graph(*flat(spelled("RSRSR", "SM"))))
    assert spans(forest).tolist() == [[0, 0, 4], [0, 1, 4], [0, 3, 4], [1, 0, 1], [1, 0, 1]]


def test_sub_trees_without_tokens_have_no_span() -> None:
    forest = inferred_trees(operation_graph(*flat(spelled("SM", "OSMR"))), recur_only=True)
    assert [nested(forest, tree) for tree in (0, 1)] == [[[]], [[[], 0]]]
    assert spans(forest).tolist() == [[1, 0, 0], [1, 0, 0]]


def test_columns_go_with_the_tokens_and_are_drawn() -> None:
    names = Vocabulary("()12+")
    words = torch.tensor([-1, *names.encode("(1+2)")])
    graph = operation_graph(
        [START, SPLIT, RECUR, RECUR, RECUR, MERGE], [6], ndata={"word": words, "two": torch.eye(6)}
    )
    forest = inferred_trees(graph, ["word", "two"], vocabs={"word": names})
    assert forest.columns["two"].shape == (7, 6)
    assert forest.columns["two"][2].tolist() == [0, 1, 0, 0, 0, 0]
    lines = ["·", "└─ ·", "   ├─ (", "   ├─ 1", "   ├─ +", "   ├─ 2", "   └─ )"]
    assert draw(forest).text.splitlines() == lines
    assert draw(forest).svg.count('class="node"') == 7


def test_no_sequences() -> None:
    forest = inferred_trees(operation_graph([], []))
    assert (len(forest), forest.num_nodes) == (0, 0)
    assert spans(forest).shape == (0, 3)


@pytest.mark.parametrize("recur_only", [False, True])
def test_a_deep_tree(recur_only: bool) -> None:
    depth = 20_000
    operations = [START, *[SPLIT] * depth, RECUR, *[MERGE] * depth]
    forest = inferred_trees(operation_graph(operations, [2 * depth + 2]), recur_only=recur_only)
    assert forest.depths.tolist() == [depth + 1]
    found = spans(forest)
    assert len(found) == depth + 1
    assert found[-1].tolist() == ([0, 0, 0] if recur_only else [0, depth - 1, depth + 1])
