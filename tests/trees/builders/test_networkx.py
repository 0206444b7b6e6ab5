"""Forests of networkx graphs, and back."""

import json
from typing import Any

import networkx
import numpy as np
import pytest

from dgltrees import TreeError
from dgltrees.trees.builders import from_networkx
from tests.trees.nested import names_of
from tests.worlds import random_forest


def test_positions_by_order_of_successors() -> None:
    graph = networkx.DiGraph([("c", "a"), ("c", "b"), ("b", "d")])
    forest = from_networkx(graph)
    assert forest.parent.tolist() == [-1, 0, 0, 2]
    assert forest.pos.tolist() == [0, 0, 1, 0]
    assert not forest.columns


def graph(*edges: tuple[Any, ...], **attributes: dict[Any, Any]) -> networkx.DiGraph:
    digraph = networkx.DiGraph()
    digraph.add_edges_from(edges)
    for name, values in attributes.items():
        networkx.set_node_attributes(digraph, values, name)
    return digraph


def multigraph(*edges: tuple[Any, ...]) -> networkx.MultiDiGraph:
    digraph = networkx.MultiDiGraph()
    digraph.add_edges_from(edges)
    return digraph


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([graph((0, 1)), 3], "tree 2: expected a networkx.DiGraph, got int"),
        (graph((0, 1, {"pos": -1})), "tree 1, node 1: expected a child position from 0, got -1"),
        (networkx.Graph([(0, 1)]), "tree 1: expected a networkx.DiGraph with edges from parent"),
        (graph((0, 1), (2, 1)), "tree 1, node 1: expected one edge to a node, got two to 1"),
        (
            graph((0, 1), (1, 1)),
            "tree 1, node 1: expected an edge to another node, got one from the",
        ),
        (multigraph((0, 1, "a"), (0, 1, "b")), "tree 1, node 1: expected one edge to a node, got"),
        (graph((0, 1), (2, 3)), "tree 1: expected exactly one root, got 2"),
        (graph((0, 1), (1, 0)), "tree 1: expected exactly one root, got 0"),
        (graph((0, 1), (2, 3), (3, 2)), "tree 1, node 2: expected every node below the root"),
        (networkx.DiGraph(), "tree 1: expected at least one node, got an empty tree"),
        (
            graph((0, 1, {"pos": 0}), (0, 2, {"pos": 0})),
            "tree 1, node 2: expected each child position once, got 0 twice",
        ),
        (
            graph((0, 1, {"pos": 0}), (0, 2)),
            "tree 1, node 2: expected an integer 'pos' of every edge, got None from 0 to 2",
        ),
    ],
)
def test_bad_graphs(bad: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_networkx(graph(("a", "b")), bad)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("tree", "pos"),
    [
        (graph((0, 1), (0, 2), pos={1: 4, 2: 0}), [0, 4, 0]),
        (multigraph((0, 1, "b"), (0, 2, "a")), [0, 0, 1]),
    ],
)
def test_positions_of_nodes_and_of_a_multigraph(tree: Any, pos: list[int]) -> None:
    forest = from_networkx([tree, tree])
    assert forest.pos.tolist() == 2 * pos
    assert not forest.columns


def test_a_graph_of_dgl_is_read() -> None:
    pytest.importorskip("dgl", reason="needs DGL")
    expected = random_forest(np.random.default_rng(0), 1, 20, 3)
    batch = expected.batch().reversed()
    forest = from_networkx(batch.graph.to_networkx())
    np.testing.assert_array_equal(forest.parent, expected.parent)


@pytest.mark.parametrize("value", [[2], "two", {}])
def test_bad_attributes(value: Any) -> None:
    good, bad = graph(("a", "b"), x={"a": 1, "b": 2}), graph((0, 1), x={0: 3, 1: value})
    with pytest.raises(TreeError) as caught:
        from_networkx(good, bad)
    assert str(caught.value).startswith(
        "tree 1, node 1: expected one kind of value in column 'x', got numbers (1 in tree 0, node "
        f"0) and {json.dumps(value)} in tree 1, node 1; correct one of them, leave a missing value "
        "out, or convert its values to strings"
    )


def test_attributes_of_edges_are_columns_of_the_child() -> None:
    tree = graph(
        ("r", "a", {"length": 0.5, "kind": "x", "v": [1, 2]}),
        ("r", "b", {"length": 2}),
        support={"r": 9, "b": 7},
    )
    forest = from_networkx(tree, names="name")
    assert names_of(forest, "name") == ["r", "a", "b"]
    assert names_of(forest, "kind") == [None, "x", None]
    nan = np.nan
    np.testing.assert_array_equal(forest.columns["length"], [nan, 0.5, 2])
    np.testing.assert_array_equal(forest.columns["v"], [[nan] * 2, [1, 2], [nan] * 2])
    np.testing.assert_array_equal(forest.columns["support"], [9, nan, 7])


@pytest.mark.parametrize(
    ("edges", "attributes", "message"),
    [
        ({"x": 1}, {"x": {1: 2}}, "tree 0, node 1: expected one attribute of a name at a node and"),
        ({2: 1}, {}, "tree 0, node 1: expected text as name at a node and the edge to it, got 2"),
    ],
)
def test_attributes_that_would_vanish(edges: Any, attributes: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_networkx(graph((0, 1, edges), **attributes))
    assert str(caught.value).startswith(message)
