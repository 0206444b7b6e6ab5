"""What a level costs, that nodes cost alike at any depth, and the memory of a step."""

from dataclasses import replace

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.cases import CASES, Case, caterpillars, chain
from tests.benchmarks.contenders import CONTENDERS, VOCABULARY, Contender, Model
from tests.benchmarks.memory import MEASURED, peak

OURS = [CONTENDERS[name] for name in ("levels, compile=False", "levels, no numba", "levels")]

ours = pytest.mark.parametrize("contender", OURS, ids=lambda contender: contender.name)


def measure(benchmark: BenchmarkFixture, case: Case, contender: Contender, narrow: bool) -> None:
    """Time forwards and backwards alone, on a batch that is there."""
    forest, model = case.forest(VOCABULARY), Model(128)
    batch = forest.batch()

    def step() -> None:
        contender.states(model, batch).sum().backward()

    benchmark.extra_info.update(kind="chain", contender=contender.name, narrow=narrow)
    levels = int(forest.depths.max()) + 1
    benchmark.extra_info.update(levels=levels, nodes=forest.num_nodes)
    benchmark.pedantic(step, rounds=5, warmup_rounds=1)


@ours
@pytest.mark.parametrize("levels", [50, 150, 450])
@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_narrow_chains(
    benchmark: BenchmarkFixture, contender: Contender, levels: int, width: int
) -> None:
    benchmark.group = "narrow chains"
    measure(benchmark, Case("chain", width, lambda rng: chain(levels)), contender, True)


@ours
@pytest.mark.parametrize("nodes", [15_000, 60_000])
@pytest.mark.parametrize("levels", [10, 30, 100, 300, 1000, 3000])
def test_equal_nodes_at_any_depth(
    benchmark: BenchmarkFixture, contender: Contender, levels: int, nodes: int
) -> None:
    benchmark.group = f"{nodes} nodes"
    measure(benchmark, caterpillars(levels, nodes), contender, False)


@pytest.mark.parametrize("name", MEASURED)
@pytest.mark.parametrize("times", [8, 32])
@pytest.mark.parametrize("case", ["random 32 x ~37", "chain 8 x 299"])
def test_memory(benchmark: BenchmarkFixture, case: str, times: int, name: str) -> None:
    trees = CASES[case].trees * times // (1 if case.startswith("random") else 4)
    nodes = replace(CASES[case], trees=trees).forest(VOCABULARY).num_nodes
    benchmark.group = case
    held = benchmark.pedantic(peak, (name, case, trees), rounds=1)
    benchmark.extra_info.update(kind="memory", contender=name, nodes=nodes, bytes=held)
