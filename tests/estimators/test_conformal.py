"""Intervals and sets of classes by CV+."""

import math
import pickle
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dgltrees import ConfigError, TreeClassifier, TreeError, TreeRegressor
from dgltrees.estimators import conformal
from dgltrees.estimators.conformal import class_sets, intervals
from tests.estimators.plans import PLANS, SECONDS, SPEED, TINY

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
        (1.5, "expected coverage between 0 and 1, got 1.5; write coverage=0.9"),
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


def test_the_smallest_coverage_has_the_smallest_interval() -> None:
    _, folds, errors = _fitted(18)
    np.testing.assert_array_equal(
        *(intervals(np.zeros((1, 4)), errors, folds, coverage) for coverage in (1e-9, 1e-3))
    )


TIMES = np.array([0.0, *SECONDS[1:]])


@pytest.fixture(scope="module")
def regressor() -> TreeRegressor:
    targets = np.stack([TIMES, TIMES[::-1]], 1)
    return TreeRegressor(log_target=True, ensemble=3, **TINY).fit(PLANS, targets)


@pytest.fixture(scope="module")
def classifier() -> TreeClassifier:
    return TreeClassifier(ensemble=3, blend=True, **TINY).fit(PLANS, SPEED)


def test_an_interval_of_logarithms_is_in_the_unit_of_each_target(
    regressor: TreeRegressor, tmp_path: Path
) -> None:
    zero = TIMES[1:].min() / 2
    members = np.stack([member.predict(PLANS[:9]) for member in regressor.members_])
    found = regressor.predict_interval(PLANS[:9], 0.8)
    assert found.shape == (9, 2, 2)
    for k, y in enumerate((TIMES, TIMES[::-1])):
        factors = np.log(np.where(y == 0, zero, y) / regressor.out_of_fold_[:, k])
        values = intervals(np.log(members[:, :, k]).T, abs(factors), regressor.folds_, 0.8)
        expected = np.exp(values)
        expected[expected <= zero] = 0  # 0 is as likely as half the smallest positive target
        np.testing.assert_allclose(found[:, k], expected)
    regressor.save(tmp_path / "model")
    for again in (TreeRegressor.load(tmp_path / "model"), pickle.loads(pickle.dumps(regressor))):
        np.testing.assert_array_equal(again.predict_interval(PLANS[:9], 0.8), found)
    wider = regressor.predict_interval(PLANS[:9])
    assert (wider[..., 0] <= found[..., 0]).all()
    assert (wider[..., 1] > found[..., 1]).all()


def test_trees_of_weight_0_have_no_part_in_intervals() -> None:
    trees = [{"x": float(n), "children": [{"x": 1.0}]} for n in range(60)]
    y, weights = np.arange(60.0), np.ones(60)
    y[::6], weights[::6] = 1e6, 0.0
    model = TreeRegressor(ensemble=2, epochs=2, hidden_size=4, random_state=0)
    interval = model.fit(trees, y, sample_weight=weights).predict_interval(trees, coverage=0.9)
    assert (model.folds_[::6] == -1).all()
    assert np.ptp(interval) < 1e4
    ignored = TreeClassifier(class_weight={2: 0.0}, ensemble=2, epochs=2, hidden_size=4)
    classes = np.arange(60) % 3
    np.testing.assert_array_equal(ignored.fit(trees, classes).folds_ < 0, classes == 2)


def test_a_set_has_the_classes_in_their_order(classifier: TreeClassifier, tmp_path: Path) -> None:
    p = np.stack([member.predict_proba(PLANS) for member in classifier.members_], 1)
    places = np.searchsorted(classifier.classes_, SPEED)
    errors = 1 - classifier.out_of_fold_[np.arange(60), places]
    found = classifier.predict_set(PLANS, coverage=0.9)
    np.testing.assert_array_equal(found, class_sets(p, errors, classifier.folds_, 0.9))
    assert found.shape == (60, 2)
    assert found[np.arange(60), places].mean() > 0.8
    classifier.save(tmp_path / "model")
    again = TreeClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_set(PLANS, coverage=0.9), found)


def test_intervals_need_an_ensemble_that_is_fitted(
    regressor: TreeRegressor, classifier: TreeClassifier
) -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        TreeRegressor(ensemble=3).predict_interval(PLANS)
    with pytest.raises(ConfigError, match="missing ensemble for predict_set; write ensemble=5 and"):
        TreeClassifier(**TINY).fit(PLANS, SPEED).predict_set(PLANS)
    flags = np.stack([SPEED == "slow", TIMES > 1], 1)
    with pytest.raises(ConfigError, match="expected one class per tree for predict_set, got sever"):
        TreeClassifier(ensemble=3, **TINY).fit(PLANS, flags).predict_set(PLANS)
    for predict in (regressor.predict_interval, classifier.predict_set):
        with pytest.raises(ConfigError, match="coverage between 0 and 1, got 95"):
            predict(PLANS, coverage=95)
        with pytest.raises(
            ConfigError, match="at least 99 training trees for coverage=0.99, got 6"
        ):
            predict(PLANS, coverage=0.99)
        with pytest.raises(TreeError, match="expected trees with the columns of the training data"):
            predict([{"other": 1.0, "Plans": [{"other": 2.0}]}])
