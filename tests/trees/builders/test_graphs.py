"""Forests of DGL's and PyTorch Geometric's graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given

from dgltrees import Forest, TreeBatch, TreeError
from dgltrees.draw import draw
from dgltrees.trees.builders import from_dgl, from_pyg
from dgltrees.trees.segments import within
from tests.worlds import chain, forests, random_forest, star

dgl = pytest.importorskip("dgl", reason="needs DGL")


def assert_equal(forest: Forest, expected: Forest) -> None:
    for name in ("parent", "pos", "offsets"):
        np.testing.assert_array_equal(getattr(forest, name), getattr(expected, name))
    assert set(forest.columns) == set(expected.columns)
    for name in expected.columns:
        np.testing.assert_array_equal(forest.columns[name], expected.columns[name])


def with_columns(forest: Forest) -> Forest:
    rows = np.arange(forest.num_nodes)
    columns = {"label": rows % 3, "x": np.stack([rows, -rows], 1) / 4}
    return Forest(forest.parent, forest.pos, forest.offsets, columns)


@pytest.mark.parametrize("turn", [False, True])
@given(forest=forests())
def test_batches_and_graphs_come_back(turn: bool, forest: Forest) -> None:
    forest = with_columns(forest)
    batch = forest.batch().reversed() if turn else forest.batch()
    assert_equal(from_dgl(batch, down=turn), forest)
    assert_equal(from_dgl(batch.graph, down=turn), forest)
    assert_equal(from_dgl(*dgl.unbatch(batch.graph), down=turn), forest)
    assert_equal(from_dgl(dgl.unbatch(batch.graph), down=turn), forest)
    one_graph = dgl.graph(batch.graph.edges(), num_nodes=forest.num_nodes)
    one_graph.ndata.update(batch.ndata)
    one_graph.edata.update(batch.edata)
    assert_equal(from_dgl(one_graph, down=turn), forest)


@given(forest=forests())
def test_pytorch_geometric(forest: Forest) -> None:
    data = pytest.importorskip("torch_geometric.data", reason="needs torch_geometric")
    forest = with_columns(Forest.concat([forest, star(2)]))
    graphs = []
    for tree in forest:
        batch, y = tree.batch(), torch.tensor([1.0])
        edges = torch.stack([batch.dst, batch.src])
        graphs.append(data.Data(edge_index=edges, y=y, **batch.ndata, pos=batch.edata["pos"]))
    assert_equal(from_pyg(*graphs, down=True), forest)
    assert_equal(from_pyg(data.Batch.from_data_list(graphs), down=True), forest)


def test_directions() -> None:
    rng = np.random.default_rng(0)
    forest = random_forest(rng, 5, 20, 3)
    assert_equal(from_dgl(forest.batch()), forest)
    assert_equal(from_dgl(forest.batch().reversed()), forest)
    assert_equal(from_dgl(forest.batch().reversed().graph), forest)
    assert_equal(from_dgl(chain(3).batch()), chain(3))  # a batch knows its roots
    assert_equal(from_dgl(chain(3).batch().reversed()), chain(3))
    assert_equal(
        from_dgl(dgl.graph(([], []), num_nodes=2)), Forest.build([-1, -1], offsets=[0, 1, 2])
    )
    assert from_dgl([forest.batch().reversed().graph, chain(3).batch().reversed().graph])[
        -1
    ].parent.tolist() == [-1, 0, 1]


def down_chains(*lengths: int) -> list[dgl.DGLGraph]:
    """Chains whose edges go from parent to child."""
    return [dgl.graph((range(n - 1), range(1, n)), num_nodes=n) for n in lengths]


@pytest.mark.parametrize(
    "graphs",
    [
        down_chains(3),
        down_chains(3, 1, 2),
        [dgl.batch(down_chains(2, 4))],
        [dgl.graph(([0, 1, 3], [1, 2, 4]))],  # two chains in one graph
        [dgl.heterograph({("n", "LEFT", "n"): ([0], [1]), ("n", "RIGHT", "n"): ([1], [2])})],
        [TreeBatch.from_graph(*down_chains(3))],
    ],
)
def test_chains_have_no_direction(graphs: list[Any]) -> None:
    with pytest.raises(TreeError, match=r"call from_dgl\(..., down=True\) for edges from parent"):
        from_dgl(graphs)
    with pytest.raises(TreeError, match=r"call from_dgl\(..., down=True\)"):
        draw(graphs[0])
    forest = from_dgl(graphs, down=True)
    np.testing.assert_array_equal(forest.parent, within(forest.sizes) - 1)


def test_chains_of_pytorch_geometric_have_no_direction() -> None:
    data = pytest.importorskip("torch_geometric.data", reason="needs torch_geometric")
    chains = [data.Data(edge_index=torch.tensor([[0], [1]]), num_nodes=n) for n in (2, 3)]
    for graphs in (chains, [data.Batch.from_data_list(chains)]):
        with pytest.raises(TreeError, match=r"call from_pyg\(..., down=True\)"):
            from_pyg(graphs)
        assert from_pyg(graphs, down=True).parent.tolist() == [-1, 0, -1, 0, -1]


def test_data_of_edges() -> None:
    graph = dgl.graph(([1, 2, 4], [0, 0, 3]))
    graph.edata["etype"] = torch.tensor([5, 6, 7])
    graph.edata["w"] = torch.ones(3, 2, dtype=torch.bfloat16)
    forest = from_dgl(graph)
    assert forest.sizes.tolist() == [3, 2]
    np.testing.assert_array_equal(forest.columns["etype"], [np.nan, 5, 6, np.nan, 7])
    assert forest.columns["w"].shape == (5, 2)
    assert not from_dgl(graph, edge_columns=False).columns


def broken(src: Any, dst: Any, **data: torch.Tensor) -> dgl.DGLGraph:
    graph = dgl.graph((src, dst), num_nodes=3)
    graph.ndata["x"] = torch.zeros(3)
    graph.edata.update(data)
    return graph


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "expected at least one graph, got none"),
        ([broken([0, 0, 1], [1, 2, 2])], "tree 1, node 0: expected a tree, in which a node has at"),
        (
            [broken([0, 1, 2], [1, 2, 0])],
            "tree 1, node 0: expected a graph without cycles, got the cycle 0 -> 1 -> 2 -> 0",
        ),
        ([dgl.graph([])], "tree 1: expected nodes in every graph, got none"),
        ([dgl.graph(([0], [1]))], "tree 1: expected the node data of the first graph, x, got none"),
        ([broken([1], [0], x=torch.ones(1))], "tree 1: expected the edge data of the first"),
    ],
)
def test_bad_graphs(graphs: list[Any], message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_dgl(*([broken([1, 2], [0, 0]), *graphs] if graphs else ()))
    assert str(caught.value).startswith(message)


def positions(*pos: Any) -> dgl.DGLGraph:
    """Two children of node 0, and positions in node data, as the tensor authors have them."""
    graph = dgl.graph(([1, 2], [0, 0]))
    graph.ndata.update({"pos": torch.tensor(pos), "y": torch.tensor([1, -1, -1])})
    return graph


def test_positions_of_nodes() -> None:
    for pos in ((-1, 2, 0), (0, 2, 0), (0.0, 2.0, 0.0)):
        forest = from_dgl(positions(*pos))
        assert forest.pos.tolist() == [0, 2, 0]
        assert {k: v.tolist() for k, v in forest.columns.items()} == {"y": [1, -1, -1]}
    graph = positions(0, 2, 0)
    assert from_dgl(graph, pos=None).pos.tolist() == [0, 0, 1]
    graph.ndata["place"] = graph.ndata.pop("pos")
    assert from_dgl(graph, pos="place").pos.tolist() == [0, 2, 0]
    batch = star(2).with_columns({"pos": np.array([7, 8, 9])}).batch()  # a column of this name
    assert from_dgl(batch).columns["pos"].tolist() == [7, 8, 9]


def both() -> dgl.DGLGraph:
    graph = positions(0, 0, 1)
    graph.edata["pos"] = torch.tensor([0, 1])
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (both(), "tree 0: expected positions in node or edge data, got 'pos' in both; rename one"),
        (positions(0, 0, -1), "tree 0, node 2: expected a position from 0 as 'pos' of each child"),
        (positions(0, 0.5, 1), "tree 0, node 1: expected a position from 0 as 'pos' of each child"),
        (positions(0, np.nan, 1), "tree 0, node 1: expected a position from 0 as 'pos' of each"),
        (
            positions(0, 3, 3),
            "tree 0, node 2: expected each child position once, got 3 twice under",
        ),
        (
            positions([0], [1], [2]),
            "expected an integer as 'pos' of each child, got int64 of shape",
        ),
        (
            [dgl.graph(([1], [0])), dgl.graph(([0, 1, 2], [1, 2, 1]))],
            "tree 1, node 1: expected a graph without cycles, got the cycle 1 -> 2 -> 1; remove",
        ),
        (
            dgl.graph(([0, 1], [0, 0])),
            "tree 0, node 0: expected a graph without cycles, got an edge from this node to itself",
        ),
        (
            dgl.heterograph({("n", "child3", "n"): ([1, 2], [0, 0])}),
            "tree 0, node 2: expected each child position once, got 3 twice under node 0",
        ),
        (
            [dgl.heterograph({("n", name, "n"): ([1], [0])}) for name in ("LEFT", "NEXT")],
            "tree 1: expected the edge types of the first graph, LEFT, got NEXT",
        ),
    ],
)
def test_bad_positions_and_types(graph: Any, message: str) -> None:
    with pytest.raises(TreeError) as caught:
        from_dgl(graph, down=False)
    assert str(caught.value).startswith(message)


def test_node_and_edge_data_of_one_name() -> None:
    with pytest.raises(TreeError, match="one name for node or edge data, got 'x' for both"):
        from_dgl(broken([1], [0], x=torch.ones(1)), down=False)


def test_what_is_no_graph_is_named() -> None:
    with pytest.raises(TreeError, match="tree 1: expected a DGLGraph, got int"):
        from_dgl([star(3).batch().graph, 1])  # type: ignore[list-item]
    with pytest.raises(TreeError, match="tree 0: expected a Data object, got int"):
        from_pyg(1)  # type: ignore[arg-type]
    pyg = pytest.importorskip("torch_geometric.data")
    with pytest.raises(TreeError, match="tree 0: expected a Data object, got HeteroData"):
        from_pyg(pyg.HeteroData())
    with pytest.raises(TreeError, match="tree 0: expected edge_index in every Data object"):
        from_pyg(pyg.Data(x=torch.ones(1, 2)))
