"""Training steps of language models at hidden size 300, 64 sentences a batch.

Zhang, Lu and Lapata (2016, section 2.3): the complexity "is no different from a regular LSTM". The
time of the making of the batch is included, and so are clipping and the update.
"""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor, nn

from dgltrees.models import softmax_nll
from dgltrees.papers.top_down.graphs import generation_batch, generation_forest
from dgltrees.papers.top_down.models.language_model import NCE, LanguageModel, SequenceLM
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from dgltrees.trees import Forest
from tests.backends import by_backend
from tests.benchmarks.conftest import _compiled, _threads  # noqa: F401 (fixtures)
from tests.trees.dependencies import forest_of, random_heads

HIDDEN, EMBEDDING, SENTENCES = 300, 150, 64
VOCABULARY, LARGE = 10_000, 65_000
SHORT, LONG = (20, 24), (60, 60)
CASES = [("TreeLSTM", SHORT), ("LdTreeLSTM", SHORT), ("TreeLSTM", LONG)]

Objective = Callable[[Tensor, Tensor, Tensor], Tensor]
Step = Callable[[], float]


def sentences(shortest: int, longest: int, vocabulary: int) -> Forest:
    """Random projective trees, about as deep as those of a treebank, with random words."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(shortest, longest + 1, SENTENCES).tolist()
    forest = forest_of([random_heads(rng, words, projective=True) for words in lengths])
    words = np.where(forest.parent < 0, 0, rng.integers(1, vocabulary, forest.num_nodes))
    return generation_forest(Forest(forest.parent, forest.pos, forest.offsets, {"word": words}))


def training(
    model: LanguageModel,
    forest: Forest,
    objective: Objective = softmax_nll,
    backend: str = "levels",
) -> Step:
    """A step as the paper's: the loss over the sentences, clipped gradients, SGD."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)

    def step() -> float:
        with by_backend(backend):
            h, words, _ = model(generation_batch(forest))
        loss = objective(h, model.output, words).sum() / SENTENCES
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        return loss.item()

    return step


def lstm(vocabulary: int, **_: bool) -> LanguageModel:
    return SequenceLM(vocabulary, HIDDEN)


def tree(**options: object) -> Callable[..., LanguageModel]:
    return lambda vocabulary, **kind: TreeLM(vocabulary, HIDDEN, **options, **kind)


def products(vocabulary: int, forest: Forest) -> Step:
    """The multiplications of a step of the TreeLSTM alone, on one table of each shape."""
    count = forest.num_nodes - SENTENCES
    shapes = [(EMBEDDING, 4 * HIDDEN), (HIDDEN, 4 * HIDDEN), (HIDDEN, vocabulary)]
    tables = [[torch.ones(count, m), torch.ones(m, n), torch.ones(count, n)] for m, n in shapes]

    def step() -> float:
        for x, weight, y in tables:
            torch.mm(x, weight, out=y)
            y @ weight.t()
            x.t() @ y
        return 0.0

    return step


CONTENDERS: dict[str, Callable[..., LanguageModel]] = {
    "torch.nn.LSTM": lstm,
    "dgl": tree(),
    "levels, compile=False": tree(compile=False),
    "levels": tree(),
}


def measure(
    benchmark: BenchmarkFixture, group: str, contender: str, forest: Forest, step: Step
) -> None:
    words = forest.num_nodes - SENTENCES
    benchmark.group = group
    benchmark.extra_info.update(kind="language model", contender=contender, words=words)
    benchmark.pedantic(step, rounds=5, warmup_rounds=2)


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1][1]}")
def case(request: pytest.FixtureRequest) -> tuple[str, Forest, list[float]]:
    """A model's name, its sentences, and the losses of its first two steps by backend dgl."""
    kind, lengths = request.param
    forest = sentences(*lengths, VOCABULARY)
    step = training(model(kind, "dgl"), forest, backend="dgl")
    return kind, forest, [step() for _ in range(2)]


def model(kind: str, contender: str) -> LanguageModel:
    torch.manual_seed(0)
    return CONTENDERS[contender](VOCABULARY, left_dependents=kind == "LdTreeLSTM")


@pytest.mark.parametrize("contender", [*CONTENDERS, "the TreeLSTM's products"])
def test_full_softmax(
    benchmark: BenchmarkFixture, case: tuple[str, Forest, list[float]], contender: str
) -> None:
    kind, forest, losses = case
    group = f"{kind}, {SENTENCES} x {forest.sizes.min() - 1} to {forest.sizes.max() - 1} words"
    if contender in CONTENDERS:
        backend = "dgl" if contender == "dgl" else "levels"
        step = training(model(kind, contender), forest, backend=backend)
        if contender.startswith("levels"):
            assert [step() for _ in losses] == pytest.approx(losses, rel=1e-3)
    else:
        step = products(VOCABULARY, forest)
    measure(benchmark, group, contender, forest, step)


@pytest.mark.parametrize("contender", ["full softmax", "NCE"])
def test_large_vocabulary(benchmark: BenchmarkFixture, contender: str) -> None:
    forest = sentences(*SHORT, LARGE)
    objective = softmax_nll if contender == "full softmax" else NCE(torch.ones(LARGE))
    step = training(TreeLM(LARGE, HIDDEN), forest, objective)
    group = f"TreeLSTM, {LARGE} words in the vocabulary"
    measure(benchmark, group, contender, forest, step)
