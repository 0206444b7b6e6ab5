"""Graphs with named edge types, from batches and back."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dgltrees import ConfigError, Forest, TreeBatch, TreeError, Vocabulary
from dgltrees.trees.builders import from_dgl
from tests.worlds import acyclic_graphs, forests, star

dgl = pytest.importorskip("dgl", reason="needs DGL")

NAMES = ("b", "child10", "a", "child2")  # DGL sorts them


def mailboxes(batch: TreeBatch, fields: tuple[str, ...] = ()) -> list[list[Any]]:
    """The source of each message of each node, with edge data, in the order of the mailbox."""
    rows = zip(batch.src.tolist(), *(batch.edata[name].tolist() for name in fields))
    boxes: list[list[Any]] = [[] for _ in range(batch.num_nodes)]
    for node, row in zip(batch.dst.tolist(), rows):
        boxes[node].append(row)
    return boxes


def homogeneous_types(graph: Any) -> Tensor:
    """The number of the type of each edge that ``dgl.to_homogeneous`` writes."""
    return dgl.to_homogeneous(graph).edata[dgl.ETYPE]


@given(forest=forests(max_children=12), turn=st.booleans())
def test_forests_come_back(forest: Forest, turn: bool) -> None:
    forest = forest.with_columns({"x": np.arange(forest.num_nodes)})
    batch = forest.batch().reversed() if turn else forest.batch()
    batch.edata["w"] = torch.arange(2.0 * len(batch.src)).view(-1, 2)
    graph = batch.heterograph()
    back = TreeBatch.from_graph(graph)
    assert mailboxes(back, ("pos", "w")) == mailboxes(batch, ("pos", "w"))
    torch.testing.assert_close(back.sizes, batch.sizes)
    torch.testing.assert_close(graph.batch_num_nodes("node"), batch.sizes)
    assert graph.etypes == list(back.etype_names or ())
    types = torch.cat([graph.edges[name].data["pos"] for name in graph.etypes])
    if len(types):  # of no edges, DGL makes no homogeneous graph
        torch.testing.assert_close(homogeneous_types(graph), types)
    torch.testing.assert_close(back.edata["etype"], back.edata["pos"])
    several = dgl.unbatch(graph)
    for tree, single in enumerate(several):
        assert single.num_nodes() == forest.sizes[tree]
        assert single.num_edges() == forest.sizes[tree] - 1
    for graphs in ([graph], several, [dgl.batch(several)]):
        same = from_dgl(graphs, down=turn, edge_columns=False)
        for name in ("parent", "pos", "offsets"):
            np.testing.assert_array_equal(getattr(same, name), getattr(forest, name))
        np.testing.assert_array_equal(same.columns["x"], forest.columns["x"])


@given(graph=acyclic_graphs(), seed=st.integers(0, 2**16), has_pos=st.booleans())
def test_graphs_with_names_come_back(graph: Any, seed: int, has_pos: bool) -> None:
    nodes, src, dst = (torch.as_tensor(each) for each in graph)
    rng = np.random.default_rng(seed)
    types, pos = torch.from_numpy(rng.integers(0, (4, 3), (len(src), 2))).unbind(1)
    edata = {"etype": types, **({"pos": pos} if has_pos else {})}
    batch = TreeBatch(src, dst, nodes.view(1), edata=edata, etype_names=NAMES)
    hetero = batch.heterograph()
    assert hetero.etypes == list(NAMES)
    back = TreeBatch.from_graph(hetero)
    assert back.etype_names == NAMES
    assert set(back.edata) == set(edata)
    assert mailboxes(back, tuple(edata)) == mailboxes(batch, tuple(edata))
    if len(src):
        torch.testing.assert_close(homogeneous_types(hetero), types.sort().values)


def test_a_column_names_the_edges() -> None:
    forest = Forest.build(
        [-1, 0, 0, -1, 0],
        offsets=[0, 3, 5],
        columns={"deprel": [2, 1, 0, 2, 0]},
        vocabs={"deprel": Vocabulary(["nsubj", "det", "root"], frozen=True)},
    )
    graph = forest.heterograph(etype="deprel")
    assert graph.etypes == ["nsubj", "det", "root"]
    assert graph.batch_num_edges("nsubj").tolist() == [1, 1]
    for graphs in ([graph], dgl.unbatch(graph)):  # DGL sorts the types of single graphs
        back = from_dgl(graphs)
        assert back.vocabs["etype"].names == ["nsubj", "det", "root"]
        assert back.columns["etype"].tolist() == [-1, 1, 0, -1, 0]
        assert back.pos.tolist() == forest.pos.tolist()
    trained = Vocabulary(["root", "det", "nsubj"], frozen=True)  # in another order
    assert from_dgl(graph, vocabs={"etype": trained}).columns["etype"].tolist() == [-1, 1, 2, -1, 2]
    single = dgl.unbatch(graph)[0]
    for names in (None, ["nsubj", "det", "root"]):
        assert TreeBatch.from_graph(single, names).edata["etype"].tolist() == [1, 0]
    with pytest.raises(TreeError, match=r"0: expected etype 0 of an edge of type 'det', got 1"):
        TreeBatch.from_graph(single, ["det", "nsubj", "root"])


def test_names_survive() -> None:
    batch = TreeBatch(*torch.tensor([[1], [0], [2]]), etype_names=["a"])
    for same in (
        batch.to("meta"),
        batch.with_data({}),
        batch.reversed(),
        batch.reversed().to("cpu"),
    ):
        assert same.etype_names == ("a",)
    assert pickle.loads(pickle.dumps(batch)).etype_names == ("a",)


def test_data_of_a_batch_whose_graph_was_made_before() -> None:
    batch = typed(0, 1)
    assert not batch.graph.ndata
    batch.ndata["h"] = torch.ones(3)
    assert list(batch.heterograph().ndata) == ["h"]
    graph = batch.graph
    assert graph.ndata["h"] is batch.ndata["h"]
    graph.ndata["y"] = graph.ndata["h"] = torch.zeros(3)  # as DGL's functions write
    batch.edata["e"] = torch.ones(2)
    assert batch.graph.ndata["h"].tolist() == batch.graph.ndata["y"].tolist() == [0.0] * 3
    assert batch.graph.edata["e"].tolist() == [1.0] * 2
    batch.ndata["h"] = torch.full((3,), 2.0)
    assert batch.graph.ndata["h"].tolist() == [2.0] * 3


def hetero(**types: Any) -> Any:
    """A graph of five nodes with edges ``(src, dst)`` or ``(src, dst, edata)`` by type."""
    ends = {("node", name, "node"): each[:2] for name, each in types.items()}
    graph = dgl.heterograph(ends, {"node": 5})
    for name, each in types.items():
        graph.edges[name].data.update(*each[2:])
    return graph


def typed(*numbers: int) -> TreeBatch:
    edges = torch.tensor([[1, 2], [0, 0]])
    sizes, edata = torch.tensor([3]), {"etype": torch.tensor(numbers)}
    return TreeBatch(*edges, sizes, edata=edata, etype_names=NAMES)


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (
            lambda: Forest.concat([star(2), star(1001)]).heterograph(),
            "tree 1, node 0: expected an edge type below 1,000, got 1000; batch().graph has one "
            "type (edge from node 1001)",
        ),
        (
            lambda: typed(0, 4).heterograph(),
            "tree 0, node 0: expected an edge type from 0 to 3, got 4 (edge from node 2)",
        ),
        (
            lambda: TreeBatch.from_graph(dgl.heterograph({("a", "r", "b"): ([0], [0])})),
            "expected one type of nodes, got 2 (a, b); dgl.to_homogeneous(graph) makes one",
        ),
        (
            lambda: TreeBatch.from_graph(hetero(a=([1], [0]), b=([2], [0])), ["a", "c"]),
            "expected edge types among etype_names, a, c, got 'b'",
        ),
        (
            lambda: TreeBatch.from_graph(hetero(a=([1], [0], {"w": torch.ones(1)}), b=([3], [2]))),
            "tree 0, node 2: missing edge data 'w' of an edge of type 'b' (edge from node 3)",
        ),
        (
            lambda: TreeBatch.from_graph(
                hetero(a=([1], [0]), child3=([2], [0], {"pos": torch.ones(1)}))
            ),
            "tree 0, node 0: missing edge data 'pos' of an edge of type 'a' (edge from node 1)",
        ),
        (
            lambda: TreeBatch.from_graph(hetero(child0=([], []), child1000=([2], [0]))),
            "expected child positions below 1,000 as edge types, got child1000",
        ),
        (
            lambda: star(1).batch().to("meta").heterograph(),
            'expected tensors on the CPU, where DGL\'s graph is, got meta; use batch.to("cpu")',
        ),
        (
            lambda: star(1).heterograph(etype="op"),
            "expected a column with a vocabulary as etype, one of [], got 'op'",
        ),
    ],
)
def test_bad_input(convert: Callable[[], Any], message: str) -> None:
    with pytest.raises((TreeError, ConfigError)) as caught:
        convert()
    assert str(caught.value) == message
