"""TreeLM against the paper's equations, path by path."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor
from torch.testing import assert_close

from dgltrees import ConfigError, TreeBatch
from dgltrees.cells.initial import uniform
from dgltrees.papers.top_down.graphs import generation_batch, generation_forest
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from tests.backends import by_backend
from tests.papers.top_down.samples import slow_paths
from tests.trees.dependencies import HEADS, forest_of, random_heads, sentences

WORDS, D = 40, 4
TYPES = ["LEFT", "RIGHT", "NX-LEFT", "NX-RIGHT"]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"layers": 2},
    {"left_dependents": True},
    {"left_dependents": True, "layers": 2, "shared": True},
    {"shared": True, "embedding": D, "tied": True},
]
each = pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "plain")


def make(**options: Any) -> TreeLM:
    torch.manual_seed(0)
    model = TreeLM(WORDS, D, **options).double()
    uniform(model, 0.8)
    return model


def batch_of(trees: list[list[int]]) -> TreeBatch:
    return generation_batch(generation_forest(forest_of(trees)))


def step(cell: Any, k: int, x: Tensor, state: list[Tensor], q: Tensor = None) -> list[Tensor]:
    """Equations (4) and (5): one step of the k-th LSTM; (7a) with q."""
    new = []
    for layer in range(cell.layers):
        h, c = state[2 * layer : 2 * layer + 2]
        W, b = cell.W[layer][k], cell.b_x[layer][k] + cell.b_h[layer][k]
        if q is not None and layer == 0:
            W, x = torch.cat([W, cell.W_left]), torch.cat([x, q])
        i, f, o, u = (x @ W + h @ cell.U[layer][k] + b).chunk(4)
        c = f.sigmoid() * c + i.sigmoid() * u.tanh()
        x = o.sigmoid() * c.tanh()
        new += [x, c]
    return new


def slow_log_prob(model: TreeLM, heads: list[int], words: list[int]) -> Tensor:
    """Equation (1): the sum over the words, each from its own path D(w)."""
    E, total = model.embed.weight, 0
    for w, path in enumerate(slow_paths(heads)):
        if w == 0:
            continue
        state = [torch.full((D,), 0.01).double()] * 2 * model.cell.layers
        for source, kind in path:
            q = None
            if model.left is not None and kind == "RIGHT":
                left = [torch.full((D,), 0.01).double()] * 2
                for v in range(1, source):  # from the farthest to the nearest
                    if heads[v - 1] == source:
                        left = step(model.left, 0, E[words[v]], left)
                q = left[0]
            k = TYPES.index(kind) if model.cell.types > 1 else 0
            state = step(model.cell, k, E[words[source]], state, q)
        y = model.output @ state[-2]
        total = total + torch.log_softmax(y, 0)[words[w]]
    return total


@each
@given(trees=sentences())
def test_equals_the_paths_of_every_word(options: dict[str, Any], trees: list[list[int]]) -> None:
    model, batch = make(**options), batch_of(trees)
    words = batch.ndata["word"].split(batch.sizes.tolist())
    with torch.no_grad():
        expected = [slow_log_prob(model, h, w.tolist()) for h, w in zip(trees, words)]
        assert_close(model.log_prob(batch), torch.stack(expected))


@each
def test_backends_agree(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    batch = batch_of([HEADS, [0], random_heads(rng, 15, True), random_heads(rng, 9, False)])
    found = []
    for compiled, backend in ((True, "levels"), (False, "levels"), (True, "dgl")):
        model = make(**options, compile=compiled)
        with by_backend(backend):
            log_p = model.log_prob(batch)
        log_p.sum().backward()
        found.append([log_p, *(p.grad for p in model.parameters())])
    assert_close(found[0], found[1])
    assert_close(found[0], found[2])
    assert all(part is not None and part.abs().max() > 0 for part in found[0])


def test_a_word_is_not_seen_where_it_is_predicted() -> None:
    """Only what is generated from a word, or to the right of it by LD, depends on it."""
    model, batch = make(left_dependents=True), batch_of([HEADS])
    before = model(batch)
    word = batch.ndata["word"].clone()
    for changed, reached in ((4, {1, 2, 3, 8, 9, 10, 11, 12}), (8, {9, 10, 11, 12}), (1, {8, 9})):
        other = word.clone()
        other[changed] = WORDS - 1
        after = model(batch.with_data({**batch.ndata, "word": other}))
        differs = (before.h != after.h).any(1).nonzero()[:, 0] + 1
        assert reached >= set(differs.tolist())
        assert changed not in differs


def test_word_vectors_may_be_given() -> None:
    vectors = torch.full((WORDS, 20), 3.0)
    model = TreeLM(WORDS, 40, vectors=vectors)
    assert_close(model.embed.weight.detach(), vectors)
    assert model.embed.weight.requires_grad  # fine-tuned


def test_dropout_stands_before_the_output_layer_alone() -> None:
    model, plain, batch = make(dropout=0.5, layers=2), make(layers=2), batch_of([HEADS])
    model.train()
    assert_close(model.states(batch), plain.states(batch))
    h, kept = model(batch).h, plain(batch).h
    assert ((h == 0) | ((h - 2 * kept).abs() < 1e-12)).all()
    assert 0 < int((h == 0).sum()) < h.numel()
    assert_close(model.eval().log_prob(batch), plain.log_prob(batch))


def test_tied_embeddings_are_one_matrix() -> None:
    model = make(embedding=D, tied=True)
    assert model.output is model.embed.weight
    untied = make(embedding=D)
    count = [sum(p.numel() for p in m.parameters()) for m in (model, untied)]
    assert count[1] - count[0] == WORDS * D


def test_errors() -> None:
    with pytest.raises(ConfigError, match=r"model.embedding to be 4, .* got 2; make"):
        make(tied=True)


def test_gradcheck() -> None:
    model, batch = make(left_dependents=True), batch_of([[4, 4, 4, 0, 6, 4], [2, 0, 2]])
    names = [name for name, _ in model.named_parameters()]

    def score(*values: Tensor) -> Tensor:
        return torch.func.functional_call(model, dict(zip(names, values)), batch).h

    values = [p.detach().clone().requires_grad_() for p in model.parameters()]
    assert torch.autograd.gradcheck(score, values, fast_mode=True)


def test_nothing_is_read_back_from_the_device() -> None:
    model, batch = make(left_dependents=True, layers=2), batch_of([HEADS, [0]])
    expected = model.states(batch)
    moved = batch.to("meta")
    H = model.to("meta").states(moved)
    assert H.shape == expected.shape
    model.predictions(moved, H).h.sum().backward()


def test_labels_of_a_float64_language_model_are_scored_in_float64() -> None:
    model = TreeLM(6, 4, labels=3).double()
    scores = model.label_scores(torch.randn(2, 4).double(), torch.tensor([1, 5]))
    assert scores is not None
    assert scores.dtype == torch.float64
