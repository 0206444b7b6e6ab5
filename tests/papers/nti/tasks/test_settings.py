"""Settings that are refused by name, and the examples that settings name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees.settings.layers import Settings
from dgltrees.settings.tasks import get_task
from dgltrees.tasks.splits import load_splits
from dgltrees.training.rundir import fingerprints
from tests.tasks.test_model_settings import (
    assert_data_refused,
    assert_metric_refused,
    assert_model_refused,
)


@pytest.mark.parametrize(
    ("task", "model", "message"),
    [
        ("sst-tree", {"readout": "mean"}, "readout has no effect in the task sst-tree"),
        ("nli", {"encoder": "gru"}, "encoder to be one of nti, .*lstm, .*, got 'gru'"),
        ("nli", {"leaves": "gru"}, "leaves to be one of identity, linear, .*, got 'gru'"),
        ("nli", {"interaction": "some"}, "interaction to be one of none, .*, got 'some'"),
        (
            "nli",
            {"interaction": "matching", "attention": "self"},
            "attention to be one of global, tree, tree_code, got 'self'",
        ),
        ("nli", {"attention": "tree"}, "attention has no effect with model.interaction none, but"),
        ("nli", {"encoder": "lstm", "interaction": "matching"}, "interaction has no .* with nti"),
        ("sst-phrases", {"interaction": "matching"}, "interaction has no effect in the task"),
        ("wikiqa", {"interaction": "node_by_node"}, "interaction has no effect in the task wikiqa"),
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
        ("nli", {"truncate": True}, r"data\.truncate has no effect without data\.max_words"),
        (
            "nli",
            {"vocabulary_from_all_splits": True},
            r"data\.vocabulary_from_all_splits has no effect without data\.vectors",
        ),
        ("nli", {"supervise": "root"}, r"data\.supervise has no effect in the task nli"),
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


@pytest.mark.parametrize("limit", [None, 7])
def test_the_sentences_of_a_question_stay_together(tmp_path: Path, limit: int | None) -> None:
    lines = [f"why {q} ?\tsentence {i}\t{int(i == 0)}" for q in range(8) for i in range(1 + q % 3)]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    task = get_task("wikiqa")
    fractions = {"valid_fraction": 0.2, "test_fraction": 0.2}
    settings = task.data(train=str(tmp_path / "pairs.txt"), **fractions, max_train_examples=limit)
    splits = load_splits(task, settings)
    counts = [task.groups(part).max() + 1 for part in splits.all]
    sizes = [len(part) for part in splits.all]
    if limit is None:
        assert sum(sizes) == len(lines)
        assert sum(counts) == 8  # no question is in two parts
        assert all(size >= 0.2 * len(lines) for size in sizes[1:])
    else:
        assert limit <= sum(sizes) < limit + 3
    for part in splits.all:
        questions = task.groups(part)
        assert (part.columns["target"] == 1).sum() == len(np.unique(questions))


def test_a_fingerprint_has_the_sentences_beside_the_labels(tmp_path: Path) -> None:
    for name in ("labels", "s1", "s2"):
        (tmp_path / f"{name}.dev").write_text("a\n")
    settings = Settings({"task": "nli", "data": {"train": str(tmp_path / "labels.dev")}})
    (before,) = fingerprints(settings)["train"]
    (tmp_path / "s2.dev").write_text("b\n")
    (after,) = fingerprints(settings)["train"]
    assert before["bytes"] == after["bytes"] == 6
    assert before["sha256"] != after["sha256"]
    assert before["name"] == "labels.dev"
