"""Decisions to add edges as a task: reading, metrics, training from the preset."""

from pathlib import Path

import numpy as np
import pytest
from torch.testing import assert_close

from dgltrees import ConfigError, Forest, LabeledTrees, TreeError, load
from dgltrees.papers.top_down.tasks.edge_classifier import EDGE_CLASSIFIER, decisions_forest
from dgltrees.tasks.settings import DataSettings
from dgltrees.training.run import train
from dgltrees.trees.builders import from_nested
from tests.training.samples import quick, with_model


def decisions(nodes: int) -> Forest:
    """Edges that the features tell; a node with a negative third feature decides on NX-RIGHT."""
    features = np.random.default_rng(0).normal(size=(nodes, 8)).astype(np.float32)
    left = features[:, 2] > 0
    edges = features[:, :2] > 0
    beyond = features[:, 3] > 0
    next_edges = np.stack([np.where(left, beyond, -1), np.where(left, -1, beyond)], 1)
    return decisions_forest(features, np.concatenate([edges, next_edges], 1).astype(np.int8))


def test_the_preset_trains(tmp_path: Path) -> None:
    for name, nodes in (("train", 600), ("valid", 200)):
        decisions(nodes).save(tmp_path / name)
    files = {name: str(tmp_path / name) for name in ("train", "valid")}
    data = {**files, "max_train_examples": None}
    settings = quick("edge-classifier", data, batch_size=32, lr=0.1, epochs=3)
    settings = with_model(settings, hidden_size=4, hidden=[16], dropout=0.0)
    result = train(settings, tmp_path / "run", bar=False)["valid"]
    assert result["accuracy"] > 0.8 > 0.6 > result["majority_accuracy"]
    assert result["decisions"] == 600  # three per node
    run = load(tmp_path / "run")
    assert run.evaluate(str(tmp_path / "valid")) == result
    lines = list(run.predict([tmp_path / "valid"]))
    assert len(lines) == 200
    added = decisions(200).columns["added"]
    for line, row in zip(lines, added):
        names = ["LEFT", "RIGHT", "NX-LEFT" if row[2] >= 0 else "NX-RIGHT"]
        assert list(line["probability"]) == names
    with pytest.raises(ConfigError, match=r"model\.hidden_size .* the sum 8, .*, got 10"):
        train(with_model(settings, hidden_size=5), tmp_path / "other", bar=False)


def test_metrics_are_those_of_the_decisions_alone() -> None:
    """By hand; there are no left dependents."""
    added = np.array([[0, 1, -1, 1], [0, 0, -1, 1], [1, 0, -1, 1]], np.int8)
    data = LabeledTrees(decisions_forest(np.zeros((3, 2), np.float32), added))
    outputs = {
        "loss": np.array([1, 2, 0, 3, 4, 5, 0, 6, 7, 8, 0, 9], np.float64),
        "prediction": np.array([0, 1, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1]),
    }
    report = EDGE_CLASSIFIER.report(data, outputs, {})
    assert list(report["by_edge_type"]) == ["LEFT", "RIGHT", "NX-RIGHT"]
    left = {"decisions": 3, "accuracy": 2 / 3, "majority_accuracy": 2 / 3, "loss": 4.0}
    assert_close(report["by_edge_type"]["LEFT"], left)
    assert report["decisions"] == 9
    assert_close(
        [report["accuracy"], report["majority_accuracy"], report["loss"]], [6 / 9, 7 / 9, 5.0]
    )


def test_other_folders_are_refused(tmp_path: Path) -> None:
    from_nested(("a", "b"), form="head").save(tmp_path / "trees")
    with pytest.raises(
        TreeError, match="expected a folder that dgltrees train-edge-classifier wrote"
    ):
        EDGE_CLASSIFIER.read(tmp_path / "trees", DataSettings(), None)
