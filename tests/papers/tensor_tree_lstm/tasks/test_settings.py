"""Settings that a task, or a model of it, does not read are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.test_model_settings import (
    assert_data_refused,
    assert_metric_refused,
    assert_model_refused,
)


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("listops", {"readout": "leaf"}, "readout to be one of root, mean, attention, got"),
        ("listops", {"digits": "binary"}, "digits to be one of thermometer, one_hot, got"),
    ],
)
def test_settings_of_models_that_do_not_go_together(
    task: str, model: dict[str, Any], message: str
) -> None:
    assert_model_refused(task, model, message)


@pytest.mark.parametrize(
    ("task", "data", "message"),
    [
        ("listops", {"max_operators": 2}, r"data\.max_operators is not read by the task listops"),
        ("listops", {"valid_fraction": 1.5}, r"data\.valid_fraction to be a number of at least 0"),
    ],
)
def test_settings_of_data_that_do_not_go_together(
    task: str, data: dict[str, Any], message: str
) -> None:
    assert_data_refused(task, data, message)


@pytest.mark.parametrize(
    ("task", "training", "message"),
    [
        ("listops", {"monitor": "f1"}, "accuracy, loss, which the task listops reports, got 'f1'"),
    ],
)
def test_only_a_metric_of_the_task_can_decide(
    task: str, training: dict[str, Any], message: str
) -> None:
    assert_metric_refused(task, training, message)
