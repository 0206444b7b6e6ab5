"""Training steps of one model through every contender: ``make bench``.

The time of the making of the batch is included. A group is a case; the tables at the end give
milliseconds and in brackets how many times faster than the first contender.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture

from dgltrees import prop_nodes_topo
from dgltrees._dgl import dgl
from dgltrees.bench import CASES, CONTENDERS
from dgltrees.bench.cases import SENTENCES, Case
from dgltrees.bench.contenders import VOCABULARY, Contender, Model
from dgltrees.trees import Forest
from tests.benchmarks.peers import PRODUCTS, installed
from tests.traversal.cells import BinaryTreeLSTM

ALL = {**CONTENDERS, **installed()}

by_case = pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.name)


def measure(
    benchmark: BenchmarkFixture,
    group: str,
    contender: str,
    nodes: int,
    step: Callable[..., Any],
    *arguments: Any,
) -> None:
    """Time ``step`` seven times, small ones more often, after two that fill the caches."""
    benchmark.group = group
    benchmark.extra_info.update(kind="case", contender=contender, nodes=nodes)
    benchmark.pedantic(step, arguments, rounds=max(7, 10_000 // nodes), warmup_rounds=2)


def check(contender: Contender, forest: Forest, hidden: int) -> None:
    """The loss of the first step is right, and of the second, only if gradients are too."""
    model, reference = Model(hidden), Model(hidden)
    losses = [contender.step(model, forest) for _ in range(2)]
    expected = [CONTENDERS["levels"].step(reference, forest) for _ in range(2)]
    assert losses == pytest.approx(expected, rel=1e-3)


@by_case
@pytest.mark.parametrize("contender", ALL.values(), ids=lambda contender: contender.name)
def test_child_sum(benchmark: BenchmarkFixture, case: Case, contender: Contender) -> None:
    forest = case.forest(VOCABULARY)
    check(contender, forest, 128)
    measure(
        benchmark, case.name, contender.name, forest.num_nodes, contender.step, Model(128), forest
    )


@pytest.mark.parametrize(
    "contender", [*ALL.values(), PRODUCTS], ids=lambda contender: contender.name
)
def test_sentences(benchmark: BenchmarkFixture, contender: Contender) -> None:
    """Hidden 300; the last contender does the matrix products and nothing else."""
    forest = SENTENCES.forest(VOCABULARY)
    if contender is not PRODUCTS:
        check(contender, forest, 300)
    group = f"{SENTENCES.name}, hidden 300"
    measure(benchmark, group, contender.name, forest.num_nodes, contender.step, Model(300), forest)


@by_case
@pytest.mark.parametrize("propagate", [dgl.prop_nodes_topo, prop_nodes_topo], ids=["dgl", "ours"])
def test_cell_of_the_tutorial(
    benchmark: BenchmarkFixture, case: Case, propagate: Callable[..., None]
) -> None:
    """The N-ary cell of DGL's Tree-LSTM tutorial, unchanged: ``prop_nodes_topo`` is the import."""
    torch.manual_seed(0)
    embed, W_iou = torch.nn.Embedding(VOCABULARY, 128), torch.nn.Linear(128, 384, bias=False)
    cell = BinaryTreeLSTM(128)
    forest = case.forest(VOCABULARY)

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
    name = "dgl" if propagate is dgl.prop_nodes_topo else "ours"
    measure(benchmark, group, name, forest.num_nodes, step)
