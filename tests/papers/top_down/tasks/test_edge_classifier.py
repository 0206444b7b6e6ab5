"""Decisions to add edges as a task: reading and metrics."""

from pathlib import Path

import numpy as np
import pytest
from torch.testing import assert_close

from dgltrees import ConfigError, LabeledTrees, TreeError
from dgltrees.papers.top_down.tasks.edge_classifier import EDGE_CLASSIFIER, decisions_forest
from dgltrees.tasks.settings import DataSettings
from dgltrees.training.run import train
from dgltrees.trees.builders import from_nested
from tests.training.samples import quick, with_model


def test_the_size_of_a_state_is_that_of_the_data(tmp_path: Path) -> None:
    decisions_forest(np.zeros((9, 8), np.float32), np.zeros((9, 4), np.int8)).save(tmp_path / "a")
    settings = quick("edge-classifier", {"train": str(tmp_path / "a")})
    with pytest.raises(ConfigError, match=r"model\.hidden_size .* the sum 8, .*, got 10"):
        train(with_model(settings, hidden_size=5), tmp_path / "run", bar=False)


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
