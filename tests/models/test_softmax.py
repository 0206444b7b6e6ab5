"""The full softmax in chunks, against its formula and against torch."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from dgltrees.models import softmax_nll

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
