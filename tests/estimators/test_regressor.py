"""Numbers of nodes next to those of trees: node targets, and predictions that are sums."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from dgltrees import ConfigError, Forest, TreeError, TreePairs, TreeRegressor, load
from dgltrees.settings.catalog import preset_values
from dgltrees.settings.layers import Settings, layered
from dgltrees.training.run import train
from tests.estimators.plans import PLANS as BARE
from tests.estimators.plans import TINY as QUICK


def _timed(node: dict[str, Any]) -> dict[str, Any]:
    """A plan whose operators have a total time, which includes that of their inputs."""
    below = [_timed(child) for child in node.get("Plans", [])]
    return {**node, "ms": node["Plan Rows"] / 1e3 + sum(c["ms"] for c in below), "Plans": below}


def _walk(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The nodes in preorder."""
    return [node, *(each for child in node.get("Plans", []) for each in _walk(child))]


PLANS = [_timed(plan) for plan in BARE]
TOTAL = np.array([plan["ms"] for plan in PLANS])
FOREST = Forest.from_objects(PLANS, children="Plans")
KINDS: list[dict[str, Any]] = [
    {"node_target": "ms", "log_target": True, "node_target_weight": 0.5},
    {"additive": True},
    {"additive": True, "log_target": True, "node_target": "ms"},
]


@pytest.mark.parametrize("additive", [None, True])
def test_numbers_of_nodes_are_learned(additive: bool | None) -> None:
    options = {"log_target": True, "additive": additive, "compile": False}
    model = TreeRegressor(node_target="ms", epochs=20, hidden_size=16, lr=0.01, **options)
    model.fit(PLANS[:50], TOTAL[:50])
    predicted = model.predict_nodes(BARE[50:])
    times = [np.array([node["ms"] for node in _walk(plan)]) for plan in PLANS[50:]]
    assert [*map(len, predicted)] == [*map(len, times)]
    logs = np.log(np.concatenate(times))
    errors = np.log(np.concatenate(predicted)) - logs
    assert np.sqrt((errors**2).mean()) < 0.6 * logs.std()


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("ensemble", [None, 2])
def test_a_node_target_is_no_input_and_predictions_are_in_order(
    options: dict[str, Any], ensemble: int | None, tmp_path: Path
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of columns that new trees lack
        model = TreeRegressor(ensemble=ensemble, **options, **QUICK)
        model.fit(PLANS if "node_target" in options else BARE, TOTAL)
        nodes = model.predict_nodes(BARE)
    assert model.feature_names_in_.tolist() == ["Node Type", "Plan Rows", "Plan Width", "Table"]
    assert [*map(len, nodes)] == [len(_walk(plan)) for plan in BARE]
    backwards = model.predict_nodes(FOREST[::-1])[::-1]  # in other batches
    np.testing.assert_allclose(np.concatenate(backwards), np.concatenate(nodes), rtol=1e-4)
    model.save(tmp_path / "model")
    loaded = TreeRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(np.concatenate(loaded.predict_nodes(BARE)), np.concatenate(nodes))
    assert loaded.get_params() == model.get_params()
    if "additive" in options:
        predicted, explanation = model.predict(BARE), model.explain(BARE, 3)
        assert explanation.nodes.sum() == pytest.approx(predicted[3], rel=1e-6)
        assert explanation.prediction == pytest.approx(predicted[3], rel=1e-6)
        assert "the sum of the contributions of its nodes" in explanation.text
        lowers = "a negative one lowers it" in explanation.text
        assert lowers == (explanation.nodes < 0).any()
        of_trees = [each[0] if "node_target" in options else each.sum() for each in nodes]
        np.testing.assert_allclose(of_trees, predicted, rtol=1e-6)
        if "node_target" not in options:
            np.testing.assert_allclose(explanation.nodes, nodes[3], rtol=1e-4)
    if ensemble is not None:
        each = np.stack([np.concatenate(m.predict_nodes(BARE)) for m in model.members_])
        logs = "log_target" in options and "additive" not in options
        mean = np.exp(np.log(each).mean(0)) if logs else each.mean(0)
        np.testing.assert_allclose(np.concatenate(nodes), mean)


def test_a_blend_has_no_node_target_among_its_flat_features() -> None:
    model = TreeRegressor(node_target="ms", ensemble=2, blend=True, **QUICK).fit(PLANS, TOTAL)
    names = model.members_[0].run_.flat.features.feature_names_out_
    assert any("Plan Rows" in name for name in names)
    assert not any("ms" in name.split() for name in names)
    assert [*map(len, model.predict_nodes(BARE))] == [len(_walk(plan)) for plan in BARE]


def test_splits_carry_the_targets_of_the_nodes() -> None:
    some = [_timed(plan) for plan in BARE]
    for plan in some[::3]:
        for node in _walk(plan)[1::2]:
            node["ms"] = None  # a missing one is no target
    grid = {"node_target_weight": [0.1, 2.0], "additive": [None, True]}
    model = TreeRegressor(node_target="ms", log_target=True, **QUICK)
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(some, TOTAL)
    assert len({*search.cv_results_["mean_test_score"]}) == 4
    assert len(search.best_estimator_.predict_nodes(BARE)) == 60
    assert np.isfinite(cross_val_score(model, FOREST, TOTAL, cv=2)).all()


def test_a_node_target_and_several_targets_of_trees() -> None:
    both = np.c_[TOTAL, -TOTAL]
    model = TreeRegressor(node_target="ms", **QUICK).fit(PLANS, both)
    assert model.predict(BARE).shape == (60, 2)
    assert model.predict_nodes(BARE)[0].shape == (9,)
    model = TreeRegressor(additive=True, **QUICK).fit(BARE, both)
    parts = model.predict_nodes(BARE)
    np.testing.assert_allclose([each.sum(0) for each in parts], model.predict(BARE), rtol=1e-6)
    second = model.explain(BARE, 2, target="target_1")
    np.testing.assert_allclose(second.nodes, parts[2][:, 1], rtol=1e-4)
    assert "prediction; a negative one lowers it" in second.text


def test_a_warm_start_keeps_the_node_target() -> None:
    model = TreeRegressor(node_target="ms", warm_start=True, **QUICK).fit(PLANS, TOTAL)
    before = np.concatenate(model.predict_nodes(BARE))
    assert not np.array_equal(np.concatenate(model.fit(PLANS, TOTAL).predict_nodes(BARE)), before)
    with pytest.raises(ConfigError, match="node_target to be 'ms', as in the last fit, got None"):
        model.set_params(node_target=None).fit(PLANS, TOTAL)


@pytest.mark.parametrize("log_target", [None, True])
@pytest.mark.parametrize("additive", [None, True])
def test_constants_are_predicted(additive: bool | None, log_target: bool | None) -> None:
    plans = [
        {"ms": 0.2, "rows": n, "children": [{"ms": 0.2, "rows": 1}] * (n % 2 + 1)}
        for n in range(20)
    ]
    options = {**QUICK, "log_target": log_target, "share": False}
    model = TreeRegressor(additive=additive, node_target="ms", **options).fit(plans, [0.3] * 20)
    np.testing.assert_allclose(model.predict(plans), 0.3, rtol=1e-12)
    nodes = model.predict_nodes(plans)
    np.testing.assert_allclose([each[0] for each in nodes], 0.3 if additive else 0.2)


PAIRS = TreePairs(FOREST, FOREST)


@pytest.mark.parametrize(
    ("options", "trees", "message"),
    [
        ({"node_target": "Tables"}, BARE, "a node target 'Tables', got .*mean Table[?]$"),
        ({"node_target": "Table"}, BARE, "a number as the node target 'Table', got 'orders'; name"),
        (
            {"node_target": "x"},
            [{**p, "x": np.nan} for p in BARE],
            "expected a node target 'x', got the columns Node Type",
        ),
        ({"node_target": "x"}, [{**p, "x": 1e999} for p in BARE], "at most .* as the node targ"),
        ({"node_target": 3}, BARE, "expected node_target to be a string, or null, got 3"),
        ({"node_target": "ms", "node_target_weight": -1}, PLANS, "node_target_weight to be .* -1"),
        ({"node_target_weight": 1.0}, BARE, "node_target_weight has no effect without node_target"),
        ({"node_target": "x"}, [{**p, "x": None} for p in BARE], "target 'x', .*, not only None$"),
        (
            {"node_target": "ms", "features": ["ms"]},
            PLANS,
            "features to name inputs, got 'ms', a target .of trees or nodes. or group; leave it o",
        ),
        (
            {"additive": True, "readout": "max"},
            PLANS,
            "^readout has no effect with additive; leave",
        ),
        (
            {"additive": True, "objective": "ordinal"},
            PLANS,
            "additive has no effect with objective o",
        ),
        ({"additive": True}, PAIRS, "^additive has no effect in the task regress-pairs"),
        ({"node_target": "ms"}, PAIRS, "^node_target has no effect in the task regress-pairs"),
        (
            {"node_target": "ms", "log_target": True},
            [{**p, "ms": -1.0} for p in PLANS],
            "node targets of at l",
        ),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], trees: Any, message: str) -> None:
    with pytest.raises((ConfigError, TreeError), match=message) as caught:
        TreeRegressor(**options, **QUICK).fit(trees, TOTAL)
    assert "\n" not in str(caught.value)


def test_what_predicts_no_nodes_says_so() -> None:
    model = TreeRegressor(**QUICK).fit(BARE, TOTAL)
    with pytest.raises(ConfigError, match="node_target or additive to predict nodes, got neither"):
        model.predict_nodes(BARE)
    with pytest.raises(
        ConfigError, match="expected one target for additive with node_target, got 2"
    ):
        TreeRegressor(additive=True, node_target="ms", **QUICK).fit(PLANS, np.c_[TOTAL, TOTAL])


def test_a_file_has_targets_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "plans.jsonl"
    path.write_text("".join(json.dumps(plan) + "\n" for plan in PLANS))
    data = {"train": str(path), "target": "ms", "node_target": "ms", "children_key": "Plans"}
    layer = {
        "data": data,
        "model": {"hidden_size": 4, "embedding": 4},
        "training": {"epochs": 2, "accelerator": "cpu"},
    }
    train(Settings(layered(preset_values("regress"), layer)), tmp_path / "run")
    run = load(tmp_path / "run")
    lines = [*run.predict([BARE[0]])]
    assert lines[0]["nodes"] == run.predict_nodes(BARE[:1])[0].tolist()


def test_more_children_than_in_training() -> None:
    def star(children: int) -> dict[str, Any]:
        return {"rows": 0, "below": [{"rows": k % 3} for k in range(children)]}

    trees = Forest.from_objects([star(k % 3 + 1) for k in range(20)], "below")
    large = Forest.from_objects([star(9), star(4)], "below")
    for aggregator in ("shared_sum", "sum"):
        settings = {**QUICK["settings"], "model.cell": "lstm", "model.aggregator": aggregator}
        model = TreeRegressor(**{**QUICK, "settings": settings}).fit(trees, np.arange(20.0))
        if aggregator == "shared_sum":
            assert np.isfinite(model.predict(large)).all()
        else:
            with pytest.raises(TreeError, match="expected at most 3 children, the limit of the mo"):
                model.predict(large)
