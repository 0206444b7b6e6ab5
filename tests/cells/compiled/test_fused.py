"""Where a cell has a way of its own through all levels, it is the way of its three functions."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from dgltrees import Forest, TreeBatch, TreeError, traverse
from dgltrees.cells import BaseCell, ChildSumTreeLSTM, TreeLSTM
from dgltrees.cells.compiled.kernels import available, compiled
from dgltrees.cells.compiled.plans.rows import plan_rows
from dgltrees.traversal import IndexedRows, compiled_states
from tests.worlds import chain, forests, random_forest, star

M, C, L, K = 3, 4, 3, 2


def make(name: str, **options: Any) -> BaseCell:
    torch.manual_seed(0)
    if name == "child_sum":
        return ChildSumTreeLSTM(M, C, **options).double()
    aggregator, _, operators = name.partition(" ")
    options["operators"] = K if operators else 0
    cell = TreeLSTM(M, C, L, aggregator, **options).double()
    with torch.no_grad():  # biases start at zero, where a mistake would not show
        for parameter in cell.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.1)
    return cell


NAMES = ["child_sum", "sum", "shared_sum", "sum operators", "shared_sum operators"]


def fields(batch: TreeBatch) -> dict[str, Tensor]:
    gen = torch.Generator().manual_seed(1)
    x = torch.randn(batch.num_nodes, M, generator=gen, dtype=torch.float64).requires_grad_()
    op = torch.randint(0, K, (batch.num_nodes,), generator=gen)
    return {"x": x, "op": op}


WAYS = [
    pytest.param(False, id="torch"),
    pytest.param(True, id="compiled", marks=pytest.mark.skipif(not available(), reason="no numba")),
]


@pytest.mark.parametrize("name", NAMES[3:])
def test_the_operator_of_a_leaf_does_not_matter(name: str) -> None:
    batch = star(2).batch()
    ndata, cell = fields(batch), make(name)
    expected = traverse(cell, batch, {**ndata, "op": torch.tensor([1, -1, -1])})
    for fused in (True, False):
        other = {**ndata, "op": torch.tensor([1, 7, K])}
        torch.testing.assert_close(traverse(cell, batch, other, fused=fused), expected)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32], ids=str)
def test_operators_of_any_integer_type(dtype: torch.dtype) -> None:
    batch = random_forest(np.random.default_rng(0), 3, 9, 150).batch()  # 2 * 150 > 255
    torch.manual_seed(0)
    cell = TreeLSTM(M, C, 150, "sum", operators=K).double()
    ndata = fields(batch)
    assert ndata["op"].amax() == K - 1
    small = {**ndata, "op": ndata["op"].to(dtype)}
    torch.testing.assert_close(traverse(cell, batch, small), traverse(cell, batch, ndata))


@pytest.mark.parametrize("name", NAMES[3:])
def test_the_input_of_inner_nodes_is_not_read(name: str) -> None:
    batch, cell = star(2).batch(), make(name)
    x = torch.randn(3, M).double()
    x[0] = torch.nan
    x.requires_grad_()
    ndata = {"x": x, "op": torch.tensor([0, -1, -1])}
    assert compiled_states(cell, batch, ndata) is not None
    traverse(cell, batch, ndata)["h"].sum().backward()
    for p in (x, *cell.parameters()):
        assert torch.isfinite(p.grad).all()


def test_children_and_operators_out_of_range_are_refused() -> None:
    batch = star(L + 1).batch()
    with pytest.raises(TreeError, match="expected child positions from 0 to 2"):
        traverse(make("sum"), batch, fields(batch))
    batch = chain(3).batch()
    ndata = fields(batch)
    with pytest.raises(TreeError, match="expected an operator from 0 to 1 at every node .* got 5"):
        traverse(make("sum operators"), batch, {**ndata, "op": torch.full((3,), 5)})


@given(forests(), st.integers(1, 3))
def test_rows(forest: Forest, shards: int) -> None:
    batch = forest.batch()
    types = np.random.default_rng(0).integers(0, 3, len(batch.src))
    plan = plan_rows(batch, types, shards)
    count, up = batch.num_nodes, forest.global_parent
    assert sorted(plan.order.tolist()) == list(range(count))
    assert plan.order[plan.back].tolist() == list(range(count))
    bounds = [0] + [span.stop for span in plan.spans]
    assert [span.start for span in plan.spans] == bounds[:-1]
    assert bounds[-1] == count
    span_of = np.repeat(np.arange(len(plan.spans)), np.diff(bounds))
    shard_of = np.repeat(np.arange(len(plan.shards) - 1), np.diff(plan.shards))[span_of]
    edge_of = {int(s): e for e, s in enumerate(batch.src)}
    handed = []
    for kind, start, stop, first in (part for span in plan.spans for part in span.parts):
        for row in range(start, stop):
            node = int(plan.order[row])
            assert types[edge_of[node]] == kind == plan.types[row]
            assert plan.order[plan.parent[row]] == up[node] == plan.parent_node[row]
            assert span_of[plan.parent[row]] > span_of[row]
            assert shard_of[plan.parent[row]] == shard_of[row]
            if first >= 0:
                assert plan.parent[row] == first + row - start
            handed.append(row)
    roots = [row for row in range(count) if up[plan.order[row]] < 0]
    assert sorted(handed + roots) == list(range(count))
    for kind, rows in plan.by_type:
        chosen = torch.arange(count)[rows].tolist()
        assert chosen == [row for row in sorted(handed) if plan.types[row] == kind]
    leaves = forest.degree[plan.order.numpy()] == 0
    first, last = plan.shards[:-1], plan.shards[1:] - 1
    bounds = np.c_[plan.levels[first, :2], plan.levels[last, 1]]
    for shard, (start, receiving, stop) in enumerate(bounds.tolist()):
        assert (shard_of[start:stop] == shard).all()
        assert leaves[start:receiving].all()
        assert not leaves[receiving:stop].any()
    assert plan.inner.tolist() == [0, *np.cumsum(bounds[:, 2] - bounds[:, 1])]
    assert plan.largest == max(bounds[:, 2] - bounds[:, 0])


@pytest.mark.parametrize("on", WAYS)
@given(forest=forests())
def test_shared_inputs(on: bool, forest: Forest) -> None:
    batch, cell = forest.batch(), make("child_sum")
    index = torch.arange(batch.num_nodes) % 3
    found, grads = [], []
    for shared in (True, False):
        rows = torch.linspace(-1, 1, 3 * M, dtype=torch.float64).view(3, M).requires_grad_()
        x = IndexedRows(rows, index)
        with compiled(on):
            made = traverse(cell, batch, {"x": x if shared else x.dense()})
        found.append(made)
        total = made["h"].sin().sum() + made["c"].sum()
        grads.append(torch.autograd.grad(total, [rows, *cell.parameters()], allow_unused=True))
    torch.testing.assert_close(*found)
    torch.testing.assert_close(*grads)


def test_shared_inputs_reach_every_backend() -> None:
    batch, cell = chain(3).batch(), make("sum")
    x = IndexedRows(torch.randn(2, M, dtype=torch.float64), torch.tensor([0, 1, 0]))
    expected = traverse(cell, batch, {"x": x.dense()})
    for backend, fused in (("levels", True), ("levels", False), ("dgl", False)):
        made = traverse(cell, batch, {"x": x}, backend=backend, fused=fused)
        torch.testing.assert_close(made, expected)


@pytest.mark.skipif(not available(), reason="no numba")
@pytest.mark.parametrize("name", NAMES)
def test_single_precision_is_as_exact_as_torch(name: str) -> None:
    batch = random_forest(np.random.default_rng(0), 30, 20, L).batch()
    exact, ndata = make(name), fields(batch)
    expected = traverse(exact, batch, ndata, fused=False)
    cell = make(name).float()
    single = {"x": ndata["x"].float(), "op": ndata["op"]}
    with compiled(True):
        made = traverse(cell, batch, single)
    for field, tensor in made.items():
        torch.testing.assert_close(tensor.double(), expected[field], rtol=0, atol=2e-6)


@pytest.mark.parametrize("on", WAYS)
def test_what_is_not_a_number_stays_so(on: bool) -> None:
    batch, cell = star(3).batch(), make("child_sum").float()
    x = torch.zeros(batch.num_nodes, M)
    x[-1] = torch.nan
    with compiled(on):
        h = traverse(cell, batch, {"x": x})["h"]
    assert h[[0, -1]].isnan().all()
    assert h[1:-1].isfinite().all()


@pytest.mark.parametrize("on", WAYS)
def test_large_activations(on: bool) -> None:
    batch, cell = star(3).batch(), make("child_sum").float()
    for size in (50.0, 1e4, 1e30):
        x = torch.full((batch.num_nodes, M), size)
        with compiled(on):
            made = traverse(cell, batch, {"x": x})
        torch.testing.assert_close(made, traverse(cell, batch, {"x": x}, fused=False))


@pytest.mark.skipif(not available(), reason="no numba")
def test_threads_stay_as_they_are() -> None:
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            batch, cell = random_forest(np.random.default_rng(0), 30, 20, L).batch(), make("sum")
            traverse(cell, batch, fields(batch))["h"].sum().backward()
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("on", WAYS)
def test_inputs_that_do_not_fit_the_nodes_are_refused(on: bool) -> None:
    batch, cell = chain(3).batch(), make("child_sum")
    rows = torch.zeros(batch.num_nodes + 1, M, dtype=torch.float64)
    with compiled(on):
        for wrong in (rows, rows[:2]):
            with pytest.raises(TreeError, match="to have 3 rows, one per node, got"):
                traverse(cell, batch, {"x": wrong})
        index = torch.zeros(batch.num_nodes, dtype=torch.int64)
        for wrong in (-1, len(rows)):
            index[1] = wrong
            with pytest.raises(TreeError, match="shared inputs to name rows from 0 to"):
                traverse(cell, batch, {"x": IndexedRows(rows, index)})


@pytest.mark.parametrize("name", NAMES)
def test_edges_between_trees_are_no_matter(name: str) -> None:
    one = random_forest(np.random.default_rng(0), 1, 300, L).batch()
    sizes = torch.tensor([100] * 2 + [one.num_nodes - 200])
    cut = TreeBatch(one.src, one.dst, sizes, edata=one.edata)
    ndata, cell = fields(one), make(name)
    with patch("dgltrees.cells.compiled.fused_lstm.shards_for", lambda *_: 3):
        made = traverse(cell, cut, ndata)
    torch.testing.assert_close(made, traverse(cell, one, ndata, fused=False))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_can_go_on_with_one_thread() -> None:
    """Run apart, since what another test has started would be forked with it."""
    script = """
import os, torch
torch.set_num_threads(1)
from dgltrees import Forest, traverse
from dgltrees.cells import ChildSumTreeLSTM
batch, cell = Forest.build([-1, 0, 0]).batch(), ChildSumTreeLSTM(2, 3)
def step():
    traverse(cell, batch, {"x": torch.ones(3, 2)})["h"].sum().backward()
step()
child = os.fork()
step()
if not child:
    os._exit(0)
print("status", os.waitpid(child, 0)[1])
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout == "status 0\n", done.stderr
