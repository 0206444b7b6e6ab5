"""Neural Tree Indexers at the paper's size: encoding against its matrix products, full matching
against message passing, and the memory of a large batch.
"""

import multiprocessing
import resource
from collections.abc import Callable

import numpy as np
import pytest
import torch
from pytest_benchmark.fixture import BenchmarkFixture
from torch import Tensor, nn

from dgltrees import TreeBatch
from dgltrees.models import MLP, Classifier, GivenVectors
from dgltrees.papers.nti.models.attention import Attended, GlobalAttention
from dgltrees.papers.nti.models.encoder import NTIEncoding
from dgltrees.papers.nti.models.pairs import SentencePairEncoder, TreeMatching
from dgltrees.papers.nti.models.tree_attention import TreeAttention
from dgltrees.trees.builders import chains
from tests.backends import by_backend
from tests.benchmarks.conftest import _compiled, _threads  # noqa: F401 (fixtures)
from tests.papers.nti.models.attend_edges import attend_along_edges
from tests.papers.nti.models.worlds import make_nti_encoder

SIZE, LENGTH, BATCH, LARGE = 300, 32, 32, 1024

ATTENTIONS = {"global": GlobalAttention, "tree": TreeAttention}


def tokens(count: int) -> TreeBatch:
    """Sentences of random token vectors."""
    vectors = np.random.default_rng(0).normal(size=(count * LENGTH, SIZE)).astype(np.float32)
    return chains([LENGTH] * count, {"vector": vectors}).batch()


def products(leaves: str) -> Callable[[], None]:
    """The products of an encoding and of its gradients, level by level and step by step."""
    rows = [BATCH * LENGTH // 2**level for level in range(1, LENGTH.bit_length())]
    shapes = [(n, k, m) for n in rows for k, m in ((600, 1500), (600, 900), (300, 300))]
    if leaves == "lstm":
        shapes += [(BATCH * LENGTH, SIZE, 4 * SIZE), *[(BATCH, SIZE, 4 * SIZE)] * LENGTH]
    data = [(torch.randn(n, k), torch.randn(k, m), torch.randn(n, m)) for n, k, m in shapes]

    def run() -> None:
        for x, weight, grad in data:
            torch.mm(x, weight)
            torch.mm(grad, weight.t())
            torch.mm(x.t(), grad)

    return run


@pytest.mark.parametrize("leaves", ["identity", "lstm"])
@pytest.mark.parametrize("contender", ["dgl", "levels, compile=False", "levels", "products"])
def test_encoding(benchmark: BenchmarkFixture, contender: str, leaves: str) -> None:
    torch.manual_seed(0)
    encoder = make_nti_encoder(
        GivenVectors("vector", SIZE), SIZE, leaves=leaves, compile="False" not in contender
    )
    sentences = tokens(BATCH)
    sentences.ndata["vector"].requires_grad_()

    def step() -> None:
        encoder.zero_grad()
        with by_backend("dgl" if contender == "dgl" else "levels"):
            encoder(sentences).roots.sum().backward()

    benchmark.group = f"NTI-SLSTM, {leaves} leaves, {BATCH} x {LENGTH}, hidden {SIZE}"
    nodes = BATCH * (2 * LENGTH - 1)
    benchmark.extra_info.update(kind="case", contender=contender, nodes=nodes)
    run = products(leaves) if contender == "products" else step
    benchmark.pedantic(run, rounds=7, warmup_rounds=2)


class ByMessages(nn.Module):
    """The reference: the same attention as DGL's message passing."""

    def __init__(self, attention: nn.Module) -> None:
        super().__init__()
        self.attention, self.size, self.score = attention, attention.size, attention.score

    def forward(self, queries: Tensor, encoding: NTIEncoding) -> Attended:
        if isinstance(self.attention, TreeAttention):
            return self.attention.by_messages(queries, encoding)
        return Attended(attend_along_edges(self.attention, queries, encoding), queries)


def full_matching(attention: str, score: str, pairs: int) -> tuple[Classifier, TreeBatch]:
    torch.manual_seed(0)
    look = ATTENTIONS[attention](SIZE, score=score)
    encoder = SentencePairEncoder(make_nti_encoder(GivenVectors("vector", SIZE), SIZE))
    head = TreeMatching(look, MLP(2 * SIZE, 3, [1024]), full=True)
    return Classifier(encoder, nn.Identity(), head), tokens(2 * pairs)


@pytest.mark.parametrize("score", ["dot", "mlp"])
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("contender", ["messages", "fast"])
def test_full_matching(
    benchmark: BenchmarkFixture, contender: str, attention: str, score: str
) -> None:
    model, batch = full_matching(attention, score, BATCH)
    if contender == "messages":
        model.head.attention = ByMessages(model.head.attention)

    def step() -> None:
        model.zero_grad()
        with by_backend("dgl" if contender == "messages" else "levels"):
            model(batch).sum().backward()

    benchmark.group = f"full matching, {attention} attention, {score}, {BATCH} x {LENGTH}"
    nodes = 2 * BATCH * (2 * LENGTH - 1)
    benchmark.extra_info.update(kind="case", contender=contender, nodes=nodes)
    benchmark.pedantic(step, rounds=3, warmup_rounds=1)


def large(name: str) -> int:
    """Bytes of this process after a step with gradients."""
    torch.set_num_threads(1)
    if name == "encoding":
        inputs = GivenVectors("vector", SIZE)
        node = {"dropout": 0.2}
        encoder = make_nti_encoder(inputs, SIZE, dropout=0.1, node_options=node)
        encoder(tokens(LARGE)).roots.sum().backward()
    else:
        model, batch = full_matching(name.split(", ")[1], "mlp", LARGE)
        model(batch).sum().backward()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("name", ["encoding", *(f"full matching, {a}" for a in ATTENTIONS)])
def test_memory_of_a_large_batch(benchmark: BenchmarkFixture, name: str) -> None:
    benchmark.group = f"{LARGE} x {LENGTH}, hidden {SIZE}"
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        held = benchmark.pedantic(pool.apply, (large, (name,)), rounds=1)
    nodes = (1 if name == "encoding" else 2) * LARGE * (2 * LENGTH - 1)
    benchmark.extra_info.update(kind="memory", contender=name, nodes=nodes, bytes=held)
