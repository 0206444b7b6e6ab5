from __future__ import annotations

import numpy as np
import pytest
import torch

from dgltrees.errors import ConfigError, TreeError
from dgltrees.metrics.accuracy import Outputs
from dgltrees.models.heads import class_nll
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.splits import load_examples, vocabularies
from dgltrees.tasks.table import TASKS, get_task
from dgltrees.tasks.trees.supervision import supervised
from tests.training.samples import SAMPLES

FILES = {
    "listops": "listops/train.tsv",
    "logic": "lrt/train4",
    "sst-tree": "sst/train.txt",
    "inex": "inex/inex05.train.elastic.tree",
    "boolsent": "boolsent/train.txt",
}


def _data(name, **settings):
    return load_examples(get_task(name), DataSettings(**settings), [SAMPLES / FILES[name]])


def _outputs(prediction):
    prediction = np.asarray(prediction)
    return Outputs(np.ones(len(prediction)), prediction, np.ones(len(prediction)))


def test_nll_leaves_out_rows_without_a_class():
    logits = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    found = class_nll(logits, torch.tensor([2, -1, 0]))
    expected = -torch.log_softmax(logits, 1)
    torch.testing.assert_close(
        found, torch.stack([expected[0, 2], torch.tensor(0.0), expected[2, 0]])
    )


@pytest.mark.parametrize("name", FILES)
def test_a_model_gives_a_row_of_logits_for_every_target(name):
    task, data = get_task(name), _data(name)
    torch.manual_seed(0)
    children = int(data.forest.pos.max()) + 1
    settings = ModelSettings(hidden_size=4, max_children=children, aggregator="shared_sum")
    model = task.build(settings, vocabularies(data))
    ids = np.array([5, 0, 3])
    batch, targets = task.batch(data, ids)
    logits = model(batch)
    assert logits.shape == (len(targets), len(data.targets))
    assert targets.tolist() == task.targets(data)[task.rows(data, ids)].tolist()
    class_nll(logits, targets).sum().backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("name", FILES)
def test_outputs_do_not_depend_on_the_batch(name):
    task, data = get_task(name), _data(name)
    torch.manual_seed(0)
    children = int(data.forest.pos.max()) + 1
    settings = ModelSettings(hidden_size=3, max_children=children, bidirectional=name == "inex")
    model = task.build(settings, vocabularies(data)).double()
    torch.set_default_dtype(torch.float64)
    try:
        together = model(task.batch(data, np.array([4, 1]))[0])
        alone = [model(task.batch(data, np.array([i]))[0]) for i in (4, 1)]
    finally:
        torch.set_default_dtype(torch.float32)
    torch.testing.assert_close(together, torch.cat(alone))


def test_a_perfect_model_has_accuracy_one_and_the_majority_its_share():
    task, data = get_task("listops"), _data("listops")
    targets = task.targets(data)
    counts = np.bincount(targets)
    report = task.report(data, _outputs(targets), task.majority(data))
    assert report["accuracy"] == 1.0
    assert report["majority"] == pytest.approx(counts.max() / counts.sum())
    report = task.report(data, _outputs((targets + 1) % 10), task.majority(data))
    assert report["accuracy"] == 0.0


def test_accuracy_of_roots_and_of_nodes():
    task, data = get_task("boolsent"), _data("boolsent")
    wrong = task.targets(data).copy()
    wrong[data.forest.roots] ^= 1
    report = task.report(data, _outputs(wrong), task.majority(data))
    nodes = data.forest.num_nodes
    assert report["accuracy"] == report["root_accuracy"] == 0.0
    assert report["node_accuracy"] == pytest.approx(1 - len(data) / nodes)
    assert (report["examples"], report["nodes"]) == (len(data), nodes)


def test_supervision_of_the_root_alone():
    data = _data("sst-tree", supervise="root")
    labeled = np.flatnonzero(data.forest.columns["target"] >= 0)
    assert labeled.tolist() == data.forest.roots.tolist()
    with pytest.raises(ConfigError, match="data.supervise to be nodes or root, got 'leaf'"):
        supervised(data, "leaf")


def test_binary_sentiment_has_no_neutral_class(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text("(3 (2 a) (4 b))\n(2 (0 c) (4 d))\n(1 (0 e) (2 f))\n")
    data = load_examples(get_task("sst-tree"), DataSettings(binary=True), [path])
    assert data.columns["target"].tolist() == [1, 0]
    assert data.forest.columns["target"].tolist() == [1, -1, 1, 0, 0, -1]
    assert data.targets.names == ["negative", "positive"]


def test_examples_without_any_class_have_no_accuracy():
    task, data = get_task("listops"), _data("listops")
    data.columns["target"][:] = -1
    with pytest.raises(TreeError, match="expected examples with classes"):
        task.report(data, _outputs(np.zeros(len(data), np.int64)), {"root": 0})


def test_the_table():
    assert all(task.name == name for name, task in TASKS.items())
    with pytest.raises(ConfigError, match="one of listops, logic"):
        get_task("list-ops")
