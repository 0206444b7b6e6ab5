"""Settings that a task, or a model of it, does not read are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from dgltrees.errors import ConfigError
from dgltrees.settings.layers import Settings


def assert_refused(task: str, section: str, values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=rf"{section}\.(policy\.)?({message})") as caught:
        Settings({"task": task, section: values})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("task", "section", "values", "message"),
    [
        (
            *("classify", "model", {"readout": "leaf"}),
            "readout to be one of root, mean, .*, attention, got",
        ),
        (
            *("classify-nodes", "model", {"readout": "mean"}),
            "readout has no effect in the task classify-nodes",
        ),
        ("rank", "model", {"log_target": True}, "log_target has no effect in the task rank"),
        (
            *("classify", "model", {"max_children": 3}),
            "max_children has no effect with model.cell child_sum",
        ),
        (
            *("classify", "data", {"max_operators": 2}),
            "max_operators has no effect in the task",
        ),
        (
            *("classify", "data", {"valid_fraction": 1.5}),
            "valid_fraction to be a number of at least 0",
        ),
        (
            *("classify", "data", {"handle_unknown": "drop"}),
            "handle_unknown to be one of use_encoded_value, error, got 'drop'",
        ),
        (
            *("classify-nodes", "data", {"frozen_layers": 1}),
            r"frozen_layers has no effect without data\.fine_tune",
        ),
        (
            *("classify", "training", {"monitor": "f1"}),
            "monitor to be .*accuracy, .*, which the task classify reports, got 'f1'",
        ),
        (
            *("regress", "training", {"monitor": "accuracy"}),
            "monitor to be .*one of loss, r2_log, .* got 'accuracy'",
        ),
        (
            *("rank", "training", {"monitor": "accuracy"}),
            "monitor to be .*one of pair_accuracy, kendall, .* got 'accuracy'",
        ),
        (
            *("classify-nodes", "training", {"schedule": "halve", "monitor": "accuracy"}),
            "monitor to be .*loss with .* halve, got 'accur",
        ),
    ],
)
def test_settings_that_do_not_go_together(
    task: str, section: str, values: dict[str, Any], message: str
) -> None:
    assert_refused(task, section, values, message)
