"""The policy, what it may do, and how REINFORCE learns from rewards."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor
from torch.testing import assert_close

from dgltrees.papers.rrnet.models.objectives import Reinforce, advantages
from dgltrees.papers.rrnet.models.policy import ILLEGAL, Decisions, Policy, legal

SIZES = torch.tensor([3, 1, 2])


def doubles(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def decisions(seed: int = 0) -> Decisions:
    g = torch.Generator().manual_seed(seed)
    scores = torch.randn(6, 3, generator=g, dtype=torch.float64)
    values = torch.randn(6, generator=g, dtype=torch.float64)
    actions = torch.tensor([0, 1, 2, 1, 0, 2])
    return Decisions(scores.requires_grad_(), values.requires_grad_(), actions, SIZES)


REWARDS = doubles(0.5, 0.0, 1.0, 2.0, 0.0, -1.0)


def by_hand(
    rewards: Tensor, values: Tensor, discount: float, bootstrap: Iterable[Any] = (0.0, 0.0, 0.0)
) -> Tensor:
    """The definition, backwards over each sequence."""
    result, at = [], 0
    for size, after in zip(SIZES.tolist(), bootstrap):
        running, own = 0.0, []
        for t in reversed(range(at, at + size)):
            following = float(values[t + 1] if t + 1 < at + size else after)
            error = float(rewards[t]) + discount * following - float(values[t])
            running = error + discount * running
            own.append(running)
        result += own[::-1]
        at += size
    return doubles(*result)


def test_sequences_that_go_on_end_with_a_value() -> None:
    bootstrap, values = doubles(0.3, -2.0, 1.1), decisions().values.detach()
    got = advantages(REWARDS, values, SIZES, 0.9, bootstrap)
    assert_close(got, by_hand(REWARDS, values, 0.9, bootstrap))


def test_the_whole_return_less_the_value() -> None:
    values = decisions().values.detach()
    got = advantages(REWARDS, values, SIZES, 0.9)
    returns = doubles(0.5 + 0.81 * 1.0, 0.9, 1.0, 2.0, -0.9, -1.0)
    assert_close(got, returns - values)
    assert_close(got, by_hand(REWARDS, values, 0.9))


def test_reinforce_has_the_gradient_of_the_score_function() -> None:
    made = decisions()
    objective = Reinforce(discount=0.9, entropy=0.0, value=0.0)
    objective.losses(made, REWARDS).sum().backward()
    p = torch.softmax(made.scores.detach(), 1)
    gained = by_hand(REWARDS, made.values.detach(), 0.9)
    one_hot = torch.nn.functional.one_hot(made.actions, 3)
    assert_close(made.scores.grad, gained[:, None] * (p - one_hot))


def test_entropy_and_value_are_weighted() -> None:
    made = decisions()
    plain = Reinforce(entropy=0.0, value=0.0).losses(made, REWARDS)
    p = torch.softmax(made.scores, 1)
    entropy = -(p * p.log()).sum(1)
    with_entropy = Reinforce(entropy=0.3, value=0.0).losses(made, REWARDS)
    assert_close(with_entropy, plain - 0.3 * entropy)
    gained = by_hand(REWARDS, made.values.detach(), 0.99)
    with_value = Reinforce(entropy=0.0, value=0.5).losses(made, REWARDS)
    assert_close(with_value, plain + 0.5 * gained**2)


def test_what_is_illegal_is_never_chosen() -> None:
    torch.manual_seed(0)
    open_trees = torch.tensor([0, 1, 2]).repeat(200)
    possible = legal(open_trees, 2)
    assert possible[:3].tolist() == [[True, True, False], [True] * 3, [False, True, True]]
    policy = Policy(4, 3)
    scores, values = policy(torch.randn(600, 4), torch.randn(600, 3), possible)
    assert values.shape == (600,)
    chosen = Reinforce().choose(scores)
    assert possible.gather(1, chosen[:, None]).all()
    assert len(chosen.unique()) == 3
    losses = Reinforce().losses(
        Decisions(scores, values, chosen, torch.tensor([600])), torch.zeros(600)
    )
    assert torch.isfinite(losses).all()


def test_operations_are_drawn_from_the_policy() -> None:
    torch.manual_seed(0)
    scores = torch.tensor([[0.5, -1.0, 0.0], [3.0, ILLEGAL, 3.5], [ILLEGAL, 0.0, ILLEGAL]])
    drawn = Reinforce().choose(scores.repeat(20_000, 1)).view(-1, 3)
    shares = torch.stack([torch.bincount(row, minlength=3) for row in drawn.t()]) / 20_000
    assert_close(shares, torch.softmax(scores, 1), atol=0.015, rtol=0.0)


def test_a_detached_policy_changes_itself_alone() -> None:
    h, e = torch.randn(2, 4, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    possible = torch.ones(2, 3, dtype=torch.bool)
    for detach in (False, True):
        scores, values = Policy(4, 3, [5], detach=detach)(h, e, possible)
        grads = torch.autograd.grad(scores.sum() + values.sum(), [h, e], allow_unused=True)
        assert all((grad is None) == detach for grad in grads)
        assert scores.requires_grad
