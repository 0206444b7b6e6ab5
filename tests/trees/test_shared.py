"""Shared children: leaves that stand for another node of their tree."""

import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, LabeledTrees, TreeBatch, TreeError, Vocabulary, read
from dgltrees.draw import draw
from dgltrees.formats.jsonl import write_jsonl
from dgltrees.trees.builders import from_dgl, from_networkx, to_networkx
from dgltrees.trees.columns import infer_columns
from dgltrees.trees.labeled import align
from dgltrees.trees.on_disk import examples_on_disk
from dgltrees.trees.shared import SHARED
from tests.worlds import shared_forest

SEEDS = st.integers(0, 2**32 - 1)


def drawn(seed: int) -> Forest:
    forest = shared_forest(np.random.default_rng(seed), 4, 9, 3)
    return forest.with_columns({"x": np.arange(forest.num_nodes), **forest.columns})


def edges(forest: Forest) -> list[set[tuple[int, int, int]]]:
    """By tree, the ``x`` of child and parent and the position of each edge of the batch."""
    batch = forest.batch()
    x, tree = batch.ndata["x"], batch.tree_of_node[batch.dst].tolist()
    ends = zip(x[batch.src].tolist(), x[batch.dst].tolist(), batch.edata["pos"].tolist())
    found: list[set[tuple[int, int, int]]] = [set() for _ in range(len(forest))]
    for number, edge in zip(tree, ends):
        found[number].add(edge)
    return found


def acyclic(tree: Forest) -> nx.MultiDiGraph:
    """The tree as networkx has it: a shared child has edges from all its parents."""
    graph, shared, x = nx.MultiDiGraph(), tree.columns["shared_with"], tree.columns["x"]
    for node in np.flatnonzero(shared < 0).tolist():
        graph.add_node(node, x=int(x[node]))
    for node, (up, pos) in enumerate(zip(tree.parent.tolist(), tree.pos.tolist())):
        if up >= 0:
            graph.add_edge(up, node if shared[node] < 0 else int(shared[node]), pos=pos)
    return graph


@given(seed=SEEDS)
def test_a_batch_has_an_edge_per_child_and_no_references(seed: int) -> None:
    forest = drawn(seed)
    shared, up = forest.columns["shared_with"], forest.global_parent
    expected: list[set[tuple[int, int, int]]] = [set() for _ in range(len(forest))]
    for node in np.flatnonzero(up >= 0).tolist():
        tree = int(forest.tree_of_node[node])
        child = node if shared[node] < 0 else int(forest.offsets[tree] + shared[node])
        expected[tree].add((child, int(up[node]), int(forest.pos[node])))
    assert edges(forest) == expected
    batch = forest.batch()
    assert batch.ndata["x"].tolist() == np.flatnonzero(shared < 0).tolist()
    assert batch.ndata["x"][batch.roots].tolist() == forest.roots.tolist()
    assert LabeledTrees(forest).sizes.tolist() == batch.sizes.tolist()
    keys = batch.dst * 1000 + batch.edata["pos"]
    assert (keys.diff()[batch.dst.diff() == 0] > 0).all()  # mailboxes are in order of positions


@given(seed=SEEDS, ids=st.lists(st.integers(0, 3), min_size=1))
def test_selections_joins_and_files_keep_sharing(
    seed: int, ids: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    forest = drawn(seed)
    every = edges(forest)
    assert edges(forest[ids]) == [every[i] for i in ids]
    assert edges(Forest.concat([forest, forest[ids]])) == every + [every[i] for i in ids]
    batch = forest.batch(ids)
    assert batch.src.tolist() == forest[ids].batch().src.tolist()
    folder: Path = tmp_path_factory.mktemp("shared")
    forest.save(folder)
    assert edges(Forest.load(folder)) == every
    write_jsonl(LabeledTrees(forest), folder / "trees.jsonl")
    assert edges(read(folder / "trees.jsonl", "jsonl").forest) == every
    parts = [LabeledTrees(forest[:2]), LabeledTrees(forest[2:])]
    on_disk = examples_on_disk(parts, folder).forest
    assert edges(on_disk) == every
    assert edges(on_disk[np.ones(len(forest), bool)]) == every
    none = Forest.build([-1, 0], columns={"x": [0, 1]})  # a part without shared children
    joined = examples_on_disk([LabeledTrees(none), *parts, LabeledTrees(none)], folder).forest
    assert edges(joined)[1:-1] == every
    with pytest.raises(IndexError, match=f"tree ids between 0 and {len(joined) - 1}, .* got 99"):
        joined.select([99])
    assert edges(pickle.loads(pickle.dumps(forest))) == every
    graphs = [to_networkx(forest, tree) for tree in range(len(forest))]
    assert edges(from_networkx(*graphs)) == every
    assert edges(from_networkx(*map(acyclic, forest), share=True)) == every


@given(seed=SEEDS)
def test_objects_become_the_same_objects_again(seed: int) -> None:
    forest = drawn(seed)
    roots = [forest.to_objects(tree) for tree in range(len(forest))]
    again = Forest.from_objects(roots, columns=["x"], share=True)
    assert edges(again) == edges(forest)
    more = Forest.from_objects(
        [again.to_objects(t) for t in range(len(again))], columns=["x"], share=True
    )
    for name in ("parent", "pos", "offsets"):
        np.testing.assert_array_equal(getattr(more, name), getattr(again, name))
    for name in again.columns:
        np.testing.assert_array_equal(more.columns[name], again.columns[name])
    for root, tree in zip(roots, range(len(forest))):
        graph = nx.MultiDiGraph()
        stack = [root]
        while stack:
            node = stack.pop()
            if id(node) not in graph or not graph.nodes[id(node)].get("seen"):
                graph.add_node(id(node), seen=True)
                below = [child for child in node.get("children", ()) if child is not None]
                graph.add_edges_from((id(node), id(child)) for child in below)
                stack += below
        assert len(graph) == (~forest[tree].references).sum()


@given(seed=SEEDS)
def test_a_graph_with_shared_children_is_a_forest_again(seed: int) -> None:
    forest = drawn(seed)
    batch = forest.batch()
    again = from_dgl(batch, share=True)
    assert again.references.sum() == len(batch.src) - batch.num_nodes + batch.num_trees
    for graph, down in ((batch, None), (batch.graph, None), (batch.reversed(), True)):
        assert edges(from_dgl(graph, down=down, share=True)) == edges(forest)


def test_edge_data_of_further_parents_are_named() -> None:
    ends = torch.tensor([3, 3, 1, 2]), torch.tensor([1, 2, 0, 0])
    batch = TreeBatch(*ends, torch.tensor([4]), edata={"pos": torch.tensor([0, 0, 0, 1])})
    batch.edata["w"] = torch.tensor([31.0, 32.0, 10.0, 20.0])
    with pytest.warns(UserWarning, match="edge data 'w' of a shared child for the edge to its fir"):
        from_dgl(batch, share=True)
    graph = nx.DiGraph()
    graph.add_weighted_edges_from([(0, 1, 10.0), (0, 2, 20.0), (1, 3, 31.0), (2, 3, 32.0)])
    with pytest.warns(UserWarning, match="edge data 'weight'"):
        from_networkx(graph, share=True)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        (([1, 1, 2], [0, 2, 0]), "node 1: expected a tree, .* got 2; .* share=True accepts"),
        (
            ([1, 2, 2, 1], [0, 1, 0, 2]),
            "tree 0, node 1: expected a graph without cycles, got the cycle 1 -> 2 -> 1; remove",
        ),
        (([2, 2], [0, 1]), "tree 0, node 1: expected a shared child below one root, .* 0 and 1"),
    ],
)
def test_bad_graphs(ends: tuple[list[int], list[int]], message: str) -> None:
    src, dst = map(torch.tensor, ends)
    with pytest.raises(TreeError, match=message):
        from_dgl(TreeBatch(src, dst, torch.tensor([3])), share="share=True" not in message)


def test_a_column_of_references_is_no_input_and_may_be_missing() -> None:
    forest = drawn(0)
    assert [column.name for column in infer_columns(forest)] == ["x"]
    plain = forest.with_columns({"x": forest.columns["x"]})
    joined = LabeledTrees.concat(align([LabeledTrees(plain), LabeledTrees(forest)])).forest
    assert joined.references.sum() == forest.references.sum() > 0
    assert joined.batch().num_nodes == plain.num_nodes + forest.batch().num_nodes


def test_drawing() -> None:
    leaf = {"op": "x"}
    root = {"op": "+", "children": [leaf, {"op": "f", "children": [leaf]}]}
    picture = draw(Forest.from_objects([root], share=True), values=[1, 2, 3, 4])
    assert picture.text == "+  1\n├─ x #1  2\n└─ f  3\n   └─ x see #1"
    assert picture.svg.count("stroke-dasharray") == 1
    assert "stroke-dasharray" not in draw(Forest.from_objects([root], share=False)).svg
    with pytest.raises(TreeError, match="accepts shared children, and draw takes their forest"):
        draw(Forest.from_objects([root], share=True).batch())


@pytest.mark.parametrize(
    ("shared", "message"),
    [
        ([-1, -1, -1, 7], "tree 1, node 3: expected column 'shared_with' to hold a node of the"),
        ([-1, -1, -1, -2], "tree 1, node 3: expected column 'shared_with' to hold a node of the"),
        ([-1, -1, -1, 3], "tree 1, node 3: .* to hold another node, which is not a reference"),
        ([-1, 3, -1, 2], "tree 1, node 1: .* to hold another node, which is not a reference"),
        ([-1, -1, 1, -1], "tree 1, node 2: .* to hold -1 at a node with children, got 1"),
        ([-1, -1, -1, 0], "tree 1, node 3: .* to hold a node that is not above this one, got 0"),
        ([-1, -1, -1, 2], "tree 1, node 3: .* to hold a node that is not above this one, got 2"),
        ([-1.0, -1, -1, 1], "expected column 'shared_with' to hold the node that each node"),
    ],
)
def test_bad_references(shared: list[Any], message: str) -> None:
    column = np.array([-1, *shared])
    arguments: dict[str, Any] = {"offsets": [0, 1, 5]}
    with pytest.raises(TreeError, match=message):
        Forest.build([-1, -1, 0, 0, 2], columns={"shared_with": column}, **arguments)
    forest = Forest.build([-1, -1, 0, 0, 2], **arguments).with_columns({"shared_with": column})
    with pytest.raises(TreeError, match=message):
        forest.batch([1])


def test_references_by_name() -> None:
    vocab = Vocabulary(["root", "leaf"])
    with pytest.raises(TreeError, match="'shared_with' to hold indices of nodes, got names"):
        Forest.build([-1, 0, 0], columns={SHARED: np.array([-1, -1, 1])}, vocabs={SHARED: vocab})


def test_a_cycle_through_two_references() -> None:
    parent, shared = [-1, 0, 0, 1, 2], [-1, -1, -1, 2, 1]
    with pytest.raises(TreeError, match="node 3: .* to hold a node that is not above this one"):
        Forest.build(parent, columns={"shared_with": shared})
