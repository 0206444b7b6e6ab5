"""Forests on disk: written in parts, and training on them, which must be that in memory."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import ConfigError, Forest, LabeledTrees, TreeError, load
from dgltrees.formats import FORMATS, RecordLayout, guess_format, read, write_forest
from dgltrees.settings.layers import Settings
from dgltrees.tasks.custom_trees import baselines
from dgltrees.tasks.splits import load_splits
from dgltrees.training.run import train
from dgltrees.trees import saved
from dgltrees.trees.saved import is_on_disk
from tests.tasks.custom_trees.test_numbers import PLANS, settings, write

TARGETS = {
    "regress": "seconds",
    "classify": "speed",
    "classify-nodes": "Node Type",
    "rank": "seconds",
}
LAYOUT = RecordLayout(tree_path="plan", children_key="Plans")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many parts as of a large file, of a few trees each."""
    monkeypatch.setattr(saved, "_LARGE", 100)
    monkeypatch.setattr(saved, "_PART", 7)
    monkeypatch.setattr(baselines, "_MOST_EXAMPLES", 30)


def plans(tmp_path: Path, task: str, **data: Any) -> Settings:
    records = [{**record, "group": i // 4} for i, record in enumerate(PLANS)]
    path = write(tmp_path / "plans.jsonl", records)
    return settings(task, path, target=TARGETS[task], min_freq=3, **data)


def on_disk(chosen: Settings, tmp_path: Path) -> Settings:
    """The same settings with a forest that was written in parts of 13 trees."""
    write_forest(FORMATS["jsonl"].chunks(chosen.data.train, 13, LAYOUT), tmp_path / "forest")
    folder = str(tmp_path / "forest")
    return chosen.replace("data", train=folder, tree_path=None, children_key=None)


def by_name(data: LabeledTrees) -> list[Any]:
    """All of a data set, as plain values."""
    forest = data.forest
    arrays = [*forest.columns.values(), forest.parent, forest.pos, forest.depth, forest.offsets]
    arrays += data.columns.values()
    texts = [str(np.asarray(each).tolist()) for each in arrays]
    return [*forest.columns, *texts, data.targets.names, [v.names for v in forest.vocabs.values()]]


@pytest.mark.parametrize("trees", [1, 13, 1000])
def test_a_forest_of_parts_is_that_of_the_whole_file(tmp_path: Path, trees: int) -> None:
    records: list[Any] = [
        {"plan": {"op": "a", "n": 1, "Plans": [{"op": "b", "v": [1, 2]}]}, "seconds": 1},
        {"plan": {"op": "c", "n": 0.5}, "label": "x"},
        {"plan": {"late": "z", "n": 2}, "seconds": 2.5, "label": "y"},
    ]
    path = write(tmp_path / "a.jsonl", records)
    whole = read(path, layout=LAYOUT)
    write_forest(FORMATS["jsonl"].chunks(path, trees, LAYOUT), tmp_path / "f")
    again = read(tmp_path / "f")
    assert guess_format(tmp_path / "f") == "forest"
    assert is_on_disk(Forest.load(tmp_path / "f"))
    columns = {name: column for name, column in whole.columns.items() if name != "line"}
    expected = LabeledTrees(whole.forest, {name: columns[name] for name in again.columns})
    assert by_name(again) == by_name(expected)
    assert columns.keys() == again.columns.keys()


@pytest.mark.filterwarnings("ignore:baselines are of")
@pytest.mark.parametrize("task", TARGETS)
def test_trees_on_disk_are_those_in_memory(tmp_path: Path, task: str) -> None:
    chosen = plans(tmp_path, task, test_fraction=0.3)
    disk = on_disk(chosen, tmp_path)
    memory, parts = (load_splits(each.task, each.data) for each in (chosen, disk))
    assert is_on_disk(parts.train.forest)
    assert [*map(by_name, parts.all)] == [*map(by_name, memory.all)]
    ours, others = (part.forest.batch(range(9)) for part in (parts.train, memory.train))
    assert ours.src.tolist() == others.src.tolist()
    assert ours.dst.tolist() == others.dst.tolist()


@pytest.mark.filterwarnings("ignore:baselines are of")
def test_a_run_on_disk_goes_on_as_if_it_had_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = plans(tmp_path, "regress")
    chosen = chosen.replace("training", schedule="constant")
    disk = on_disk(chosen, tmp_path)
    whole = train(disk, tmp_path / "whole")
    train(disk.replace("training", epochs=1), tmp_path / "stopped")
    assert train(disk, tmp_path / "stopped") == whole
    assert whole["baselines"]["linear"]["valid"]["mae"] > 0
    monkeypatch.setattr(baselines, "_MOST_EXAMPLES", 1000)
    memory = train(chosen, tmp_path / "memory")
    assert whole["valid"] == memory["valid"]
    lines = [
        [*load(tmp_path / run).predict(each.data.train)]
        for run, each in (("whole", disk), ("memory", chosen))
    ]
    assert [line["prediction"] for line in lines[0]] == [line["prediction"] for line in lines[1]]


def test_several_forests_train_together(tmp_path: Path) -> None:
    chosen = plans(tmp_path, "regress", baselines=False)
    disk = on_disk(chosen, tmp_path)
    both = disk.replace("data", train=[disk.data.train, str(tmp_path / "other")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_forest(read(chosen.data.train, layout=LAYOUT), tmp_path / "other")
        parts = load_splits(both.task, both.data)
    assert is_on_disk(parts.train.forest)
    assert sum(map(len, parts.all)) == 2 * len(PLANS)


def test_what_cannot_be_on_disk_is_one_error(tmp_path: Path) -> None:
    disk = on_disk(plans(tmp_path, "regress"), tmp_path)
    with pytest.raises(ConfigError, match="num_workers 0 with a forest on disk"):
        train(disk.replace("training", num_workers=1), tmp_path / "run")
    records = [{"plan": {"op": "a"}}, {"plan": {"op": 1}}]
    parts = [
        read(write(tmp_path / f"{k}.jsonl", [each]), layout=LAYOUT)
        for k, each in enumerate(records)
    ]
    with pytest.raises(TreeError, match="expected column 'op' to hold names, .* got numbers"):
        write_forest(parts, tmp_path / "new")
    with pytest.raises(TreeError, match="expected at least one part with trees, got none"):
        write_forest([], tmp_path / "new")
    assert not [*(tmp_path / "new").iterdir()]
