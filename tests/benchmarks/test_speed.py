"""Training steps of one model through every contender: ``make bench``.

The time of the making of the batch is included. A group is a case; the tables at the end give
milliseconds and in brackets how many times faster than the first contender.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from dgltrees import Forest, prop_nodes_topo
from dgltrees._dgl import dgl
from tests.benchmarks.cases import CASES, SENTENCES, Case
from tests.benchmarks.contenders import CONTENDERS, VOCABULARY, Contender, Model
from tests.benchmarks.peers import PRODUCTS, installed
from tests.traversal.cells import BinaryTreeLSTM

ALL = {**CONTENDERS, **installed()}
SECONDS = 4.0
"""For the rounds of one measurement; three of them may take longer."""

by_case = pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)


def measure(
    benchmark: BenchmarkFixture,
    group: str,
    contender: str,
    nodes: int,
    step: Callable[..., Any],
    *arguments: Any,
) -> None:
    """Time ``step`` seven times, small ones more often and slow ones three times, after two."""
    benchmark.group = group
    benchmark.extra_info.update(kind="case", contender=contender, nodes=nodes)
    step(*arguments)  # fills the caches
    start = time.perf_counter()
    step(*arguments)
    in_time = round(SECONDS / (time.perf_counter() - start))
    rounds = min(max(7, 10_000 // nodes), max(3, in_time))
    benchmark.pedantic(step, arguments, rounds=rounds)


def check(contender: Contender, forest: Forest, hidden: int) -> None:
    """The loss of the first step is right, and of the second, only if gradients are too."""
    model, reference = Model(hidden), Model(hidden)
    losses = [contender.step(model, forest) for _ in range(2)]
    expected = [CONTENDERS["levels"].step(reference, forest) for _ in range(2)]
    assert losses == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    "contender", [*ALL.values(), PRODUCTS], ids=lambda contender: contender.name
)
@pytest.mark.parametrize(
    ("case", "hidden"),
    [*((case, 128) for case in CASES.values()), (CASES["random 32 x ~37"], 32), (SENTENCES, 300)],
    ids=lambda value: getattr(value, "name", value),
)
def test_child_sum(
    benchmark: BenchmarkFixture, case: Case, hidden: int, contender: Contender
) -> None:
    """The last contender does the matrix products and nothing else."""
    forest = case.forest(VOCABULARY)
    if contender is not PRODUCTS:
        check(contender, forest, hidden)
    group, model = f"{case.name}, hidden {hidden}", Model(hidden)
    measure(benchmark, group, contender.name, forest.num_nodes, contender.step, model, forest)


@by_case
@pytest.mark.skipif(dgl is None, reason="needs DGL")
@pytest.mark.parametrize("name", ["dgl", "ours"])
def test_cell_of_the_tutorial(benchmark: BenchmarkFixture, case: Case, name: str) -> None:
    """The N-ary cell of DGL's Tree-LSTM tutorial, unchanged: ``prop_nodes_topo`` is the import."""
    torch.manual_seed(0)
    embed, W_iou = torch.nn.Embedding(VOCABULARY, 128), torch.nn.Linear(128, 384, bias=False)
    cell = BinaryTreeLSTM(128)
    forest = case.forest(VOCABULARY)
    propagate = dgl.prop_nodes_topo if name == "dgl" else prop_nodes_topo

    def step() -> None:
        graph = forest.batch().graph
        mask = (graph.ndata["token"] > 0).float().unsqueeze(1)
        graph.ndata["iou"] = W_iou(embed(graph.ndata["token"])) * mask
        graph.ndata["h"] = graph.ndata["c"] = torch.zeros(forest.num_nodes, 128)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # DGL warns of every frontier without edges
            propagate(graph, cell.message, cell.reduce, apply_node_func=cell.apply_node)
        graph.ndata["h"].square().mean().backward()

    group = f"DGL's cell, {case.name}"
    measure(benchmark, group, name, forest.num_nodes, step)
