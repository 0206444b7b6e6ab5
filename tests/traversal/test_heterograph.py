"""prop_nodes_topo with functions by edge type, against DGL's multi_update_all on each frontier."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dgltrees import ConfigError, Forest, TreeError, compile_report, prop_nodes_topo
from dgltrees._dgl import dgl
from dgltrees.cells.compiled.kernels import available
from tests.cells.compiled.interpreter import compiling
from tests.traversal.test_topo import D, gradients
from tests.worlds import acyclic_graphs

fn = pytest.importorskip("dgl.function", reason="needs DGL")

A, B, C = (("n", name, "n") for name in "ABC")


def message(edges: Any) -> dict[str, Tensor]:
    if not edges.batch_size():
        return {"m": edges.src["h"]}
    return {"m": (edges.src["h"] * edges.data["w"]).tanh() + edges.dst["x"]}


def ordered(nodes: Any) -> dict[str, Tensor]:
    m = nodes.mailbox["m"]
    place = torch.arange(1, m.shape[1] + 1, dtype=m.dtype)[None, :, None]
    return {"y": (m / place).sum(1) + nodes.data["x"]}


def largest(nodes: Any) -> dict[str, Tensor]:
    return {"z": nodes.mailbox["m"].amax(1)}


def apply(nodes: Any) -> dict[str, Tensor]:
    rows = nodes.batch_size()
    y, z = (nodes.data[k] if k in nodes.data else nodes.data["x"] for k in "yz")
    parts = [nodes.data["x"], y.reshape(rows, -1, D).sum(1), z.reshape(rows, -1, D).sum(1)]
    return {"h": torch.stack(parts).sum(0).tanh()}


def own_cross(fields: list[Tensor]) -> Tensor:
    return fields[-1] * len(fields)


PAIRS = [
    (message, ordered),
    (message, largest),
    (fn.copy_u("h", "m"), fn.sum("m", "y")),
    (message, fn.mean("m", "z")),
    (fn.u_mul_e("h", "w", "m"), ordered),
]
EXTREME = [(fn.copy_u("h", "m"), fn.max("m", "y")), (message, fn.min("m", "y"))]
"""Pairs for which DGL sends gradients of nodes without messages to node 0, or fails."""


def by_dgl(graph: Any, functions: Any, cross: Any, update: Any) -> None:
    """Do what the documentation of prop_nodes_topo describes."""
    ends = zip(*(graph.edges(etype=name) for name in graph.canonical_etypes))
    homogeneous = dgl.graph(tuple(map(torch.cat, ends)), num_nodes=graph.num_nodes())
    for nodes in dgl.topological_nodes_generator(homogeneous):
        part = dgl.in_subgraph(graph, nodes)
        part.multi_update_all(functions, cross, update)
        here = torch.zeros(graph.num_nodes(), dtype=torch.bool)
        here[nodes] = True
        for name, new in part.ndata.items():
            before = graph.ndata.get(name, torch.zeros_like(new))
            if before.shape != new.shape:
                raise ValueError(f"{name} {before.shape} {new.shape}")
            graph.ndata[name] = torch.where(here.view(-1, *[1] * (new.dim() - 1)), new, before)


def by_backend(**options: Any) -> Callable[..., None]:
    def run(graph: Any, functions: Any, cross: Any, update: Any) -> None:
        prop_nodes_topo(graph, functions, cross, apply_node_func=update, **options)

    return run


RUNS = [by_backend(), by_backend(backend="dgl"), by_backend(activation_checkpointing=True)]


def typed(world: tuple[int, np.ndarray, np.ndarray], rng: np.random.Generator) -> Any:
    nodes, src, dst = world
    kind = rng.integers(0, 3, len(src))
    edges = {
        name: (torch.as_tensor(src[kind == k]), torch.as_tensor(dst[kind == k]))
        for k, name in enumerate((A, B, C))
    }
    return dgl.heterograph(edges, num_nodes_dict={"n": nodes})


def results(run: Any, graph: Any, arguments: Any, seed: int, extreme: bool) -> Any:
    """The fields of all nodes and the gradients of their sum, or the kind of the error."""
    gen = torch.Generator().manual_seed(seed)

    def draw(rows: int) -> Tensor:
        return torch.randn(rows, D, generator=gen, dtype=torch.float64).requires_grad_()

    inputs = [draw(graph.num_nodes()) for _ in "xh"]
    weights = [draw(graph.num_edges(name)) for name in graph.canonical_etypes]
    with graph.local_scope(), warnings.catch_warnings():
        warnings.simplefilter("ignore", dgl.base.DGLWarning)  # of frontiers without edges
        graph.ndata.update(zip("xh", inputs))
        for name, w in zip(graph.canonical_etypes, weights):
            graph.edges[name].data["w"] = w
        try:
            run(graph, *arguments)
        except ValueError as error:
            return type(error)
        fields = dict(graph.ndata)
    total = torch.cat([field.reshape(-1) for _, field in sorted(fields.items())]).nan_to_num(
        0, 0, 0
    )
    return fields, [] if extreme else gradients(total, [*inputs, *weights])


@pytest.mark.parametrize("cross", ["sum", "max", "min", "mean", "stack", own_cross])
@given(world=acyclic_graphs(), seed=st.integers(0, 99), extreme=st.booleans())
@settings(max_examples=12)
def test_every_backend_equals_multi_update_all_on_each_frontier(
    cross: Any, world: tuple[int, np.ndarray, np.ndarray], seed: int, extreme: bool
) -> None:
    rng = np.random.default_rng(seed)
    graph = typed(world, rng)
    pairs = PAIRS + EXTREME if extreme else PAIRS
    keys = [(A, B, C)[k] for k in rng.permutation(3)]
    functions = {
        (key if rng.integers(2) else key[1]): pairs[int(rng.integers(len(pairs)))] for key in keys
    }
    update = None if seed % 4 == 0 else apply
    expected = results(by_dgl, graph, (functions, cross, update), seed, extreme)
    for run in RUNS:
        found = results(run, graph, (functions, cross, update), seed, extreme)
        if isinstance(expected, type):
            assert found is expected  # stacks of different heights
            continue
        torch.testing.assert_close(found[0], expected[0], equal_nan=True)
        torch.testing.assert_close(found[1], expected[1], equal_nan=True)


def test_reduced_fields_are_stored_and_a_type_without_messages_counts_as_zeros() -> None:
    graph = dgl.heterograph({A: ([0, 1], [2, 2]), B: ([0], [3])}, num_nodes_dict={"n": 4})
    graph.ndata["h"] = torch.tensor([[1.0], [2.0], [0.0], [0.0]])
    functions = {
        "B": (fn.copy_u("h", "m"), fn.sum("m", "s")),
        A: (fn.copy_u("h", "m"), fn.sum("m", "s")),
    }
    prop_nodes_topo(graph, functions, "stack")
    assert graph.ndata["s"][:, :, 0].tolist() == [[0, 0], [0, 0], [3, 0], [0, 1]]
    del graph.ndata["s"]
    prop_nodes_topo(graph, functions, "mean", apply_node_func=lambda n: {"h": n.data["s"] + 1})
    assert graph.ndata["s"][:, 0].tolist() == [0.0, 0.0, 1.0, 0.5]
    assert graph.ndata["h"][:, 0].tolist() == [1.0, 1.0, 2.0, 1.5]


def test_a_batch_with_names_of_edge_types() -> None:
    batch = Forest.build([-1, 0, 0, 2, -1, 0], offsets=[0, 4, 6], pos=[0, 0, 1, 1, 0, 0]).batch()
    batch.ndata["x"] = torch.arange(6.0)
    graph = batch.heterograph()
    functions = {
        "child0": (fn.copy_u("x", "m"), fn.sum("m", "x")),
        "child1": (lambda edges: {"m": 10 * edges.src["x"]}, fn.sum("m", "x")),
    }
    for each in (batch, graph):
        prop_nodes_topo(each, functions, "sum")
        assert each.ndata["x"].tolist() == [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        each.ndata["x"] = torch.arange(6.0)
        sums = {
            key: (m, lambda n: {"y": n.mailbox["m"].sum(1)}) for key, (m, _) in functions.items()
        }
        prop_nodes_topo(each, sums, "sum", apply_node_func=add)
        assert each.ndata["x"].tolist() == [321.0, 1.0, 32.0, 3.0, 9.0, 5.0]


def add(nodes: Any) -> dict[str, Tensor]:
    return {"x": nodes.data["x"] + nodes.data["y"] if "y" in nodes.data else nodes.data["x"]}


def good() -> Any:
    graph = dgl.heterograph({A: ([0], [1]), B: ([0, 3], [2, 4])}, num_nodes_dict={"n": 5})
    graph.set_batch_num_nodes(torch.tensor([3, 2]))
    graph.ndata["h"] = torch.ones(5, 1)
    return graph


def with_edges(src: list[int], dst: list[int]) -> Any:
    graph = dgl.heterograph({A: (src, dst), B: ([3], [2])}, num_nodes_dict={"n": 5})
    graph.set_batch_num_nodes(torch.tensor([1, 4]))
    graph.ndata["h"] = torch.ones(5, 1)
    return graph


PAIR = fn.copy_u("h", "m"), fn.sum("m", "h")
BOTH = {"A": PAIR, "B": PAIR}
MISTAKES = [
    (good, {"A": PAIR}, "sum", {}, "missing functions for the edge types B; add {'B': (message"),
    (good, {**BOTH, "left": PAIR}, "sum", {}, "unknown edge type 'left'; the edge types are A, B"),
    (good, {**BOTH, A: PAIR}, "sum", {}, "expected the functions of edge type ('n', 'A', 'n')"),
    (good, {**BOTH, "A": PAIR[0]}, "sum", {}, "expected (message, reduce) for edge type 'A', got"),
    (good, BOTH, "prod", {}, "sum, max, min, mean, stack or a function of a list of tensors"),
    (good, BOTH, None, {}, "as cross reducer, after the functions by edge type, got None"),
    (
        good,
        {"A": PAIR, "B": (lambda edges: {"m": 2 * edges.src["x"]}, PAIR[1])},
        *("sum", {}, "reads a missing field 'x'; the fields are ['h']; the first frontier has"),
    ),
    (
        good,
        {"A": PAIR, "B": (fn.copy_u("x", "m"), PAIR[1])},
        *("sum", {"backend": "dgl"}, "reads a missing field 'x'; the fields are ['h']; the first"),
    ),
    *(
        (
            good,
            {"A": PAIR, "B": (lambda edges: {"m": edges.src["h"].expand(-1, 3)}, PAIR[1])},
            *(cross, {"backend": backend}, "'h' to have the same shape for all edge types, got"),
        )
        for cross, backend in (("stack", "levels"), ("max", "dgl"))
    ),
    (good, BOTH, "sum", {"reverse": True}, "reverse the edges: dgl.reverse(graph)"),
    (good, BOTH, "sum", {"reverse": len}, "got a function; write apply_node_func=function"),
    (good, BOTH, "sum", {"slots": 2}, "functions by edge type without reverse, group_by and slots"),
    (good, BOTH, "sum", {"backend": "x"}, "expected backend to be one of levels, dgl, got 'x'"),
    (list, BOTH, "sum", {}, "expected a DGLGraph with one node type for functions by edge type"),
    (
        lambda: dgl.heterograph({("a", "A", "b"): ([0], [0]), ("b", "B", "b"): ([0], [1])}),
        *(BOTH, "sum", {}, "one node type for functions by edge type, got ['a', 'b']; use"),
    ),
    (
        lambda: with_edges([1, 2, 3], [2, 3, 4]),
        *(BOTH, "sum", {}, "tree 1, node 1: expected a graph without cycles, got the cycle 1 -> 2"),
    ),
    (
        lambda: with_edges([4], [4]),
        *(
            BOTH,
            "sum",
            {},
            "tree 1, node 3: expected a graph without cycles, got an edge from this",
        ),
    ),
]


@pytest.mark.parametrize(("make", "functions", "cross", "options", "text"), MISTAKES)
def test_mistakes(make: Any, functions: Any, cross: Any, options: Any, text: str) -> None:
    with pytest.raises((ConfigError, TreeError), match=re.escape(text)) as error:
        prop_nodes_topo(make(), functions, cross, **options)
    assert "\n" not in str(error.value)


class Summing(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.u = torch.nn.Linear(D, D).double()

    def update(self, nodes: Any) -> dict[str, Tensor]:
        return {"h": torch.tanh(nodes.data["x"] + self.u(nodes.data["s"]))}


X = torch.linspace(-1, 1, 60 * D, dtype=torch.float64).view(60, D)


def on_a_tree(
    functions: Any, update: Any, options: dict[str, Any], **fields: Tensor
) -> dict[str, Tensor]:
    """The fields after a run on a tree of 60 nodes with three types of edges."""
    rng, src = np.random.default_rng(0), np.arange(1, 60)
    graph = typed((60, src, rng.integers(0, src)), rng)
    graph.ndata.update(h=torch.zeros_like(X), **fields)
    with compiling():
        prop_nodes_topo(graph, functions, "sum", apply_node_func=update, **options)
    return dict(graph.ndata)


def test_a_message_may_depend_on_the_name_of_the_type() -> None:
    def message(edges: Any) -> dict[str, Tensor]:
        return {"m": edges.src["h"] * (2.0 if edges.canonical_etype[1] == "B" else 1.0)}

    cell, x = Summing(), X.clone().requires_grad_()
    functions = {name: (message, fn.sum("m", "s")) for name in "ABC"}
    first, second = (on_a_tree(functions, cell.update, o, x=x) for o in ({}, {"compile": False}))
    torch.testing.assert_close(first, second)


@pytest.mark.skipif(not available(), reason="no numba")
def test_types_that_share_a_message_and_a_sum_are_compiled() -> None:
    cell, x, found = Summing(), X.clone().requires_grad_(), []
    functions = {name: (fn.copy_u("h", "m"), fn.sum("m", "s")) for name in "ABC"}
    for options in ({}, {"compile": False}, {"backend": "dgl"}):
        fields = on_a_tree(functions, cell.update, options, x=x)
        both = torch.cat([fields["h"], fields["s"]])
        found.append((fields, gradients(both, [x, cell.u.weight])))
    assert compile_report(cell) == "Summing is compiled"
    for other in found[1:]:
        torch.testing.assert_close(found[0], other)


@pytest.mark.skipif(not available(), reason="no numba")
def test_compiled_types_read_what_they_are_given() -> None:
    functions = {name: (fn.u_mul_v("h", "s", "m"), fn.sum("m", "s")) for name in "ABC"}
    for scale in (1.0, 2.0):  # of two functions with the same code

        def update(nodes: Any, scale: float = scale) -> dict[str, Tensor]:
            return {"h": torch.tanh(scale * (nodes.data["x"] + nodes.data["s"]))}

        runs = ({}, {"backend": "dgl"})
        first, second = (on_a_tree(functions, update, o, x=X, s=1 + X) for o in runs)
        torch.testing.assert_close(first, second)
