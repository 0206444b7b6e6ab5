"""Logical relations: trees of the paper tensor_tree_lstm, and tokens of the paper rrnet."""

import numpy as np
import pytest

from dgltrees.settings.tasks import get_task
from dgltrees.tasks.splits import Splits, load_splits
from dgltrees.trees.kinds import Operation
from tests.training.samples import SAMPLES, quick

pytest.importorskip("dgltrees.papers.rrnet", reason="needs the paper rrnet")
pytest.importorskip("dgltrees.papers.tensor_tree_lstm", reason="needs the paper tensor_tree_lstm")

from tests.papers.rrnet.tasks.test_symbols import PRESETS, lrt_model


def splits(name: str) -> Splits:
    """130 pairs: thirteen files of ten, with 0 to 12 operators."""
    task = get_task(name)
    settings = {"dir": str(SAMPLES), "train": "lrt/train*", "test_fraction": 0.2}
    return load_splits(task, task.data(**settings, max_operators=6))


def test_both_tasks_split_in_the_same_way() -> None:
    trees, sequences = splits("lrt"), splits("lrt-sequence")
    for one, other in zip(trees.all, sequences.all):
        for column in ("target", "operators"):
            np.testing.assert_array_equal(one.columns[column], other.columns[column])
        leaves = other.forest.columns["op"] == Operation.RECUR  # brackets are no nodes of trees
        owner = other.forest.tree_of_node[leaves]
        np.testing.assert_array_equal(
            np.bincount(owner, minlength=len(other.forest)), one.forest.sizes
        )
    learned, valid, test = (part.columns["operators"] for part in sequences.all)
    assert (len(valid), len(test)) == (13, 26)
    assert learned.max() <= 6 < test.max()
    assert len(learned) + 39 < 130


def test_the_presets_have_about_as_many_parameters_as_trees() -> None:
    presets = [*PRESETS, "lrt-tree"]
    counts = [task.parameters(model)["model"] for task, model, _ in map(lrt_model, presets)]
    assert max(counts) < 1.05 * min(counts)


def test_the_model_of_trees_has_a_name() -> None:
    settings = quick("lrt-tree")
    assert settings.task.display_name(settings.model) == "sum lstm"
