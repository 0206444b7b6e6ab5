"""Settings that a task, or a model of it, does not read are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        (
            "classify",
            {"readout": "leaf"},
            "readout to be one of root, mean, .*, attention, got",
        ),
        ("classify-nodes", {"readout": "mean"}, "readout has no effect in the task classify-nodes"),
        ("rank", {"log_target": True}, "log_target has no effect in the task rank"),
        (
            "classify",
            {"max_children": 3},
            "max_children has no effect with model.cell child_sum",
        ),
    ],
)
def test_settings_of_models_that_do_not_go_together(
    task: str, model: dict[str, Any], message: str
) -> None:
    assert_model_refused(task, model, message)


def assert_model_refused(task: str, model: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=rf"model\.(policy\.)?({message})"):
        Settings({"task": task, "model": model})


@pytest.mark.parametrize(
    ("task", "data", "message"),
    [
        ("classify", {"max_operators": 2}, r"data\.max_operators has no effect in the task"),
        ("classify", {"valid_fraction": 1.5}, r"data\.valid_fraction to be a number of at least 0"),
        (
            "classify",
            {"handle_unknown": "drop"},
            r"handle_unknown to be one of use_encoded_value, error, got 'drop'",
        ),
        (
            "classify-nodes",
            {"frozen_layers": 1},
            r"data\.frozen_layers has no effect without data\.fine_tune",
        ),
    ],
)
def test_settings_of_data_that_do_not_go_together(
    task: str, data: dict[str, Any], message: str
) -> None:
    assert_data_refused(task, data, message)


def assert_data_refused(task: str, data: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings({"task": task, "data": data})


@pytest.mark.parametrize(
    ("task", "training", "message"),
    [
        ("classify", {"monitor": "f1"}, "accuracy, .*, which the task classify reports, got 'f1'"),
        ("regress", {"monitor": "accuracy"}, "one of loss, r2_log, .* got 'accuracy'"),
        ("rank", {"monitor": "accuracy"}, "one of pair_accuracy, kendall, .* got 'accuracy'"),
        (
            "classify-nodes",
            {"schedule": "halve", "monitor": "accuracy"},
            "loss with .* halve, got 'accur",
        ),
    ],
)
def test_only_a_metric_of_the_task_can_decide(
    task: str, training: dict[str, Any], message: str
) -> None:
    assert_metric_refused(task, training, message)


def assert_metric_refused(task: str, training: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=rf"expected training\.monitor to be .*{message}"):
        Settings({"task": task, "training": training})
