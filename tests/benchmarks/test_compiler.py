"""Training steps of cells that users write, compiled and not: ``make bench``."""

from __future__ import annotations

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import nn

from dgltrees import traverse
from dgltrees.bench.cases import Case
from dgltrees.cells import ChildSumTreeLSTM
from dgltrees.cells.compiled.compiler import way
from tests.benchmarks.test_speed import by_case, measure
from tests.cells.compiled.user_cells import CELLS


class ChildSum(ChildSumTreeLSTM):
    """Our cell, whose subclass has no compiled way by hand."""


ALL = {**CELLS, "child_sum": ChildSum}
WAYS = {"generic": False, "compiled": True}


@by_case
@pytest.mark.parametrize("hidden", [128, 32])
@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("contender", [*WAYS, "by hand"])
def test_cells_of_users(
    benchmark: BenchmarkFixture, case: Case, hidden: int, name: str, contender: str
) -> None:
    if contender == "by hand" and name != "child_sum":
        pytest.skip("only the child-sum cell has one")
    torch.manual_seed(0)
    make = ChildSumTreeLSTM if contender == "by hand" else ALL[name]
    cell: nn.Module = make(hidden, hidden)
    forest = case.forest(2)
    x = torch.randn(forest.num_nodes, hidden, requires_grad=True)

    def step() -> None:
        batch = forest.batch()
        states = traverse(
            cell,  # type: ignore[arg-type]
            batch,
            {"x": x},
            fused=WAYS.get(contender, True),
        )
        states["h"][batch.roots].sum().backward()

    measure(benchmark, f"{name}, {hidden}, {case.name}", contender, forest.num_nodes, step)
    if contender == "compiled":
        assert way.explain_compile(cell).endswith("is compiled")
