"""Losses in the precision of the model: float64 stays, half floats are promoted to float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.testing import assert_close

from dgltrees.cells import make_cell
from dgltrees.models import (
    MLP,
    Classifier,
    ComparisonHead,
    EveryNode,
    Head,
    OneHot,
    PairHead,
    Root,
    TransformerEncoder,
    TreeEncoder,
    WordEmbedding,
)
from dgltrees.papers.rrnet.models import NumberDecoder
from dgltrees.papers.top_down.models import BiaffineParser, TreeLM
from tests.models.test_encoder import world
from tests.papers.nti.models.worlds import make, texts
from tests.papers.top_down.dependencies.sentences import forest_of

EXACT: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-13}


def classifier(readout: nn.Module, head: Head) -> Classifier:
    cell = make_cell("child_sum", input_size=4, hidden_size=6)
    return Classifier(TreeEncoder(OneHot("value", 4), cell), readout, head)


def transformer() -> Classifier:
    return Classifier(TransformerEncoder(WordEmbedding("word", 20, 4), 8), Root(), MLP(8, 3))


def nll(logits: Tensor, targets: Tensor) -> Tensor:
    """The definition, in the precision of the logits."""
    return -(logits - logits.logsumexp(1, keepdim=True)).gather(1, targets[:, None])[:, 0]


CLASSIFIERS: dict[str, tuple[Callable[[], Classifier], Callable[[], Any]]] = {
    "trees": (lambda: classifier(Root(), MLP(6, 3, [5])), lambda: world().batch()),
    "nodes": (lambda: classifier(EveryNode(), MLP(6, 3)), lambda: world().batch()),
    "pairs": (lambda: classifier(Root(), ComparisonHead(6, 3)), lambda: world().batch()),
    "NTI": (lambda: make("classifier"), lambda: texts([3, 4, 1, 5])),
    "NTI pairs": (lambda: make("pairs"), lambda: texts([3, 4, 1, 5])),
    "matching": (lambda: make("matching"), lambda: texts([3, 4, 1, 5])),
    "transformer": (transformer, lambda: texts([3, 4, 1, 5])),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_loss_of_a_float64_model_is_exact(name: str) -> None:
    build, data = CLASSIFIERS[name]
    model, batch = build().double(), data()
    logits = model(batch)
    targets = torch.arange(len(logits)) % 3
    assert logits.dtype == torch.float64
    assert_close(model(batch, targets), nll(logits, targets), **EXACT)
    loss, prediction, probability = model.outputs(batch, targets)
    p = (logits - logits.logsumexp(1, keepdim=True)).exp()
    assert_close(loss, nll(logits, targets), **EXACT)
    assert_close((prediction, probability), (p.argmax(1), p.max(1).values), **EXACT)


def test_a_row_without_a_class_has_no_loss() -> None:
    z, head = torch.randn(3, 4).double(), MLP(4, 5).double()
    losses = head.nll(z, torch.tensor([2, -1, 0]))
    assert_close(losses[[0, 2]], nll(head(z)[[0, 2]], torch.tensor([2, 0])), **EXACT)
    assert losses[1] == 0


def test_one_logit_is_the_probability_of_class_1() -> None:
    model, batch = make("answers").double(), texts([3, 4, 1, 5])
    o, targets = model(batch)[:, 0], torch.tensor([1, 0])
    p = 1 / (1 + (-o).exp())
    assert_close(model(batch, targets), -torch.where(targets > 0, p, 1 - p).log(), **EXACT)
    _, prediction, probability = model.outputs(batch, targets)
    assert_close(probability, p, **EXACT)
    assert prediction.tolist() == (p > 0.5).long().tolist()


def test_shared_words_of_a_float64_model_are_counted_in_float64() -> None:
    model, batch = make("answers").double(), texts([3, 4, 1, 5])
    shared = torch.stack([part.sum() for part in batch.ndata["shared"].split([3, 4, 1, 5])])
    z = model.vectors(batch)
    assert_close(z[:, -1], (1 + shared.double()).log(), **EXACT)


def test_numbers_of_a_float64_model_are_exact() -> None:
    decoder, z = NumberDecoder(4).double(), torch.randn(2, 4).double()
    _, p = decoder.predict(z)
    number, _ = decoder.predict(z)
    assert_close(decoder.nll(z, number).neg().exp(), p, **EXACT)
    assert p.dtype == torch.float64


def test_arcs_of_a_float64_parser_sum_to_one_exactly() -> None:
    parser = BiaffineParser([WordEmbedding("word", 6, 4)], 3, hidden_size=4, arc_size=5)
    for parameter in parser.parameters():
        nn.init.normal_(parameter)
    scores = parser.double().eval()(forest_of([[2, 0], [2, 0, 4, 2, 4]]).batch())
    assert scores.arcs.dtype == torch.float64
    total = scores.arcs.exp().sum(2)
    assert_close(total[1], torch.ones(6).double(), **EXACT)


def test_labels_of_a_float64_language_model_are_scored_in_float64() -> None:
    model = TreeLM(6, 4, labels=3).double()
    scores = model.label_scores(torch.randn(2, 4).double(), torch.tensor([1, 5]))
    assert scores is not None
    assert scores.dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("head", [MLP(4, 3), PairHead(2, 1, extra=2), NumberDecoder(4)], ids=str)
def test_half_floats_are_promoted(head: Head, dtype: torch.dtype) -> None:
    z, targets = torch.randn(4, 4).to(dtype), torch.zeros(4 // head.arity, dtype=torch.long)
    losses = head.to(dtype).nll(z, targets)
    assert losses.dtype == torch.float32
    head.float()


@pytest.mark.parametrize("classes", [1, 3])
def test_float32_losses_are_those_of_torch(classes: int) -> None:
    head, z = MLP(4, classes), torch.randn(5, 4)
    targets = torch.arange(5) % max(2, classes)
    logits = head(z)
    if classes == 1:
        o = logits[:, 0]
        expected = F.binary_cross_entropy_with_logits(o, targets.to(o), reduction="none")
    else:
        expected = F.cross_entropy(logits, targets, reduction="none")
    assert torch.equal(head.nll(z, targets), expected)
