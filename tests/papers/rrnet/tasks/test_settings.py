"""Settings that a task, or a model of it, does not read are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.test_model_settings import assert_data_refused, assert_model_refused

_POLICY = {"operations": "policy"}


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        (
            "mee",
            {"layers": 2},
            "layers is not read with model.encoder rrnet, but with lstm, bilstm",
        ),
        (
            "mee",
            {"encoder": "lstm", "layer_norm": True},
            "layer_norm .* lstm, but with rrnet; leav",
        ),
        ("mee", {"encoder": "transformer", "layer_norm": True}, "layer_norm .* but with rrnet"),
        ("mee", {"encoder": "nti"}, "encoder to be one of rrnet, lstm, .*, got 'nti'"),
        (
            "mee",
            {"policy": {"agent": "dqn"}},
            "agent is not read with model.policy.operations given",
        ),
        ("mee", {"policy": {"supervised_fraction": 0.5}}, "supervised_fraction is .*ns given, but"),
        ("mee", {"policy": {**_POLICY, "agent": "q"}}, "agent to be one of none, rein"),
        (
            "mee",
            {"policy": {**_POLICY, "agent": "reinforce", "discount": 1.5}},
            r"discount to be a number of at least 0 and at most 1, got 1\.5",
        ),
        (
            "mee",
            {"policy": {**_POLICY, "agent": "reinforce", "entrpy": 1.0}},
            r"entrpy is not read by the task mee; did you mean model\.policy\.entropy",
        ),
        ("logic-sequence", {"encoder": "nti"}, "encoder to be one of rrnet, .*, got 'nti'"),
        ("ptb", {"encoder": "nti"}, "encoder to be one of rrnet, lstm, got 'nti'"),
        (
            "ptb",
            {"encoder": "lstm", "layer_norm": True},
            "layer_norm is not read with model.encoder lstm",
        ),
        (
            "ptb",
            {"policy": {"operations": "recur", "consume": "recur"}},
            "consume is not read with model.policy.operations recur",
        ),
        (
            "ptb",
            {"policy": {"supervised_fraction": 0.5}},
            "supervised_fraction is not read by the task ptb",
        ),
        ("ptb", {"policy": {"reward": "accuracy"}}, "reward to be one of likely, log_likelihood"),
        ("ptb", {"policy": {"agent": "dqn", "replay": 10}}, "replay is not read by the task ptb"),
    ],
)
def test_settings_of_models_that_do_not_go_together(
    task: str, model: dict[str, Any], message: str
) -> None:
    assert_model_refused(task, model, message)


@pytest.mark.parametrize(
    ("task", "data", "message"),
    [
        ("ptb", {"lower": True}, r"data\.lower is not read by the task ptb"),
    ],
)
def test_settings_of_data_that_do_not_go_together(
    task: str, data: dict[str, Any], message: str
) -> None:
    assert_data_refused(task, data, message)
