"""Language models of running text: trained, gone on with, evaluated."""

from __future__ import annotations

import json

import pytest
from safetensors.torch import load_file

from dgltrees.errors import ConfigError, TreeError
from dgltrees.training.loop import Trainer
from dgltrees.training.run import evaluate, predict, train
from tests.training.samples import SAMPLES, quick, with_model

TEXT = str(SAMPLES / "ptb_lm" / "ptb.train.txt")


def settings(preset="ptb-small", **training):
    loop = {"epochs": 3, "batch_size": 6, "window": 8, "patience": None, **training}
    small = {"hidden_size": 8, "embedding": 8}
    return with_model(quick(preset, {"limit": 80}, **loop), **small)


def files(run):
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return metrics, load_file(run / "weights.safetensors"), load_file(run / "resume.safetensors")


def assert_same(one, two):
    (left, *tensors), (right, *others) = files(one), files(two)
    assert left == right
    for own, other in zip(tensors, others):
        assert own.keys() == other.keys()
        assert all(own[key].equal(other[key]) for key in own)


@pytest.mark.parametrize("preset", ["ptb-small", "ptb-small-lstm"])
def test_training_goes_on_at_the_beginning_of_an_epoch(tmp_path, monkeypatch, preset):
    """Killed in the middle of one, and stopped after one: as if it had run through."""
    train(settings(preset), tmp_path / "whole")
    train(settings(preset, epochs=1), tmp_path / "run")
    step, calls = Trainer._step, []

    def killed(self, *args):
        calls.append(None)
        if len(calls) > 4:
            raise KeyboardInterrupt
        return step(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_step", killed)
        with pytest.raises(KeyboardInterrupt):
            train(settings(preset), tmp_path / "run")
    train(settings(preset), tmp_path / "run")
    assert_same(tmp_path / "whole", tmp_path / "run")
    losses = [line["valid_loss"] for line in files(tmp_path / "run")[0]]
    assert all(later < earlier for earlier, later in zip(losses, losses[1:]))


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
def test_workers_change_nothing(tmp_path):
    train(settings(epochs=1), tmp_path / "here")
    train(settings(epochs=1, workers=1), tmp_path / "there")
    assert_same(tmp_path / "here", tmp_path / "there")


def test_a_run_is_evaluated_and_predicts(tmp_path):
    result = train(settings(epochs=1), tmp_path / "run")
    valid = str(SAMPLES / "ptb_lm" / "ptb.valid.txt")
    again = evaluate(tmp_path / "run", test=valid)
    assert again == pytest.approx(result["valid"])
    lines = list(predict(tmp_path / "run", [valid]))
    assert len(lines) == again["examples"] == 30
    total = sum(line["log_prob"] for line in lines) / sum(line["words"] for line in lines)
    assert -total == pytest.approx(again["loss"], abs=1e-6)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("checkpoint_steps", 2, "training.checkpoint_steps to be not set for the task ptb, whose"),
        ("max_nodes", 99, "training.max_nodes to be not set .* go on where the last one ended"),
    ],
)
def test_settings_that_cut_an_epoch_are_refused(tmp_path, name, value, message):
    with pytest.raises(ConfigError, match=message):
        train(settings(**{name: value}), tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()


def test_texts_that_are_too_short_are_refused(tmp_path):
    with pytest.raises(TreeError, match="for each of 500 streams, got .* tokens; take fewer"):
        train(settings(batch_size=500), tmp_path / "run")
