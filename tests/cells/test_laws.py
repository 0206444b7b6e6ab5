"""The laws that every cell keeps, for every row of the table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from dgltrees import Forest, TreeBatch, compile_report, prop_nodes_topo, run_cell
from dgltrees._dgl import dgl
from dgltrees.cells import AGGREGATORS, CELLS, BaseCell, RRNetCell
from dgltrees.cells.compiled.kernels import available
from tests.cells.compiled.interpreter import compiling
from tests.cells.reference import Recursion, given_query, given_states, operations_of
from tests.cells.sequences import graph_of
from tests.cells.table import (
    CHILDREN,
    INPUT,
    LEFT,
    OF_MODELS,
    ONE_OF_EACH,
    OPERATORS,
    TABLE,
    UP,
    Row,
)
from tests.worlds import (
    batch_of,
    chain,
    forests,
    random_forest,
    shared_children,
    star,
    written_out,
)

Fields = dict[str, Tensor]

every_row = pytest.mark.parametrize("row", TABLE, ids=str)
every_row_up = pytest.mark.parametrize("row", UP, ids=str)


def world(forest: Forest, seed: int = 0) -> tuple[Tensor, Tensor]:
    """An input for every node; an operator for every node with children, all of them in turn."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(forest.num_nodes, INPUT, dtype=torch.float64, generator=generator)
    op = torch.full((forest.num_nodes,), -1)
    inner = torch.from_numpy(np.flatnonzero(forest.degree))
    op[inner] = torch.arange(len(inner)) % OPERATORS
    return x, op


def graph(cell: BaseCell, forest: Forest, x: Tensor, op: Tensor) -> tuple[TreeBatch, Fields]:
    """What the cell reads: the forest upwards, or downwards, or as sequences of operations."""
    if isinstance(cell, RRNetCell):
        op = operations_of(forest)
        drawn = [each.tolist() for each in op.split(forest.sizes.tolist())]
        return graph_of(drawn), {"x": x, "op": op, **given_states(x, cell.hidden_size)}
    if not cell.downward:
        return forest.batch(), {"x": x, "op": op, "q": given_query(x)}
    left = x[:, :LEFT].flip(1) + 1
    etype = torch.from_numpy(forest.pos)
    return forest.batch().reversed(), {"x": x, "left": left, "etype": etype}


def encode(
    cell: BaseCell,
    forest: Forest,
    x: Tensor,
    op: Tensor,
    backend: str = "levels",
    compile: bool = True,
) -> Tensor:
    batch, ndata = graph(cell, forest, x, op)
    return run_cell(cell, batch, ndata, backend=backend, compile=compile)["h"]


def gradients(
    cell: BaseCell, forest: Forest, x: Tensor, op: Tensor, backend: str, compile: bool = True
) -> tuple[Tensor, dict[str, Tensor]]:
    cell.zero_grad()
    x = x.clone().requires_grad_()
    h = encode(cell, forest, x, op, backend, compile)
    (h * torch.linspace(-1, 2, h.numel(), dtype=h.dtype).view_as(h)).sum().backward()
    found = {name: p.grad.clone() for name, p in cell.named_parameters() if p.grad is not None}
    return h.detach(), {**found, "x": x.grad}


def sample(children: int = CHILDREN) -> Forest:
    """Unlike trees: deep, wide, with gaps, single nodes; every operator and position occurs."""
    forest = random_forest(np.random.default_rng(5), 5, 14, children)
    return Forest.concat([forest, chain(6), star(children), chain(1)])


@every_row
def test_equals_the_recursion(row: Row) -> None:
    cell, forest = row.make(), sample(row.children)
    x, op = world(forest)
    assert_close(encode(cell, forest, x, op), Recursion(cell, forest, x, op).h())


@every_row
@settings(max_examples=4)
@given(data=st.data(), seed=st.integers(0, 99))
def test_equals_the_recursion_on_any_forest(row: Row, data: st.DataObject, seed: int) -> None:
    cell, forest = row.make(), data.draw(forests(max_children=row.children))
    x, op = world(forest, seed)
    with torch.no_grad():
        assert_close(encode(cell, forest, x, op), Recursion(cell, forest, x, op).h())


class Scale(torch.nn.Dropout):
    """In the place of dropout, something that can be followed."""

    def forward(self, x: Tensor) -> Tensor:
        return 0.25 * x


DEEP = [row for row in TABLE if row.cell == "top_down" and row.options["layers"] == 2]


@pytest.mark.parametrize("row", [*UP, *DEEP], ids=str)
def test_dropout_has_its_place(row: Row) -> None:
    cell, forest = row.make(dropout=0.5).train(), sample()
    x, op = world(forest)
    cell.dropout = Scale(0.5)
    assert_close(encode(cell, forest, x, op), Recursion(cell, forest, x, op).h())


@every_row
@pytest.mark.parametrize("backend", ["levels", "dgl"])
def test_autocast(row: Row, backend: str) -> None:
    """Gradients too keep to those of float32 as far as bfloat16 can."""
    cell, forest = row.make().float(), sample()
    x, op = world(forest)
    h, exact = gradients(cell, forest, x.float(), op, backend)
    with torch.autocast("cpu", torch.bfloat16):
        low, found = gradients(cell, forest, x.float(), op, backend)
    assert_close(low.float(), h, atol=0.06, rtol=0.06)
    assert found.keys() == exact.keys()
    for name, grad in found.items():
        close = torch.nn.functional.cosine_similarity(grad.flatten(), exact[name].flatten(), 0)
        assert close > 0.98, name


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("operators", [0, OPERATORS])
def test_any_aggregator_meets_any_gate(aggregator: str, cell: str, operators: int) -> None:
    made, forest = Row(cell, {"aggregator": aggregator, "operators": operators}).make(), sample()
    x, op = world(forest)
    with torch.no_grad():
        assert_close(encode(made, forest, x, op), Recursion(made, forest, x, op).h())


@every_row
def test_levels_equal_dgl(row: Row) -> None:
    cell, forest = row.make(), sample(row.children)
    x, op = world(forest)
    slow = gradients(cell, forest, x, op, "dgl")
    assert_close(gradients(cell, forest, x, op, "levels"), slow)
    assert_close(gradients(cell, forest, x, op, "levels", compile=False), slow)


@every_row
def test_a_batch_equals_its_trees(row: Row) -> None:
    cell, forest = row.make(), sample(row.children)
    x, op = world(forest)
    together = encode(cell, forest, x, op)
    for t in range(len(forest)):
        nodes = slice(forest.offsets[t], forest.offsets[t + 1])
        assert_close(encode(cell, forest.tree(t), x[nodes], op[nodes]), together[nodes])


@every_row
@pytest.mark.parametrize("compiled", [True, False])
def test_the_numbers_of_nodes_and_edges_do_not_matter(row: Row, compiled: bool) -> None:
    cell, forest = row.make(), random_forest(np.random.default_rng(3), 1, 20, row.children)
    batch, ndata = graph(cell, forest, *world(forest))
    new = torch.randperm(batch.num_nodes)  # node v becomes new[v]
    edges, back = torch.randperm(len(batch.src)), torch.argsort(new)
    ends = new[batch.src[edges]], new[batch.dst[edges]]
    edata = {name: field[edges] for name, field in batch.edata.items()}
    renumbered = TreeBatch(*ends, batch.sizes, edata=edata)
    moved = {name: field[back] for name, field in ndata.items()}
    h = run_cell(cell, renumbered, moved, compile=compiled)["h"]
    assert_close(h[new], run_cell(cell, batch, ndata, compile=compiled)["h"])


def prop_nodes_topo_of_dgl(graph: dgl.DGLGraph, cell: BaseCell) -> None:
    graph.ndata.update(cell.prepare(graph.ndata))
    dgl.prop_nodes_topo(graph, cell.message, cell.reduce, apply_node_func=cell.update)


def prop_nodes_topo_of_functions(graph: dgl.DGLGraph, cell: BaseCell) -> None:
    graph.ndata.update(cell.prepare(graph.ndata))
    prop_nodes_topo(graph, cell.message, cell.reduce, apply_node_func=cell.update)


@every_row
# Of a frontier without edges.
@pytest.mark.filterwarnings("ignore:The input graph for the user-defined edge")
def test_a_cell_runs_as_it_is_however_it_is_called(row: Row) -> None:
    cell, forest = row.make(), sample(row.children)
    batch, ndata = graph(cell, forest, *world(forest))
    ndata = {name: field for name, field in ndata.items() if name in cell.input_fields}
    expected = run_cell(cell, batch, ndata, backend="dgl")
    for propagate in (prop_nodes_topo_of_dgl, prop_nodes_topo_of_functions, prop_nodes_topo):
        whole = batch.with_data(ndata).graph
        propagate(whole, cell)
        assert_close({name: whole.ndata[name] for name in expected}, expected)
    x, fields = ndata.pop("x"), ndata
    assert_close(cell(batch, x, **fields), expected)
    assert_close(cell(batch.with_data(fields), x), expected)
    assert_close(cell(batch.with_data({"x": x, **fields}).graph), expected)
    if row.cell != "rrnet":  # whose graph is no tree
        assert_close(cell(forest, x, **fields), expected)


@every_row_up
def test_swapping_children_matters_as_declared(row: Row) -> None:
    cell, forest = row.make(), sample(row.children)
    x, op = world(forest)
    places = np.tile(np.arange(CHILDREN), (forest.num_nodes, 1))
    places = np.random.default_rng(0).permuted(places, axis=1)  # anew at every parent
    moved = np.where(forest.parent < 0, 0, places[forest.global_parent, forest.pos])
    turned = Forest.build(forest.parent, pos=moved, offsets=forest.offsets)
    before, after = encode(cell, forest, x, op), encode(cell, turned, x, op)
    inner = torch.from_numpy(forest.degree > 0)
    assert_close(after[~inner], before[~inner])
    if cell.ordered:
        assert (after - before)[inner].abs().amax() > 1e-3
    else:
        assert_close(after, before)


@every_row
def test_gradcheck(row: Row) -> None:
    cell, forest = row.make(), random_forest(np.random.default_rng(1), 2, 7, row.children)
    x, op = world(forest)
    names = [name for name, _ in cell.named_parameters()]

    def encoding(x: Tensor, *values: Tensor) -> Tensor:
        with torch.nn.utils.stateless._reparametrize_module(cell, dict(zip(names, values))):
            return encode(cell, forest, x, op, compile=False)

    values = [p.detach().clone().requires_grad_() for p in cell.parameters()]
    assert torch.autograd.gradcheck(encoding, (x.requires_grad_(), *values), fast_mode=True)


@every_row
def test_every_parameter_learns(row: Row) -> None:
    cell, forest = row.make(), sample(row.children)
    x, op = world(forest)
    _, found = gradients(cell, forest, x, op, "levels")
    for name, p in cell.named_parameters():
        assert name in found, f"{name} has no gradient"
        stacked = row.types and p.dim() > 2 and len(p) == row.types
        for k, part in enumerate(found[name] if stacked else [found[name]]):
            assert part.abs().max() > 0, f"{name} has a zero gradient at {k}"


def test_the_second_slot_of_not_is_out_of_reach() -> None:
    """An operator with one child: what belongs to its absent child's state learns nothing."""
    cell = Row("lstm", {"aggregator": "hosvd", "operators": 2}).make(max_children=2)
    forest = Forest.build([-1, 0, 1, 1])
    x = torch.randn(4, INPUT, dtype=torch.float64)
    _, found = gradients(cell, forest, x, torch.tensor([1, 0, -1, -1]), "levels")
    for name in ("f.U", "child_gate.U", "child_gate.b"):
        assert found[name][1, 0].abs().max() > 0
        assert found[name][1, 1].abs().max() == 0
        assert found[name][0].abs().amax(dim=(1, 2)).min() > 0
    assert found["f.b_U"][1].abs().amax(dim=(1, 2)).min() > 0


@every_row
@pytest.mark.parametrize(
    "shape", [lambda _: chain(1), lambda _: chain(9), star], ids=["one", "chain", "star"]
)
def test_shapes(row: Row, shape: Callable[[int], Forest]) -> None:
    cell, forest = row.make(), shape(row.children)
    x, op = world(forest)
    with torch.no_grad():
        assert_close(encode(cell, forest, x, op), Recursion(cell, forest, x, op).h())


DEPTH = 1200
"""Deeper than Python's recursion."""


@every_row
def test_deep(row: Row) -> None:
    cell, forest = row.make(), chain(DEPTH)
    end = slice(DEPTH - 20, DEPTH) if row.up else slice(0, 20)
    x, op = world(forest)
    with torch.no_grad():
        h = encode(cell, forest, x, op)
        assert_close(h[end], Recursion(cell, chain(20), x[end], op[end]).h())
    assert torch.isfinite(h).all()


@pytest.mark.parametrize("row", ONE_OF_EACH, ids=str)
def test_deep_backward(row: Row) -> None:
    cell, forest = row.make(), chain(DEPTH)
    x, op = world(forest)
    h, found = gradients(cell, forest, x, op, "levels")
    with torch.no_grad():
        assert_close(h, Recursion(cell, forest, x, op).h())
    for name, gradient in found.items():
        assert torch.isfinite(gradient).all(), name
        # One child alone has the weight 1, however it scores; and a chain has no merges.
        if row.cell not in ("nti_attention", "rrnet"):
            assert gradient.abs().max() > 0, name


def test_a_star_of_100000_children() -> None:
    cell, forest = Row("child_sum").make(), star(100_000)
    x = torch.ones(100_001, INPUT, dtype=torch.float64)
    state = run_cell(cell, forest.batch(), {"x": x})
    h, c = state["h"][1], state["c"][1]  # all leaves are alike
    i, o, u, f = (x[0] @ cell.W + cell.b).view(4, -1)
    i, o, u = torch.stack([i, o, u]) + (100_000 * h @ cell.U).view(3, -1)
    root = i.sigmoid() * u.tanh() + 100_000 * (f + h @ cell.U_f).sigmoid() * c
    assert_close(state["c"][0], root)
    assert_close(state["h"][0], o.sigmoid() * root.tanh())
    state["c"][0].sum().backward()
    for name, p in cell.named_parameters():
        assert p.grad is not None, name
        assert torch.isfinite(p.grad).all(), name


@every_row_up
def test_a_shared_child_equals_its_copies(row: Row) -> None:
    """At the roots, in values and gradients."""
    batch = shared_children(np.random.default_rng(7), 5, 12, CHILDREN)
    whole, node = written_out(batch)
    assert batch.num_nodes < 0.7 * whole.num_nodes
    cell, x = row.make(), torch.randn(batch.num_nodes, INPUT, dtype=torch.float64)
    op = torch.bincount(batch.dst, minlength=len(x)) % (OPERATORS + 1) - 1

    def roots(batch: TreeBatch, rows: Tensor, **way: Any) -> Fields:
        cell.zero_grad()
        drawn = x.clone().requires_grad_()
        ndata = {"x": drawn[rows], "op": op[rows], "q": given_query(x)[rows]}
        h = run_cell(cell, batch, ndata, **way)["h"][batch.roots]
        (h * torch.linspace(-1, 2, h.numel(), dtype=h.dtype).view_as(h)).sum().backward()
        learned = {n: p.grad.clone() for n, p in cell.named_parameters() if p.grad is not None}
        return {"h": h.detach(), "x": drawn.grad, **learned}

    every = torch.arange(len(x))
    expected = roots(whole.batch(), torch.from_numpy(node), backend="dgl")
    for way in ({"backend": "dgl"}, {"compile": False}):
        assert_close(roots(batch, every, **way), expected)
    if row in ONE_OF_EACH:
        with compiling():
            assert_close(roots(batch, every), expected)
        assert compile_report(cell) == f"{type(cell).__name__} is compiled" or not available()


def test_40_diamonds_in_a_row_are_121_nodes_and_not_a_tree_of_2_to_the_41() -> None:
    def diamonds(count: int) -> TreeBatch:
        tops = range(0, 3 * count, 3)
        below = [each for v in tops for each in ([v + 1, v + 2], [v + 3], [v + 3])]
        return batch_of([*below, []], [3 * count + 1])

    cell = Row("lstm", {"aggregator": "full"}).make(max_children=2)
    x = torch.ones(2**13, INPUT, dtype=torch.float64)
    small, large = diamonds(10), diamonds(40)
    assert (small.num_nodes, large.num_nodes) == (31, 121)
    whole, _ = written_out(small)
    assert whole.num_nodes == 2**12 - 3
    expected = run_cell(cell, whole.batch(), {"x": x[: whole.num_nodes]})["h"][0]
    assert_close(run_cell(cell, small, {"x": x[:31]})["h"][0], expected)
    fields = {"x": x[:121]}
    h = run_cell(cell, large, fields, compile=False)["h"]
    assert torch.isfinite(h).all()
    assert_close(run_cell(cell, large, fields, backend="dgl")["h"], h)
    with compiling():
        assert_close(run_cell(cell, large, fields)["h"], h)
    assert compile_report(cell) == "TreeLSTM is compiled" or not available()


def test_every_cell_is_in_the_table() -> None:
    """Those that are missing want a row in tests/cells/table.py."""
    assert {*CELLS, *OF_MODELS} - {row.cell for row in TABLE} == set()
    assert {*AGGREGATORS} - {row.options.get("aggregator") for row in TABLE} == set()
