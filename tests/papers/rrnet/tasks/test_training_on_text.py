"""Language models of running text: trained, resumed, evaluated."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.settings.layers import Settings
from dgltrees.training.loaded import load
from dgltrees.training.loop import Trainer
from dgltrees.training.run import train
from tests.training.samples import SAMPLES, quick, with_model


def settings(preset: str = "ptb-small", **training: Any) -> Settings:
    loop = {"epochs": 3, "batch_size": 6, "patience": None, **training}
    small = {"hidden_size": 8, "embedding": 8}
    return with_model(quick(preset, {"limit": 80, "window": 8}, **loop), **small)


def files(run: Path) -> tuple[list[dict[str, Any]], list[dict[str, Tensor]]]:
    """The metrics, and the tensors of the weights and of the resume state."""
    metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    names = ("weights", "resume")
    return metrics, [load_file(run / f"{name}.safetensors") for name in names]


def assert_same(one: Path, two: Path) -> None:
    (metrics, tensors), (other_metrics, other_tensors) = files(one), files(two)
    assert metrics == other_metrics
    for left, right in zip(tensors, other_tensors):
        assert left.keys() == right.keys()
        assert all(left[key].equal(right[key]) for key in left)


@pytest.mark.parametrize("preset", ["ptb-small", "ptb-small-lstm"])
def test_training_is_resumed_at_the_beginning_of_an_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, preset: str
) -> None:
    """Killed in the middle of one, and stopped after one: as if it had run through."""
    train(settings(preset), tmp_path / "whole")
    train(settings(preset, epochs=1), tmp_path / "run")
    step, calls = Trainer._step, list[None]()

    def killed(self: Trainer, *args: Any) -> tuple[Tensor, int]:
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
    assert all(later < earlier for earlier, later in itertools.pairwise(losses))


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on a machine with one core
def test_workers_change_nothing(tmp_path: Path) -> None:
    train(settings(epochs=1), tmp_path / "here")
    train(settings(epochs=1, workers=1), tmp_path / "there")
    assert_same(tmp_path / "here", tmp_path / "there")


def test_a_run_is_evaluated_and_predicts(tmp_path: Path) -> None:
    result = train(settings(epochs=1), tmp_path / "run")
    valid = str(SAMPLES / "ptb_lm" / "ptb.valid.txt")
    run = load(tmp_path / "run")
    again = run.evaluate(valid)
    assert again == pytest.approx(result["valid"])
    lines = list(run.predict([valid]))
    assert len(lines) == again["examples"] == 30
    total = sum(line["log_prob"] for line in lines) / sum(line["words"] for line in lines)
    assert -total == pytest.approx(again["loss"], abs=1e-6)


def test_texts_that_are_too_short_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TreeError, match="at least 1000 tokens, 2 per stream, got 591; use"):
        train(settings(batch_size=500), tmp_path / "run")
