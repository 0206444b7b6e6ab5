"""Operations as graphs, and the trees that they build, against stacks and recursions."""

import re
from typing import Union

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, TreeBatch, TreeError, Vocabulary
from dgltrees.draw import draw
from dgltrees.papers.rrnet.graphs import inferred_trees, match_splits, operation_graph, spans
from dgltrees.trees.kinds import OPERATIONS, Flow, Operation
from tests.cells.sequences import (
    MERGE,
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
    left = [(t, place) for t, each in enumerate(drawn) for place in by_a_stack(each)[1]]
    for build in (match_splits, operation_graph):
        if not left:
            build(*flat(drawn), complete=True)
            continue
        tree, node = left[0]
        name = Operation(drawn[tree][node]).name
        with pytest.raises(TreeError, match=f"missing merge for this {name}$") as error:
            build(*flat(drawn), complete=True)
        assert (error.value.tree, error.value.node) == (tree, node)


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


def test_mailboxes_hold_the_state_before_what_returns() -> None:
    batch = operation_graph(*flat(spelled("SRM")))
    into_merge = [(flow, src) for dst, flow, src in edges_of(batch) if dst == 3]
    assert into_merge == [(Flow.NEXT, 2), (Flow.RETURN, 1)]
    src, dst = batch.graph.in_edges(3)
    assert src.tolist() == [2, 1]  # DGL's mailboxes are in the order of the edges


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
        ([0, 2], [2, 0], r"^tree 1: missing START in this sequence$"),
        (
            [0, 0, 2, 0],
            [1, 3],
            r"^tree 1, node 2: expected START only at the beginning of a sequence, and OPEN only "
            r"right after START or OPEN, got START$",
        ),
        ([0, 2, 2, 2], [2, 2], r"^tree 1, node 0: expected START only .*, got RECUR$"),
        ([0, 4, 2, 4], [4], r"^tree 0, node 3: expected START only .*, got OPEN$"),
        ([4, 2], [2], r"^tree 0, node 0: expected START only .*, got OPEN$"),
        (
            [0, 0, 1, 3, 3],
            [1, 4],
            r"^tree 1, node 3: expected a split for every merge, got an empty stack$",
        ),
        ([0, 2], [3], r"expected sizes that add up to the 2 operations, got 3; the size"),
        ([0, 2], [3, -1], r"expected sizes of 0 or more, got -1"),
    ],
)
def test_errors(operations: list[int], sizes: list[int], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        operation_graph(operations, sizes)


Nested = list[Union[int, "Nested"]]


def tree_by_a_stack(operations: list[int], recur_only: bool) -> Nested:
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
def test_trees_equal_a_reader_with_a_stack(drawn: Sequences, recur_only: bool) -> None:
    forest = inferred_trees(operation_graph(*flat(drawn)), recur_only=recur_only)
    expected = [tree_by_a_stack(operations, recur_only) for operations in drawn]
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


def test_no_sequences_have_no_trees() -> None:
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
