"""Ensembles of networks on folds of the trees."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dgltrees import (
    ConfigError,
    TreeClassifier,
    TreeError,
    TreePairs,
    TreeRanker,
    TreeRegressor,
    load,
)
from dgltrees.training.loop import Trainer
from tests.estimators.plans import FOREST, PLANS, SECONDS, SPEED, TINY

QUERIES = np.arange(60) // 5


def _geometric(values: Any) -> Any:
    return np.exp(np.log(values).mean(0))


@pytest.mark.parametrize(
    ("model", "X", "y", "method", "mean"),
    [
        (TreeRegressor(), PLANS, SECONDS, "predict", lambda values: values.mean(0)),
        (TreeRegressor(log_target=True), PLANS, SECONDS, "predict", _geometric),
        (
            TreeRegressor(log_target=True),
            TreePairs(FOREST, FOREST[::-1]),
            np.stack([SECONDS, SECONDS + 1], 1),
            "predict",
            _geometric,
        ),
        (TreeClassifier(), PLANS, SPEED, "predict_proba", lambda values: values.mean(0)),
        (
            TreeClassifier(),
            FOREST,
            np.stack([SPEED == "slow", SECONDS > 1], 1),
            "predict_proba",
            lambda values: values.mean(0),
        ),
    ],
)
def test_predictions_are_means_and_those_out_of_fold_are_of_trees_not_seen(
    model: Any, X: Any, y: Any, method: str, mean: Any, tmp_path: Path
) -> None:
    model = clone(model).set_params(ensemble=3, **TINY).fit(X, y)
    predicted = getattr(model, method)(X)
    each = np.stack([getattr(member, method)(X) for member in model.members_])
    assert np.bincount(model.folds_).tolist() == [20, 20, 20]
    np.testing.assert_allclose(predicted, mean(each), rtol=1e-6)
    np.testing.assert_allclose(  # batches of other sizes round differently
        model.out_of_fold_, each[model.folds_, np.arange(60)], rtol=1e-4
    )
    if model.__class__ is TreeClassifier:
        expected = predicted > 0.5 if y.ndim > 1 else model.classes_[predicted.argmax(1)]
        np.testing.assert_array_equal(model.predict(X), expected)
    first = model.folds_ == 0
    changed = np.array(y)
    changed[first] = y[first][::-1]
    again = clone(model).fit(X, changed)
    if (again.folds_ == model.folds_).all():  # classes decide on folds
        np.testing.assert_array_equal(again.out_of_fold_[first], model.out_of_fold_[first])
    model.save(tmp_path / "model")
    for copy in (type(model).load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(getattr(copy, method)(X), predicted)
        np.testing.assert_array_equal(copy.out_of_fold_, model.out_of_fold_)
        np.testing.assert_array_equal(copy.folds_, model.folds_)
        assert copy.get_params() == model.get_params()
        assert (copy.result_, copy.history_) == (model.result_, model.history_)
    metrics = model.evaluate(X, y)
    if method == "predict_proba" and y.ndim == 1:
        assert metrics["accuracy"] == model.score(X, y)


@pytest.mark.parametrize("kind", [TreeRegressor, TreeClassifier])
def test_an_explanation_is_the_mean_of_those_of_the_members(kind: Any) -> None:
    y = SECONDS if kind is TreeRegressor else SPEED
    model = kind(ensemble=2, **TINY).fit(PLANS, y)
    whole = model.explain(PLANS, 3)
    if kind is TreeClassifier:
        assert whole.target == model.predict(PLANS[3:4])[0]
        assert whole.prediction == pytest.approx(model.predict_proba(PLANS[3:4]).max(), abs=1e-6)
    else:
        assert whole.prediction == pytest.approx(model.predict(PLANS[3:4])[0], rel=1e-5)
    parts = [member.explain(PLANS, 3, target=whole.target) for member in model.members_]
    np.testing.assert_allclose(whole.nodes, (parts[0].nodes + parts[1].nodes) / 2)
    np.testing.assert_allclose(whole.subtrees, (parts[0].subtrees + parts[1].subtrees) / 2)
    loss = model.permutation_importance(PLANS, y, n_repeats=1, random_state=0)
    assert loss.importances.shape == (len(model.feature_names_in_), 1)


def test_what_is_explained_is_what_is_predicted_from_logarithms_too() -> None:
    model = TreeRegressor(ensemble=2, log_target=True, **TINY).fit(PLANS, SECONDS)
    whole = model.explain(PLANS, 3)
    assert whole.prediction == pytest.approx(model.predict(PLANS[3:4])[0], rel=1e-5)
    difference = whole.prediction - whole.baseline
    assert whole.subtrees[0] == pytest.approx(difference, rel=1e-5)
    assert whole.nodes.sum() == pytest.approx(difference, rel=1e-2)


def test_trees_of_a_group_are_together() -> None:
    model = TreeClassifier(ensemble=3, **TINY).fit(PLANS, SPEED, groups=QUERIES)
    ranker = TreeRanker(ensemble=3, **TINY).fit(PLANS, SECONDS, QUERIES.astype(str))
    assert 0 <= ranker.score(PLANS, SECONDS, QUERIES) <= 1
    parts = [TreeRegressor(ensemble=3, **TINY).fit(PLANS, SECONDS, groups=QUERIES), model, ranker]
    for folds in (each.folds_.reshape(12, 5) for each in parts):
        assert (folds == folds[:, :1]).all()
        assert set(folds[:, 0]) == {0, 1, 2}
    for groups, held_out in ((None, 6), (np.arange(60) // 20, 20)):
        single = TreeRegressor(**TINY).fit(PLANS, SECONDS, groups=groups)
        assert single.run_.metadata["examples"]["valid"] == held_out
    where = np.where(QUERIES < 3, "first", SPEED)  # a class that one fold has alone
    alone = TreeClassifier(ensemble=2, **TINY).fit(PLANS, where, groups=QUERIES // 3)
    assert alone.classes_.tolist() == ["fast", "first", "slow"]
    assert alone.out_of_fold_.shape == (60, 3)


def test_arguments_of_fit_reach_each_member(tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = []
    weights = np.where(np.median(SECONDS) < SECONDS, 0.0, 1.0)
    model = TreeRegressor(ensemble=np.int64(2), random_state=np.random.RandomState(3), **TINY)
    model.fit(PLANS, SECONDS, weights, on_epoch=lines.append, out=tmp_path / "run")
    assert [(line["member"], line["epoch"]) for line in lines] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    sizes = [member.run_.metadata["examples"] for member in model.members_]
    assert [each["train"] + each["valid"] for each in sizes] == [
        int(weights[model.folds_ != k].sum()) for k in (0, 1)
    ]
    model.save(tmp_path / "model")
    with pytest.raises(
        ConfigError, match=r"the runs member-0, .*, or TreeRegressor.load\('.*model'"
    ):
        load(tmp_path / "model")
    loaded = TreeRegressor.load(tmp_path / "model")
    again = loaded.fit(PLANS, SECONDS, weights, out=tmp_path / "run")  # nothing is left to train
    np.testing.assert_array_equal(again.out_of_fold_, model.out_of_fold_)
    valid = (PLANS[:9], SECONDS[:9])
    given = TreeRegressor(ensemble=2, **TINY).fit(PLANS, SECONDS, validation=valid)
    assert [each["valid_examples"] for each in given.history_] == [9] * 4
    given.set_params(ensemble=None).fit(PLANS, SECONDS)
    assert not hasattr(given, "members_")


def test_an_ensemble_is_searched_and_cross_validated() -> None:
    model = TreeRegressor(**TINY)
    search = GridSearchCV(model, {"ensemble": [None, 2]}, cv=2).fit(PLANS, SECONDS)
    assert search.best_params_["ensemble"] in (None, 2)
    pipeline = make_pipeline(FunctionTransformer(), TreeClassifier(ensemble=2, **TINY))
    assert cross_val_score(pipeline, PLANS, SPEED, cv=2).shape == (2,)


@pytest.mark.parametrize(("epochs", "trained"), [(0, 0), (1, 1), (2, 1), (3, 2)])
def test_an_interrupt_keeps_the_members_so_far(
    epochs: int, trained: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    epoch, past = Trainer._epoch, []

    def interrupted(trainer: Trainer) -> None:
        if len(past) == epochs:
            raise KeyboardInterrupt
        past.append(epoch(trainer))

    monkeypatch.setattr(Trainer, "_epoch", interrupted)
    model = TreeRegressor(ensemble=3, **TINY)
    if not trained:
        with pytest.raises(KeyboardInterrupt):
            model.fit(PLANS, SECONDS)
        return
    with pytest.warns(UserWarning, match="interrupted") as caught:
        model.fit(PLANS, SECONDS)
    assert f"it has {trained} of 3 members, and out_of_fold_" in str(caught[-1].message)
    np.testing.assert_array_equal(np.isnan(model.out_of_fold_), model.folds_ >= trained)
    assert np.isfinite(model.predict(PLANS)).all()


@pytest.mark.parametrize("ensemble", [None, 2])
@pytest.mark.parametrize("log_target", [False, True])
def test_a_constant_target_is_predicted(ensemble: Any, log_target: bool) -> None:
    model = TreeRegressor(ensemble=ensemble, log_target=log_target, **TINY)
    model.fit(PLANS, np.full(60, 0.1))
    np.testing.assert_allclose(model.predict(PLANS), 0.1, rtol=1e-12)
    losses = [line["train_loss"] for line in model.history_[:2]]
    assert losses[1] < losses[0]


@pytest.mark.parametrize(
    ("arguments", "y", "groups", "message"),
    [
        ({"ensemble": 1}, SECONDS, None, "ensemble to be an integer of at least 2, got 1; leave"),
        ({"ensemble": 2.5}, SECONDS, None, "an integer of at least 2, got 2.5"),
        ({"ensemble": True}, SECONDS, None, "an integer of at least 2, got True"),
        ({"ensemble": 61}, SECONDS, None, "at least 61 trees with ensemble=61, got 60; decrease"),
        ({"ensemble": 13}, SECONDS, QUERIES, "at least 13 groups with ensemble=13, got 12"),
        ({"ensemble": 2}, SECONDS, QUERIES // 6, "two groups or more .* one outside of fold 0; gi"),
        ({"ensemble": 3}, SECONDS, [1, 2], r"groups to be one per tree, \(60,\), got the sh.*2,"),
        (
            {},
            SECONDS,
            [*range(59), np.nan],
            "missing values, got 1 of 60, the first at index 59; ad",
        ),
        ({}, SECONDS, pd.Series(["a", pd.NA] * 30, dtype="string"), "got 30 of 60, .* at index 1;"),
        ({"ensemble": 3}, SPEED, ["a", np.nan] * 30, "groups without .* 30 of 60, .* at index 1; "),
        ({"ensemble": 3}, SECONDS, [7] * 60, "expected at least two groups, got only 7"),
        ({}, SECONDS, [7] * 60, "expected at least two groups, got only 7"),
        ({"ensemble": 3}, ["a"] * 58 + ["b"] * 2, None, "at least 3 trees of the class 'b' with"),
        ({"ensemble": 3}, ["a"] * 60, None, "at least two classes in the target .*, a$"),
        ({"ensemble": 3}, [None] * 60, None, "tree 0: missing target"),
        ({"ensemble": 3}, [*SECONDS[1:], np.nan], None, "tree 59: missing target"),
        ({"ensemble": 3}, SECONDS[1:], None, "a target per tree, got 59 targets for 60 trees"),
        ({"ensemble": 3, "warm_start": True}, SECONDS, None, "warm_start=False with ensemble=3"),
        ({"blend": True}, SECONDS, None, "expected ensemble with blend=True, got None; write"),
    ],
)
def test_wrong_arguments_are_named(arguments: Any, y: Any, groups: Any, message: str) -> None:
    kind: Any = TreeClassifier if isinstance(y[0], str) or y[0] is None else TreeRegressor
    with pytest.raises((ConfigError, TreeError), match=message):
        kind(**arguments, **TINY).fit(PLANS, y, groups=groups)


def test_an_ensemble_neither_encodes_nor_continues() -> None:
    model = TreeRegressor(ensemble=2, **TINY).fit(PLANS, SECONDS)
    with pytest.raises(ConfigError, match=r"got an ensemble of 2; use .* members_\[0\].encode\(X"):
        model.encode(PLANS)
    with pytest.raises(TreeError, match="the number of an example, 0 to 59, got 60"):
        model.explain(PLANS, 60)
    with pytest.raises(ConfigError, match="one network to continue with warm_start, got 2; set"):
        model.set_params(ensemble=None, warm_start=True).fit(PLANS, SECONDS)
    with pytest.raises(ConfigError, match="blend=False for a ranker"):
        TreeRanker(blend=True).fit(PLANS, SECONDS, QUERIES)
