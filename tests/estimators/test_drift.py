"""The warning for trees that differ from those of training."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact

from dgltrees import ConfigError, Forest, TreePairs, TreeRanker, TreeRegressor
from dgltrees.estimators import drift
from tests.estimators.plans import QUICK


def _trees(count: int, seed: int, **changes: Any) -> list[dict[str, Any]]:
    """Return trees with 1 to 8 leaves, a category and a number."""
    random = np.random.default_rng(seed)
    names = np.array(["a", "b", "c", *(f"rare{n}" for n in range(200))])
    p = np.array([0.3, 0.3, 0.3, *[0.1 / 200] * 200])

    def node() -> dict[str, Any]:
        return {"op": str(random.choice(names, p=p)), "cost": random.exponential(), **changes}

    return [
        {**node(), "children": [node() for _ in range(random.integers(1, 9))]} for _ in range(count)
    ]


@pytest.fixture(scope="module")
def model() -> TreeRegressor:
    trees = _trees(300, 0)
    y = [sum(child["cost"] for child in tree["children"]) for tree in trees]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the names that only validation trees have
        return TreeRegressor(**QUICK).fit(trees, y)


def _warned(model: Any, trees: Any) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(trees)
    texts = [str(each.message) for each in caught if "differ from the training" in str(each)]
    assert len(texts) <= 1
    return " ".join(texts)


def test_trees_of_the_same_distribution_raise_no_alarm(model: TreeRegressor) -> None:
    alarms = [
        _warned(model, _trees(count, count + seed)) for count in (2, 100) for seed in range(20)
    ]
    assert sum(map(bool, alarms)) <= 1
    assert not _warned(model, _trees(1, 7, cost=1e6, op="new"))  # one tree proves nothing


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"op": "new"}, "100 of 100 trees have unknown categories in op"),
        ({"cost": 1e6}, "100 of 100 trees have cost above its range"),
        ({"cost": -1.0}, "100 of 100 trees have cost below its range"),
        ({"cost": None}, "100 of 100 trees have the share of nodes without cost above its range"),
        ({"op": None}, "100 of 100 trees have the share of nodes without op above its range"),
        ({"cost": 0.0}, "have vectors farther from those of training than 90 %"),
    ],
)
def test_other_trees_raise_an_alarm_with_the_reason(
    model: TreeRegressor, change: dict[str, Any], reason: str
) -> None:
    assert reason in _warned(model, _trees(100, 1, **change))


def test_a_model_that_trained_on_is_compared_with_all_its_trees() -> None:
    model = TreeRegressor(warm_start=True, **QUICK)
    low, high, higher = (_trees(100, 0, op="a", cost=cost) for cost in (1.0, 9.0, 10.0))
    for trees in (low, high, low):
        model.fit(trees, np.arange(100.0))
    assert not _warned(model, low)
    assert not _warned(model, high)
    assert "above its range" in _warned(model, higher)


@pytest.mark.parametrize(("n", "m", "r", "k"), [(50, 20, 3, 5), (400, 1, 0, 1), (30, 100, 2, 60)])
def test_the_probability_is_that_of_fishers_exact_test(
    model: TreeRegressor, monkeypatch: pytest.MonkeyPatch, n: int, m: int, r: int, k: int
) -> None:
    _, p = fisher_exact([[k, m - k], [r, n - r]], alternative="greater")
    rare = np.arange(m)[:, None] < k
    test = rare, np.array([r]), n, ["are rare"]
    monkeypatch.setattr(drift, "_tests", lambda *_: [test])
    run = model.run_
    data = run.examples(model._trees(_trees(m, 5)), labeled=False)
    for factor, expected in ((1.01, [f"{k} of {m} trees are rare"]), (0.99, [])):
        monkeypatch.setattr(drift, "LEVEL", p * factor)
        assert [*drift.reasons(model._statistics, run, data, None)] == expected


@pytest.mark.parametrize("size", [1, 4])
def test_a_category_of_one_group_counts_as_rare_in_training(size: int) -> None:
    """Against a slow reference: a vocabulary for each tree, of the trees of other groups."""
    trees, groups = _trees(40, 3), np.arange(40) // size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TreeRegressor(validation_fraction=0.0, **QUICK)
        model.fit(trees, range(40), groups=None if size == 1 else groups)
    names = [[node["op"] for node in (tree, *tree["children"])] for tree in trees]
    rare = 0
    for own, group in zip(names, groups):
        others = [name for each in np.flatnonzero(groups != group) for name in names[each]]
        rare += any(others.count(name) < 2 for name in own)
    assert model._statistics["unknown"].tolist() == [rare]


def test_saved_statistics_warn_equally_and_damage_is_found(
    model: TreeRegressor, tmp_path: Path
) -> None:
    model.save(tmp_path / "model")
    others = _trees(100, 1, cost=1e6)
    assert _warned(TreeRegressor.load(tmp_path / "model"), others) == _warned(model, others) != ""
    with pytest.warns(UserWarning, match="above its range"):
        model.evaluate(others, range(100))
    path = tmp_path / "model" / "statistics.safetensors"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ConfigError, match="statistics"):
        TreeRegressor.load(tmp_path / "model")


def test_pairs_and_groups_are_units() -> None:
    trees, others = _trees(120, 0, op="a"), _trees(120, 1, op="a", cost=50.0)
    pairs = [
        TreePairs(*(Forest.from_objects(each, "children") for each in (t[::2], t[1::2])))
        for t in (trees, others)
    ]
    model = TreeRegressor(**QUICK).fit(pairs[0], range(60))
    assert "60 of 60 trees have cost above" in _warned(model, pairs[1])
    groups = [number // 6 for number in range(120)]
    ranker = TreeRanker(**QUICK).fit(trees, range(120), groups=groups)
    with pytest.warns(UserWarning, match="20 of 20 groups have cost above its range"):
        ranker.evaluate(others, range(120), groups=groups)


def test_the_importance_of_columns_does_not_warn_of_permuted_trees() -> None:
    trees = [{"op": "sum", "of": [{"op": f"leaf{n % 3}", "cost": n}]} for n in range(120)]
    model = TreeRegressor(**QUICK).fit(trees, range(120))
    assert len(model.permutation_importance(trees, range(120), n_repeats=2).importances) == 2
