"""Where a cell has a way of its own through all levels, it is the way of its three functions."""

import os
import subprocess
import sys
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.testing import assert_close

from dgltrees import Forest, TreeBatch, TreeError, compile_report, run_cell
from dgltrees.cells import AGGREGATORS, BaseCell, ChildSumTreeLSTM, TreeLSTM
from dgltrees.cells.aggregators import SharedSum
from dgltrees.cells.compiled.kernels import available, compiled
from dgltrees.cells.compiled.row_plan import plan_rows
from dgltrees.cells.compiled.run import Machine
from dgltrees.traversal import IndexedRows
from tests.cells.compiled.interpreter import compiling
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
    expected = run_cell(cell, batch, {**ndata, "op": torch.tensor([1, -1, -1])})
    for on in (True, False):
        other = {**ndata, "op": torch.tensor([1, 7, K])}
        torch.testing.assert_close(run_cell(cell, batch, other, compile=on), expected)


def test_an_aggregator_that_derives_from_a_sum_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Rectified(SharedSum):
        def compute(self, h: Tensor, *given: Any) -> Tensor:
            return super().compute(h, *given).relu()

    monkeypatch.setitem(AGGREGATORS, "rectified", Rectified)
    batch = star(2).batch()
    cell, ndata = make("rectified"), fields(batch)
    torch.testing.assert_close(
        run_cell(cell, batch, ndata), run_cell(cell, batch, ndata, compile=False)
    )


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32], ids=str)
def test_operators_of_any_integer_type(dtype: torch.dtype) -> None:
    batch = random_forest(np.random.default_rng(0), 3, 9, 150).batch()  # 2 * 150 > 255
    torch.manual_seed(0)
    cell = TreeLSTM(M, C, 150, "sum", operators=K).double()
    ndata = fields(batch)
    assert ndata["op"].amax() == K - 1
    small = {**ndata, "op": ndata["op"].to(dtype)}
    torch.testing.assert_close(run_cell(cell, batch, small), run_cell(cell, batch, ndata))


@pytest.mark.parametrize("on", WAYS)
@pytest.mark.parametrize("name", [*NAMES[3:], "full operators"])
def test_the_input_of_inner_nodes_is_not_read(name: str, on: bool) -> None:
    batch, cell = star(2).batch(), make(name)
    x, op = torch.randn(3, M).double(), torch.tensor([0, -1, -1])
    with compiling() if on else compiled(False):
        run_cell(cell, batch, {"x": x, "op": op})  # else the first batch may not be compiled
        x[0] = torch.nan
        x.requires_grad_()
        run_cell(cell, batch, {"x": x, "op": op})["h"].sum().backward()
    assert compile_report(cell).endswith("is compiled") == on
    for p in (x, *cell.parameters()):
        assert torch.isfinite(p.grad).all()


@given(forests())
def test_rows(forest: Forest) -> None:
    batch = forest.batch()
    types = np.random.default_rng(0).integers(0, 3, len(batch.src))
    plan = plan_rows(batch, types)
    count, up = batch.num_nodes, forest.global_parent
    assert sorted(plan.order.tolist()) == list(range(count))
    assert plan.order[plan.back].tolist() == list(range(count))
    bounds = [0] + [span.stop for span in plan.spans]
    assert [span.start for span in plan.spans] == bounds[:-1]
    assert bounds[-1] == count
    span_of = np.repeat(np.arange(len(plan.spans)), np.diff(bounds))
    edge_of = {int(s): e for e, s in enumerate(batch.src)}
    handed = []
    for kind, start, stop, first in (part for span in plan.spans for part in span.parts):
        for row in range(start, stop):
            node = int(plan.order[row])
            assert types[edge_of[node]] == kind == plan.types[row]
            assert plan.order[plan.parent[row]] == up[node] == plan.parent_node[row]
            assert span_of[plan.parent[row]] > span_of[row]
            if first >= 0:
                assert plan.parent[row] == first + row - start
            handed.append(row)
    roots = [row for row in range(count) if up[plan.order[row]] < 0]
    assert sorted(handed + roots) == list(range(count))
    for kind, rows in plan.by_type:
        chosen = torch.arange(count)[rows].tolist()
        assert chosen == [row for row in sorted(handed) if plan.types[row] == kind]


@pytest.mark.parametrize("on", WAYS)
@settings(max_examples=6)
@given(forest=forests())
def test_shared_inputs(on: bool, forest: Forest) -> None:
    batch, cell = forest.batch(), make("child_sum")
    index = torch.arange(batch.num_nodes) % 3
    found, grads = [], []
    for shared in (True, False):
        rows = torch.linspace(-1, 1, 3 * M, dtype=torch.float64).view(3, M).requires_grad_()
        x = IndexedRows(rows, index)
        with compiling() if on else compiled(False):
            made = run_cell(cell, batch, {"x": x if shared else x.dense()})
        found.append(made)
        total = made["h"].sin().sum() + made["c"].sum()
        grads.append(torch.autograd.grad(total, [rows, *cell.parameters()], allow_unused=True))
    torch.testing.assert_close(*found)
    torch.testing.assert_close(*grads)


def test_shared_inputs_reach_every_backend() -> None:
    batch, cell = chain(3).batch(), make("sum")
    x = IndexedRows(torch.randn(2, M, dtype=torch.float64), torch.tensor([0, 1, 0]))
    expected = run_cell(cell, batch, {"x": x.dense()})
    for backend, on in (("levels", True), ("levels", False), ("dgl", False)):
        made = run_cell(cell, batch, {"x": x}, backend=backend, compile=on)
        torch.testing.assert_close(made, expected)


@pytest.mark.parametrize("on", WAYS)
@pytest.mark.parametrize("size", [50.0, 1e4, 1e30, torch.nan])
def test_large_activations_and_what_is_not_a_number(on: bool, size: float) -> None:
    batch, cell = star(3).batch(), make("child_sum").float()
    x = torch.zeros(batch.num_nodes, M)
    x[-1] = size
    with compiling() if on else compiled(False):
        made = run_cell(cell, batch, {"x": x})
    expected = run_cell(cell, batch, {"x": x}, compile=False)
    torch.testing.assert_close(made, expected, equal_nan=True)
    assert made["h"][1:-1].isfinite().all()


@pytest.mark.skipif(not available(), reason="no numba")
@pytest.mark.parametrize("threads", [1, 2])
def test_machine_code_is_as_exact_as_torch(threads: int) -> None:
    batch = random_forest(np.random.default_rng(0), 30, 20, L).batch()
    exact, x = make("child_sum"), fields(batch)["x"].detach()
    cell, before, leaf = make("child_sum").float(), torch.get_num_threads(), int(batch.src[-1])
    torch.set_num_threads(threads)
    try:
        for factor in (1.0, 1e4, 1e30, torch.nan):
            other = x.float()
            other[leaf] *= factor
            with compiling(interpret=False):
                states = run_cell(cell, batch, {"x": other.requires_grad_()})
            states["h"].sum().backward()
            assert torch.get_num_threads() == threads
            expected = run_cell(exact, batch, {"x": other.double()}, compile=False)
            for name, field in states.items():
                expect = expected[name]
                assert_close(field.double(), expect, rtol=0, atol=2e-6, equal_nan=True)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("on", WAYS)
def test_inputs_that_do_not_fit_the_nodes_are_refused(on: bool) -> None:
    batch, cell = chain(3).batch(), make("child_sum")
    rows = torch.zeros(batch.num_nodes + 1, M, dtype=torch.float64)
    with compiling() if on else compiled(False):
        for wrong in (rows, rows[:2]):
            with pytest.raises(TreeError, match="to have 3 rows, one per node, got"):
                run_cell(cell, batch, {"x": wrong})
        index = torch.zeros(batch.num_nodes, dtype=torch.int64)
        for wrong in (-1, len(rows)):
            index[1] = wrong
            with pytest.raises(TreeError, match="the indices of shared inputs to be 0 to"):
                run_cell(cell, batch, {"x": IndexedRows(rows, index)})


@pytest.mark.skipif(not available(), reason="no numba")
@pytest.mark.parametrize("name", NAMES)
def test_edges_between_trees_are_no_matter(name: str) -> None:
    one = random_forest(np.random.default_rng(0), 1, 300, L).batch()
    sizes = torch.tensor([100] * 2 + [one.num_nodes - 200])
    cut = TreeBatch(one.src, one.dst, sizes, edata=one.edata)
    ndata, cell = fields(one), make(name)
    with compiling(), patch.object(Machine, "shards", lambda *_: 3):
        made = run_cell(cell, cut, ndata)
    torch.testing.assert_close(made, run_cell(cell, one, ndata, compile=False))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_can_go_on_with_one_thread() -> None:
    """Run apart, since what another test has started would be forked with it."""
    script = """
import os, torch
torch.set_num_threads(1)
from dgltrees import Forest, run_cell
from dgltrees.cells import ChildSumTreeLSTM
batch, cell = Forest.build([-1] + [0] * 40).batch(), ChildSumTreeLSTM(2, 3)
def step():
    run_cell(cell, batch, {"x": torch.ones(41, 2)})["h"].sum().backward()
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
