"""Blends of networks, and boosting and extra trees on flat features."""

import pickle
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from dgltrees import ConfigError, FlatFeatures, TreeClassifier, TreeRegressor, load
from dgltrees.estimators import blend
from dgltrees.estimators.blend import FlatModels, blend_weights
from dgltrees.tasks.custom_trees.baselines import _models
from tests.estimators.plans import FOREST, PLANS, SECONDS, SPEED
from tests.estimators.plans import TINY as SINGLE
from tests.training.samples import PLANS_FILE

TINY: dict[str, Any] = {**SINGLE, "ensemble": 2}


@pytest.mark.parametrize(
    ("model", "y", "weights"),
    [
        (TreeRegressor(blend=True, log_target=True, **TINY), np.append(SECONDS[1:], 0), None),
        (TreeRegressor(blend=True, **TINY), SECONDS, np.linspace(0.1, 2, 60)),
        (TreeClassifier(blend=True, class_weight="balanced", **TINY), SPEED, None),
    ],
)
def test_a_blend_is_the_weighted_mean_of_its_models(
    model: Any, y: Any, weights: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.fit(PLANS, y, weights)
    shares = list(model.blend_weights_.values())
    assert [*model.blend_weights_] == ["networks", "boosting", "extra_trees"]
    assert min(shares) >= 0
    assert sum(shares) == pytest.approx(1)
    is_class = isinstance(model, TreeClassifier)
    method = "predict_proba" if is_class else "predict"
    log = bool(not is_class and model.log_target)
    kinds: Any = (HistGradientBoostingRegressor, ExtraTreesRegressor)
    if is_class:
        kinds = (HistGradientBoostingClassifier, ExtraTreesClassifier)
        balanced = {name: 60 / (2 * (y == name).sum()) for name in ("fast", "slow")}
        weights = np.array([balanced[name] for name in y])
    if weights is not None:
        weights = weights / weights.mean()  # the rounding of others decides on equal splits
    of_members = []
    for k, member in enumerate(model.members_):
        rows = np.flatnonzero(model.folds_ != k)
        new = FlatFeatures().fit(FOREST[rows]).transform(FOREST).astype(np.float32)
        learned = y[rows]
        if log:
            learned = np.log(np.where(learned == 0, learned[learned > 0].min() / 2, learned))
        parts = [_network(member, method)]
        for kind in kinds:
            other = kind(random_state=member.run_.flat.seed)
            other.fit(new[rows], learned, None if weights is None else weights[rows])
            of_other = getattr(other, method)(new)
            parts.append(np.exp(of_other) if log else of_other)
        mean = np.average(np.log(parts) if log else parts, 0, shares)
        of_members.append(np.exp(mean) if log else mean)
        np.testing.assert_allclose(getattr(member, method)(PLANS), of_members[-1], rtol=1e-5)
    whole = np.exp(np.log(of_members).mean(0)) if log else np.mean(of_members, 0)
    predicted = getattr(model, method)(PLANS)
    np.testing.assert_allclose(predicted, whole, rtol=1e-5)
    np.testing.assert_allclose(
        model.out_of_fold_, np.array(of_members)[model.folds_, np.arange(60)], rtol=1e-4
    )
    assert model.score(PLANS, y) == pytest.approx(
        model.evaluate(PLANS, y)["accuracy" if is_class else "r2"]
    )
    assert "loss" not in model.evaluate(PLANS, y)  # the other models have none
    assert f"whose weight in the blend is {shares[0]:.2f}" in model.explain(PLANS, 3).text

    model.save(tmp_path / "model")
    for copy in (type(model).load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(getattr(copy, method)(PLANS), predicted)
        assert copy.blend_weights_ == model.blend_weights_
    filters = warnings.filters[:]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(getattr(model, method), [PLANS[k : k + 3] for k in range(20)]))
    assert warnings.filters == filters
    shutil.copytree(tmp_path / "model", tmp_path / "part")
    (tmp_path / "part" / "member-1" / "blend.safetensors").unlink()
    with pytest.raises(ConfigError, match="missing blend.safetensors at .*member-1; restore it"):
        type(model).load(tmp_path / "part")
    with pytest.raises(ConfigError, match=f"a blend .*{type(model).__name__}.load"):
        load(tmp_path / "model" / "member-0")  # whose network is not the whole
    first = blend._first_predictions
    with monkeypatch.context() as patch:  # exp and log of another processor
        patch.setattr(blend, "_first_predictions", lambda flat: first(flat) * (1 + 1e-15))
        type(model).load(tmp_path / "model")
    predict = getattr(kinds[1], method)
    monkeypatch.setattr(kinds[1], method, lambda *given: predict(*given)[::-1])  # another version
    with pytest.raises(ConfigError, match="fitted with scikit-learn .* learns another model; ins"):
        type(model).load(tmp_path / "model")


def _network(member: Any, method: str) -> Any:
    """Return the predictions of the network of a blend."""
    run = member.run_
    data = run.examples(FOREST, labeled=False)
    outputs = super(type(run), run).outputs(data)
    if method == "predict":
        return outputs["prediction_0"]
    return np.stack([outputs["probability_0"], outputs["probability_1"]], 1)


def _numbers(errors: Any, seed: int = 0) -> Any:
    rng = np.random.RandomState(seed)
    y = rng.normal(size=300)
    return y, y[:, None] + rng.normal(size=(300, 3)) * errors


@pytest.mark.parametrize(
    ("errors", "least", "most"),
    [
        ([0.0, 1.0, 1.0], [0.99, 0, 0], [1, 0.01, 0.01]),
        ([1.0, 1.0, 1.0], [0.28] * 3, [0.39] * 3),
        ([0.5, 0.5, 5.0], [0.4, 0.4, 0], [0.6, 0.6, 0.05]),
        ([0.0, 0.0, 0.0], [0.25] * 3, [0.42] * 3),
    ],
)
def test_weights_follow_the_errors(errors: Any, least: Any, most: Any) -> None:
    y, predictions = _numbers(errors)
    ones, rows, random = np.ones(300), np.arange(300), np.random.RandomState(0)
    found = np.array(blend_weights(predictions, y, ones, rows, random))
    assert (found >= np.array(least) - 1e-9).all()
    assert (found <= np.array(most) + 1e-9).all()
    logs = blend_weights(
        np.exp(predictions), np.exp(y), ones, rows, np.random.RandomState(0), logarithms=True
    )
    np.testing.assert_allclose(logs, found, atol=1e-9)


def test_one_tree_of_a_class_among_many_is_learned() -> None:
    table = np.arange(10_001, dtype=np.float32)[:, None]  # above it, scikit-learn stops early
    y = (table[:, 0] == 0).astype(np.int64)
    assert len(FlatModels(FlatFeatures(), table, y, np.ones(len(y)), 2, False, 0).models) == 2
    assert _models(y)["boosting"].fit(table, y).n_iter_ == 100


def test_weights_of_few_groups_are_nearer_to_equal_ones() -> None:
    y, predictions = _numbers([1.0, 1.5, 2.0])
    predictions[:150, 0] += 2  # the first model is the worst for half of the groups
    ones = np.ones(300)
    by_tree, by_group = (
        np.array(blend_weights(predictions, y, ones, groups, np.random.RandomState(0)))
        for groups in (np.arange(300), np.arange(300) // 75)
    )
    assert np.square(by_group - 1 / 3).sum() < np.square(by_tree - 1 / 3).sum()
    heavy = np.where(np.arange(300) < 150, 1e-6, 1.0)
    weighted = blend_weights(predictions, y, heavy, np.arange(300), np.random.RandomState(0))
    assert weighted[0] > by_tree[0] + 0.2


def test_weights_of_classes_have_the_lowest_log_loss() -> None:
    rng = np.random.RandomState(0)
    p = np.stack(
        [np.full(400, 0.7), rng.choice([0.0, 1.0], 400, p=[0.1, 0.9]), np.full(400, 0.01)], 1
    )
    found = blend_weights(p, np.zeros(400, int), np.ones(400), np.arange(400), rng, classes=2)
    share = np.linspace(0, 1, 201)
    loss = [-np.log(p[:, :2] @ [s, 1 - s]).mean() for s in share[1:]]
    assert found[0] == pytest.approx(share[1:][int(np.argmin(loss))], abs=0.03)
    assert found[2] < 0.01


@pytest.mark.parametrize(
    ("arguments", "y", "message"),
    [
        ({"ensemble": None}, SECONDS, "expected ensemble with blend=True, got None; write ens"),
        ({}, np.stack([SECONDS, SECONDS], 1), "expected one target with blend=True, got 2; leave"),
        (
            {"additive": True},
            SECONDS,
            "additive=False with blend=True, got True: a blend is no sum",
        ),
        ({"objective": "quantile"}, SECONDS, "an objective of means with blend=True, got 'quant"),
    ],
)
def test_what_cannot_be_blended(arguments: Any, y: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TreeRegressor(blend=True, **{**TINY, **arguments}).fit(PLANS, y)


def test_a_blend_reads_the_columns_of_its_networks_and_no_files() -> None:
    kinds = {"Table": "none"}
    model = TreeRegressor(blend=True, features=kinds, node_target="Plan Rows", **TINY)
    run = model.fit(PLANS, SECONDS).members_[0].run_
    names = {name.split("=")[0] for name in run.flat.features.get_feature_names_out()}
    assert {"Node Type", "sum Plan Width", "depth"} <= names
    assert not any("Plan Rows" in name or "Table" in name for name in names)
    assert len([*run.predict(PLANS)]) == 60
    with pytest.raises(ConfigError, match=r"trees in memory for a blend, got a file; read it with"):
        next(run.predict(PLANS_FILE))
