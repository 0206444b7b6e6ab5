"""Readouts and classifiers against the same written out tree by tree."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from dgltrees.cells import make_cell
from dgltrees.errors import TreeError
from dgltrees.models import (
    MLP,
    Attention,
    Classifier,
    Comparison,
    ComparisonHead,
    Encoding,
    EveryNode,
    Mean,
    OneHot,
    Root,
    TreeEncoder,
)
from tests.models.test_encoder import world
from tests.worlds import star


def encoder() -> TreeEncoder:
    torch.manual_seed(0)
    return TreeEncoder(OneHot("value", 4), make_cell("child_sum", input_size=4, hidden_size=6))


def test_root_and_mean_and_every_node() -> None:
    forest = world()
    batch, h = forest.batch(), torch.randn(forest.num_nodes, 6)
    trees = [slice(a, b) for a, b in zip(forest.offsets, forest.offsets[1:])]
    assert_close(Root()(Encoding(batch, h)), h[torch.from_numpy(forest.roots)])
    assert_close(Mean()(Encoding(batch, h)), torch.stack([h[tree].mean(0) for tree in trees]))
    assert EveryNode()(Encoding(batch, h)) is h


def test_attention_is_a_softmax_over_each_tree() -> None:
    forest, attention = world(), Attention(6).double()
    batch, h = forest.batch(), 30 * torch.randn(forest.num_nodes, 6).double()
    h.requires_grad_()
    expected = []
    for a, b in zip(forest.offsets, forest.offsets[1:]):
        s = attention.score(torch.tanh(attention.key(h[a:b])))
        expected.append((torch.softmax(s, 0) * h[a:b]).sum(0))
    made = attention(Encoding(batch, h))
    assert_close(made, torch.stack(expected))
    weight = torch.randn_like(made)
    assert_close(
        torch.autograd.grad((made * weight).sum(), [h, *attention.parameters()]),
        torch.autograd.grad((torch.stack(expected) * weight).sum(), [h, *attention.parameters()]),
    )


def test_attention_stands_large_scores() -> None:
    forest, attention = world(), Attention(6)
    torch.nn.init.constant_(attention.score.weight, 1000.0)
    h = torch.randn(forest.num_nodes, 6)
    assert torch.isfinite(attention(Encoding(forest.batch(), h))).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("readout", [Mean, lambda: Attention(2)], ids=["mean", "attention"])
def test_half_floats_are_summed_in_float32(
    readout: Callable[[], torch.nn.Module], dtype: torch.dtype
) -> None:
    """100 001 ones are beyond float16, and bfloat16 stops counting at 256."""
    batch, model = star(100_000).batch(), readout().to(dtype)
    h = torch.ones(100_001, 2, dtype=dtype, requires_grad=True)
    made = model(Encoding(batch, h))
    assert_close(made, torch.ones(1, 2, dtype=dtype))
    made.sum().backward()
    assert torch.isfinite(h.grad).all()


@pytest.mark.parametrize(
    "readout", [Root(), Mean(), Attention(6)], ids=["root", "mean", "attention"]
)
def test_tree_classifier(readout: torch.nn.Module) -> None:
    forest = world()
    model = Classifier(encoder(), readout, MLP(6, 10, (20, 20)))
    logits = model(forest.batch())
    assert logits.shape == (len(forest), 10)
    for t in range(len(forest)):
        assert_close(model(forest.tree(t).batch()), logits[t : t + 1])


def test_node_labeler() -> None:
    forest = world()
    model = Classifier(encoder(), EveryNode(), MLP(6, 5))
    batch = forest.batch()
    assert_close(model(batch), model.head(model.encoder(batch).states))
    assert model(batch).shape == (forest.num_nodes, 5)


def test_mlp_of_the_paper() -> None:
    """Section V.C: two hidden layers of 20 units."""
    mlp = MLP(50, 10, (20, 20))
    sizes = [tuple(p.shape) for p in mlp.parameters()]
    assert sizes == [(20, 50), (20,), (20, 20), (20,), (10, 20), (10,)]
    z = torch.randn(3, 50)
    W1, b1, W2, b2, W3, b3 = mlp.parameters()
    hidden = torch.relu(torch.relu(z @ W1.T + b1) @ W2.T + b2)
    assert_close(mlp(z), hidden @ W3.T + b3)
    assert (
        sum(isinstance(layer, torch.nn.Dropout) for layer in MLP(5, 2, (3,), dropout=0.5).layers)
        == 2
    )


def test_comparison_entry_by_entry() -> None:
    layer = Comparison(3, 4)
    torch.nn.init.normal_(layer.bias)
    a, b = torch.randn(5, 3), torch.randn(5, 3)
    T = layer.T.view(3, 3, 4)
    for k in range(4):
        z = layer.bias[k] + a @ layer.M[:3, k] + b @ layer.M[3:, k]
        for i in range(3):
            for j in range(3):
                z = z + a[:, i] * T[i, j, k] * b[:, j]
        assert_close(layer(a, b)[:, k], z.clamp(min=0) + 0.01 * z.clamp(max=0))


@pytest.mark.parametrize("width", [None, 9])
def test_pair_classifier(width: int | None) -> None:
    forest = world(trees=6)
    model = Classifier(encoder(), Root(), ComparisonHead(6, 7, comparison=width))
    logits = model(forest.batch())
    assert logits.shape == (3, 7)
    roots = model.encoder(forest.batch()).roots
    for pair in range(3):
        z = model.head.compare(roots[2 * pair][None], roots[2 * pair + 1][None])
        assert_close(model.head.output(z)[0], logits[pair])
    swapped = forest.select(np.array([1, 0, 3, 2, 5, 4]))
    assert (model(swapped.batch()) - logits).abs().max() > 1e-4


def test_what_is_refused() -> None:
    with pytest.raises(TreeError, match="pairs of trees or sentences, got an odd number, 3"):
        Classifier(encoder(), Root(), ComparisonHead(6, 7))(world(trees=3).batch())
