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
        ("sst-tree", {"readout": "mean"}, "readout is not read by the task sst-tree"),
        ("snli", {"encoder": "gru"}, "encoder to be one of nti, .*lstm, .*, got 'gru'"),
        ("snli", {"leaves": "gru"}, "leaves to be one of identity, linear, .*, got 'gru'"),
        ("snli", {"interaction": "some"}, "interaction to be one of none, .*, got 'some'"),
        (
            "snli",
            {"interaction": "matching", "attention": "self"},
            "attention to be one of global, tree, tree_code, got 'self'",
        ),
        ("snli", {"attention": "tree"}, "attention is not read with model.interaction none, but"),
        ("snli", {"encoder": "lstm", "interaction": "matching"}, "interaction is not .* with nti"),
        ("sst-phrases", {"interaction": "matching"}, "interaction is not read by the task sst-phr"),
        ("wikiqa", {"interaction": "node_by_node"}, "interaction is not read by the task wikiqa"),
    ],
)
def test_settings_of_models_that_do_not_go_together(
    task: str, model: dict[str, Any], message: str
) -> None:
    assert_model_refused(task, model, message)


@pytest.mark.parametrize(
    ("task", "data", "message"),
    [
        ("sst-tree", {"supervise": "leaf"}, r"supervise to be one of nodes, root, got 'leaf'"),
        ("snli", {"truncate": True}, r"data\.truncate is not read without data\.max_words"),
        (
            "snli",
            {"vocabulary_from_all_splits": True},
            r"data\.vocabulary_from_all_splits is not read without data\.vectors",
        ),
        ("snli", {"supervise": "root"}, r"data\.supervise is not read by the task snli"),
    ],
)
def test_settings_of_data_that_do_not_go_together(
    task: str, data: dict[str, Any], message: str
) -> None:
    assert_data_refused(task, data, message)


@pytest.mark.parametrize(
    ("task", "training", "message"),
    [
        ("wikiqa", {"monitor": "accuracy"}, "one of map, mrr, loss, .* got 'accuracy'"),
    ],
)
def test_only_a_metric_of_the_task_can_decide(
    task: str, training: dict[str, Any], message: str
) -> None:
    assert_metric_refused(task, training, message)
