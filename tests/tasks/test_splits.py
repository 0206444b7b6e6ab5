import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees.errors import ConfigError, TreeError
from dgltrees.settings.tasks import get_task
from dgltrees.tasks.splits import Splits, load_examples, load_splits
from dgltrees.tasks.task import Task
from dgltrees.trees import LabeledTrees

# The digit at the root is the class.
pytestmark = pytest.mark.filterwarnings("ignore:the columns is are nearly equal")


def _write(path: Path, *records: tuple[Any, Any, str]) -> str:
    """A file of trees, each of what a root and its child hold, and of their classes."""
    lines = [{"tree": {"is": x, "children": [{"is": y}]}, "target": z} for x, y, z in records]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return str(path)


def _digits(tmp_path: Path, count: int = 50) -> str:
    """``count`` trees of digits, the digit the last one of the line number."""
    digits = [i % 10 for i in range(count)]
    return _write(tmp_path / "train.jsonl", *((i, i, f"c{3 * i % 10}") for i in digits))


def _values(data: LabeledTrees) -> list[int]:
    """The digits at the roots."""
    return data.forest.columns["(numbers)"][data.forest.roots, 0].astype(int).tolist()


def _split(task: str, **settings: Any) -> Splits:
    return load_splits(get_task(task), get_task(task).data(tree_path="tree", **settings))


def _lines(data: LabeledTrees | None) -> list[int]:
    """Which lines of :func:`_digits` with at most 10 of them the examples are."""
    assert data is not None
    return sorted(_values(data))


def test_a_fraction_is_held_out_for_validation_by_the_seed(tmp_path: Path) -> None:
    settings = {"train": _digits(tmp_path), "valid_fraction": 0.2}
    splits = _split("classify", **settings)
    assert [len(part) for part in splits.all] == [40, 10]
    digits = [_values(part) for part in splits.all]
    assert np.bincount(np.concatenate(digits)).tolist() == [5] * 10  # each example once
    again, other = _split("classify", **settings), _split("classify", **settings, seed=1)
    assert _values(again.all[1]) == digits[1]
    assert _values(other.all[1]) != digits[1]


def test_a_fraction_is_held_out_for_testing(tmp_path: Path) -> None:
    settings = {"train": _digits(tmp_path, 10), "valid_fraction": 0.2}
    parts = [_lines(part) for part in _split("classify", **settings, test_fraction=0.3).all]
    assert [len(part) for part in parts] == [5, 2, 3]
    assert sorted(np.concatenate(parts)) == list(range(10))  # no line in two of them
    without = _split("classify", **settings)
    assert without.test is None
    assert _lines(without.valid) == parts[1]  # the setting does not move validation
    assert _lines(_split("classify", **settings, test_fraction=0.3, seed=1).test) != parts[2]


def test_nothing_is_held_out_for_what_has_files(tmp_path: Path) -> None:
    path = _digits(tmp_path, 10)
    with pytest.warns(UserWarning, match="data.test names .*, which is a file of data.train"):
        splits = _split("classify", train=path, test=path, valid_fraction=0.2, test_fraction=0.3)
    assert (len(splits.train), splits.test) == (8, None)
    copy = _write(tmp_path / "copy.jsonl", *((i, i, f"c{3 * i % 10}") for i in range(10)))
    with pytest.warns(UserWarning, match="data.test names .*, which is a file of data.valid"):
        _split("classify", train=path, valid=copy, test=copy)
    other = _write(tmp_path / "other.jsonl")
    with pytest.raises(TreeError, match="empty file"):  # and no warning before it
        _split("classify", train=path, valid=[path, other])
    whole = _split("classify", train=path, valid=copy)
    assert [len(part) for part in whole.all] == [10, 10]


def test_fractions_that_leave_nothing_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing training examples: .* data\.test_fraction"):
        _split("classify", train=_digits(tmp_path), valid_fraction=0.5, test_fraction=0.5)


def test_several_files_share_their_names(tmp_path: Path) -> None:
    _write(tmp_path / "a", ("p", "q", "1"), ("r", "r", "2"))
    _write(tmp_path / "b", ("q", "s", "2"), ("p", "p", "3"))
    settings = get_task("classify").data(tree_path="tree", format="jsonl", min_freq=1)
    data = load_examples(get_task("classify"), settings, [tmp_path / "a", tmp_path / "b"])
    assert _names(data) == ["p", "q", "r", "r", "q", "s", "p", "p"]
    assert data.targets.decode(data.columns["target"]) == ["1", "2", "2", "3"]


def _names(data: LabeledTrees) -> list[str | None]:
    return data.forest.vocabs["is"].decode(data.forest.columns["is"])


def test_names_that_training_does_not_have_are_unknown(tmp_path: Path) -> None:
    train = _write(tmp_path / "train.jsonl", ("good", "film", "3"), ("bad", "film", "1"))
    valid = _write(tmp_path / "valid.jsonl", ("good", "plot", "3"))

    def words(min_freq: int) -> list[list[str | None]]:
        splits = _split("classify", train=train, valid=valid, min_freq=min_freq)
        return [_names(data) for data in splits.all]

    rare = "<unk>"
    assert words(1) == [["good", "film", "bad", "film"], ["good", rare]]
    assert words(2) == [[rare, "film", rare, "film"], [rare, rare]]


def test_names_of_what_is_held_out_are_not_learned(tmp_path: Path) -> None:
    records = [(f"word{i}", "film", "cd"[i % 2]) for i in range(20)]
    path = _write(tmp_path / "train.jsonl", *records)
    train, valid = _split("classify", train=path, min_freq=1).all
    assert len(valid) == 2
    assert len(train.schema["is"]) == 18 + 1 + 1  # film, and the unknown word
    assert _names(valid) == ["<unk>", "film"] * 2


def test_an_unknown_class_is_an_error(tmp_path: Path) -> None:
    train = _write(tmp_path / "train.jsonl", ("7", "7", "1"), ("9", "9", "2"))
    valid = _write(tmp_path / "valid.jsonl", ("7", "7", "2"), ("9", "9", "4"))
    with pytest.raises(TreeError, match=r"valid.jsonl:2: .*'4'"):
        _split("classify", train=train, valid=valid)


@pytest.mark.parametrize("limit", [None, 7])
def test_the_trees_of_a_group_stay_together(tmp_path: Path, limit: int | None) -> None:
    path = tmp_path / "groups.jsonl"
    trees = [(q, i) for q in range(8) for i in range(1 + q % 3)]
    lines = [
        {"tree": {"v": i, "children": [{"v": q}]}, "group": f"q{q}", "target": int(i == 0)}
        for q, i in trees
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    fractions = {"valid_fraction": 0.2, "test_fraction": 0.2, "group": "group"}
    splits = _split("rank", train=str(path), **fractions, max_train_examples=limit)
    assert_groups_stay_together(get_task("rank"), splits, len(lines), limit)


def assert_groups_stay_together(task: Task, splits: Splits, rows: int, limit: int | None) -> None:
    """Eight groups of one to three rows, one of each with the target 1, of which some are read."""
    counts = [task.groups(part).max() + 1 for part in splits.all]
    sizes = [len(part) for part in splits.all]
    if limit is None:
        assert sum(sizes) == rows
        assert sum(counts) == 8  # no group is in two parts
        assert all(size >= 0.2 * rows for size in sizes[1:])
    else:
        assert limit <= sum(sizes) < limit + 3
    for part in splits.all:
        assert (part.columns["target"] == 1).sum() == len(np.unique(task.groups(part)))
