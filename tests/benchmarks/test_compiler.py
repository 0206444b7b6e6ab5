"""Training steps of cells that users write, in all ways and by others: ``make bench``."""

from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor, nn

from dgltrees import Forest, run_cell
from dgltrees.cells import ChildSumTreeLSTM
from dgltrees.cells.compiled import way
from tests.benchmarks.cases import Case
from tests.benchmarks.peers import pyg
from tests.benchmarks.test_speed import by_case, measure
from tests.cells.compiled.user_cells import CELLS

ALL = {**CELLS, "child_sum": ChildSumTreeLSTM}
WAYS: dict[str, dict[str, Any]] = {
    "dgl": {"backend": "dgl"},
    "generic": {"compile": False},
    "compiled": {},
}
PEERS = "dgl", "torch_geometric"
CONTENDERS = [
    (name, hidden, contender)
    for name, make in ALL.items()
    for hidden in (128, 32)
    for contender in (*PEERS, "generic", "compiled")
    if contender not in PEERS or hidden == 128  # dgl takes seconds on chains
    if contender in WAYS or (pyg is not None and make in pyg.LAYERS)
]


def step(contender: str, cell: nn.Module, forest: Forest, x: Tensor) -> Tensor:
    """Forwards and backwards; returns the sum of the roots' states."""
    batch = forest.batch()
    if contender in WAYS:
        states = run_cell(cell, batch, {"x": x}, **WAYS[contender])  # type: ignore[arg-type]
    else:
        states = pyg.run_cell(cell, batch, {"x": x})
    loss = states["h"][batch.roots].sum()
    loss.backward()
    return loss


@by_case
@pytest.mark.parametrize(("name", "hidden", "contender"), CONTENDERS)
def test_cells_of_users(
    benchmark: BenchmarkFixture, case: Case, name: str, hidden: int, contender: str
) -> None:
    torch.manual_seed(0)
    cell: nn.Module = ALL[name](hidden, hidden)
    forest = case.forest(2)
    x = torch.randn(forest.num_nodes, hidden, requires_grad=True)
    found = []
    for each in (contender, "generic"):
        loss = step(each, cell, forest, x)
        found.append([loss, *(t.grad for t in (x, *cell.parameters()) if t.grad is not None)])
        x.grad = None
        cell.zero_grad()
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-3)
    group = f"{name}, {hidden}, {case.name}"
    measure(benchmark, group, contender, forest.num_nodes, step, contender, cell, forest, x)
    if contender == "compiled":
        assert way.compile_report(cell).endswith("is compiled")
