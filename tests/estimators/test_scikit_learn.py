"""The habits of users of scikit-learn: weights, interrupts, continued fits."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import loguniform, randint
from sklearn import config_context
from sklearn.ensemble import BaggingRegressor, StackingRegressor
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_score,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dgltrees import ConfigError, TreeClassifier, TreeEncoder, TreeError, TreeRegressor, load
from dgltrees.metrics import neg_median_q_error, q_errors
from tests.estimators.plans import PLANS, SECONDS, SPEED, TINY

SLOW = SPEED == "slow"


def test_scalars_of_numpy_are_those_of_python() -> None:
    ours: dict[str, Any] = {"hidden_size": 4, "epochs": 1, "lr": 0.5, "cell": "gru"}
    ours |= {"log_target": True, "validation_fraction": 0.5, "children_key": "Plans"}
    ours |= {"features": ["Node Type", "Plan Rows"], "settings": {"data.baselines": False}}
    theirs = {name: np.array(value)[()] for name, value in ours.items() if name != "settings"}
    theirs["settings"] = {np.str_("data.baselines"): np.bool_(False)}
    assert {*map(type, theirs.values())}.isdisjoint({int, float, str, bool, list})
    one, other = (TreeRegressor(**each).fit(PLANS, SECONDS) for each in (ours, theirs))
    np.testing.assert_array_equal(one.predict(PLANS), other.predict(PLANS))
    assert one.run_.settings == other.run_.settings


def test_weights_of_trees_and_classes() -> None:
    longer = {**TINY, "epochs": 8, "lr": 0.02}
    plain = TreeRegressor(**longer).fit(PLANS, SECONDS).predict(PLANS)
    equal = TreeRegressor(**longer).fit(PLANS, SECONDS, np.full(60, 3.0)).predict(PLANS)
    np.testing.assert_array_equal(equal, plain)
    fast = np.where(SLOW, 1e-6, 1.0)
    weighted = TreeRegressor(**longer).fit(PLANS, SECONDS, fast).predict(PLANS)
    assert weighted.mean() < plain.mean()
    without = TreeRegressor(**TINY).fit(PLANS, SECONDS, np.where(SLOW, 0, 1))
    sizes = without.run_.metadata["examples"]
    assert sizes["train"] + sizes["valid"] == (~SLOW).sum()
    for heavy, light in ((True, False), (False, True), ("10", "2")):  # "10" is no number
        y = SLOW if isinstance(heavy, bool) else np.where(SLOW, heavy, light)
        model = TreeClassifier(class_weight={heavy: 100.0, light: 0.001}, **longer).fit(PLANS, y)
        assert (model.predict(PLANS) == heavy).all()
        again = TreeClassifier(**longer).fit(PLANS, y, np.where(y == heavy, 100.0, 0.001))
        np.testing.assert_array_equal(again.predict_proba(PLANS), model.predict_proba(PLANS))
    with config_context(enable_metadata_routing=True):
        routed = TreeRegressor(**TINY).set_fit_request(sample_weight=True)
        routed.set_score_request(sample_weight=True)
        scores = cross_val_score(routed, PLANS, SECONDS, params={"sample_weight": fast}, cv=2)
    assert np.isfinite(scores).all()


def test_absent_columns_and_unknown_categories_are_named_once(tmp_path: Path) -> None:
    model = TreeRegressor(**TINY).fit(PLANS, SECONDS)
    model.save(tmp_path / "model")
    leaf = {"Node Type": "Custom Scan", "Plan Rows": 9}
    others = [dict(leaf, Plans=[leaf]), dict(leaf, Table="t1"), dict(leaf, Table="t2")]
    both = (
        "^the trees have no value of Plan Width, Table, which training trees have; .*. They have "
        "categories that training did not have, .* data.min_freq times; they count as <unk>: "
        "4 of 4 in column 'Node Type', such as 'Custom Scan'$"
    )
    several = TreeRegressor(ensemble=2, **TINY).fit(PLANS, SECONDS)  # a fold has other categories
    for fitted in (model, TreeRegressor.load(tmp_path / "model"), several):
        with pytest.warns(UserWarning, match=both):
            fitted.predict(others[:1] * 2)
        fitted.predict([*PLANS, *others])  # warnings are errors
        few = [{"Node Type": "Hash Join", "Plans": [{"Node Type": "Hash Join"}]}] * 2
        with pytest.warns(UserWarning, match="the trees have no value of Plan Rows, which"):
            fitted.predict(few)  # the others are named
        fitted.evaluate([*PLANS, *others], [*SECONDS, 1.0, 2.0, 3.0])
    loaded = load(tmp_path / "model")
    path = tmp_path / "new.jsonl"
    path.write_text("".join(json.dumps({"plan": plan}) + "\n" for plan in [PLANS[0], *others]))
    unknown = "the trees of .*new.jsonl have .*4 of [0-9]* in .*; 2 of [0-9]* in column 'Table', su"
    with pytest.warns(UserWarning, match=unknown):
        assert len([*loaded.predict(path)]) == 4
    assert len([*loaded.predict(path)]) == 4


def test_a_fit_and_its_validation_do_not_report_unknown_categories() -> None:
    new = [{**plan, "Node Type": "Custom Scan"} for plan in PLANS[:5]]
    TreeRegressor(**TINY).fit(PLANS, SECONDS, validation=(new, SECONDS[:5]))


def test_the_importance_of_columns_by_permutations() -> None:
    trees = [{"op": "sum", "of": [{"op": "leaf", "x": x, "noise": -x % 7}]} for x in range(40)]
    model = TreeRegressor(epochs=30, lr=0.05, hidden_size=8, settings=TINY["settings"])
    model.fit(trees, np.arange(40.0))
    found = model.permutation_importance(trees, np.arange(40.0), n_repeats=3, random_state=0)
    by_name = dict(zip(model.feature_names_in_, found.importances_mean))
    assert found.importances.shape == (3, 3)
    assert by_name["x"] > 0.5
    assert max(by_name, key=by_name.__getitem__) == "x"
    with pytest.raises(ConfigError, match="n_repeats to be at least 1, got 0"):
        model.permutation_importance(trees, np.arange(40.0), n_repeats=0)
    again = model.permutation_importance(trees, np.arange(40.0), n_repeats=3, random_state=0)
    np.testing.assert_array_equal(again.importances, found.importances)
    q_errors_rise = model.permutation_importance(
        trees[1:], np.arange(1.0, 40.0), scoring=neg_median_q_error, n_repeats=1, random_state=0
    )
    assert q_errors_rise.importances_mean.max() > 0


@pytest.mark.parametrize(
    "search",
    [
        lambda model: BaggingRegressor(model, n_estimators=2, random_state=0),
        lambda model: RandomizedSearchCV(
            model,
            {"lr": loguniform(1e-3, 1e-1), "hidden_size": randint(2, 5)},
            n_iter=2,
            cv=2,
            random_state=0,
        ),
        lambda model: HalvingGridSearchCV(model, {"lr": [0.01, 0.1]}, cv=2, min_resources=30),
        lambda model: make_pipeline(FunctionTransformer(), model),
        lambda model: StackingRegressor([("trees", model)], cv=2),
    ],
)
def test_searches_and_ensembles_take_trees_in_a_column(search: Any) -> None:
    """Ensembles check X: they need a table or an array of one column."""
    X = pd.DataFrame({"tree": PLANS})
    fitted = search(TreeRegressor(**TINY)).fit(X, SECONDS)
    assert np.isfinite(fitted.predict(X)).all()


def test_categories_that_a_few_trees_lack_by_chance_are_not_reported() -> None:
    names = np.minimum(np.random.default_rng(2).zipf(1.5, 40), 6)
    trees = [{"op": f"op{a}", "of": [{"op": f"op{b}"}]} for a, b in zip(names[::2], names[1::2])]
    model, folds = TreeRegressor(**TINY), KFold(5, shuffle=True, random_state=0)
    pairs = names.reshape(20, 2)
    assert any({*pairs[new].flat} - {*pairs[old].flat} for old, new in folds.split(pairs))
    scores = cross_val_score(model, trees, range(20), cv=folds, error_score="raise")
    assert np.isfinite(scores).all()
    new = [{"op": "new", "of": [{"op": "op1"}]}] * 6
    with pytest.warns(UserWarning, match="6 of 12 in column 'op', such as 'new'"):
        model.fit(trees, range(20)).predict(new)


def test_a_learning_curve_and_tables_of_vectors() -> None:
    _, scores, _ = learning_curve(
        TreeRegressor(**TINY), PLANS, SECONDS, cv=2, train_sizes=[0.5, 1.0]
    )
    assert scores.shape == (2, 2)
    encoder = TreeEncoder(**TINY).set_output(transform="pandas")
    table = encoder.fit_transform(PLANS, SLOW)
    assert [*table.columns] == [*encoder.get_feature_names_out()]
    assert table.shape == (60, 4)
    assert encoder.get_feature_names_out()[0] == "treeencoder0"


def test_the_median_q_error_is_a_scorer() -> None:
    model = TreeRegressor(log_target=True, **TINY)
    scores = cross_val_score(model, PLANS, SECONDS, cv=2, scoring=neg_median_q_error)
    fitted = TreeRegressor(log_target=True, **TINY).fit(PLANS[30:], SECONDS[30:])
    errors = q_errors(SECONDS[:30], fitted.predict(PLANS[:30]))
    assert scores[0] == pytest.approx(-np.median(errors))
    search = GridSearchCV(model, {"lr": [0.001, 0.01]}, cv=2, scoring=neg_median_q_error)
    assert search.fit(PLANS, SECONDS).best_score_ == max(search.cv_results_["mean_test_score"])
    assert neg_median_q_error(fitted, PLANS[:3], [0.0, 1.0, 0.0]) == -np.inf
    column = SECONDS[:, None]
    assert neg_median_q_error(fitted, PLANS, column) == neg_median_q_error(fitted, PLANS, SECONDS)
    assert neg_median_q_error(fitted, PLANS, np.where(SECONDS < 1e-4, 0, SECONDS)) > -np.inf


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, 2.0], r"a number per tree, \(60,\), got the shape \(2,\)"),
        (np.ones((60, 1)), r"got the shape \(60, 1\)"),
        (np.zeros(60), "one of them above 0, got only zeros"),
        (np.append(np.ones(59), -1.0), "of at least 0, .*, got -1.0"),
        (np.append(np.ones(59), np.nan), "finite numbers .*, got nan"),
        (["heavy"] * 60, r"numbers, got \['heavy', "),
    ],
)
def test_wrong_weights_are_named(weights: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=f"expected sample_weight to be .*{message}"):
        TreeRegressor(**TINY).fit(PLANS, SECONDS, sample_weight=weights)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("even", "cannot use class_weight .*'class_weight'"),
        ({"fast": 1.0}, "class_weight to name the classes .False, True., got 'fast'"),
        ({True: -5.0, False: 1.0}, "finite numbers of at least 0, .*, got .*-5.0"),
        ({True: 1.0, False: np.nan}, "expected class_weight to be finite numbers .*, got .*nan"),
        ({True: 0, False: 0}, "one of them above 0, got"),
    ],
)
def test_wrong_weights_of_classes_are_named(weight: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        TreeClassifier(class_weight=weight, **TINY).fit(PLANS, SLOW)


@pytest.mark.parametrize(
    ("validation", "got"), [(PLANS, "list"), ((PLANS, SECONDS, SECONDS), "tuple"), (0.2, "float")]
)
def test_validation_is_a_pair(validation: Any, got: str) -> None:
    message = rf"expected validation to be a tuple \(trees, targets\), got {got}"
    with pytest.raises(ConfigError, match=message):
        TreeRegressor(**TINY).fit(PLANS, SECONDS, validation=validation)


def test_patience_needs_validation_trees() -> None:
    model = TreeRegressor(**{**TINY, "patience": 3, "validation_fraction": 0.0})
    with pytest.raises(ConfigError, match="patience=3 has no effect .* validation_fraction above"):
        model.fit(PLANS, SECONDS)


@pytest.mark.parametrize(
    ("estimator", "y", "message"),
    [
        (TreeRegressor, np.full(60, np.nan), "missing target 'target' of all training trees; add"),
        (TreeClassifier, [None] * 60, "missing target 'target' of all training trees; add it"),
        (TreeClassifier, [1, "slow"] * 30, "classes of one type, got 1 and 'slow'; write .str"),
        (TreeClassifier, np.array([1, "a"] * 30, object), "classes of one type, got 1 and 'a'"),
        (TreeClassifier, np.array([True, 1, 0] * 20, object), "one type, got True and [01]; write"),
        (TreeClassifier, [0.5, False, 0.5] * 20, "classes of one type, got .*; write"),
        (TreeClassifier, ["a\0", "a"] * 30, "without the character NUL at the end, .* 'a.x00'; re"),
        (TreeClassifier, np.array(["a", "\0"] * 30, object), "without the character NUL at the"),
        (TreeClassifier, ["slow"] * 60, "two classes in the target 'target', got one class, slow"),
        (
            TreeRegressor,
            np.c_[SECONDS, SECONDS * np.nan],
            "'target_1' of all training trees; leave",
        ),
        (TreeClassifier, np.c_[SLOW, [None] * 60], "missing target 'target_1' of all training tr"),
    ],
)
def test_targets_without_information_are_named(estimator: Any, y: Any, message: str) -> None:
    with pytest.raises(TreeError, match=message):
        estimator(**TINY).fit(PLANS, y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"log_target": True},
        {"objective": "quantile", "settings": {"model.quantile": 0.9, "data.baselines": False}},
        {"objective": "ordinal"},
    ],
)
def test_a_constant_target_is_predicted(options: dict[str, Any]) -> None:
    model = TreeRegressor(**{**TINY, **options}).fit(PLANS, np.full(60, 0.3))
    np.testing.assert_allclose(model.predict(PLANS), 0.3, rtol=1e-12)
    with pytest.raises(ConfigError, match="last fit on different targets with warm_start"):
        model.set_params(warm_start=True).fit(PLANS, SECONDS)


def test_a_single_tree_has_no_model_of_flat_features() -> None:  # scikit-learn would warn
    assert "baselines" not in TreeRegressor(epochs=1).fit(PLANS[:1], [2.0]).result_


def test_random_states_of_torch_and_numpy_are_left_as_they_were() -> None:
    torch.manual_seed(1234)
    np.random.seed(1234)
    before, numbers = torch.get_rng_state(), np.random.RandomState(1234).rand(3)
    TreeRegressor(random_state=5, **TINY).fit(PLANS, SECONDS).predict(PLANS)
    np.testing.assert_array_equal(np.random.rand(3), numbers)
    TreeRegressor(random_state=None, **TINY).fit(PLANS, SECONDS)  # a seed of numpy's generator
    assert torch.equal(torch.get_rng_state(), before)


def test_an_interrupt_keeps_the_best_epoch(tmp_path: Path) -> None:
    def interrupt(line: dict[str, Any]) -> None:
        if line["epoch"] == 2:
            raise KeyboardInterrupt

    constant = {**TINY, "settings": {**TINY["settings"], "training.schedule": "constant"}}
    model = TreeRegressor(**{**constant, "epochs": 9, "patience": 9})
    two = TreeRegressor(**constant).fit(PLANS, SECONDS)
    best, expected = two.result_["best_epoch"], two.predict(PLANS)
    with pytest.warns(UserWarning, match=f"interrupted in epoch 3 of 9; .* that of epoch {best}$"):
        model.fit(PLANS, SECONDS, on_epoch=interrupt)
    np.testing.assert_array_equal(model.predict(PLANS), expected)
    model.save(tmp_path / "model")

    def at_once(line: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):  # a run directory can be resumed
        model.fit(PLANS, SECONDS, on_epoch=at_once, out=tmp_path / "run")
    model.fit(PLANS, SECONDS, out=tmp_path / "run")
    assert len(model.history_) == 9


def test_a_warm_start_continues_with_new_trees(tmp_path: Path) -> None:
    model = TreeRegressor(warm_start=True, patience=9, **TINY).fit(PLANS[:40], SECONDS[:40])
    model.save(tmp_path / "model")
    first, losses = model.run_.vocabularies, [model.history_[0]["train_loss"]]
    for _ in range(3):
        losses.append(model.fit(PLANS[:40], SECONDS[:40]).history_[0]["train_loss"])
    assert losses == sorted(losses, reverse=True)
    loaded = TreeRegressor.load(tmp_path / "model")
    before = loaded.predict(PLANS)
    new = [{**plan, "Node Type": "Custom Scan"} for plan in PLANS[40:]]
    with pytest.warns(UserWarning, match="20 of 104 in column 'Node Type', such as 'Custom Scan'"):
        loaded.fit(new, SECONDS[40:])
    assert loaded.run_.vocabularies["Node Type"] == first["Node Type"]
    assert not np.array_equal(loaded.predict(PLANS), before)
    loaded.fit(PLANS[:1], SECONDS[:1])  # most names do not occur in it
    assert loaded.run_.vocabularies["Node Type"] == first["Node Type"]
    with pytest.raises(ConfigError, match="hidden_size to be 4 with warm_start, .*, got 5; set"):
        loaded.set_params(hidden_size=5).fit(PLANS, SECONDS)
    classes = TreeClassifier(warm_start=True, **TINY).fit(PLANS, SLOW)
    assert classes.fit(PLANS[:5], [True] * 5).classes_.tolist() == [False, True]
    with pytest.raises(TreeError, match="tree 1: missing target"):
        model.fit(PLANS[:2], [1.0, np.nan])
    with pytest.raises(ConfigError, match=r"1 target\(s\) with warm_start, .*, got .*'target_1'"):
        model.fit(PLANS[:40], np.c_[SECONDS, SECONDS][:40])


@pytest.mark.parametrize("ensemble", [None, 2])
@pytest.mark.parametrize("kind", [int, str])
def test_classes_have_the_order_of_numpy(kind: type, ensemble: int | None) -> None:
    """Also after a call with labels of another type; the sums of probabilities are 1."""
    y = np.array([kind(k) for k in [10, 2, 1] * 14])
    model = TreeClassifier(**TINY, ensemble=ensemble).fit(PLANS[: len(y)], y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    p = model.predict_proba(PLANS[:6])
    np.testing.assert_array_equal(model.predict(PLANS[:6]), model.classes_[p.argmax(1)])
    np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)
    assert model.explain(PLANS, 0, target=kind(10)).target == "10"
    if ensemble is None:
        other = y.astype({int: str, str: int}[kind])
        model.set_params(warm_start=True).fit(PLANS[: len(y)], other)
        np.testing.assert_array_equal(model.classes_, np.unique(y))
        model.set_params(warm_start=False).fit(PLANS[: len(y)], other)
        np.testing.assert_array_equal(model.classes_, np.unique(other))
