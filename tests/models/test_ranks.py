"""The head that orders trees: its losses against their formulas."""

import math

import numpy as np
import pytest
import torch

from dgltrees.models import RankTarget
from tests.models.test_targets import Given

# y and the group: two groups, one tree that nothing is known of, and one group of equal targets
Y = torch.tensor([[3, 7], [1, 2], [1, 7], [5, 2], [math.nan, 2], [3, 7], [4, 9], [4, 9]]).double()
S = torch.tensor([0.5, -1.0, 0.2, 0.3, 9.0, -0.4, 1.0, 2.0]).double()


def head(**options: object) -> RankTarget:
    made = RankTarget(1, **options).double()  # type: ignore[arg-type]
    made.mlp = Given()  # type: ignore[assignment]
    return made


def test_the_pairwise_loss_is_that_of_all_pairs_with_unlike_targets() -> None:
    def cost(higher: int, lower: int) -> float:
        return math.log1p(math.exp(-(S[higher] - S[lower])))

    first, second = (cost(0, 2) + cost(5, 2)) / 2, cost(3, 1)
    expected = [first, second, first, second, 0, first, 0, 0]
    torch.testing.assert_close(head().nll(S[:, None], Y), torch.tensor(expected).double())


def test_the_listwise_loss_is_the_cross_entropy_of_being_the_first() -> None:
    lists = head(objective="listwise", temperature=0.5)
    lists.learn_scale(np.array([1.0, 5.0, math.nan]))  # the deviation is 2
    expected = torch.zeros(8).double()
    for rows in ([0, 2, 5], [1, 3]):
        p = torch.softmax(Y[rows, 0] / (0.5 * 2), 0)
        expected[rows] = -(p * torch.log_softmax(S[rows], 0)).sum()
    torch.testing.assert_close(lists.nll(S[:, None], Y), expected)


@pytest.mark.parametrize("objective", ["pairwise", "listwise"])
def test_gradients_are_right_and_scores_may_be_shifted(objective: str) -> None:
    torch.manual_seed(0)
    layers = RankTarget(2, (3,), objective=objective).double()  # type: ignore[arg-type]
    z = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda z: layers.nll(z, Y), z)
    scores = layers(z)
    torch.testing.assert_close(layers.loss(scores + 3, Y), layers.loss(scores, Y))
    assert layers.nll(z[:0], Y[:0]).shape == (0,)
    large = layers.loss(torch.tensor([[0.0], [800.0]]).double(), torch.tensor([[2.0, 0], [1, 0]]))
    assert large.tolist() == pytest.approx([800, 800], rel=0.5)
    assert list(layers.columns(z, Y)) == ["loss", "score"]
