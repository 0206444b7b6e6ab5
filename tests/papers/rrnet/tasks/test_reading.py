"""Tasks whose models decide while they read: math expressions, and pairs of sentences."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch.testing import assert_close

from dgltrees.papers.rrnet.models import QLearning, Reinforce
from dgltrees.settings.layers import Settings
from dgltrees.tasks.splits import load_splits
from dgltrees.training.loaded import load
from dgltrees.training.run import train
from dgltrees.trees import Examples
from tests.tasks.build import build
from tests.training.samples import SAMPLES

FILES = {
    "mee": (["mee/train4.tsv", "mee/train5.tsv"], ["mee/valid4.tsv", "mee/valid5.tsv"]),
    "snli": ("sick/SICK_train_parsed.txt", "snli/snli_1.0_dev.jsonl"),
}


def settings(
    task: str = "mee",
    policy: dict[str, Any] | None = None,
    model: dict[str, Any] | None = None,
    **training: Any,
) -> Settings:
    sizes: dict[str, Any] = {"encoder": "rrnet", "hidden_size": 8, "embedding": 6}
    if task == "snli":
        sizes["head"] = [8]
    loop = {"optimizer": "adam", "lr": 0.01, "accelerator": "cpu", "epochs": 2, "batch_size": 16}
    return Settings(
        {
            "task": task,
            "data": {"root": str(SAMPLES), **dict(zip(("train", "valid"), FILES[task]))},
            "model": {**sizes, "policy": policy or {}, **(model or {})},
            "training": {**loop, "monitor": "loss", **training},
        }
    )


def built(reader: Settings) -> tuple[Any, Examples]:
    examples = load_splits(reader.task, reader.data).train
    return build(reader.task, examples, **reader.model), examples


POLICIES: dict[str, dict[str, Any]] = {
    "given": {},
    "fixed": {"operations": "fixed"},
    "recur": {"operations": "recur"},
    "supervised": {"operations": "policy"},
    **{name: {"operations": "policy", "agent": name} for name in ("reinforce", "dqn")},
}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_learns_and_evaluates(tmp_path: Path, policy: str) -> None:
    epochs = 12 if policy == "given" else 2
    result = train(settings(policy=POLICIES[policy], epochs=epochs), tmp_path / "run", bar=False)
    run = load(tmp_path / "run")
    losses = [line["train_loss"] for line in run.directory.metrics()]
    assert all(map(math.isfinite, losses))
    if policy == "given":
        assert losses[-1] < losses[0]
    report = run.evaluate(test=[str(SAMPLES / file) for file in FILES["mee"][1]])
    assert report == result["valid"]
    assert set(report["accuracy_by_operators"]) == {"4", "5"}
    lines = run.predict([SAMPLES / "mee" / "test4.tsv"])
    assert all(0 <= int(x["prediction"]) <= 99 and 0 < x["probability"] <= 1 for x in lines)


@pytest.mark.parametrize("policy", ["given", "reinforce", "dqn"])
def test_a_run_that_stopped_is_resumed_exactly(tmp_path: Path, policy: str) -> None:
    whole = train(settings(policy=POLICIES[policy], epochs=3), tmp_path / "whole", bar=False)
    for epochs in (1, 3):
        how = settings(policy=POLICIES[policy], epochs=epochs)
        parts = train(how, tmp_path / "parts", bar=False)
    assert whole["valid"] == parts["valid"]


RATES = {"discount": 0.9, "entropy": 0.1, "value": 0.3}


@pytest.mark.parametrize(
    ("agent", "rates", "expected"),
    [
        ("reinforce", RATES, Reinforce(0.9, 0.1, 0.3)),
        ("dqn", {"discount": 0.9, "epsilon": 0.25}, QLearning(0.9, 0.25)),
    ],
)
def test_what_the_settings_say_is_what_is_built(
    agent: str, rates: dict[str, Any], expected: object
) -> None:
    policy = {"operations": "policy", "hidden_sizes": [7], "stack": 5, "detach": True}
    policy = {**policy, **rates, "merge": "average", "agent": agent, "weight": 0.5}
    reader, _ = built(settings(policy=policy, model={"dropout": 0.2, "layer_norm": True}))
    encoder = reader.encoder
    assert encoder.objective == expected
    assert (encoder.max_open, encoder.dropout, encoder.cell.merge) == (5, 0.2, "average")
    assert encoder.cell.layer_norm
    assert encoder.policy.detach
    assert next(tuple(p.shape) for p in encoder.policy.values.parameters()) == (7, 14)
    assert reader.weight == 0.5


def test_all_encoders_have_one_decoder() -> None:
    sizes = []
    for model in ({"encoder": "rrnet"}, {"encoder": "lstm"}):
        how = settings(model=model)
        reader, examples = built(how)
        sizes.append(sum(p.numel() for p in reader.head.parameters()))
        batch, targets = how.task.batch(examples, np.arange(4))
        reader.eval()
        outputs = how.task.outputs(reader, batch, targets)
        assert [*outputs] == ["loss", "prediction", "probability"]
        assert all(column.shape == (4,) for column in outputs.values())
        rollout = how.task.rollout(reader, batch)
        assert_close(outputs["loss"].float(), reader(rollout, targets))
    assert sizes[0] == sizes[1]
