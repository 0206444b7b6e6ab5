"""The tensor Tree-LSTM's way of its own through all levels is the way of its three functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
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
from tests.worlds import chain, forests, star

M, C, L, K = 3, 4, 3, 3
NAMES = ["hosvd", "full"]
ONE_BY_ONE, TOGETHER = 0, 1 << 40  # what a block costs: nothing, or more than any row


@pytest.fixture(scope="module", params=[False, True], ids=["torch", "compiled"], autouse=True)
def _way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Both ways, where there are two."""
    if request.param and not available():
        pytest.skip("numba is not installed")
    with compiled(request.param):
        yield


def make(aggregator: str, children: int = L, **options: Any) -> TreeLSTM:
    torch.manual_seed(0)
    rank = {"rank": 2} if aggregator == "hosvd" else {}
    options = {"operators": K, **rank, **options}
    cell = TreeLSTM(M, C, children, aggregator, **options).double()
    with torch.no_grad():  # biases start at zero, where a mistake would not show
        for parameter in cell.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return cell


def fields(batch: TreeBatch) -> dict[str, Tensor]:
    gen = torch.Generator().manual_seed(1)
    x = torch.randn(batch.num_nodes, M, generator=gen, dtype=torch.float64).requires_grad_()
    return {"x": x, "op": torch.randint(0, K, (batch.num_nodes,), generator=gen)}


def test_a_subclass_with_a_formula_of_its_own_goes_its_own_way() -> None:
    batch = chain(3).batch()
    cell = make("hosvd")
    cell.f.__class__ = type("Other", (type(cell.f),), {})
    assert compiled_states(cell, batch, fields(batch)) is None


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
