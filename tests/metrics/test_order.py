"""Measures of orders within groups, by hand, by scikit-learn and by scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import ndcg_score

from dgltrees.metrics import order
from dgltrees.metrics.order import ndcg, order_metrics, pair_metrics

RNG = np.random.default_rng(0)
GROUPS = RNG.permutation(np.repeat(np.arange(30), RNG.integers(5, 20, 30)))
TARGETS = RNG.integers(0, 4, len(GROUPS)).astype(float)
SCORES = RNG.integers(0, 6, len(GROUPS)).astype(float)  # many are equal
MEMBERS = [group == GROUPS for group in range(30)]


@pytest.mark.parametrize("top", [0, 3])
def test_ndcg_is_that_of_scikit_learn(top: int) -> None:
    theirs = [ndcg_score([TARGETS[m]], [SCORES[m]], k=top or None) for m in MEMBERS]
    np.testing.assert_allclose(ndcg(TARGETS, SCORES, GROUPS, top), theirs)


def test_gains_of_negative_targets_are_above_the_lowest_of_their_group() -> None:
    lowest = np.array([TARGETS[m].min() for m in MEMBERS])[GROUPS]
    expected = ndcg(TARGETS - lowest, SCORES, GROUPS)
    np.testing.assert_allclose(ndcg(TARGETS - 9, SCORES, GROUPS), expected)


@pytest.mark.parametrize("block", [4_000_000, 50])
def test_pairs_and_kendall(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_PAIRS", block)
    report = pair_metrics(TARGETS, SCORES, GROUPS)
    taus = [kendalltau(TARGETS[m], SCORES[m])[0] for m in MEMBERS]
    assert report["kendall"] == pytest.approx(np.mean(taus))
    shares = []
    for m in MEMBERS:
        y, s = (np.sign(v[m][:, None] - v[m]) for v in (TARGETS, SCORES))
        shares.append(((y * s)[y > 0].mean() + 1) / 2)
    assert report["pair_accuracy"] == pytest.approx(np.mean(shares))


def test_the_best_of_a_group_are_its_right_answers() -> None:
    """The best at ranks 2 and 3, and at rank 1; of equal scores the worse comes first."""
    y = np.array([1.0, 2, 2, 9, 3, 3])
    s = np.array([0.9, 0.8, 0.8, 0.7, 0.1, 0.2])
    report = order_metrics(y, s, np.array([7, 7, 7, 2, 2, 2]))
    assert report["map"] == pytest.approx(((1 / 2 + 2 / 3) / 2 + 1) / 2)
    assert report["mrr"] == pytest.approx((1 / 2 + 1) / 2)
    assert report["groups"] == 2
    tied = order_metrics(y, np.zeros(6), np.array([7, 7, 7, 2, 2, 2]))
    assert (tied["mrr"], tied["pair_accuracy"], tied["kendall"]) == (
        pytest.approx((1 / 2 + 1 / 3) / 2),
        0.5,
        0.0,
    )
