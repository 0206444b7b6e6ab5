import pytest
import torch
from torch.testing import assert_close

from dgltrees.cells import Score
from dgltrees.cells.compiled import fused_scores

KINDS = ["mlp", "dot", "map"]


def world(kind: str, compiled: bool = True) -> tuple[Score, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    score = Score(3, kind, compile=compiled).double()
    s, q = torch.randn(2, 5, 3).double(), torch.randn(2, 4, 3).double()
    return score, s.requires_grad_(), q.requires_grad_()


@pytest.mark.parametrize("kind", KINDS)
def test_all_scores_are_those_of_the_pairs(kind: str) -> None:
    score, s, q = world(kind)
    every = score.every(score.keys(s), score.queries(q))
    for t in range(2):
        for i in range(4):
            pairs = score.pairs(score.keys(s[t]), score.queries(q[t, i]))
            assert_close(every[t, i], pairs)


@pytest.mark.parametrize("block", [1, 250, 1 << 20])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fused_scores.BLOCK, "cpu", block)
    found = []
    for compiled in (True, False):
        score, s, q = world("mlp", compiled)
        every = score.every(score.keys(s), score.queries(q))
        total = (every * torch.linspace(-1, 1, every.numel()).double().view_as(every)).sum()
        found.append([every, *torch.autograd.grad(total, [s, q, *score.parameters()])])
    assert_close(*found)


def test_a_second_derivative_needs_the_plain_way() -> None:
    for compiled in (True, False):
        score, s, q = world("mlp", compiled)
        total = score.every(score.keys(s), score.queries(q)).pow(2).sum()
        if compiled:
            with pytest.raises(RuntimeError, match="expected one derivative of a compiled cell"):
                torch.autograd.grad(total, s, create_graph=True)
        else:
            (once,) = torch.autograd.grad(total, s, create_graph=True)
            once.pow(2).sum().backward()
            assert torch.isfinite(q.grad).all()
