"""Tasks whose models decide while they read: math expressions, and pairs of sentences."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from dgltrees.errors import ConfigError
from dgltrees.models.rrnet import PPO, ActorCritic, QLearning, Reinforce
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.splits import load_splits, vocabularies
from dgltrees.tasks.table import get_task
from dgltrees.training.run import evaluate, predict, train
from dgltrees.training.settings import settings_from
from tests.training.samples import SAMPLES

FILES = {
    "mee": (["mee/train4.tsv", "mee/train5.tsv"], ["mee/valid4.tsv", "mee/valid5.tsv"]),
    "snli": ("sick/SICK_train_parsed.txt", "snli/snli_1.0_dev.jsonl"),
}


def settings(task="mee", policy=None, model=None, **training):
    files = dict(zip(("train", "valid"), FILES[task]))
    sizes = {"encoder": "rrnet", "hidden_size": 8, "embedding": 6, "head": [8]}
    loop = {"optimizer": "adam", "lr": 0.01, "accelerator": "cpu", "epochs": 2, "batch_size": 16}
    return settings_from(
        {
            "task": task,
            "data": {"root": str(SAMPLES), **files},
            "model": {**sizes, "policy": policy or {}, **(model or {})},
            "training": {**loop, "monitor": "loss", **training},
        }
    )


def built(made):
    examples = load_splits(get_task(made.task), made.data).train
    torch.manual_seed(0)
    return get_task(made.task).build(made.model, vocabularies(examples)), examples


POLICIES = {
    "given": {},
    "fixed": {"operations": "fixed"},
    "recur": {"operations": "recur"},
    "supervised": {"operations": "policy"},
    **{
        name: {"operations": "policy", "agent": name} for name in ("reinforce", "a2c", "ppo", "dqn")
    },
}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_run_learns_and_evaluates(tmp_path, policy):
    made = settings(policy=POLICIES[policy], epochs=12 if policy == "given" else 2)
    result = train(made, tmp_path / "run", bar=False)
    lines = [json.loads(x) for x in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert all(math.isfinite(line["train_loss"]) for line in lines)
    if policy == "given":
        assert lines[-1]["train_loss"] < lines[0]["train_loss"]
    report = evaluate(tmp_path / "run", test=[str(SAMPLES / file) for file in FILES["mee"][1]])
    assert report == result["valid"]
    assert set(report["accuracy_by_operators"]) == {"4", "5"}
    named = list(predict(tmp_path / "run", [SAMPLES / "mee" / "test4.tsv"]))
    assert all(0 <= int(row["prediction"]) <= 99 and 0 < row["probability"] <= 1 for row in named)


@pytest.mark.parametrize("policy", ["given", "ppo", "dqn"])
def test_a_run_that_stopped_goes_on_exactly(tmp_path, policy):
    made = settings(policy=POLICIES[policy], epochs=3)
    whole = train(made, tmp_path / "whole", bar=False)
    train(settings(policy=POLICIES[policy], epochs=1), tmp_path / "parts", bar=False)
    rest = (tmp_path / "parts" / "config.yaml").read_text().replace("epochs: 1", "epochs: 3")
    (tmp_path / "parts" / "config.yaml").write_text(rest)
    parts = train(made, tmp_path / "parts", bar=False)
    assert whole["valid"] == parts["valid"]


@pytest.mark.parametrize("policy", ["given", "fixed", "reinforce"])
def test_pairs_of_sentences(tmp_path, policy):
    if policy == "given":
        with pytest.raises(Exception, match="with the operation of every token, got none for tok"):
            train(settings("snli"), tmp_path / "run", bar=False)
        return
    result = train(settings("snli", POLICIES[policy]), tmp_path / "run", bar=False)
    assert 0 <= result["valid"]["accuracy"] <= 1


def test_what_the_settings_say_is_what_is_built():
    policy = {"operations": "policy", "hidden": [7], "stack": 5, "detach": True, "merge": "average"}
    rates = {"discount": 0.9, "entropy": 0.1, "value": 0.3, "trace": 0.8, "clip": 0.4, "updates": 2}
    agents = {
        "reinforce": Reinforce(0.9, 0.1, 0.3),
        "a2c": ActorCritic(0.9, 0.1, 0.3, 0.8),
        "ppo": PPO(0.9, 0.1, 0.3, 0.8, clip=0.4, updates=2),
        "dqn": QLearning(0.9, 0.25),
    }
    for agent, expected in agents.items():
        own = {**policy, **rates, "agent": agent, "explore": 0.25, "weight": 0.5}
        classifier, _ = built(settings(policy=own, model={"dropout": 0.2, "layer_norm": True}))
        encoder = classifier.encoder
        assert encoder.objective == expected
        assert (encoder.max_open, encoder.dropout, encoder.cell.merge) == (5, 0.2, "average")
        assert encoder.cell.layer_norm
        assert encoder.policy.detach
        assert next(tuple(p.shape) for p in encoder.policy.values.parameters()) == (7, 14)
        assert classifier.weight == 0.5
        assert encoder.updates == (2 if agent == "ppo" else 1)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"encoder": "rrnet", "layers": 2}, "model.layers 1 with model.encoder rrnet, got 2"),
        ({"encoder": "lstm", "layer_norm": True}, "no model.layer_norm with model.encoder lstm"),
        ({"encoder": "transformer", "layer_norm": True}, "no model.layer_norm with .* transf"),
    ],
)
def test_settings_that_an_encoder_does_not_have(model, message):
    with pytest.raises(ConfigError, match=message):
        built(settings(model=model))


def test_all_encoders_have_one_decoder():
    sizes = []
    for model in ({"encoder": "rrnet"}, {"encoder": "lstm"}):
        classifier, examples = built(settings(model=model))
        sizes.append(sum(p.numel() for p in classifier.head.parameters()))
        task = get_task("mee")
        batch, targets = task.batch(examples, np.arange(4))
        classifier.eval()
        outputs = task.outputs(classifier, batch, targets)
        assert outputs.shape == (3, 4)
        (rollout,) = task.rollouts(classifier, batch, targets)
        assert_close(outputs[0].float(), classifier(rollout, targets))
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    ("model", "policy", "message"),
    [
        (
            {"encoder": "nti"},
            {},
            "expected model.encoder rrnet, lstm, bilstm or transformer, got nti",
        ),
        ({}, {"agent": "ppo"}, "model.policy.operations policy with model.policy.agent or told"),
        (
            {},
            {"told": 0.5},
            "model.policy.operations policy with model.policy.agent or told, got g",
        ),
    ],
)
def test_settings_that_do_not_go_together(model, policy, message):
    with pytest.raises(ConfigError, match=message):
        built(settings(model=model, policy=policy))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (
            {"agent": "q"},
            "expected model.policy.agent to be none or reinforce or a2c or ppo or dqn",
        ),
        (
            {"discount": 1.5},
            "expected model.policy.discount to be at least 0 and at most 1, got 1.5",
        ),
        ({"entrpy": 1.0}, "unknown setting model.policy.entrpy; did you mean model.policy.entropy"),
    ],
)
def test_settings_of_the_policy_are_checked(policy, message):
    with pytest.raises(ConfigError, match=message):
        settings(policy=policy)


def test_operations_do_not_come_with_pretrained_words():
    assert DataSettings().pretrained is None
    with pytest.raises(ConfigError, match="model.words table with fixed operations"):
        built(settings("snli", POLICIES["fixed"], model={"words": "pretrained"}))
