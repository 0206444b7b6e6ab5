"""Explanations of the predictions of trained runs, as tables and as pictures."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, TreeClassifier, TreeError, TreeRegressor, load
from dgltrees.analyses.explain import Explanation
from dgltrees.cli import main
from dgltrees.settings.layers import Settings
from dgltrees.training.run import train
from tests.draw.svg import of_class
from tests.training.samples import SAMPLES, quick

RECORDS = [json.loads(s) for s in (SAMPLES / "plans" / "train.jsonl").read_text().splitlines()]
NAMES = ["Node Type", "Table", "Plan Rows", "Plan Width"]
PLANS = Forest.from_objects([record["plan"] for record in RECORDS], "Plans", NAMES)
SPEED = np.array([record["speed"] for record in RECORDS])
QUICK: dict[str, Any] = {"hidden_size": 8, "epochs": 3, "settings": {"model.embedding": 8}}
PRECISE = {**QUICK["settings"], "training.precision": "64-true", "data.baselines": False}


@pytest.fixture(scope="module")
def classifier() -> Any:
    return TreeClassifier(readout="root", **{**QUICK, "settings": PRECISE}).fit(PLANS, SPEED)


def test_what_the_nodes_add_is_the_prediction(classifier: Any) -> None:
    tree = int(PLANS.sizes.argmax())
    why: Explanation = classifier.explain(PLANS, tree)
    p = classifier.predict_proba(PLANS)[tree]
    assert why.target == classifier.predict(PLANS)[tree]
    assert why.prediction == pytest.approx(p.max())
    assert why.columns.shape == (PLANS.sizes[tree], len(NAMES))
    assert sorted(why.column_names) == sorted(NAMES)
    assert why.columns.sum() == pytest.approx(why.prediction - why.baseline, abs=1e-9)
    np.testing.assert_allclose(why.nodes, why.columns.sum(1))
    assert why.subtrees[0] == pytest.approx(why.prediction - why.baseline)
    leaf = int(np.flatnonzero(PLANS[tree].degree == 0)[0])
    assert why.subtrees[leaf] != 0


def test_the_other_class_is_the_opposite(classifier: Any) -> None:
    one, other = (classifier.explain(PLANS, 3, target=name) for name in ("slow", "fast"))
    np.testing.assert_allclose(one.columns, -other.columns, atol=1e-9)
    np.testing.assert_allclose(one.subtrees, -other.subtrees, atol=1e-9)


def test_tables_and_pictures(classifier: Any, tmp_path: Path) -> None:
    why = classifier.explain(PLANS, 5)
    table = why.to_dict()
    assert table["parent"] == PLANS[5].parent.tolist()
    assert table["Node Type"][0] == RECORDS[5]["plan"]["Node Type"]
    assert table["adds Plan Rows"] == why.columns[:, why.column_names.index("Plan Rows")].tolist()
    assert len({len(column) for column in table.values()}) == 1
    nodes = of_class(why._repr_svg_(), "node")
    assert len(nodes) == PLANS.sizes[5]
    assert repr(why).startswith(f"predicted {why.target}: ")
    assert RECORDS[5]["plan"]["Node Type"] in repr(why)
    for by in ("nodes", "subtrees", "Table"):
        why.save(tmp_path / f"{by}.svg", by)
        assert (tmp_path / f"{by}.svg").read_text().startswith("<svg")
    readings = {
        "nodes": "its contribution to the prediction; a negative one lowers it",
        "subtrees": "the decrease of the prediction if the node and its descendants have no input",
        "Table": "the contribution of its Table to the prediction; a negative one lowers it",
    }
    for by, reading in readings.items():
        assert why.summary(by).endswith(f"\nThe number at a node is {reading}.")
    with pytest.raises(ConfigError, match="expected nodes, subtrees or one of .*got 'Tabel'"):
        why.draw("Tabel")


def test_columns_may_have_the_names_of_the_table() -> None:
    long = "b" * 50
    trees = [{"node": ("a", long)[n % 2], "children": [{"node": "a"}]} for n in range(12)]
    why = TreeRegressor(**QUICK).fit(trees, np.arange(12) % 2).explain(trees, 1)
    table = why.to_dict()
    assert (table["node"], table["node_"]) == ([0, 1], [long, "a"])
    assert "if all nodes were empty" in why.summary()
    assert "sum of the contributions" not in why.text


def test_a_large_tree_is_a_list_of_its_strongest_nodes(classifier: Any) -> None:
    root: dict[str, Any] = {"Node Type": "Seq Scan"}
    for _ in range(100):
        root = {"Node Type": "Hash Join", "Plans": [root, {"Node Type": "Seq Scan"}]}
    with pytest.warns(UserWarning, match="no value of Table, Plan Rows, Plan Width"):
        text = repr(classifier.explain(Forest.from_objects([root], "Plans", ["Node Type"]), 0))
    assert "the strongest of 201 nodes" in text
    assert len(text.splitlines()) < 20


@pytest.mark.parametrize("encoder", ["convolution", "lstm", "bilstm", "transformer", "bag"])
def test_every_encoder_is_explained(encoder: str) -> None:
    model = TreeRegressor(encoder=encoder, **QUICK).fit(PLANS, PLANS.sizes)
    why = model.explain(PLANS, 5)
    assert why.prediction == pytest.approx(model.predict(PLANS)[5], rel=1e-4)
    change = why.prediction - why.baseline
    assert why.nodes.sum() == pytest.approx(change, abs=0.05 * np.abs(why.columns).sum())


@pytest.mark.parametrize("preset", ["classify", "classify-nodes"])
def test_runs_of_the_command_line_are_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], preset: str
) -> None:
    path = str(SAMPLES / "plans" / "train.jsonl")
    why = explained(quick(preset, {"max_train_examples": None}), path, tmp_path, capsys)
    if preset == "classify-nodes":
        run = load(tmp_path / "run")
        leaf = int(np.flatnonzero(why.forest.degree == 0)[0])
        assert run.explain([path], 1, node=leaf).node == leaf
        with pytest.raises(TreeError, match="expected a node below"):
            run.explain([path], 1, node=10_000)


def explained(
    settings: Settings, path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Explanation:
    """The explanation of a run, which is what the command says too."""
    train(settings, tmp_path / "run")
    run = load(tmp_path / "run")
    why = run.explain([path], 1)
    prediction = list(run.predict([path]))[1]
    assert why.target == prediction["prediction"]
    assert why.prediction == pytest.approx(prediction["probability"], abs=1e-4)
    out = tmp_path / "why.svg"
    capsys.readouterr()
    argv = ["explain", str(tmp_path / "run"), "--input", path, "--tree", "1"]
    assert main(argv) == 0
    assert capsys.readouterr().out == f"{why}\n"
    assert why.text.startswith(f"{why.summary()}\n  ")
    assert main([*argv, "--by", "subtrees", "--out", str(out)]) == 0
    printed, said = capsys.readouterr()
    assert printed == f"{why.summary('subtrees')}\n"
    assert said.endswith(f"dgltrees: wrote {out}\n")
    assert out.read_text().startswith("<svg")
    return why


def test_errors(classifier: Any) -> None:
    with pytest.raises(TreeError, match="expected the number of an example, 0 to 59, got 60"):
        classifier.explain(PLANS, 60)
    for wrong in ([0, 1], "3"):
        with pytest.raises(TreeError, match="expected the index of one example, got .*; give a"):
            classifier.explain(PLANS, wrong)
    with pytest.raises(ConfigError, match="expected steps to be an integer of at least 1, got 0"):
        classifier.explain(PLANS, steps=0)
    with pytest.raises(ConfigError, match="expected a target of 'fast', 'slow', got 'slo'"):
        classifier.explain(PLANS, 0, target="slo")
    with pytest.raises(ConfigError, match="expected a task that predicts nodes, got classify"):
        classifier.explain(PLANS, 0, node=0)
