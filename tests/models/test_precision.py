"""Losses in the precision of the model: float64 stays, half floats are promoted to float32."""

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
from dgltrees.trees import Forest
from dgltrees.trees.builders import chains
from tests.models.test_encoder import world

EXACT: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-13}


def classifier(readout: nn.Module, head: Head) -> Classifier:
    cell = make_cell("child_sum", input_size=4, hidden_size=6)
    return Classifier(TreeEncoder(OneHot("value", 4), cell), readout, head)


def sentences() -> Forest:
    """Four sentences of random words."""
    return chains([3, 4, 1, 5], {"word": torch.randint(20, (13,)).numpy()})


def transformer() -> Classifier:
    return Classifier(TransformerEncoder(WordEmbedding("word", 20, 4), 8), Root(), MLP(8, 3))


def nll(logits: Tensor, targets: Tensor) -> Tensor:
    """The definition, in the precision of the logits."""
    return -(logits - logits.logsumexp(1, keepdim=True)).gather(1, targets[:, None])[:, 0]


CLASSIFIERS: dict[str, tuple[Callable[[], Classifier], Callable[[], Any]]] = {
    "trees": (lambda: classifier(Root(), MLP(6, 3, [5])), lambda: world().batch()),
    "nodes": (lambda: classifier(EveryNode(), MLP(6, 3)), lambda: world().batch()),
    "pairs": (lambda: classifier(Root(), ComparisonHead(6, 3)), lambda: world().batch()),
    "transformer": (transformer, lambda: sentences().batch()),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_loss_of_a_float64_model_is_exact(name: str) -> None:
    build, data = CLASSIFIERS[name]
    assert_loss_is_exact(build().double(), data())


def assert_loss_is_exact(model: Any, batch: Any) -> None:
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


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("head", [MLP(4, 3), PairHead(2, 1, extra=2)], ids=str)
def test_half_floats_are_promoted(head: Head, dtype: torch.dtype) -> None:
    assert_promoted(head, dtype)


def assert_promoted(head: Head, dtype: torch.dtype) -> None:
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
