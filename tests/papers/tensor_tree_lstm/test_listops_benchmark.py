"""The preset listops-hosvd-c20-r3 on generated ListOps, and what making batches costs."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor

from dgltrees.papers.tensor_tree_lstm.data.generate_listops import make_listops
from dgltrees.papers.tensor_tree_lstm.tasks import LISTOPS
from dgltrees.settings.catalog import preset_values
from dgltrees.settings.layers import Settings
from dgltrees.training.loading import Loader
from dgltrees.trees import LabeledTrees, TreeBatch
from tests.backends import by_backend
from tests.benchmarks.cases import CASES
from tests.benchmarks.conftest import _compiled, _threads  # noqa: F401 (fixtures)
from tests.benchmarks.contenders import CONTENDERS, VOCABULARY, Model
from tests.benchmarks.test_speed import measure


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> LabeledTrees:
    folder = tmp_path_factory.mktemp("listops")
    files = make_listops(folder / "data", train=256, test=0, seed=0)
    return LISTOPS.read(files["train"], Settings({"task": "listops"}).data, None)


class Step:
    """A training step of the preset's model through a backend."""

    def __init__(self, data: LabeledTrees, contender: str) -> None:
        values = preset_values("listops-hosvd-c20-r3")
        values["model"] = {**values["model"], "max_children": 5}
        torch.manual_seed(0)
        vocabs = {**data.forest.vocabs, "target": data.targets}
        self.data, self.model = data, LISTOPS.build(Settings(values).model, vocabs)
        self.model.encoder.compiled = contender != "levels, compile=False"
        self.backend = "dgl" if contender == "dgl" else "levels"

    def batch(self, size: int) -> tuple[TreeBatch, Tensor]:
        return LISTOPS.batch(self.data, np.arange(size))

    def run(self, batch: TreeBatch, targets: Tensor) -> None:
        with by_backend(self.backend):
            self.model(batch, targets).mean().backward()
        for parameter in self.model.parameters():
            parameter.grad = None

    def __call__(self, size: int) -> None:
        self.run(*self.batch(size))


@pytest.mark.parametrize("size", [25, 256])
@pytest.mark.parametrize("contender", ["dgl", "levels, compile=False", "levels"])
def test_hosvd(benchmark: BenchmarkFixture, data: LabeledTrees, size: int, contender: str) -> None:
    nodes = int(data.sizes[:size].sum())
    group = f"ListOps HOSVD c=20 r=3, batch {size}"
    measure(benchmark, group, contender, nodes, Step(data, contender), size)


def share(
    benchmark: BenchmarkFixture,
    group: str,
    fresh: Callable[[], Any],
    kept: Any,
    step: Callable[[Any], None],
) -> None:
    """Time steps on a batch made anew and on one whose plans are there: the making is the rest.

    Times are CPU time, of which other work on the machine takes none away. Which of the two goes
    first changes from round to round, as it finds the caches in another state.
    """

    def cpu(batch: TreeBatch) -> float:
        start = time.process_time()
        step(batch())
        return time.process_time() - start

    cpu(lambda: kept)
    anew, made = [], []
    for first_anew in [True, False] * 15:
        before = cpu(fresh) if first_anew else None
        planned = cpu(lambda: kept)
        anew.append(cpu(fresh) if before is None else before)
        made.append(anew[-1] - planned)
    benchmark.group = group
    benchmark.extra_info.update(kind="share", made=np.median(made), step=np.median(anew))
    benchmark.pedantic(lambda: step(fresh()), rounds=1)


@pytest.mark.parametrize("size", [25, 256])
def test_batches_of_listops(benchmark: BenchmarkFixture, data: LabeledTrees, size: int) -> None:
    step = Step(data, "levels")
    kept = step.batch(size)
    share(
        benchmark,
        f"ListOps HOSVD, batch {size}",
        lambda: step.batch(size),
        kept,
        lambda b: step.run(*b),
    )


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("size", [25, 256])
def test_waiting_for_workers(
    benchmark: BenchmarkFixture, data: LabeledTrees, size: int, workers: int
) -> None:
    """What is waited for, in wall time, are batches; plans are made in the step."""
    step, load = Step(data, "levels"), Loader(LISTOPS, data, workers)
    order = [np.arange(size)] * 40
    waited, whole = [], []

    def epoch() -> None:
        made = load(order)
        for _ in order:
            start = time.perf_counter()
            batch = next(made)
            waited.append(time.perf_counter() - start)
            step.run(*batch)
            whole.append(time.perf_counter() - start)

    epoch()  # the workers begin
    waited.clear(), whole.clear()
    benchmark.group = f"ListOps HOSVD, batch {size}, waiting for workers: {workers}"
    benchmark.pedantic(epoch, rounds=2)
    benchmark.extra_info.update(kind="share", made=np.mean(waited), step=np.mean(whole))


def test_batches_of_child_sum(benchmark: BenchmarkFixture) -> None:
    case = CASES["random 32 x ~37"]
    forest, model = case.forest(VOCABULARY), Model(128)
    states = CONTENDERS["levels"].states
    share(
        benchmark,
        f"child-sum, {case.name}",
        forest.batch,
        forest.batch(),
        lambda batch: states(model, batch)[batch.roots].sum().backward(),
    )
