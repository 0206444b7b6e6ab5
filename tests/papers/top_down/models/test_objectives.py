"""The full softmax and noise-contrastive estimation."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from dgltrees import ConfigError
from dgltrees.models import softmax_nll
from dgltrees.papers.top_down.models.language_model import NCE

P, V, D = 7, 11, 4


def world() -> tuple[Tensor, Tensor, Tensor]:
    h = torch.randn(P, D).double().requires_grad_()
    output = torch.randn(V, D).double().requires_grad_()
    return h, output, torch.randint(0, V, (P,))


def test_softmax_is_that_of_equation_3() -> None:
    h, output, words = world()
    h, output = h.detach(), output.detach()
    for t, nll in enumerate(softmax_nll(h, output, words)):
        y = [float(output[k] @ h[t]) for k in range(V)]
        p = math.exp(y[words[t]]) / sum(map(math.exp, y))
        assert_close(float(nll), -math.log(p))


@pytest.mark.parametrize("max_logits", [1, V, 3 * V, P * V])
def test_chunks_change_nothing(max_logits: int) -> None:
    h, output, words = world()
    weight = torch.rand(P).double()
    found = []
    for options in ({}, {"max_logits": max_logits}):
        nll = softmax_nll(h, output, words, **options)
        found.append([nll, *torch.autograd.grad((nll * weight).sum(), (h, output))])
    assert_close(*found)
    with torch.no_grad():
        assert_close(softmax_nll(h, output, words, max_logits=max_logits), found[0][0])


def test_chunks_hold_few_logits() -> None:
    """No tensor that is kept for the way back has as many entries as there are logits."""
    h, output, words = world()
    kept: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, id):
        softmax_nll(h, output, words, max_logits=2 * V)
    assert max(kept) < P * V


@pytest.mark.parametrize("max_logits", [2 * V, P * V])
def test_gradients_are_those_of_cross_entropy(max_logits: int) -> None:
    """Also where a word is next to certain, and where losses weigh unlike."""
    h, output, words = world()
    with torch.no_grad():
        h[0] = 40 * output[words[0]]
    nll = softmax_nll(h, output, words, max_logits=max_logits)
    expected = nn.functional.cross_entropy(h @ output.t(), words, reduction="none")
    weight = torch.randn(P).double()
    assert_close(nll, expected)
    pairs = ((loss * weight).sum() for loss in (nll, expected))
    assert_close(*(torch.autograd.grad(loss, (h, output)) for loss in pairs))


def test_a_graph_can_be_followed_twice_and_two_can_stand_side_by_side() -> None:
    h, output, words = world()
    first, second = softmax_nll(h, output, words), softmax_nll(2 * h, output, words)
    grads = [torch.autograd.grad(first.sum(), h, retain_graph=True)[0] for _ in range(2)]
    assert_close(*grads)
    second.sum().backward()
    assert_close(torch.autograd.grad(first.sum(), h)[0], grads[0])


def test_a_second_derivative_is_refused() -> None:
    h, output, words = world()
    with pytest.raises(RuntimeError, match="of softmax_nll, got a graph for a second"):
        torch.autograd.grad(softmax_nll(h, output, words).sum(), h, create_graph=True)


def test_autocast_halves_the_products_alone() -> None:
    h, output, words = world()
    h, output = h.detach().float().requires_grad_(), output.detach().float()
    with torch.autocast("cpu", torch.bfloat16):
        nll = softmax_nll(h, output, words)
    expected = softmax_nll(h, output, words)
    assert nll.dtype == torch.float32
    assert_close(nll, expected, rtol=0.05, atol=0.05)
    grads = [torch.autograd.grad(loss.sum(), h)[0] for loss in (nll, expected)]
    assert_close(*grads, rtol=0.05, atol=0.05)


def test_half_floats_are_normalised_in_single() -> None:
    h, output, words = (t.detach() for t in world())
    half = softmax_nll(h.bfloat16(), output.bfloat16(), words)
    assert half.dtype == torch.float32
    assert_close(half.double(), softmax_nll(h, output, words), rtol=0.05, atol=0.05)


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
    assert all(p.grad.abs().max() > 0 for p in (h, output, nce.log_z))


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
    with pytest.raises(ConfigError, match="noise to be a whole number of at least 1, got 0"):
        NCE(torch.ones(3), noise=0)
    with pytest.raises(ConfigError, match=r"a count for each word, not all of them 0, got \(3,\)"):
        NCE(torch.zeros(3))
