"""The tensor Tree-LSTM's way of its own through all levels is the way of its three functions."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dgltrees import Forest, TreeBatch, TreeError, traverse
from dgltrees.cells import TreeLSTM
from dgltrees.cells.aggregators.multilinear import multilinear
from dgltrees.cells.compiled import contraction
from dgltrees.cells.compiled.contraction import Contraction
from dgltrees.cells.compiled.kernels import available, compiled
from dgltrees.cells.compiled.plans import blocks
from dgltrees.cells.compiled.plans.blocks import plan_blocks
from dgltrees.traversal import compiled_states
from tests.worlds import chain, forests, random_forest, star

M, C, L, K = 3, 4, 3, 3
NAMES = ["hosvd", "full"]
ONE_BY_ONE, TOGETHER = 0, 1 << 40  # what a block costs: nothing, or more than any row


@pytest.fixture(scope="module", params=[False, True], ids=["torch", "compiled"], autouse=True)
def _way(request):
    """Both ways, where there are two."""
    if request.param and not available():
        pytest.skip("numba is not installed")
    with compiled(request.param):
        yield


def make(aggregator: str, children: int = L, **options) -> TreeLSTM:
    torch.manual_seed(0)
    options = {"operators": K, "rank": 2 if aggregator == "hosvd" else None, **options}
    cell = TreeLSTM(M, C, children, aggregator, **options).double()
    with torch.no_grad():  # biases start at zero, where a mistake would not show
        for parameter in cell.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return cell


def fields(batch: TreeBatch) -> dict[str, Tensor]:
    gen = torch.Generator().manual_seed(1)
    x = torch.randn(batch.num_nodes, M, generator=gen, dtype=torch.float64).requires_grad_()
    return {"x": x, "op": torch.randint(0, K, (batch.num_nodes,), generator=gen)}


def equal_ways(cell: TreeLSTM, batch: TreeBatch, outputs: list[str], **other) -> None:
    """Compare values and gradients with those of another way, which ``other`` asks for."""
    ndata = fields(batch)
    assert compiled_states(cell, batch, ndata) is not None
    inputs = [ndata["x"], *cell.parameters()]
    found, grads = [], []
    for way in ({}, other):
        made = traverse(cell, batch, ndata, **way)
        found.append(made)
        total = sum((made[name].sin() * (i + 1)).sum() for i, name in enumerate(outputs))
        grads.append(torch.autograd.grad(total, inputs, allow_unused=True))
    torch.testing.assert_close(*found)
    for i, *pair in zip(inputs, *grads):  # None where nothing is reached
        torch.testing.assert_close(*(torch.zeros_like(i) if g is None else g for g in pair))


@pytest.mark.parametrize("block", [ONE_BY_ONE, TOGETHER])
@pytest.mark.parametrize("children", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data(), outputs=st.sampled_from([["h"], ["c"], ["h", "c"]]))
def test_equals_the_three_functions(
    name: str, children: int, block: int, data: st.DataObject, outputs: list[str]
) -> None:
    forest = data.draw(forests(max_children=children))
    with mock.patch.object(blocks, "BLOCK", block):
        equal_ways(make(name, children), forest.batch(), outputs, fused=False)


@pytest.mark.parametrize("name", NAMES)
def test_equals_dgl(name: str) -> None:
    batch = random_forest(np.random.default_rng(0), 6, 40, L).batch()
    equal_ways(make(name), batch, ["h", "c"], backend="dgl")


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_differences(name: str) -> None:
    batch, cell = random_forest(np.random.default_rng(3), 2, 9, 2).batch(), make(name, 2)
    ndata = fields(batch)
    names = [n for n, _ in cell.named_parameters()]

    def h(x: Tensor, *values: Tensor) -> Tensor:
        given = dict(zip(names, values))
        call = torch.func.functional_call
        return call(Whole(cell, batch, ndata["op"]), {f"cell.{n}": v for n, v in given.items()}, x)

    assert torch.autograd.gradcheck(h, (ndata["x"], *cell.parameters()))


class Whole(torch.nn.Module):
    """A cell with its batch, a function of x."""

    def __init__(self, cell: TreeLSTM, batch: TreeBatch, op: Tensor) -> None:
        super().__init__()
        self.cell, self.batch, self.op = cell, batch, op

    def forward(self, x: Tensor) -> Tensor:
        return traverse(self.cell, self.batch, {"x": x, "op": self.op})["h"]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_not_taken_where_it_would_differ(name: str) -> None:
    batch = random_forest(np.random.default_rng(0), 3, 9, L).batch()
    ndata = fields(batch)
    for options in ({"layer_norm": True}, {"activation": "sigmoid"}, {"operators": 0}):
        assert compiled_states(make(name, **options), batch, ndata) is None
    dropping = make(name, dropout=0.5)
    assert compiled_states(dropping, batch, ndata) is None
    assert compiled_states(dropping.eval(), batch, ndata) is not None
    src, dst, sizes = torch.tensor([0, 0]), torch.tensor([1, 2]), torch.tensor([3])
    two_parents = TreeBatch(src, dst, sizes, edata={"pos": torch.tensor([0, 0])})
    assert compiled_states(make(name), two_parents, fields(two_parents)) is None
    with torch.autocast("cpu", torch.bfloat16):
        single = {"x": ndata["x"].float(), "op": ndata["op"]}
        assert compiled_states(make(name).float(), batch, single) is None


def test_a_subclass_with_a_formula_of_its_own_goes_its_own_way() -> None:
    batch = chain(3).batch()
    cell = make("hosvd")
    cell.f.__class__ = type("Other", (type(cell.f),), {})
    assert compiled_states(cell, batch, fields(batch)) is None


def test_a_second_derivative_is_refused() -> None:
    batch = chain(3).batch()
    ndata = fields(batch)
    h = traverse(make("hosvd"), batch, ndata)["h"].sum()
    with pytest.raises(RuntimeError, match=r"run the cell with fused=False"):
        torch.autograd.grad(h, ndata["x"], create_graph=True)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_read_back_from_the_device(name: str) -> None:
    batch = random_forest(np.random.default_rng(0), 3, 9, L).batch()
    here = {name: tensor.detach() for name, tensor in fields(batch).items()}
    moved = batch.with_data(here).to("meta")
    h = traverse(make(name).to("meta"), moved, moved.ndata)["h"]
    assert h.shape == (batch.num_nodes, C)
    h.sum().backward()


@pytest.mark.parametrize("name", NAMES)
def test_what_a_leaf_has_and_an_inner_node_has_not(name: str) -> None:
    batch, cell = star(2).batch(), make(name)
    x = torch.randn(3, M).double()
    x[0] = torch.nan
    x.requires_grad_()
    expected = traverse(cell, batch, {"x": x, "op": torch.tensor([0, -1, 7])})
    assert torch.isfinite(expected["h"]).all()
    expected["h"].sum().backward()
    for p in (x, *cell.parameters()):
        assert p.grad is None or torch.isfinite(p.grad).all()
    found = traverse(cell, batch, {"x": x, "op": torch.tensor([0, 1, 1])}, fused=False)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_leaves_alone(name: str) -> None:
    batch, cell = Forest.build([-1, -1], offsets=[0, 1, 2]).batch(), make(name)
    equal_ways(cell, batch, ["h", "c"], fused=False)


def test_children_and_operators_out_of_range_are_refused() -> None:
    batch = star(L + 1).batch()
    with pytest.raises(TreeError, match="expected child positions from 0 to 2"):
        traverse(make("hosvd"), batch, fields(batch))
    batch = chain(3).batch()
    with pytest.raises(TreeError, match="expected an operator from 0 to 2 at every node .* got 5"):
        traverse(make("hosvd"), batch, {**fields(batch), "op": torch.full((3,), 5)})


@pytest.mark.parametrize("chunk", [1, 1 << 24])
@pytest.mark.parametrize(("modes", "out"), [(1, 2), (2, 7), (3, 1), (5, 2)])
def test_contraction(modes: int, out: int, chunk: int) -> None:
    torch.manual_seed(0)
    T = torch.randn(2, 3**modes, out, dtype=torch.float64, requires_grad=True)
    v = torch.randn(2, modes, 3, 4, dtype=torch.float64, requires_grad=True)
    dy = torch.randn(2, 4, out, dtype=torch.float64)
    expected = multilinear(T, v.transpose(2, 3).unbind(1))
    dT, dv = torch.autograd.grad(expected, (T, v), dy)
    with torch.no_grad(), mock.patch.object(contraction, "CHUNK", chunk):
        made = Contraction(T, 3, modes)
        y, rest = made.forward(v)
        torch.testing.assert_close(y, expected)
        torch.testing.assert_close(made.backward(v, rest, dy.transpose(1, 2)), dv)
        found = torch.full_like(T, torch.nan)
        made.gradient(v, dy.transpose(1, 2), found)
        torch.testing.assert_close(found, dT)


@pytest.mark.parametrize("block", [ONE_BY_ONE, TOGETHER])
@given(forest=forests(max_children=L))
def test_blocks(block: int, forest: Forest) -> None:
    batch = forest.batch()
    op = np.random.default_rng(0).integers(2, 5, batch.num_nodes)
    types = op[batch.dst.numpy()] * L + batch.edata["pos"].numpy()
    with mock.patch.object(blocks, "BLOCK", block):
        plan = plan_blocks(batch, types, L, 1)
    node = dict(zip(plan.back.tolist(), range(batch.num_nodes)))
    assert len(node) == batch.num_nodes
    child = {(int(d), int(p)): int(s) for s, d, p in zip(batch.src, batch.dst, batch.edata["pos"])}
    assert plan.leaves.tolist() == sorted(set(range(batch.num_nodes)) - {v for v, _ in child})
    assert [node[row] for row in range(len(plan.leaves))] == plan.leaves.tolist()
    stop = len(plan.leaves)
    for (panel, kinds, start, length), slots in zip(plan.blocks, plan.children):
        of, filled = plan.panels[panel]
        assert start == stop
        assert of.stop - of.start == kinds
        stop += kinds * length
        rows = slots.view(kinds, L, length).transpose(1, 2).flatten(0, 1)
        for row, below in enumerate(rows.tolist(), start):
            v = node.get(row)
            assert v is None or op[v] == of.start + (row - start) // length
            assert [node.get(r) for r in below] == [child.get((v, j)) for j in range(L)]
            assert all(r < start or r == plan.rows for r in below)
            assert all(r == plan.rows for j, r in enumerate(below) if j not in filled)
    assert stop == plan.rows
    assert max(node) < stop
    kinds = sorted(int(op[v]) for v, _ in child)
    assert [p.types.start for p in plan.panels][:1] == kinds[:1]
    assert [p.types.stop - 1 for p in plan.panels][-1:] == kinds[-1:]
    if block == ONE_BY_ONE:
        assert plan.rows == batch.num_nodes or all(b.types > 1 for b in plan.blocks)
