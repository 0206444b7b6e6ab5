"""The decisions to add edges, trained in the run directory of a language model."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from dgltrees import ConfigError, load
from dgltrees.cli import main
from dgltrees.papers.top_down.analyses.edge_classifier import (
    joint_report,
    load_joint,
    train_edge_classifier,
)
from dgltrees.papers.top_down.graphs import generation_batch
from dgltrees.papers.top_down.models.add_decisions import JointTreeLM
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory
from tests.papers.top_down.samples import decisions_of, tree_lm_settings
from tests.training.samples import SENTENCES


def trained(path: Path, *, epochs: int = 1, **model: Any) -> dict[str, Any]:
    """A small edge classifier in a run directory, with dropout unless ``model`` has another."""
    loop = {"epochs": epochs, "batch_size": 16}
    return train_edge_classifier(
        load(path), model={"hidden": [6, 5], **model}, training=loop, bar=False
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(tree_lm_settings({"left_dependents": True}), path, bar=False)
    return path


@pytest.fixture
def copied(run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(run, tmp_path / "run"))


@pytest.mark.parametrize("state", ["own", "source"])
def test_the_classifiers_learn_the_trees(copied: Path, state: str) -> None:
    """In twenty passes over five sentences; the metrics are those of the joint model."""
    model = {"state": state, "hidden": [6, 5], "dropout": 0.0}
    loop = {"epochs": 20, "batch_size": 16, "lr": 0.2}
    result = train_edge_classifier(load(copied), model=model, training=loop, bar=False)
    metrics = result["valid"]["by_edge_type"]
    assert list(metrics) == ["LEFT", "RIGHT", "NX-LEFT", "NX-RIGHT"]
    for metric in metrics.values():
        assert metric["majority_accuracy"] <= metric["accuracy"] <= 1
    decisions = sum(metric["decisions"] for metric in metrics.values())
    assert result["valid"]["decisions"] == decisions
    correct = sum(metric["accuracy"] * metric["decisions"] for metric in metrics.values())
    assert_close(result["valid"]["accuracy"], correct / decisions)
    loaded = load(copied)
    joint = load_joint(loaded)
    assert isinstance(joint, JointTreeLM)
    data = loaded.test_examples(str(SENTENCES))
    batch = generation_batch(data.forest)
    with torch.no_grad():
        H, output = joint.words.states(batch), joint.words.output
        by_type = (each.T for each in decisions_of(joint, batch))
        for metric, logits, added in zip(metrics.values(), *by_type):
            right = ((logits > 0) == (added == 1))[added >= 0].double()
            assert metric["decisions"] == len(right)
            assert_close(metric["accuracy"], float(right.mean()))
        total = -float(joint.decisions.log_prob(batch, H, output).double().sum())
        assert_close(result["valid"]["loss"] * decisions, total, rtol=1e-5, atol=0)
        words = data.forest.num_nodes - len(data)
        loss = -float(joint.log_prob(batch).double().sum()) / words
    assert_close(result["joint_loss"], loss, rtol=1e-5, atol=0)
    assert_close(joint_report(loaded, str(SENTENCES))["joint_loss"], loss, rtol=1e-5, atol=0)


def test_evaluate_reports_the_joint_loss(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Next to the perplexity, and only if there is an edge classifier."""
    argv = ["evaluate", str(copied), "--test", str(SENTENCES)]
    assert main(argv) == 0
    assert "joint_loss" not in json.loads(capsys.readouterr().out)
    result = trained(copied)
    assert main(argv) == 0
    report = json.loads(capsys.readouterr().out)
    assert_close(report["joint_loss"], result["joint_loss"])
    assert report["joint_loss"] > report["loss"]


def test_training_is_resumed_and_the_language_model_stays_as_it_is(
    run: Path, tmp_path: Path
) -> None:
    one, two = (Path(shutil.copytree(run, tmp_path / name)) for name in ("one", "two"))
    whole = trained(one, epochs=4)
    trained(two, epochs=2)
    states = (two / "edge-states/own/train/column.features.npy").stat().st_mtime_ns
    assert trained(two, epochs=4) == whole
    assert (two / "edge-states/own/train/column.features.npy").stat().st_mtime_ns == states
    for name in ("edge-classifier/weights.safetensors", "weights.safetensors"):
        assert_close(load_file(one / name), load_file(two / name), rtol=0, atol=0)
    assert (one / "weights.safetensors").read_bytes() == (run / "weights.safetensors").read_bytes()


def test_from_the_command_line(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = [
        "train-edge-classifier",
        str(copied),
        "--epochs",
        "1",
        "--hidden=[4]",
        "--state",
        "source",
        "--vectors",
        "input",
    ]
    assert main(argv) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    metric = result["valid"]["by_edge_type"]["LEFT"]
    assert set(metric) == {"decisions", "accuracy", "majority_accuracy", "loss"}
    model = load(copied / "edge-classifier").settings.model
    assert (model["state"], model["hidden"], model["dropout"]) == ("source", [4], 0.5)
    assert model["embedding"] == load(copied).settings.model["embedding"]
    assert (copied / "edge-states/source-input").is_dir()
    assert isinstance(load_joint(load(copied)), JointTreeLM)


def test_a_run_without_validation_trees(copied: Path) -> None:
    data = {"valid": None, "valid_fraction": 0.0}
    loop = {"schedule": "constant"}
    path = copied.parent / "plain"
    train(tree_lm_settings(data=data, training=loop), path, bar=False)
    assert "valid" not in trained(path)
    assert joint_report(load(path), str(SENTENCES))


def test_errors(copied: Path, sequence_lm_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    none = r"missing the edge classifier of .*; train it: dgltrees train-edge-classifier .*"
    with pytest.raises(ConfigError, match=none):
        load_joint(load(copied))
    assert joint_report(load(copied)) == {}
    trained(copied)
    with pytest.raises(ConfigError, match=r"model.state='own', now model.state='source'"):
        trained(copied, state="source")
    assert isinstance(load_joint(load(copied)), JointTreeLM)
    with pytest.raises(ConfigError, match=r"model\.state to be one of own, source, got 'both'"):
        trained(copied, state="both")
    run = RunDirectory(copied)
    run.save_weights({name: 2 * weight for name, weight in run.weights().items()})
    with pytest.warns(UserWarning, match=r"no joint_loss: .* trained further since"):
        assert main(["evaluate", str(copied), "--test", str(SENTENCES)]) == 0
    again = r"trained further since .* remove .*edge-classifier and train it again"
    with pytest.raises(ConfigError, match=again):
        trained(copied)
    shutil.rmtree(copied / "edge-classifier")
    trained(copied)
    assert load_joint(load(copied))
    with pytest.raises(ConfigError, match=r"over trees \(task tree-lm, .*\) at .*, got .*\(LSTM\)"):
        trained(sequence_lm_run)
