"""Settings and arguments that are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from dgltrees.cells import RRNetCell
from dgltrees.errors import ConfigError
from dgltrees.papers.rrnet.models.classifier import NumberDecoder
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.language_model import LSTMStream
from dgltrees.papers.rrnet.models.objectives import QLearning, Reinforce, Replay
from dgltrees.papers.rrnet.models.policy import Policy
from dgltrees.settings.layers import Settings
from tests.models.test_ranges import WORDS, assert_refused
from tests.tasks.test_model_settings import assert_data_refused, assert_model_refused

_POLICY = {"operations": "policy"}


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        (
            "mee",
            {"layers": 2},
            "layers has no effect with model.encoder rrnet, but with lstm, bilstm",
        ),
        (
            "mee",
            {"encoder": "lstm", "layer_norm": True},
            r"layer_norm .* lstm, but with (nti, )?rrnet; leav",
        ),
        ("mee", {"encoder": "transformer", "layer_norm": True}, "layer_norm .* but with .*rrnet"),
        (
            "mee",
            {"encoder": "lstm", "decoder_memory": "encoder"},
            "decoder_memory has no effect without model.encoder rrnet",
        ),
        ("mee", {"encoder": "gru"}, "encoder to be one of .*rrnet, lstm, .*, got 'gru'"),
        (
            "mee",
            {"policy": {"agent": "dqn"}},
            "agent has no effect with model.policy.operations gold",
        ),
        (
            "mee",
            {"policy": {"merge": "average", "merge_init": "uniform"}},
            "merge_init has no effect with model.policy.merge average",
        ),
        ("mee", {"policy": {"supervised_fraction": 0.5}}, "supervised_fraction has .*ns gold, but"),
        ("mee", {"policy": {**_POLICY, "agent": "q"}}, "agent to be one of none, rein"),
        (
            "mee",
            {"policy": {**_POLICY, "agent": "reinforce", "discount": 1.5}},
            r"discount to be a number of at least 0 and at most 1, got 1\.5",
        ),
        (
            "mee",
            {"policy": {**_POLICY, "agent": "reinforce", "entrpy": 1.0}},
            r"entrpy has no effect in the task mee; did you mean model\.policy\.entropy",
        ),
        ("lrt-sequence", {"encoder": "gru"}, "encoder to be one of .*rrnet, .*, got 'gru'"),
        ("ptb", {"encoder": "nti"}, "encoder to be one of rrnet, lstm, got 'nti'"),
        (
            "ptb",
            {"encoder": "lstm", "layer_norm": True},
            "layer_norm has no effect with model.encoder lstm",
        ),
        (
            "ptb",
            {"policy": {"operations": "recur", "consume": "recur"}},
            "consume has no effect with model.policy.operations recur",
        ),
        (
            "ptb",
            {"policy": {"supervised_fraction": 0.5}},
            "supervised_fraction has no effect in the task ptb",
        ),
        ("ptb", {"policy": {"reward": "accuracy"}}, "reward to be one of likely, log_likelihood"),
        ("ptb", {"policy": {"agent": "dqn", "replay": 10}}, "replay has no effect in the task ptb"),
    ],
)
def test_settings_of_models_that_do_not_go_together(
    task: str, model: dict[str, Any], message: str
) -> None:
    assert_model_refused(task, model, message)


@pytest.mark.parametrize(
    ("task", "data", "message"),
    [
        ("ptb", {"lower": True}, r"data\.lower has no effect in the task ptb"),
    ],
)
def test_settings_of_data_that_do_not_go_together(
    task: str, data: dict[str, Any], message: str
) -> None:
    assert_data_refused(task, data, message)


def test_nested_sections_round_trip() -> None:
    policy = {"operations": "policy", "agent": "dqn", "epsilon": 0.2}
    settings = Settings({"task": "mee", "model": {"policy": policy}})
    assert settings.model["policy.epsilon"] == 0.2
    assert Settings(yaml.safe_load(settings.to_yaml())) == settings


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"task": "ptb", "training": {"max_nodes": 9}},
            r"max_nodes has no effect in the task ptb; l",
        ),
        (
            {"task": "mee", "model": {"policy": {"epsilon": 1}}},
            r"with model\.policy\.operations gold",
        ),
    ],
)
def test_wrong_settings(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        Settings(values)
    assert "\n" not in str(error.value)


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (lambda **o: NumberDecoder(4, **o), {"digits": 2.5}, "an integer of at least 1"),
    (Reinforce, {"discount": 1.5}, "a number of at least 0 and at most 1"),
    (QLearning, {"epsilon": -1}, "a number of at least 0 and at most 1"),
    (Replay, {"capacity": 0}, "an integer of at least 1"),
    (lambda **o: Policy(3, 4, **o), {"detach": "no"}, "true or false"),
    (lambda **o: RRNetEncoder(WORDS, RRNetCell(4, 3), **o), {"max_open": 0}, "an integer of "),
    (lambda **o: LSTMStream(WORDS, 3, **o), {"dropout": 1.0}, "a number of at least 0 and below"),
]


@pytest.mark.parametrize(("build", "options", "words"), REFUSED)
def test_values_out_of_range_are_refused(
    build: Callable[..., Any], options: dict[str, Any], words: str
) -> None:
    assert_refused(build, options, words)
