"""The decisions to add edges, trained in the run directory of a language model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from dgltrees import ConfigError
from dgltrees.analyses.decisions import DecisionSettings, load_joint, train_decisions
from dgltrees.cli import main
from dgltrees.tasks.language_models.tree_lm import TREE_LM
from dgltrees.tasks.splits import load_splits
from dgltrees.training.run import train
from dgltrees.trees.dependencies import generation_batch
from tests.tasks.language_models.test_tree_lm import SAMPLE, settings

QUICK: dict[str, Any] = {"hidden": [6, 5], "batch_size": 16}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "run"
    train(settings({"left_dependents": True}), path, bar=False)
    return path


@pytest.mark.parametrize("state", ["own", "source"])
def test_they_learn_the_trees(tmp_path: Path, state: str) -> None:
    """In a hundred passes over five sentences; measured as the model of trees measures them."""
    train(settings(), tmp_path / "run", bar=False)
    made = DecisionSettings(state=state, epochs=100, dropout=0.0, lr=0.05, **QUICK)
    result = train_decisions(tmp_path / "run", made)
    assert list(result["valid"]) == ["LEFT", "RIGHT", "NX-LEFT", "NX-RIGHT"]
    assert json.loads((tmp_path / "run" / "decisions.json").read_text()) == result
    for found in result["valid"].values():
        assert found["majority"] <= found["accuracy"] <= 1
    joint = load_joint(tmp_path / "run")
    data = load_splits(TREE_LM, joint.settings.data).valid
    assert data is not None
    batch = generation_batch(data.forest)
    with torch.no_grad():
        H, output = joint.model.words.states(batch), joint.model.words.output
        for found, (logits, added, _) in zip(
            result["valid"].values(), joint.model.decisions(batch, H, output)
        ):
            assert found["decisions"] == len(logits)
            assert_close(found["accuracy"], float(((logits > 0) == (added > 0.5)).double().mean()))
        total = sum(v["loss"] * v["decisions"] for v in result["valid"].values())
        log_p = joint.model.decisions.log_prob(batch, H, output)
        assert_close(-total, float(log_p.double().sum()), rtol=1e-5, atol=0)
        words = data.forest.num_nodes - len(data)
        whole = -float(joint.model.log_prob(batch).double().sum()) / words
    assert_close(result["joint_loss"], whole, rtol=1e-5, atol=0)


def test_evaluate_tells_the_joint_loss(
    tmp_path: Path, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside the perplexity, and only where there are decisions."""
    _copy(run, tmp_path / "run")
    argv = ["evaluate", str(tmp_path / "run"), "--data.test", str(SAMPLE)]
    assert main(argv) == 0
    assert "joint_loss" not in json.loads(capsys.readouterr().out)
    result = train_decisions(tmp_path / "run", DecisionSettings(epochs=1, **QUICK))
    assert main(argv) == 0
    found = json.loads(capsys.readouterr().out)
    assert_close(found["joint_loss"], result["joint_loss"])
    assert found["joint_loss"] > found["loss"]


def test_training_goes_on_where_it_stood(tmp_path: Path, run: Path) -> None:
    for name in ("one", "two"):
        _copy(run, tmp_path / name)
    whole = train_decisions(tmp_path / "one", DecisionSettings(epochs=4, **QUICK))
    train_decisions(tmp_path / "two", DecisionSettings(epochs=2, **QUICK))
    parts = train_decisions(tmp_path / "two", DecisionSettings(epochs=4, **QUICK))
    assert parts == whole
    one, two = ((tmp_path / n / "decisions.safetensors").read_bytes() for n in ("one", "two"))
    assert one == two


def test_the_language_model_stays_as_it_is(tmp_path: Path, run: Path) -> None:
    _copy(run, tmp_path / "run")
    before = (run / "weights.safetensors").read_bytes()
    train_decisions(tmp_path / "run", DecisionSettings(epochs=1, **QUICK))
    assert (tmp_path / "run" / "weights.safetensors").read_bytes() == before


def test_errors(tmp_path: Path, run: Path) -> None:
    path = tmp_path / "run"
    _copy(run, path)
    with pytest.raises(ConfigError, match=r"no decisions .* yet: dgltrees decide .*run trains"):
        load_joint(path)
    train_decisions(path, DecisionSettings(epochs=1, **QUICK))
    with pytest.raises(ConfigError, match=r"with state = 'own', asked was 'source'; .* remove"):
        train_decisions(path, DecisionSettings(state="source", epochs=1, **QUICK))
    (path / "decisions.safetensors").write_bytes(b"none")
    with pytest.raises(ConfigError, match=r"decisions\.safetensors is damaged"):
        load_joint(path)
    weights = bytearray((path / "weights.safetensors").read_bytes())
    weights[-1] ^= 1
    (path / "weights.safetensors").write_bytes(weights)
    with pytest.warns(UserWarning, match=r"no joint_loss: .* trained on since"):
        assert main(["evaluate", str(path), "--data.test", str(SAMPLE)]) == 0
    for use in (load_joint, train_decisions):
        with pytest.raises(ConfigError, match=r"trained on since .* train them again"):
            use(path)
    with pytest.raises(ConfigError, match=r"decisions\.state to be own or source, got 'both'"):
        DecisionSettings(state="both")
    train(settings({"language_model": "sequence"}), tmp_path / "lstm", bar=False)
    with pytest.raises(ConfigError, match=r"tree-lm along trees, got .* \(sequence\)"):
        train_decisions(tmp_path / "lstm")


def _copy(run: Path, to: Path) -> None:
    (to / "vocabulary").mkdir(parents=True)
    for file in run.rglob("*"):
        if file.is_file():
            (to / file.relative_to(run)).write_bytes(file.read_bytes())
