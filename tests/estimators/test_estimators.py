"""The estimators by scikit-learn's conventions."""

import ast
import json
import pickle
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest
import torch
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline

from dgltrees import (
    FlatFeatures,
    Forest,
    TreeClassifier,
    TreeEncoder,
    TreePairs,
    TreeRanker,
    TreeRegressor,
    load,
    read,
)
from dgltrees.cells import count_parameters
from dgltrees.errors import ConfigError, TreeError
from tests.estimators.plans import PLANS, QUICK, RECORDS, SECONDS, SPEED
from tests.training.samples import PLANS_FILE

COLUMNS = ["Node Type", "Table", "Plan Rows", "Plan Width"]
X = Forest.from_objects(PLANS, children="Plans", columns=COLUMNS)
FLAGS = np.stack([SPEED == "slow", X.sizes > 3], 1)


def test_a_regressor_fits_predicts_scores_and_repeats() -> None:
    first, second = (
        TreeRegressor(log_target=True, random_state=1, **QUICK).fit(X, SECONDS) for _ in range(2)
    )
    predicted = first.predict(X)
    assert predicted.shape == (60,)
    assert (predicted > 0).all()
    np.testing.assert_array_equal(predicted, second.predict(X))
    assert -10 < first.score(X, SECONDS) <= 1
    assert len(first.history_) == 2
    assert first.explain(X, -1).prediction == first.explain(X, 59).prediction
    cell = count_parameters(first.run_.encoder.cell)["total"]
    assert first.result_["parameters"]["cell"] == cell
    assert first.feature_names_in_.tolist() == COLUMNS


def test_columns_that_are_measured_with_the_target_are_named() -> None:
    trees = [
        {"Cost": n % 7, "Rank": n**3, "Actual Rows": n % 5, "Plans": [{"Cost": n}]}
        for n in range(20)
    ]
    named = ["Cost", "Rank", "Actual Rows"]
    for model, cure in (
        (TreeRegressor(**QUICK), "name the inputs with features$"),
        (TreeRegressor(features=named, **QUICK), "leave them out of features, or ignore this if "),
        (TreeRegressor(features={"Cost": "log"}, ensemble=2, blend=True, **QUICK), "leave them o"),
        (FlatFeatures(), "name the inputs with features$"),
    ):
        with pytest.warns(UserWarning, match="the columns") as caught:
            model.fit(trees, range(20))
        first, second = (str(each.message) for each in caught)
        assert re.match(f"the columns Actual Rows look measured .*; {cure}", first)
        assert re.match(f"the columns Rank are nearly equal to .* at the roots, .*; {cure}", second)
    for quiet in (TreeRegressor(features=["Cost"], **QUICK), FlatFeatures(features=["Cost"])):
        quiet.fit(trees, range(20))
    FlatFeatures(features=["Rank"]).fit(trees, csr_array(np.eye(20)))  # labels of other models
    table = pd.DataFrame({"Cost": [float(tree["Cost"]) for tree in trees]})  # of the same name
    with pytest.warns(UserWarning, match="the columns Cost are nearly equal to the target"):
        TreeRegressor(features=["Cost", "Rank"], **QUICK).fit(trees, table)


def test_a_class_that_is_a_threshold_of_a_column_is_named() -> None:
    trees = [{"Load": n % 11, "Plans": [{"Load": n}]} for n in range(40)]
    late = [tree["Load"] > 6 for tree in trees]
    with pytest.warns(UserWarning, match="the columns Load are nearly .*, or thresholds of them"):
        TreeClassifier(**QUICK).fit(trees, late)
    late[3] = not late[3]
    TreeClassifier(**QUICK).fit(trees, late)  # warnings are errors


def test_a_column_that_few_trees_lack_is_named_where_all_lack_it() -> None:
    trees = [{"a": n % 7, **({"b": n} if n else {}), "Plans": [{"a": 1}]} for n in range(20)]
    model = TreeRegressor(**QUICK).fit(trees, [n % 3 for n in range(20)])
    model.predict([{"a": 1}])  # as one of twenty
    with pytest.warns(UserWarning, match="^the trees have no value of b, which"):
        model.predict([{"a": 1}, {"a": 2, "b": None}, {"a": 3}])


def test_large_integers_are_different_classes(tmp_path: Path) -> None:
    path = tmp_path / "trees.jsonl"
    plans = ({"n": k % 5, "Plans": [{"n": 1}]} for k in range(30))
    rows = ({"plan": plan, "kind": 2**60 + k % 3} for k, plan in enumerate(plans))
    path.write_text("\n".join(map(json.dumps, rows)))
    model = TreeClassifier(**QUICK).fit(trees := read(path), trees.columns["kind"])
    assert model.classes_.tolist() == [2**60, 2**60 + 1, 2**60 + 2]


def test_a_random_state_is_a_seed_or_draws_one(tmp_path: Path) -> None:
    states = (np.random.RandomState(3), np.random.RandomState(3), None)
    models = [TreeRegressor(random_state=state, **QUICK).fit(X, SECONDS) for state in states]
    one, other, third = (model.predict(X) for model in models)
    np.testing.assert_array_equal(one, other)
    assert (one != third).any()
    models[0].save(tmp_path / "model")
    seed = TreeRegressor.load(tmp_path / "model").random_state
    np.testing.assert_array_equal(
        TreeRegressor(random_state=seed, **QUICK).fit(X, SECONDS).predict(X), one
    )


@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_what_needs_gradients_has_them_where_they_are_off(off: Any, tmp_path: Path) -> None:
    with off():
        inside = TreeRegressor(random_state=0, warm_start=True, **QUICK).fit(X, SECONDS)
        inside.save(tmp_path / "model")
        loaded = TreeRegressor.load(tmp_path / "model")
        explained = inside.explain(X).prediction
    outside = TreeRegressor(random_state=0, warm_start=True, **QUICK).fit(X, SECONDS)
    np.testing.assert_array_equal(inside.predict(X), outside.predict(X))
    again = outside.fit(X, SECONDS).predict(X)
    for each in (inside, loaded, pickle.loads(pickle.dumps(loaded))):
        assert each.explain(X).prediction == pytest.approx(explained)
        np.testing.assert_array_equal(each.fit(X, SECONDS).predict(X), again)


def test_threads_fit_and_predict_as_one() -> None:
    def fitted(seed: int) -> Any:
        return TreeRegressor(random_state=seed, **QUICK).fit(X, SECONDS).predict(X)

    seeds = [0, 1, 0, 1]
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(fitted, seeds))
    np.testing.assert_array_equal(together, [fitted(seed) for seed in seeds])
    model = TreeRegressor(**QUICK)
    model.settings = {**model.settings, "training.precision": "64-true"}
    model.fit(X, SECONDS)
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(model.predict, [X[: 30 + i] for i in range(30)]))
    for i, predicted in enumerate(together):
        np.testing.assert_array_equal(predicted, model.predict(X[: 30 + i]))
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("seed", "has no parameter seed; did you mean random_state"),
        ("learning_rate", "did you mean lr"),
        ("max_iter", "did you mean epochs"),
        ("verbose", "did you mean progress"),
        ("hidden_sise", "did you mean hidden_size"),
        ("dropout", "in settings, did you mean model.dropout"),
        ("class_weight", "has no parameter class_weight; TreeClassifier has it"),
        ("n_estimators", "it has log_target, .*settings"),
    ],
)
def test_a_parameter_of_another_name_is_answered_by_the_right_one(name: str, message: str) -> None:
    with pytest.raises(TypeError, match=f"TreeRegressor .*{message}"):
        TreeRegressor(**{name: 1})


class Text(str, Enum):
    """Members that are strings of one and of several letters."""

    SLOW, FAST = "s", "fast"


Code = IntEnum("Code", ["SLOW", "FAST"])
Plain = Enum("Plain", ["SLOW", "FAST"])
LABELS: dict[str, Any] = {
    "strings": ["a", "b"],
    "strings of NumPy": [np.str_("a"), np.str_("b")],
    "half a character": ["a", "\ud800"],
    "integers": [1, -2],
    "of 70 bits": [2**70, 2**71],
    "integers of NumPy": [np.int8(3), np.uint64(4)],
    "numbers": [0.5, 1],
    "infinite": [1.0, float("inf")],
    "booleans": [True, False],
    "booleans of NumPy": [np.True_, np.False_],
    "strings of an enumeration": [*Text],
    "integers of an enumeration": [*Code],
}
OTHER_LABELS: dict[str, Any] = {
    "enumeration": [*Plain],
    "dates": [date(2020, 1, 1), date(2020, 1, 2)],
    "timestamps": [*pd.to_datetime(["2020-01-01", "2020-01-02"])],
    "periods": [pd.Period("2020-01"), pd.Period("2020-02")],
    "bytes": [b"a", b"b"],
    "complex": [1j, 2j],
    "decimals": [Decimal(1), Decimal(2)],
    "dictionaries": [{"a": 1}, {"a": 2}],
    "two types": ["a", 1],
    "booleans and integers": [True, 0],
}
CONTAINERS: dict[str, Any] = {
    "list": list,
    "objects": lambda y: pd.Series(y, dtype=object).to_numpy(),
    "array": np.array,
    "Series": pd.Series,
    "categorical": lambda y: pd.Series(y, dtype="category"),
}


def _alternating(pair: Any, container: str) -> Any:
    return CONTAINERS[container]([pair[row % 2] for row in range(len(X))])


@pytest.mark.parametrize(
    ("kind", "container"),
    [*((kind, "objects") for kind in LABELS), *(("strings", name) for name in CONTAINERS)]
    + [(kind, "list") for kind in LABELS if "enumeration" in kind],
)
def test_a_classifier_gives_back_the_classes_that_it_got(
    kind: str, container: str, tmp_path: Path
) -> None:
    y = _alternating(LABELS[kind], container)
    fitted = TreeClassifier(**QUICK).fit(X, y)
    fitted.save(tmp_path / "model")
    for model in (fitted, TreeClassifier.load(tmp_path / "model")):
        assert set(model.classes_.tolist()) == set(y)
        p, predicted = model.predict_proba(X), model.predict(X)
        np.testing.assert_allclose(p.sum(1), 1, rtol=1e-5)
        np.testing.assert_array_equal(model.classes_[p.argmax(1)], predicted)
        right = [a == b for a, b in zip(predicted.tolist(), y)]
        assert model.score(X, y) == model.evaluate(X, y)["accuracy"] == np.mean(right)
        np.testing.assert_array_equal(predicted, fitted.predict(X))


@pytest.mark.parametrize("kind", OTHER_LABELS)
@pytest.mark.parametrize("container", ["list", "objects"])
def test_other_classes_are_refused(kind: str, container: str) -> None:
    y = _alternating(OTHER_LABELS[kind], container)
    with pytest.raises(
        TreeError, match=r"expected classes .*; write \[str\(each\) for each in y\]"
    ):
        TreeClassifier(**QUICK).fit(X, y)


def test_the_score_names_a_missing_class() -> None:
    model = TreeClassifier(**QUICK).fit(X, SPEED)
    with pytest.raises(TreeError, match="tree 1: missing class in y; add it, or leave it out"):
        model.score(X, [SPEED[0], None, *SPEED[2:]])
    assert model.score(X, ["another"] * len(X)) == 0


SOME: dict[str, tuple[Any, Any, tuple[str, ...]]] = {
    "numbers": (TreeRegressor(**QUICK), (SECONDS,), ("predict", "encode")),
    "two numbers": (TreeRegressor(**QUICK), (np.stack([SECONDS] * 2, 1),), ("predict",)),
    "additive": (TreeRegressor(additive=True, **QUICK), (SECONDS,), ("predict_nodes",)),
    "sequences": (TreeRegressor(encoder="bilstm", **QUICK), (SECONDS,), ("predict", "encode")),
    "classes": (TreeEncoder(**QUICK), (SPEED,), ("predict", "predict_proba", "transform")),
    "flags": (TreeClassifier(**QUICK), (FLAGS,), ("predict", "predict_proba")),
    "ranks": (TreeRanker(**QUICK), (SECONDS, np.arange(60) // 4), ("predict", "encode")),
    "blend": (
        TreeRegressor(ensemble=2, blend=True, **QUICK),
        (SECONDS,),
        ("predict", "predict_interval"),
    ),
    "ensemble": (
        TreeClassifier(ensemble=2, **QUICK),
        (SPEED,),
        ("predict", "predict_proba", "predict_set"),
    ),
    "features": (FlatFeatures(), (), ("transform",)),
}


@pytest.mark.parametrize("name", SOME)
def test_of_no_trees_there_are_no_predictions(name: str) -> None:
    unfitted, targets, methods = SOME[name]
    model = clone(unfitted).fit(X, *targets)
    for method in methods:
        predict = getattr(model, method)
        some = predict(X[:3])
        for none in (X[:0], [], np.array([], object), pd.Series([], dtype=object)):
            got = predict(none)
            if isinstance(some, list):
                assert got == []
            else:
                assert (got.shape, got.dtype) == ((0, *some.shape[1:]), some.dtype)
    with pytest.raises(TreeError, match="expected at least one tree"):
        model.fit(X[:0], *[y[:0] for y in targets])


NAMES = ["a" * 300, "\u00e9" * 150, "", "\ud800", ".", "a/b", "CON", "Op", "%4F", "\n"]


def test_columns_of_any_names_are_saved(tmp_path: Path) -> None:
    def node(row: int) -> dict[str, Any]:
        return {name: "xy"[row % (2 + k) % 2] for k, name in enumerate(["op", *NAMES])}

    trees = [{**node(row), "children": [node(row + 1)]} for row in range(40)]
    model = TreeRegressor(**QUICK).fit(trees, np.arange(40.0), out=tmp_path / "run")
    model.save(tmp_path / "model")
    Forest.from_objects(trees, "children", ["op", *NAMES]).save(tmp_path / "forest")
    loaded = TreeRegressor.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == ["op", *NAMES]
    assert [*load(tmp_path / "run").vocabularies] == ["op", *NAMES, "target"]
    for X in (trees, Forest.load(tmp_path / "forest")):
        np.testing.assert_array_equal(loaded.predict(X), model.predict(trees))


def test_several_targets_have_a_column_each() -> None:
    numbers = TreeRegressor(**QUICK).fit(X, np.stack([SECONDS, X.sizes], 1))
    assert numbers.predict(X).shape == (60, 2)
    flags = TreeClassifier(**QUICK).fit(X, FLAGS)
    assert flags.predict_proba(X).shape == (60, 2)
    assert set(flags.predict(X).ravel().tolist()) <= {0, 1}
    assert flags.classes_.tolist() == [[False, True]] * 2
    for metric in ("roc_auc", "average_precision"):
        expected = get_scorer(metric)._score_func(FLAGS, flags.predict_proba(X))
        assert get_scorer(metric)(flags, X, FLAGS) == pytest.approx(expected)


def test_targets_of_another_name_are_in_the_order_of_training() -> None:
    trees = [{"time": float(n), "x": n % 7, "children": [{"x": 1}]} for n in range(40)]
    table = pd.DataFrame({"time": 13 * np.arange(40) % 11, "b": np.arange(40) % 3})
    model = TreeRegressor(**{**QUICK, "features": ["x"]})
    one = model.fit(trees, table[["time"]], validation=(trees, table["time"].to_numpy()))
    expected = np.abs(one.predict(trees).ravel() - table["time"]).mean()
    assert one.evaluate(trees, table["time"])["mae"] == pytest.approx(expected)
    assert one.history_[-1]["valid_mae"] == pytest.approx(expected)
    with pytest.raises(TreeError, match="expected the targets of training, time, got time, b"):
        one.evaluate(trees, table)
    two = clone(model).fit(trees, table)
    assert two.evaluate(trees, table[["b", "time"]]) == two.evaluate(trees, table.to_numpy())
    assert two.score(trees, table[["b", "time"]]) == two.score(trees, table)
    with pytest.raises(TreeError, match="the targets of training, time, b, got time, c"):
        two.evaluate(trees, table.rename(columns={"b": "c"}))


def test_clones_cross_validation_search_and_pipelines() -> None:
    model = TreeRegressor(log_target=True, cell="gru", **QUICK)
    assert clone(model).get_params() == model.get_params()
    assert cross_val_score(model, X, SECONDS, cv=2).shape == (2,)
    search = GridSearchCV(model, {"encoder": ["bag", "convolution"], "cell": [None]}, cv=2)
    assert search.fit(X, SECONDS).best_params_["encoder"] in ("bag", "convolution")
    pipeline = make_pipeline(TreeEncoder(**QUICK), LogisticRegression(max_iter=2000))
    assert pipeline.fit(X, SPEED).predict(X).shape == (60,)


def test_a_ranker_orders_groups_and_is_cross_validated_by_them(tmp_path: Path) -> None:
    groups = np.arange(60) // 5
    model = TreeRanker(best="lowest", **QUICK).fit(X, SECONDS, groups)
    assert model.predict(X).shape == (60,)
    assert 0 <= model.score(X, SECONDS, groups) <= 1
    np.testing.assert_array_equal(
        model.predict(X), clone(model).fit(X, SECONDS, groups=groups.astype(str)).predict(X)
    )
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(TreeRanker.load(tmp_path / "model").predict(X), model.predict(X))
    first, rest = slice(0, 40), slice(40, 60)
    held_out = (X[rest], SECONDS[rest], groups[rest])
    named = TreeRanker(**{**QUICK, "settings": {"data.group": "query"}})
    named.fit(X[first], SECONDS[first], groups[first], validation=held_out)
    assert named.history_[0]["valid_groups"] == 4
    by_group = GroupKFold(2)
    with config_context(enable_metadata_routing=True):
        routed = TreeRanker(**QUICK).set_fit_request(groups=True).set_score_request(groups=True)
        scores = cross_val_score(routed, X, SECONDS, params={"groups": groups}, cv=by_group)
    columns = {**X.columns, "group": groups[X.tree_of_node]}  # at every node, the roots among them
    inside = replace(X, columns=columns)
    again = cross_val_score(TreeRanker(**QUICK), inside, SECONDS, groups=groups, cv=by_group)
    np.testing.assert_array_equal(again, scores)


@pytest.mark.parametrize(
    ("y", "groups", "message"),
    [
        (SECONDS, None, "missing groups; .*or a column 'group'"),
        (SECONDS, "query", "expected groups to be one per tree, got 'query'; a column of the ro"),
        (SECONDS, np.arange(5), r"groups to be one per tree, \(60,\), got the shape \(5,\)"),
        (SECONDS, ["a", None] * 30, "groups without missing values, got 30 of 60, the first at in"),
        (SECONDS.astype("m8[s]"), np.arange(60), "numbers or classes as y, got times, "),
        (SECONDS[:5], np.arange(5), "expected a target per tree, got 5 targets for 60 trees"),
        (SECONDS[:, None], np.arange(60), r"a target per tree, \(T,\), got the shape \(60, 1\)"),
        (SECONDS, np.arange(60), "groups with different targets, .*; see groups and y$"),
        (SPEED, np.zeros(60), "expected a number as the target 'target', got"),
    ],
)
def test_orders_that_cannot_be_learned(y: Any, groups: Any, message: str) -> None:
    with pytest.raises((ConfigError, TreeError), match=message):
        TreeRanker(**QUICK, validation_fraction=0.0).fit(X, y, groups)


def test_a_ranker_names_its_arguments() -> None:
    groups = np.arange(60) // 5
    with pytest.raises(ConfigError, match="expected best to be one of highest, lowest, got 'l"):
        TreeRanker(**QUICK, best="least").fit(X, SECONDS, groups)
    with pytest.raises(ConfigError, match="several groups, .*set validation_fraction to 0, or cor"):
        TreeRanker(**QUICK).fit(X, SECONDS, np.zeros(60))
    model = TreeRanker(**QUICK).fit(X, SECONDS, groups)
    with pytest.raises(TreeError, match="missing groups"):
        model.score(X, SECONDS)
    with pytest.raises(ConfigError, match=r"validation to be a tuple \(trees, targets, groups\)"):
        model.fit(X, SECONDS, groups, validation=(X, SECONDS))


def test_children_that_only_later_trees_have_and_a_target_with_the_name_line() -> None:
    leaves = [{"op": "leaf", "v": n} for n in range(100)]
    trees = leaves + [{"op": "join", "inputs": [leaf]} for leaf in leaves[:20]]
    model = TreeRegressor(**QUICK).fit(trees, pd.DataFrame({"line": np.arange(120.0) % 7}))
    assert model.run_.settings.data.children_key == "inputs"


def test_nested_dictionaries_and_trees_of_files_are_fitted_alike(tmp_path: Path) -> None:
    """The layout of the dictionaries is inferred, and kept for those to predict."""
    model = TreeRegressor(**QUICK).fit(PLANS, SECONDS)
    expected = model.predict(PLANS)
    leaf = next(plan for plan in PLANS if "Plans" not in plan)
    alone = pytest.approx(expected[PLANS.index(leaf)], rel=1e-5)
    assert model.predict([leaf])[0] == alone
    assert model.run_.settings.data.children_key == "Plans"
    model.save(tmp_path / "model")
    assert TreeRegressor.load(tmp_path / "model").predict([leaf])[0] == alone
    assert next(load(tmp_path / "model").predict([leaf]))["prediction"] == alone
    Forest.from_objects([leaf], "Plans").save(tmp_path / "forest")  # which has no such key
    assert next(load(tmp_path / "model").predict(tmp_path / "forest"))["prediction"] == alone
    data = read(PLANS_FILE)
    for trees in (data, RECORDS, PLANS, [Forest.from_objects([plan], "Plans") for plan in PLANS]):
        again = TreeRegressor(**QUICK, children_key="Plans").fit(data, SECONDS)
        np.testing.assert_allclose(again.predict(trees), expected, rtol=1e-5)
    assert RECORDS[0]["plan"] is PLANS[0]  # nothing was taken out of them
    again = TreeRegressor(**QUICK).fit(RECORDS, SECONDS, validation=(RECORDS[:9], SECONDS[:9]))
    assert again.run_.settings.data.tree_path == "plan"
    np.testing.assert_allclose(again.predict([RECORDS[3]]), again.predict(data)[3:4], rtol=1e-5)
    assert model.explain(PLANS, 3).forest.num_nodes == X.sizes[3]
    assert model.evaluate(data, SECONDS)["r2"] == pytest.approx(model.score(PLANS, SECONDS))


@pytest.mark.parametrize(
    "container",
    [
        pd.Series,
        lambda plans: pd.DataFrame({"plan": plans}),
        lambda plans: np.array(plans, object),
        lambda plans: np.array(plans, object)[:, None],
        lambda plans: [[{"Plan": plan}] for plan in plans],  # of a driver of PostgreSQL
    ],
)
def test_a_column_of_dictionaries_is_their_list(container: Any) -> None:
    expected = TreeRegressor(**QUICK).fit(PLANS, SECONDS).predict(PLANS)
    some = container(PLANS)
    model = TreeRegressor(**QUICK).fit(some, pd.Series(SECONDS))
    np.testing.assert_array_equal(model.predict(some), expected)


@pytest.mark.parametrize("kind", ["forest", "file", "dictionaries", "pairs"])
def test_the_splits_of_scikit_learn_are_fitted(kind: str) -> None:
    trees: Any = {
        "forest": X,
        "file": read(PLANS_FILE),
        "dictionaries": PLANS,
        "pairs": TreePairs(X, X),
    }[kind]
    some, others, y, others_y = train_test_split(trees, SECONDS, random_state=0)
    model = TreeRegressor(**QUICK).fit(some, y)
    expected = TreeRegressor(**QUICK).fit(trees, SECONDS).predict(others).shape
    assert model.predict(others).shape == expected == others_y.shape
    assert cross_val_score(model, trees, SECONDS, cv=2).shape == (2,)


def test_values_of_numpy_are_those_of_json() -> None:
    def node(i: int, **more: Any) -> dict[str, Any]:
        place = np.array([i, 0.5]) if i % 3 else None
        return {"n": np.float32(i), "k": np.int64(i), "at": place, "name": f"n{i % 4}", **more}

    roots = [node(i, below=(node(i + 1), node(i + 2))) for i in range(30)]
    model = TreeRegressor(**QUICK).fit(roots, np.arange(30.0) % 7)
    assert sorted(model.feature_names_in_) == ["at", "k", "n", "name"]
    assert {c.name: c.kind for c in model.run_.vocabularies.inputs}["at"] == "vector"


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        ([None], "as a Forest or nested dictionaries, got a NoneType"),
        ([{"Plans": "x"}], "tree 0: expected a list of nodes under 'Plans', got \"x\""),
        ([{"Plan Rows": date(2020, 1, 1)}], "tree 0: expected strings, numbers or lists in column"),
        ([{"7": 1, 7: 2}], "tree 0: expected every key once, got '7' twice"),
        ([{"x": 1}, {"x": "a"}], 'numbers .1 in tree 0. and "a" in tree 1; correct one'),
        (RECORDS[0]["plan"], "got a single dictionary .*; wrap it in a list: \\[tree\\]"),
    ],
)
def test_wrong_dictionaries_are_named(trees: Any, message: str) -> None:
    model = TreeRegressor(**QUICK).fit(PLANS, SECONDS)
    with pytest.raises(TreeError, match=message):
        model.predict(trees)
    if isinstance(trees, dict):
        with pytest.raises(ConfigError, match="got a dictionary; write"):
            model.run_.predict(trees)


def test_a_single_node_is_predicted() -> None:
    scan = {"op": "scan", "preds": [{"op": ">"}]}
    trees = [{"op": "join", "inputs": [scan] * (1 + k % 2)} for k in range(20)]
    model = TreeRegressor(**QUICK, share=False).fit(trees, np.arange(20.0) % 7)
    assert model.reading_.startswith("root: the record; children: 'inputs'; nodes per tree: 2 to 3")
    assert model.predict([scan]).shape == (1,)


def test_the_key_of_the_children_may_be_wrong() -> None:
    with pytest.raises(TreeError, match="expected trees with several nodes, got one node in each"):
        TreeRegressor(**QUICK, children_key="kids").fit(PLANS, SECONDS)
    with pytest.raises(TreeError, match="missing targets y"):
        TreeRegressor(**QUICK).fit(PLANS, None)


def test_a_folder_of_a_run_takes_no_other_trees_or_targets(tmp_path: Path) -> None:
    out = tmp_path / "run"
    expected = TreeRegressor(**QUICK).fit(X, SECONDS, out=out).predict(X)
    assert (out / "schema.json").exists()
    np.testing.assert_array_equal(
        TreeRegressor(**QUICK).fit(X, SECONDS, out=out).predict(X), expected
    )
    for trees, targets in ((X, SECONDS + 1), (X[1:], SECONDS[1:])):
        with pytest.raises(
            ConfigError, match=r"the trees, the targets .* have changed since the run"
        ):
            TreeRegressor(**QUICK).fit(trees, targets, out=out)
    with pytest.raises(ConfigError, match=r"started with epochs=2, on .*, now epochs=3; use the"):
        TreeRegressor(**{**QUICK, "epochs": 3}).fit(X, SECONDS, out=out)
    model = TreeRegressor(warm_start=True, **QUICK)
    with pytest.raises(ConfigError, match="or the first weights have changed since the run"):
        for _ in range(3):  # the first has no weights to start from
            model.fit(X, SECONDS, out=tmp_path / "passes")


def test_pairs_of_trees_are_fitted_and_cross_validated() -> None:
    pairs, ratio = TreePairs(X[:30], X[30:]), SECONDS[:30] / SECONDS[30:]
    slower = np.where(ratio > 1, "first", "second")
    model = TreeRegressor(log_target=True, **QUICK).fit(pairs, ratio)
    assert model.predict(pairs).shape == (30,)
    assert model.encode(pairs).shape == (30, 2 * 8)
    assert len(model.explain(pairs, 3).forest) == 2
    assert cross_val_score(model, pairs, ratio, cv=2).shape == (2,)
    classes = TreeClassifier(**QUICK).fit(pairs, slower, validation=(pairs[:9], slower[:9]))
    assert classes.predict_proba(pairs).shape == (30, 2)
    with pytest.raises(TreeError, match="a target per pair, got 60 targets for 30 pairs"):
        model.fit(pairs, SECONDS)
    with pytest.raises(TreeError, match="expected pairs of trees for the task classify-pairs"):
        classes.predict(X)


@pytest.mark.parametrize("kind", [TreeRegressor, TreeClassifier])
def test_a_saved_model_predicts_the_same(tmp_path: Path, kind: Any) -> None:
    y = SECONDS if kind is TreeRegressor else SPEED
    model = kind(**QUICK, random_state=np.int64(0), lr=np.float32(0.01)).fit(X, y)
    model.save(tmp_path / "model")
    for again in (kind.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert again.get_params() == model.get_params()
        assert (again.result_, again.history_) == (model.result_, model.history_)
    with pytest.raises(ConfigError, match="a new folder, got .*; write overwrite=True to replace"):
        model.save(tmp_path / "model")
    with pytest.raises(ConfigError, match="a new folder, got .*; choose another folder"):
        model.save(tmp_path, overwrite=True)
    model.save(tmp_path / "model", overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    other = TreeClassifier if kind is TreeRegressor else TreeRegressor
    with pytest.raises(ConfigError, match=f"expected a {other.__name__} .* got a {kind.__name__}"):
        other.load(tmp_path / "model")
    kind(random_state=1, **QUICK).fit(X, y).save(tmp_path / "second")
    for name, message in (
        ("weights.safetensors", "weights.safetensors is damaged: it is of another run than run"),
        ("estimator.json", "mixed are those of several models; restore them, or save again"),
    ):
        shutil.copytree(tmp_path / "model", tmp_path / "mixed", dirs_exist_ok=True)
        shutil.copy(tmp_path / "second" / name, tmp_path / "mixed" / name)
        with pytest.raises(ConfigError, match=message):
            kind.load(tmp_path / "mixed")
    path = tmp_path / "model" / "estimator.json"
    path.write_text(path.read_text().replace('"random_state": 0', '"random_state": 1'))
    with pytest.raises(ConfigError, match=r"estimator.json is damaged: it has changed since"):
        kind.load(tmp_path / "model")
    path.unlink()
    with pytest.raises(ConfigError, match=rf"that {kind.__name__}.save wrote, got .*without est"):
        kind.load(tmp_path / "model")


@pytest.mark.parametrize(
    ("y", "weight"),
    [
        ((SPEED == "slow").astype(float), {0.0: 1.0, 1.0: 5.0}),
        (SPEED == "slow", {False: 1.0, True: 5.0}),
        (FLAGS, [{0: 1.0, 1: 2.0}, {0: 3.0, 1: 1.0}]),
    ],
)
def test_weights_of_classes_are_those_after_loading(tmp_path: Path, y: Any, weight: Any) -> None:
    model = TreeClassifier(class_weight=weight, **QUICK).fit(X, y)
    model.save(tmp_path / "model")
    loaded = TreeClassifier.load(tmp_path / "model")
    assert loaded.class_weight == weight
    np.testing.assert_array_equal(clone(loaded).fit(X, y).predict(X), model.predict(X))


def test_a_model_is_saved_as_it_was_fitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = TreeRegressor(**QUICK), TreeRegressor(ensemble=2, **QUICK)
    for model, other in ((one, 2), (two, None)):
        predicted = model.fit(X, SECONDS).predict(X)
        model.set_params(ensemble=other).save(tmp_path / str(other))
        loaded = TreeRegressor.load(tmp_path / str(other))
        np.testing.assert_array_equal(loaded.predict(X), predicted)
    monkeypatch.chdir(tmp_path / "2")
    one.set_params(progress=np.False_).fit(X, SECONDS).save(".", overwrite=True)
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(TreeRegressor.load(tmp_path / "2").predict(X), one.predict(X))


@pytest.mark.filterwarnings("ignore")
def test_a_tree_of_one_node_is_a_root_whatever_its_members_hold(tmp_path: Path) -> None:
    """The path to the root is that of training, not the one that fits the trees to predict."""
    inner = {"op": "eq", "Plans": [{"op": "a"}, {"op": "b"}]}
    trees = [
        {"op": "join", "Plans": [{"op": n} for n in "xyz"]},
        {"op": "scan", "filter": inner},
    ] * 10
    with pytest.raises(TreeError, match=r"in the record itself .*, 'filter' .*give tree_path=\"\""):
        TreeRegressor(features=["op"], **QUICK).fit(trees, np.arange(20.0))
    quick = {**QUICK, "settings": {**QUICK.get("settings", {}), "data.tree_path": ""}}
    model = TreeRegressor(features=["op"], **quick).fit(trees, np.arange(20.0))
    expected = pytest.approx(model.predict(trees)[1])
    assert model.predict([trees[1]])[0] == expected != pytest.approx(model.predict([inner])[0])
    assert next(model.run_.predict([trees[1]]))["prediction"] == expected
    flat = FlatFeatures(features=["op"]).fit(trees[::2])
    np.testing.assert_array_equal(flat.transform([trees[1]])[0], flat.transform(trees)[1])
    model.save(tmp_path / "model")
    path = tmp_path / "alone.jsonl"
    path.write_text(json.dumps(trees[1]) + "\n")
    *_, last = load(tmp_path / "model").predict([str(path)])
    assert last["prediction"] == expected


def test_a_callback_cannot_change_the_history() -> None:
    model = TreeRegressor(**QUICK).fit(X, SECONDS, on_epoch=dict.clear)
    assert [line["epoch"] for line in model.history_] == [1, 2]


def test_validation_trees_and_a_callback_decide_when_to_stop() -> None:
    seen: list[float] = []

    class EnoughError(Exception):
        pass

    def stop(line: dict[str, Any]) -> None:
        seen.append(line["valid_loss"])
        if len(seen) == 2:
            raise EnoughError

    model = TreeRegressor(**{**QUICK, "epochs": 50})
    with pytest.raises(EnoughError):
        model.fit(X[:40], SECONDS[:40], validation=(X[40:], SECONDS[40:]), on_epoch=stop)
    assert len(seen) == 2


def test_the_result_has_the_final_probabilities() -> None:
    model = TreeClassifier(**{**QUICK, "epochs": 9, "lr": 0.1})
    wrong = X[40:], SPEED[39:-1]
    model.fit(X[:40], SPEED[:40], validation=wrong)
    assert model.run_.model.head.temperature > 1
    assert model.result_["valid"] == pytest.approx(model.evaluate(*wrong))
    assert model.result_["valid"]["loss"] < min(line["valid_loss"] for line in model.history_)


def test_nothing_is_written_unless_a_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model = TreeRegressor(**QUICK).fit(X, SECONDS)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConfigError, match="expected a model in a directory, got one in memory"):
        _ = again.run_.directory
    assert repr(again.run_) == "TrainedModel(task='regress', model='child_sum')"


@pytest.mark.parametrize(
    ("arguments", "y", "message"),
    [
        ({}, SECONDS[:5], "a target per tree, got 5 targets for 60 trees"),
        ({}, np.where(SECONDS > 0.1, np.nan, SECONDS), "missing target 'target' of a training"),
        (
            {},
            np.where(SECONDS > 0.1, np.inf, SECONDS),
            "a finite number of at most .* as the target",
        ),
        ({"cell": "lsmt"}, SECONDS, "expected cell to be one of"),
        ({"cell": "training.lr"}, SECONDS, "expected cell to be one of .*, got 'training.lr'$"),
        ({"encoder": "bag", "cell": "gru"}, SECONDS, "^cell has no effect with encoder bag, but"),
        ({"settings": {"rank": 3}}, SECONDS, "settings by full name.* did you mean model.rank[?]"),
        ({"settings": {"model": {"rank": 3}}}, SECONDS, "got 'model'; write {'model.rank': 3}"),
        (
            {"settings": {"model.hidden_size": 4}},
            SECONDS,
            "hidden_size=8 and .*; give only hidden_size",
        ),
        ({"settings": "x"}, SECONDS, "expected settings to be a mapping, got 'x'; write settings="),
        ({"settings": {"model.rank": 3}}, SECONDS, "model.rank has no effect"),
        ({"settings": {"training.max_grad_norm": 10**400}}, SECONDS, "null, of at most 63 bits"),
        ({"features": ["Cost"]}, SECONDS, "expected features to name columns of the trees"),
        ({}, SECONDS.astype("m8[ns]"), "got times, .* give seconds, such as y.dt.total_seconds"),
        ({}, [timedelta(1)] * 60, "y, got times, datetime.timedelta.days=1., whose unit is hidden"),
        ({}, pd.Series(SECONDS).astype("M8[ns]"), "as y, got times, .*since one of them"),
        ({"log_target": True}, SECONDS - 1, "^tree 0: .* 0 with log_target, got -0.9.*leave log_t"),
        ({"log_target": True, "ensemble": 2}, [*SECONDS[1:], -1.0], "^tree 59: expected targets"),
        (
            {"log_target": True, "lr": 1e6, "validation_fraction": 0.0},
            SECONDS,
            "predictions are not finite after epoch 2: training has diverged; lower lr or set tra",
        ),
        *(
            ({"log_target": log}, [*SECONDS[1:], y], "tree 59: expected a finite number of at most")
            for log, y in ((False, 1e308), (True, -1e200), (True, 10**400))
        ),
        ({"log_target": True, "lr": 1e6}, SECONDS, "not finite after epoch [12]: .*; lower lr or"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, Any], y: Any, message: str) -> None:
    with pytest.raises((TreeError, ConfigError), match=message):
        TreeRegressor(**{**QUICK, **arguments}).fit(X, y)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_class_is_refused_in_a_list_too(missing: Any) -> None:
    with pytest.raises(TreeError, match="missing target 'target' of a training tree; add"):
        TreeClassifier(**QUICK).fit(X, [missing, *SPEED[1:].tolist()])


@pytest.mark.parametrize(
    ("estimator", "values"),
    [
        (TreeClassifier, SPEED),
        (TreeClassifier, np.arange(len(X)) % 2),
        (TreeRegressor, SECONDS),
        (TreeRegressor, np.arange(len(X))),
    ],
)
def test_what_a_masked_array_hides_is_missing(estimator: Any, values: Any) -> None:
    with pytest.raises(TreeError, match="^tree 3: missing target 'target' of a training tree; add"):
        estimator(**QUICK).fit(X, np.ma.masked_array(values, np.arange(len(X)) == 3))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "an empty list; give at least one tree$"),
        (["a tree"], "a str 'a tree'; parse each with json.loads"),
        ('[{"x": 1}]', "str .*; parse it with json.loads$"),
        (pd.DataFrame(RECORDS), "a DataFrame with the columns plan, .*; pass a list of nested dic"),
        ("trees", r"; dgltrees.read\('trees'\) has"),
        (None, "NoneType None; Forest.from_objects"),
        ([networkx.DiGraph()], "a DiGraph .*; dgltrees.trees.builders.from_networkx makes a For"),
        (networkx.DiGraph(), "DiGraph .*; dgltrees.trees.builders.from_networkx makes a Forest"),
        ([ast.parse("x")], "a Module .*; dgltrees.trees.builders.from_python makes a Forest"),
    ],
)
def test_what_is_no_forest_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(
        TreeError, match=f"expected trees as a Forest or nested .*, got .*{message}"
    ):
        TreeRegressor(**QUICK).fit(wrong, SECONDS)


def test_graphs_of_dgl_are_converted_first() -> None:
    graph = pytest.importorskip("dgl", reason="needs DGL").graph(([1, 2], [0, 0]))
    for wrong in (graph, [graph] * 60):
        with pytest.raises(TreeError) as caught:
            TreeRegressor(**QUICK).fit(wrong, SECONDS)
        assert "; dgltrees.trees.builders.from_dgl makes a Forest" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_single_nodes_are_no_trees() -> None:
    single = Forest.from_objects([{"x": 1}] * 4, columns=["x"])
    with pytest.raises(
        TreeError, match="got one node in each; pass trees whose nodes have lists of c"
    ):
        TreeRegressor(**QUICK).fit(single, [1, 2, 3, 4])


def test_nothing_is_predicted_before_fit() -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        TreeRegressor().predict(X)


def test_dictionaries_that_occur_again_are_written_out(tmp_path: Path) -> None:
    def plan(rows: float) -> dict[str, Any]:
        twice = {"rows": rows, "children": [{"rows": 1.0}, {"rows": 2.0}]}
        return {"rows": 0.5, "children": [twice, {"rows": 3.0, "children": [twice]}]}

    trees, y = [plan(n / 20) for n in range(20)], np.arange(20) / 20
    with pytest.raises(TreeError, match="tree 0: expected each object once .* share=False"):
        TreeRegressor(**QUICK).fit(trees, y)
    with pytest.raises(ConfigError, match="expected share=False, .* got share=True"):
        TreeRegressor(**QUICK, share=True).fit(trees, y)
    cycle: dict[str, Any] = {"rows": 1.0}
    cycle["children"] = [cycle]
    with pytest.raises(TreeError, match="tree 1: .* contains itself"):
        TreeRegressor(**QUICK).fit([{"rows": 2.0}, cycle], [1.0, 2.0])
    model = TreeRegressor(**QUICK, share=False).fit(trees, y)
    model.save(tmp_path / "model")
    again = TreeRegressor.load(tmp_path / "model")
    copies = Forest.from_objects(trees, share=False)
    np.testing.assert_array_equal(again.predict(trees), model.predict(copies))
