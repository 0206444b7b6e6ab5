"""DGL's companions of prop_nodes_topo: equal to DGL's in values, gradients and frontiers."""

import re
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import dgltrees
from dgltrees import Forest, TreeError
from dgltrees._dgl import dgl
from tests.traversal.test_heterograph import message
from tests.traversal.test_properties import CountElements
from tests.traversal.test_topo import D, gradients, graph_of
from tests.worlds import acyclic_graphs, chain, forests

fn = pytest.importorskip("dgl.function", reason="needs DGL")


def ordered(nodes: Any) -> dict[str, Tensor]:
    m = nodes.mailbox["m"]
    place = torch.arange(1, m.shape[1] + 1, dtype=m.dtype)[None, :, None]
    return {"h": (m / place).sum(1) + nodes.data["x"]}


def last(nodes: Any) -> dict[str, Tensor]:
    return {"y": nodes.mailbox["m"][:, -1]}


def apply(nodes: Any) -> dict[str, Tensor]:
    return {"h": (nodes.data["x"] + nodes.data["y"]).tanh()}


EXTREME = (fn.copy_u("h", "m"), fn.max("m", "h"), None)
"""Functions for which DGL sends gradients of nodes without messages to node 0, or fails."""

FUNCTIONS = [
    (message, ordered, None),
    (message, last, apply),
    (fn.copy_u("h", "m"), fn.sum("m", "h"), None),
    EXTREME,
    (message, fn.mean("m", "y"), apply),
]


def drawn(rng: np.random.Generator, count: int, again: bool) -> list[list[int]]:
    """Frontiers, some of them empty; with ``again``, nodes or edges may occur repeatedly."""
    if again and count:
        return [rng.integers(0, count, rng.integers(0, 4)).tolist() for _ in range(4)]
    some = rng.permutation(count)[: rng.integers(0, count + 1)]
    return [part.tolist() for part in np.array_split(some, rng.integers(1, 5))]


def compare(name: str, arguments: tuple[Any, ...], options: dict[str, Any], graph: Any) -> None:
    rng = np.random.default_rng(graph.num_edges())
    functions = FUNCTIONS[int(rng.integers(len(FUNCTIONS)))]
    found = []
    for module in (dgl, dgltrees):
        gen = torch.Generator().manual_seed(0)
        sizes = [graph.num_nodes()] * 3 + [graph.num_edges()]
        inputs = [
            torch.randn(rows, D, generator=gen, dtype=torch.float64).requires_grad_()
            for rows in sizes
        ]
        with graph.local_scope(), warnings.catch_warnings():
            warnings.simplefilter("ignore", dgl.base.DGLWarning)  # of frontiers without edges
            graph.ndata.update(zip("xhy", inputs))
            graph.edata["w"] = inputs[3]
            two, update = functions[:2], {"apply_node_func": functions[2]}
            getattr(module, name)(graph, *arguments, *two, **options, **update)
            fields = dict(graph.ndata)
        total = torch.cat([field.reshape(-1) for _, field in sorted(fields.items())]).nan_to_num(
            0, 0, 0
        )
        found.append((fields, [] if functions is EXTREME else gradients(total, inputs)))
    torch.testing.assert_close(found[1][0], found[0][0], equal_nan=True)
    torch.testing.assert_close(found[1][1], found[0][1], equal_nan=True)


@given(acyclic_graphs(), st.integers(0, 99), st.booleans(), st.booleans())
def test_given_frontiers(
    world: tuple[int, np.ndarray, np.ndarray], seed: int, again: bool, cyclic: bool
) -> None:
    nodes, src, dst = world
    if cyclic:
        src, dst = np.r_[src, dst[:2]], np.r_[dst, src[:2]]
    graph, rng = graph_of(nodes, src, dst), np.random.default_rng(seed)
    compare("prop_nodes", (drawn(rng, nodes, again),), {}, graph)
    compare("prop_edges", (drawn(rng, len(src), again),), {}, graph)


@given(acyclic_graphs(), st.booleans(), st.booleans(), st.booleans())
def test_frontiers_of_a_search(
    world: tuple[int, np.ndarray, np.ndarray], reverse: bool, back: bool, others: bool
) -> None:
    graph = graph_of(*world)
    for source in (0, [graph.num_nodes() - 1], torch.tensor([0])):
        compare("prop_nodes_bfs", (source,), {"reverse": reverse}, graph)
        marks = {"has_reverse_edge": back, "has_nontree_edge": others}
        compare("prop_edges_dfs", (source,), {"reverse": reverse, **marks}, graph)
        for name in ("bfs_nodes_generator", "dfs_edges_generator"):
            same(getattr(dgltrees, name)(graph, source, reverse), name, graph, source, reverse)
    same(
        dgltrees.topological_nodes_generator(graph, reverse),
        *("topological_nodes_generator", graph, reverse),
    )


def same(frontiers: Any, name: str, *arguments: Any) -> None:
    expected = getattr(dgl, name)(*arguments)
    assert [each.tolist() for each in frontiers] == [each.tolist() for each in expected]


@given(forests())
def test_batches_have_the_frontiers_of_their_graphs(forest: Forest) -> None:
    batch = forest.batch()
    roots = batch.roots
    same(dgltrees.topological_nodes_generator(batch), "topological_nodes_generator", batch.graph)
    for name in ("bfs_nodes_generator", "dfs_edges_generator"):
        same(getattr(dgltrees, name)(batch, roots, True), name, batch.graph, roots, True)
    batch.ndata["x"] = torch.ones(batch.num_nodes)
    frontiers = dgltrees.topological_nodes_generator(batch)
    sum_up = fn.copy_u("x", "m"), lambda nodes: {"x": 1 + nodes.mailbox["m"].sum(1)}
    dgltrees.prop_nodes(batch, frontiers[1:], *sum_up)
    assert batch.ndata["x"].tolist() == batch.graph.ndata["x"].tolist()
    for backend in ("levels", "dgl"):  # no node has a state before
        counts = dgltrees.run_cell(Size(), batch, {}, backend=backend)["n"]
        assert counts.tolist() == batch.ndata["x"].tolist()


class Size:
    """The number of nodes below each node, itself included."""

    def message(self, edges: Any) -> dict[str, Tensor]:
        return {"m": edges.src["n"]}

    def reduce(self, nodes: Any) -> dict[str, Tensor]:
        return {"below": nodes.mailbox["m"].sum(1)}

    def update(self, nodes: Any) -> dict[str, Tensor]:
        one = torch.ones(nodes.batch_size())
        return {"n": one + nodes.data["below"] if "below" in nodes.data else one}


def test_the_cost_is_linear_in_the_frontiers() -> None:
    def work(nodes: int) -> int:
        batch = chain(nodes).batch()
        batch.ndata.update({name: torch.randn(nodes, D, requires_grad=True) for name in "xh"})
        batch.edata["w"] = torch.randn(nodes - 1, D, requires_grad=True)
        frontiers = dgltrees.topological_nodes_generator(batch)
        with CountElements() as counted:
            dgltrees.prop_nodes(batch, frontiers[1:], message, ordered)
            batch.ndata["h"].sum().backward()
        return counted.total

    assert work(320) < 8.6 * work(40)


PAIR = fn.copy_u("x", "m"), fn.sum("m", "x")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda b: dgltrees.prop_nodes(b, [[0], [1, 4]], *PAIR), "0 to 2 in frontier 1, got 4"),
        (
            lambda b: dgltrees.prop_nodes(b, [[-1]], *PAIR),
            "nodes from 0 to 2 in frontier 0, got -1",
        ),
        (
            lambda b: dgltrees.prop_edges(b, [[2]], *PAIR),
            "expected edges from 0 to 1 in frontier 0",
        ),
        (
            lambda b: dgltrees.prop_nodes(b, [[0.5]], *PAIR),
            "expected integers, the ids of nodes, in",
        ),
        (lambda b: dgltrees.prop_nodes_bfs(b, 9, *PAIR), "nodes from 0 to 2 in frontier 0, got 9"),
        (lambda b: dgltrees.dfs_edges_generator(b, [9]), "nodes from 0 to 2 in frontier 0, got 9"),
        (
            lambda b: dgltrees.prop_nodes(
                b.with_data({"x": torch.ones(3), "y": torch.ones(3, device="meta")}), [[0]], *PAIR
            ),
            "expected all node and edge data on one device, got 'x' on cpu and 'y' on meta",
        ),
        (
            lambda _: dgltrees.topological_nodes_generator(dgl.graph(([0, 1, 1], [1, 0, 2]))),
            "tree 0, node 0: expected a graph without cycles, got the cycle 0 -> 1 -> 0; remove",
        ),
        (
            lambda _: dgltrees.topological_nodes_generator(dgl.graph(([0, 1], [1, 1]))),
            "node 1: expected a graph without cycles, got an edge from this node to itself",
        ),
        (
            lambda _: dgltrees.topological_nodes_generator(
                dgl.graph((list(range(99)), [*range(1, 99), 0]))
            ),
            "the cycle 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> (91 more) -> 0",
        ),
    ],
)
def test_mistakes(call: Any, text: str) -> None:
    batch = Forest.build([-1, 0, 0]).batch()
    batch.ndata["x"] = torch.ones(3)
    with pytest.raises(TreeError, match=re.escape(text)) as error:
        call(batch)
    assert "\n" not in str(error.value)
