"""Language models over sentences against reading word by word; noise-contrastive estimation."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from torch import Tensor, nn
from torch.testing import assert_close

from dgltrees import ConfigError, TreeBatch
from dgltrees.cells.initial import uniform
from dgltrees.models import softmax_nll
from dgltrees.papers.top_down.models.language_model import (
    NCE,
    BidirectionalLM,
    SequenceLM,
)
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from tests.trees.dependencies import forest_of, sentences

P, V, D = 7, 20, 4


def make(kind: type[nn.Module], **options: Any) -> Any:
    torch.manual_seed(0)
    model = kind(V, D, **options).double()
    uniform(model, 0.8)
    return model


def read(model: Any, direction: int, words: list[int]) -> Tensor:
    """The state after all ``words``."""
    states, _ = model.lstms[direction](model.embed.weight[words].unsqueeze(1))
    return states[-1, 0]


def log_p(model: Any, state: Tensor, word: int) -> Tensor:
    return torch.log_softmax(model.output @ state, 0)[word]


def sentences_of(batch: TreeBatch) -> list[list[int]]:
    return [words.tolist() for words in batch.ndata["word"].split(batch.sizes.tolist())]


@pytest.mark.parametrize("options", [{}, {"layers": 2}, {"tied": True, "embedding": D}])
@given(trees=sentences(max_words=6))
def test_left_to_right(options: dict[str, Any], trees: list[list[int]]) -> None:
    batch = forest_of(trees).batch()
    with torch.no_grad():
        for end in (False, True):
            model = make(SequenceLM, **options, end=end)
            expected = []
            for words in sentences_of(batch):
                targets = [*words[1:], words[0]] if end else words[1:]
                parts = [
                    log_p(model, read(model, 0, words[: t + 1]), w) for t, w in enumerate(targets)
                ]
                expected.append(sum(parts))
            assert_close(model.log_prob(batch), torch.stack(expected))


@pytest.mark.parametrize("options", [{}, {"layers": 2}])
@given(trees=sentences(max_words=6))
def test_from_both_sides(options: dict[str, Any], trees: list[list[int]]) -> None:
    model, batch = make(BidirectionalLM, **options), forest_of(trees).batch()
    with torch.no_grad():
        expected = []
        for words in sentences_of(batch):
            total = torch.zeros(()).double()
            for t in range(1, len(words)):
                before = read(model, 0, words[:t])
                after = read(model, 1, [words[0], *reversed(words[t + 1 :])])
                total += log_p(model, torch.cat([before, after]), words[t])
            expected.append(total)
        assert_close(model.log_prob(batch), torch.stack(expected))


@pytest.mark.parametrize(
    ("kind", "size", "count"),
    [
        (SequenceLM, 300, 29.948),
        (SequenceLM, 400, 40.171),
        (SequenceLM, 450, 45.327),
        (BidirectionalLM, 200, 33.156),
        (BidirectionalLM, 300, 50.094),
        (BidirectionalLM, 400, 67.272),
        (TreeLM, 300, 31.575),
        (TreeLM, 400, 43.060),
        (partial(TreeLM, left_dependents=True), 300, 32.478),
        (partial(TreeLM, left_dependents=True), 400, 44.664),
    ],
)
def test_table_1_counts(kind: Callable[..., nn.Module], size: int, count: float) -> None:
    model = kind(65_346, size)
    assert round(sum(p.numel() for p in model.parameters()) / 1e6, 3) == count


def test_parameters_begin_in_a_small_box() -> None:
    for model in (SequenceLM(V, 40), BidirectionalLM(V, 40), TreeLM(V, 40, left_dependents=True)):
        for name, p in model.named_parameters():
            assert 0.09 < p.abs().max() <= 0.1, name


def test_dropout_stands_before_the_output_layer() -> None:
    batch = forest_of([[0, 1, 1], [2, 0]]).batch()
    for kind in (SequenceLM, BidirectionalLM):
        model, plain = make(kind, dropout=0.5).train(), make(kind)
        h, kept = model(batch).h, plain(batch).h
        assert ((h == 0) | ((h - 2 * kept).abs() < 1e-12)).all()
        assert 0 < int((h == 0).sum()) < h.numel()
        deep, plain = make(kind, layers=2, layer_dropout=0.5), make(kind, layers=2)
        assert_close(deep.eval()(batch).h, plain(batch).h)
        assert (deep.train()(batch).h != plain(batch).h).any()


def world() -> tuple[Tensor, Tensor, Tensor]:
    h = torch.randn(P, D).double().requires_grad_()
    output = torch.randn(V, D).double().requires_grad_()
    return h, output, torch.randint(0, V, (P,))


def test_noise_has_its_distribution() -> None:
    counts = torch.tensor([0, 100, 10, 1, 0, 50])
    nce = NCE(counts)
    drawn = torch.bincount(nce.draw(200_000), minlength=6) / 200_000
    p = counts.double() ** 0.75
    p /= p.sum()
    assert drawn[0] == drawn[4] == 0
    assert_close(drawn.double(), p, atol=0.005, rtol=0)
    assert_close(nce.log_noise.exp().double() / 20, p)


def test_loss_is_the_formula() -> None:
    h, output, words = world()
    counts = torch.arange(1, V + 1)
    nce = NCE(counts, noise=3, log_z=2.0).double()
    p_n = counts.double() ** 0.75 / (counts.double() ** 0.75).sum()
    torch.manual_seed(1)
    found = nce(h, output, words)
    torch.manual_seed(1)
    noise = nce.draw(3 * P).view(P, 3)

    def p_d(t: int, w: int) -> float:
        p = math.exp(float((output[w] @ h[t]).detach())) / math.exp(2.0)
        return p / (p + 3 * float(p_n[w]))

    for t in range(P):
        loss = -math.log(p_d(t, int(words[t])))
        loss -= sum(math.log(1 - p_d(t, int(w))) for w in noise[t])
        assert_close(float(found[t].detach()), loss)
    found.sum().backward()
    assert all(p.grad.abs().max() > 0 for p in (h, output, nce.Z))


def test_the_normaliser_does_not_fill_the_gradient_norm() -> None:
    """With the paper's learning rate of 1 and norm of 5, an update leaves ln Z near 9."""
    h, output, words = world()
    nce = NCE(torch.arange(1, V + 1))
    nce(h, output, words).sum().mul(100).backward()
    norm = nn.utils.clip_grad_norm_([h, output, nce.Z], 5.0)
    assert norm > 5
    assert abs(nce.Z.grad) < 0.01
    torch.optim.SGD([nce.Z], lr=1.0).step()
    assert_close(nce.Z.log(), torch.tensor(9.0), atol=1e-3, rtol=0)


def test_fresh_noise_at_every_position_and_call() -> None:
    h, output, words = world()
    nce = NCE(torch.ones(V))
    with torch.no_grad():
        same = nce(h[:1].expand(P, D), output, words[:1].expand(P))
        assert len(same.unique()) == P
        assert (nce(h, output, words) != nce(h, output, words)).all()


class Toy(nn.Module):
    """Two contexts, a vector each."""

    def __init__(self) -> None:
        super().__init__()
        self.h = nn.Parameter(torch.empty(2, D).uniform_(-0.5, 0.5))
        self.output = nn.Parameter(torch.empty(6, D).uniform_(-0.5, 0.5))


def test_both_objectives_rank_words_alike() -> None:
    """Trained on one distribution, NCE and NLL order the words of each context alike."""
    p = torch.tensor([[0.4, 0.3, 0.15, 0.1, 0.04, 0.01], [0.02, 0.05, 0.08, 0.15, 0.2, 0.5]])
    context = torch.arange(2).repeat_interleave(500)
    words = torch.cat([torch.repeat_interleave(torch.arange(6), (500 * q).long()) for q in p])
    assert len(words) == len(context)
    scores = []
    for objective in (softmax_nll, NCE(torch.bincount(words), log_z=1.0)):
        model = Toy()
        parameters = [*model.parameters()]
        parameters += [*objective.parameters()] if isinstance(objective, NCE) else []
        optimizer = torch.optim.Adam(parameters, lr=0.02)
        for _ in range(400):
            optimizer.zero_grad()
            objective(model.h[context], model.output, words).mean().backward()
            optimizer.step()
        scores.append((model.h @ model.output.t()).detach())
    for score in scores:
        assert score.argsort(1).tolist() == p.argsort(1).tolist()
    assert_close(torch.softmax(scores[1], 1), torch.softmax(scores[0], 1), atol=0.05, rtol=0)


def test_errors() -> None:
    with pytest.raises(ConfigError, match=r"counts of words that are not all 0, got \(3,\)"):
        NCE(torch.zeros(3))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_another_precision_draws_the_same(dtype: torch.dtype) -> None:
    counts, draws = torch.tensor([7, 1, 2]), []
    for objective in (NCE(counts), NCE(counts).to(dtype)):
        torch.manual_seed(1)
        draws.append(objective.draw(1000))
    assert torch.equal(*draws)
