from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgltrees.errors import ConfigError, TreeError
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.splits import Splits, load_examples, load_splits
from dgltrees.tasks.table import get_task
from dgltrees.trees import Examples


def _listops(tmp_path: Path, count: int = 50) -> str:
    """``count`` trees that are single digits, the digit the last one of the line number."""
    path = tmp_path / "train.tsv"
    path.write_text("".join(f"{i % 10}\t{i % 10}\n" for i in range(count)))
    return str(path)


def _split(task: str, **settings: Any) -> Splits:
    return load_splits(get_task(task), get_task(task).data(**settings))


def _lines(data: Examples | None) -> list[int]:
    """Which lines of :func:`_listops` with at most 10 of them the examples are."""
    assert data is not None
    return sorted(data.forest.columns["value"].tolist())


def test_a_fraction_is_held_out_for_validation_by_the_seed(tmp_path: Path) -> None:
    settings = {"train": _listops(tmp_path), "valid_fraction": 0.2}
    splits = _split("listops", **settings)
    assert [len(part) for part in splits.all] == [40, 10]
    digits = [part.forest.columns["value"] for part in splits.all]
    assert np.bincount(np.concatenate(digits)).tolist() == [5] * 10  # each example once
    again, other = _split("listops", **settings), _split("listops", **settings, seed=1)
    assert again.all[1].forest.columns["value"].tolist() == digits[1].tolist()
    assert other.all[1].forest.columns["value"].tolist() != digits[1].tolist()


def test_a_fraction_is_held_out_for_testing(tmp_path: Path) -> None:
    settings = {"train": _listops(tmp_path, 10), "valid_fraction": 0.2}
    parts = [_lines(part) for part in _split("listops", **settings, test_fraction=0.3).all]
    assert [len(part) for part in parts] == [5, 2, 3]
    assert sorted(np.concatenate(parts)) == list(range(10))  # no line in two of them
    without = _split("listops", **settings)
    assert without.test is None
    assert _lines(without.valid) == parts[1]  # the setting does not move validation
    assert _lines(_split("listops", **settings, test_fraction=0.3, seed=1).test) != parts[2]


def test_nothing_is_held_out_for_what_has_files(tmp_path: Path) -> None:
    path = _listops(tmp_path, 10)
    settings = DataSettings(train=path, test=path, valid_fraction=0.2, test_fraction=0.3)
    splits = load_splits(get_task("listops"), settings)
    assert (len(splits.train), splits.test) == (8, None)
    whole = _split("listops", train=path, valid=path)
    assert [len(part) for part in whole.all] == [10, 10]


def test_fractions_that_leave_nothing_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no training examples .* data\.test_fraction"):
        _split("listops", train=_listops(tmp_path), valid_fraction=0.5, test_fraction=0.5)


def test_several_files_share_their_names(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1:7(8($))\n2:9($)\n")
    (tmp_path / "b").write_text("2:8(10($))\n3:7($)\n")
    data = load_examples(get_task("inex"), DataSettings(), [tmp_path / "a", tmp_path / "b"])
    names = data.forest.vocabs["label"].decode(data.forest.columns["label"])
    assert names == ["7", "8", "9", "8", "10", "7"]
    assert data.targets.decode(data.columns["target"]) == ["1", "2", "2", "3"]


def test_names_that_training_does_not_have_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("(3 (2 good) (2 film))\n(1 (2 bad) (2 film))\n")
    (tmp_path / "valid").write_text("(3 (2 good) (2 plot))\n")
    files = {"train": str(tmp_path / "train"), "valid": str(tmp_path / "valid")}

    def words(min_count: int) -> list[list[str]]:
        both = []
        for data in _split("sst-tree", **files, min_count=min_count).all:
            ids = data.forest.columns["word"]
            both.append(data.forest.vocabs["word"].decode(ids[ids >= 0]))
        return both

    rare = "<unk>"
    assert words(1) == [["good", "film", "bad", "film"], ["good", rare]]
    assert words(2) == [[rare, "film", rare, "film"], [rare, rare]]


def test_names_of_what_is_held_out_are_not_learned(tmp_path: Path) -> None:
    lines = [f"(2 (2 word{i}) (2 film))\n" for i in range(20)]
    (tmp_path / "train").write_text("".join(lines))
    train, valid = _split("sst-tree", train=str(tmp_path / "train")).all
    assert len(valid) == 2
    assert len(train.schema["word"]) == 18 + 1 + 1  # film, and the unknown word
    ids = valid.forest.columns["word"]
    assert valid.forest.vocabs["word"].decode(ids[ids >= 0]) == ["<unk>", "film"] * 2


def test_an_unknown_class_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "train").write_text("1:7($)\n2:9($)\n")
    (tmp_path / "valid").write_text("2:7($)\n4:9($)\n")
    with pytest.raises(TreeError, match=r"valid:2: .*'4'"):
        _split("inex", train=str(tmp_path / "train"), valid=str(tmp_path / "valid"))


@pytest.mark.parametrize("limit", [None, 7])
def test_the_sentences_of_a_question_stay_together(tmp_path: Path, limit: int | None) -> None:
    lines = [f"why {q} ?\tsentence {i}\t{int(i == 0)}" for q in range(8) for i in range(1 + q % 3)]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    task = get_task("wikiqa")
    fractions = {"valid_fraction": 0.2, "test_fraction": 0.2}
    splits = _split("wikiqa", train=str(tmp_path / "pairs.txt"), **fractions, limit=limit)
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
