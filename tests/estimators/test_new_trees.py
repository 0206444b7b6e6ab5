"""The warning for trees that differ from those of training."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import Forest, TreePairs, TreeRanker, TreeRegressor
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
    """The warning of trees that are new to the model, which warns once."""
    model.run_.vocabularies.reported.clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(trees)
    texts = [str(each.message) for each in caught if "the trees have" in str(each.message)]
    assert len(texts) <= 1
    return " ".join(texts)


def test_trees_of_the_same_distribution_raise_no_alarm(model: TreeRegressor) -> None:
    alarms = [
        _warned(model, _trees(count, count + seed)) for count in (1, 2, 100) for seed in range(20)
    ]
    assert sum(map(bool, alarms)) <= 1


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        ({"op": "new"}, ["have categories that training did not have, .*in column 'op', such as"]),
        ({"cost": 1e6}, ["have numbers outside .*: [0-9]+ of .* in column 'cost', such as 1e.06 "]),
        ({"cost": -1.0}, ["in column 'cost', such as -1 .training: 0.[0-9]* to [0-9.]*.$"]),
        ({"cost": None}, ["have no value of cost, which"]),
        ({"op": "new", "cost": 1e6}, ["have categories", "They have numbers outside"]),
        ({"op": None, "cost": 1e6}, ["have no value of op", "They have numbers outside"]),
    ],
)
def test_other_trees_raise_one_alarm_with_the_reasons(
    model: TreeRegressor, change: dict[str, Any], reasons: list[str]
) -> None:
    warned = _warned(model, _trees(100, 1, **change))
    assert all(re.search(reason, warned) for reason in reasons), warned


def test_a_model_that_trained_on_is_compared_with_all_its_trees() -> None:
    model = TreeRegressor(warm_start=True, **QUICK)
    low, high, higher = (_trees(100, 0, op="a", cost=cost) for cost in (1.0, 9.0, 10.0))
    model.fit(low, np.arange(100.0))
    with pytest.warns(UserWarning, match="numbers outside the range"):
        model.fit(high, np.arange(100.0))
    assert not _warned(model, low + high)
    assert "such as 10 (training: 1 to 9)" in _warned(model, higher)


def test_saved_models_warn_equally(model: TreeRegressor, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    others = _trees(100, 1, cost=1e6)
    assert _warned(TreeRegressor.load(tmp_path / "model"), others) == _warned(model, others) != ""


def test_pairs_and_groups_are_compared() -> None:
    trees, others = _trees(120, 0, op="a"), _trees(120, 1, op="a", cost=50.0)
    pairs = [
        TreePairs(*(Forest.from_objects(each, "children") for each in (t[::2], t[1::2])))
        for t in (trees, others)
    ]
    model = TreeRegressor(**QUICK).fit(pairs[0], range(60))
    assert "in column 'cost', such as 50" in _warned(model, pairs[1])
    groups = [number // 6 for number in range(120)]
    ranker = TreeRanker(**QUICK).fit(trees, range(120), groups=groups)
    with pytest.warns(UserWarning, match="in column 'cost', such as 50"):
        ranker.evaluate(others, range(120), groups=groups)


def test_the_importance_of_columns_does_not_warn_of_permuted_trees() -> None:
    trees = [{"op": "sum", "of": [{"op": f"leaf{n % 3}", "cost": n}]} for n in range(120)]
    model = TreeRegressor(**QUICK).fit(trees, range(120))
    assert len(model.permutation_importance(trees, range(120), n_repeats=2).importances) == 2
