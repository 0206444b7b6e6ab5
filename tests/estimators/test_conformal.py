"""Intervals and sets of classes by CV+."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from dgltrees.errors import ConfigError
from dgltrees.estimators import conformal
from dgltrees.estimators.conformal import class_sets, intervals

COVERAGES = ("0.5", "0.8", "0.9", "0.95")


def _fitted(count: int, folds: int = 4) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    random = np.random.default_rng(count)
    return random, random.integers(0, folds, count), random.exponential(size=count).round(1)


@pytest.mark.parametrize("coverage", COVERAGES)
@pytest.mark.parametrize("count", [19, 20, 57])
def test_intervals_and_sets_equal_the_equations(
    coverage: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformal, "_VALUES", 100)  # several blocks
    random, folds, errors = _fitted(count)
    predictions = random.normal(size=(7, 4)).round(1)
    level = Fraction(coverage)
    upper, lower = math.ceil(level * (count + 1)), math.floor((1 - level) * (count + 1))
    expected = []
    for row in predictions:
        above = sorted(row[fold] + error for fold, error in zip(folds, errors))
        below = sorted(row[fold] - error for fold, error in zip(folds, errors))
        expected.append([below[lower - 1], above[upper - 1]])
    found = intervals(predictions, errors, folds, float(coverage))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)

    errors = (errors / 4).clip(max=1)
    probabilities = random.dirichlet(np.ones(5), size=(7, 4)).round(1)
    members = [
        [
            sum(error < 1 - tree[fold, label] for fold, error in zip(folds, errors))
            < level * (count + 1)
            for label in range(5)
        ]
        for tree in probabilities
    ]
    found = class_sets(probabilities, errors, folds, float(coverage))
    np.testing.assert_array_equal(found, members)


def test_the_coverage_of_exchangeable_trees_is_the_nominal_one() -> None:
    """Members that predict the mean of the other folds: CV+ of a model that is fitted."""
    random, inside, sets = np.random.default_rng(0), [], []
    for _ in range(300):
        y, new = random.normal(size=60), random.normal(size=20)
        folds = np.arange(60) % 5
        means = np.array([y[folds != fold].mean() for fold in range(5)])
        bounds = intervals(np.tile(means, (20, 1)), abs(y - means[folds]), folds, 0.8)
        inside.append(((bounds[:, 0] <= new) & (new <= bounds[:, 1])).mean())
        classes, label = (y > 0).astype(int), (new > 0).astype(int)
        p = np.array([classes[folds != fold].mean() for fold in range(5)])
        p = np.stack([1 - p, p], 1)
        found = class_sets(np.tile(p, (20, 1, 1)), 1 - p[folds, classes], folds, 0.8)
        sets.append(found[np.arange(20), label].mean())
    assert 0.79 < np.mean(inside) < 0.83
    assert np.mean(sets) > 0.79


@pytest.mark.parametrize(
    ("coverage", "message"),
    [
        (1.5, "expected coverage between 0 and 1, got 1.5; write 0.9"),
        (0, "between 0 and 1, got 0;"),
        (90, "got 90;"),
        (float("nan"), "got nan;"),
        ("0.9", "got '0.9';"),
        (0.95, "at least 19 training trees for coverage=0.95, got 18; reduce coverage"),
        (0.999, "at least 999 training trees"),
    ],
)
def test_a_wrong_coverage_is_one_line(coverage: float, message: str) -> None:
    _, folds, errors = _fitted(18)
    for function, shape in ((intervals, (1, 4)), (class_sets, (1, 4, 2))):
        with pytest.raises(ConfigError, match=re.escape(message)):
            function(np.zeros(shape), errors, folds, coverage)
