"""Settings that a task, or a model of it, does not read are refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from tests.tasks.test_model_settings import assert_metric_refused, assert_model_refused

_NO_TREE = "has no effect with model.language_model sequence, but with tree; leave it out"


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("tree-lm", {"objective": "mle"}, "objective to be one of nll, nce, got 'mle'"),
        (
            "tree-lm",
            {"end": True},
            "end has no effect with model.language_model tree, but with sequence",
        ),
        ("tree-lm", {"stops": True, "language_model": "sequence"}, f"stops {_NO_TREE}"),
        ("tree-lm", {"labels": True, "language_model": "sequence"}, f"labels {_NO_TREE}"),
        ("tree-lm", {"noise": 3}, "noise has no effect with model.objective nll, but with nce"),
    ],
)
def test_settings_of_models_that_do_not_go_together(
    task: str, model: dict[str, Any], message: str
) -> None:
    assert_model_refused(task, model, message)


@pytest.mark.parametrize(
    ("task", "training", "message"),
    [
        ("tree-lm", {"monitor": "accuracy"}, "one of perplexity, loss, joint_loss, .*'accuracy'"),
        ("tree-lm", {"schedule": "halve"}, "loss or joint_loss with .* halve, got 'perplexity'"),
        ("parser", {"monitor": "accuracy"}, "one of las, uas, loss, .* got 'accuracy'"),
    ],
)
def test_only_a_metric_of_the_task_can_decide(
    task: str, training: dict[str, Any], message: str
) -> None:
    assert_metric_refused(task, training, message)
