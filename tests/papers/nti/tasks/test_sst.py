"""The sentiment of all constituents."""

from pathlib import Path

import numpy as np
import pytest

from dgltrees.settings.tasks import get_task
from dgltrees.tasks.splits import load_examples, load_splits
from tests.tasks.build import predictions
from tests.training.samples import SAMPLES


def test_accuracy_is_of_roots_and_of_nodes() -> None:
    task = get_task("sst-tree")
    data = load_examples(task, task.data(), [SAMPLES / "sst/train.txt"])
    wrong = task.targets(data).copy()
    wrong[data.forest.roots] ^= 1
    report = task.report(data, predictions(wrong), task.majority(data))
    nodes = data.forest.num_nodes
    assert report["accuracy"] == report["root_accuracy"] == 0.0
    assert report["node_accuracy"] == pytest.approx(1 - len(data) / nodes)
    assert (report["examples"], report["nodes"]) == (len(data), nodes)


def test_supervision_of_the_root_leaves_other_nodes_without_a_class() -> None:
    task = get_task("sst-tree")
    data = load_examples(task, task.data(supervise="root"), [SAMPLES / "sst/train.txt"])
    labeled = np.flatnonzero(data.forest.columns["target"] >= 0)
    assert labeled.tolist() == data.forest.roots.tolist()


def test_binary_sentiment_has_no_neutral_class(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("(3 (2 a) (4 b))\n(2 (0 c) (4 d))\n(1 (0 e) (2 f))\n")
    task = get_task("sst-tree")
    data = load_examples(task, task.data(binary=True), [path])
    assert data.columns["target"].tolist() == [1, 0]
    assert data.forest.columns["target"].tolist() == [1, -1, 1, 0, 0, -1]
    assert data.targets.names == ["negative", "positive"]


def test_phrases_of_a_sentence_stay_together_and_count_its_words_once(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("(3 (2 a) (4 (2 b) (2 c)))\n(1 (2 a) (1 d))\n(1 (2 a) (0 b))\n")
    task = get_task("sst-phrases")
    (train, _) = load_splits(task, task.data(train=str(path), valid=str(path), min_freq=2)).all
    assert train.forest.vocabs["word"].names == ["<unk>", "a", "b"]  # d is in two phrases
    train, valid = load_splits(task, task.data(train=str(path), valid_fraction=0.1)).all
    assert len(train) in (5 + 3, 3 + 3)
    assert valid.columns["whole"].tolist() == [True]  # as in a validation file
    assert not set(train.columns["sentence"]) & set(valid.columns["sentence"])
