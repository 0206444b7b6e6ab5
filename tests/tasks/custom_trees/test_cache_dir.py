"""Training on trees that are on disk, which must be that on trees in memory."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees import ConfigError, LabeledTrees, TreeError
from dgltrees.formats import RecordLayout, read, write_parquet
from dgltrees.settings.layers import Settings
from dgltrees.tasks.custom_trees import baselines, reading
from dgltrees.tasks.splits import load_splits
from dgltrees.training.run import train
from dgltrees.trees import on_disk
from dgltrees.trees.on_disk import DiskForest
from tests.tasks.custom_trees.test_numbers import PLANS, settings, write

TARGETS = {
    "regress": "seconds",
    "classify": "speed",
    "classify-nodes": "Node Type",
    "rank": "seconds",
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many parts as of a large file, of a few trees each."""
    monkeypatch.setattr(on_disk, "_IN_MEMORY", 100)
    monkeypatch.setattr(on_disk, "_PART", 7)
    monkeypatch.setattr(reading, "_PART_TREES", 20)
    monkeypatch.setattr(baselines, "_MOST_EXAMPLES", 30)


def plans(tmp_path: Path, task: str, **data: Any) -> Settings:
    records = [{**record, "group": i // 4} for i, record in enumerate(PLANS)]
    shards = [write(tmp_path / f"{i}.jsonl", records[i::2]) for i in range(2)]
    if task == "rank":  # the trees of a group stand in one shard
        shards = [write(tmp_path / f"{i}.jsonl", records[40 * i : 40 * i + 40]) for i in range(2)]
    paths = [str(shard) for shard in shards]
    return settings(task, shards[0], train=paths, target=TARGETS[task], min_freq=3, **data)


def by_name(data: LabeledTrees) -> list[Any]:
    """All of a data set, with names instead of ids, whose order may be another."""
    forest = data.forest
    columns = {
        name: np.array([*forest.vocabs[name].names, ""])[column]
        if name in forest.vocabs
        else np.asarray(column)
        for name, column in forest.columns.items()
    }
    arrays = [*columns.values(), *data.columns.values(), forest.parent, forest.pos, forest.depth]
    return [*columns, *(str(np.asarray(each).tolist()) for each in arrays), data.targets.names]


@pytest.mark.filterwarnings("ignore:baselines are of")
@pytest.mark.parametrize("task", TARGETS)
def test_trees_on_disk_are_those_in_memory(tmp_path: Path, task: str) -> None:
    chosen = plans(tmp_path, task, test_fraction=0.3)
    disk = chosen.replace("data", cache_dir=str(tmp_path / "cache"))
    memory, parts = (load_splits(each.task, each.data) for each in (chosen, disk))
    assert isinstance(parts.train.forest, DiskForest)
    assert [*map(by_name, parts.all)] == [*map(by_name, memory.all)]
    ours, others = (part.forest.batch(range(9)) for part in (parts.train, memory.train))
    assert ours.src.tolist() == others.src.tolist()
    assert ours.dst.tolist() == others.dst.tolist()
    assert not [*(tmp_path / "cache").iterdir()]


@pytest.mark.filterwarnings("ignore:baselines are of")
def test_a_run_on_disk_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    chosen = plans(tmp_path, "regress", cache_dir=str(tmp_path / "cache"))
    chosen = chosen.replace("training", schedule="constant")
    whole = train(chosen, tmp_path / "whole")
    train(chosen.replace("training", epochs=1), tmp_path / "stopped")
    with pytest.raises(ConfigError, match="data.cache_dir=.*, now data.cache_dir=None"):
        train(chosen.replace("data", cache_dir=None), tmp_path / "stopped")
    other = chosen.replace("data", cache_dir=str(tmp_path / "other"))
    assert train(other, tmp_path / "stopped") == whole
    assert whole["baselines"]["linear"]["valid"]["mae"] > 0


def test_a_run_on_disk_is_the_run_in_memory_where_the_first_part_has_all_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "_PART_TREES", 1000)
    monkeypatch.setattr(baselines, "_MOST_EXAMPLES", 1000)
    chosen = plans(tmp_path, "classify")
    disk = chosen.replace("data", cache_dir=str(tmp_path / "cache"))
    assert train(disk, tmp_path / "disk") == train(chosen, tmp_path / "memory")


def test_parquet_shards_train_on_disk(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = write(tmp_path / "plans.jsonl", PLANS)
    data = read(path, "jsonl", layout=RecordLayout(tree_path="plan", children_key="Plans"))
    write_parquet(data, tmp_path / "plans.parquet")
    shard = str(tmp_path / "*.parquet")
    chosen = settings("regress", path, train=shard, tree_path=None, children_key=None)
    chosen = chosen.replace("data", target="seconds", cache_dir=str(tmp_path), baselines=False)
    assert train(chosen, tmp_path / "run")["valid"]["mae"] > 0


BAD = {
    "a column comes after the first part": (
        lambda records: [{**records[-1], "plan": {**records[-1]["plan"], "new": 1}}],
        {},
        "columns of the first training 20 trees.*new",
    ),
    "a folder that is a file": (lambda records: [], {"cache_dir": "0.jsonl"}, "data.cache_dir"),
    "workers": (lambda records: [], {}, "training.num_workers 0 with data.cache_dir"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_on_disk_is_one_error(tmp_path: Path, case: str) -> None:
    change, data, message = BAD[case]
    chosen = plans(tmp_path, "regress", cache_dir=str(tmp_path / "cache"))
    with (tmp_path / "1.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in change(PLANS))
    if data:
        chosen = chosen.replace("data", cache_dir=str(tmp_path / data["cache_dir"]))
    if case == "workers":
        chosen = chosen.replace("training", num_workers=1)
    with pytest.raises((ConfigError, TreeError), match=message):
        train(chosen, tmp_path / "run")
    assert not (tmp_path / "run" / "run.json").exists()
