from __future__ import annotations

import numpy as np
import pytest

from dgltrees.errors import ConfigError, TreeError
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.splits import load_examples, load_splits, vocabularies
from dgltrees.tasks.table import get_task


def _listops(tmp_path, count=50):
    """``count`` trees that are single digits, the digit the last one of the line number."""
    path = tmp_path / "train.tsv"
    path.write_text("".join(f"{i % 10}\t{i % 10}\n" for i in range(count)))
    return str(path)


def test_a_part_is_kept_back(tmp_path):
    settings = DataSettings(train=_listops(tmp_path), keep_back=0.2)
    splits = load_splits(get_task("listops"), settings)
    assert (len(splits.train), len(splits.valid)) == (40, 10)
    digits = [s.forest.columns["value"] for s in (splits.train, splits.valid)]
    assert np.bincount(np.concatenate(digits)).tolist() == [5] * 10  # each example once
    again = load_splits(get_task("listops"), settings)
    assert again.valid.forest.columns["value"].tolist() == digits[1].tolist()
    settings.seed = 1
    other = load_splits(get_task("listops"), settings)
    assert other.valid.forest.columns["value"].tolist() != digits[1].tolist()


def _lines(data):
    """Which lines of :func:`_listops` with at most 10 of them the examples are."""
    return sorted(data.forest.columns["value"].tolist())


def test_a_part_is_kept_back_for_testing(tmp_path):
    path = _listops(tmp_path, 10)
    settings = DataSettings(train=path, keep_back=0.2, test_part=0.3)
    splits = load_splits(get_task("listops"), settings)
    parts = [_lines(part) for part in (splits.train, splits.valid, splits.test)]
    assert [len(part) for part in parts] == [5, 2, 3]
    assert sorted(np.concatenate(parts)) == list(range(10))  # no line in two of them
    without = load_splits(get_task("listops"), DataSettings(train=path, keep_back=0.2))
    assert without.test is None
    assert _lines(without.valid) == parts[1]  # the setting does not move validation
    settings.seed = 1
    assert _lines(load_splits(get_task("listops"), settings).test) != parts[2]


def test_nothing_is_kept_back_where_there_are_test_files(tmp_path):
    path = _listops(tmp_path, 10)
    settings = DataSettings(train=path, test=path, keep_back=0.2, test_part=0.3)
    splits = load_splits(get_task("listops"), settings)
    assert (len(splits.train), splits.test) == (8, None)


def test_parts_that_leave_nothing_are_an_error(tmp_path):
    settings = DataSettings(train=_listops(tmp_path), keep_back=0.5, test_part=0.5)
    with pytest.raises(ConfigError, match=r"no training examples .* data\.test_part"):
        load_splits(get_task("listops"), settings)


def test_a_file_is_taken_whole(tmp_path):
    path = _listops(tmp_path)
    splits = load_splits(get_task("listops"), DataSettings(train=path, valid=path))
    assert (len(splits.train), len(splits.valid)) == (50, 50)


def test_several_files_share_their_names(tmp_path):
    (tmp_path / "a").write_text("1:7(8($))\n2:9($)\n")
    (tmp_path / "b").write_text("2:8(10($))\n3:7($)\n")
    data = load_examples(get_task("inex"), DataSettings(), [tmp_path / "a", tmp_path / "b"])
    names = data.forest.vocabs["label"].decode(data.forest.columns["label"])
    assert names == ["7", "8", "9", "8", "10", "7"]
    assert data.targets.decode(data.columns["target"]) == ["1", "2", "2", "3"]


def test_names_that_training_does_not_have_are_unknown(tmp_path):
    (tmp_path / "train").write_text("(3 (2 good) (2 film))\n(1 (2 bad) (2 film))\n")
    (tmp_path / "valid").write_text("(3 (2 good) (2 plot))\n")
    settings = DataSettings(train=str(tmp_path / "train"), valid=str(tmp_path / "valid"))

    def words(least):
        settings.min_count = least
        splits = load_splits(get_task("sst-tree"), settings)
        both = []
        for data in (splits.train, splits.valid):
            ids = data.forest.columns["word"]
            both.append(data.forest.vocabs["word"].decode(ids[ids >= 0]))
        return both

    rare = "<unk>"
    assert words(1) == [["good", "film", "bad", "film"], ["good", rare]]
    assert words(2) == [[rare, "film", rare, "film"], [rare, rare]]


def test_names_of_the_part_kept_back_are_not_learned(tmp_path):
    lines = [f"(2 (2 word{i}) (2 film))\n" for i in range(20)]
    (tmp_path / "train").write_text("".join(lines))
    splits = load_splits(get_task("sst-tree"), DataSettings(train=str(tmp_path / "train")))
    assert len(splits.valid) == 2
    assert len(vocabularies(splits.train)["word"]) == 18 + 1 + 1  # film, and the unknown word
    ids = splits.valid.forest.columns["word"]
    found = splits.valid.forest.vocabs["word"].decode(ids[ids >= 0])
    assert found == ["<unk>", "film"] * 2


def test_an_unknown_class_is_an_error(tmp_path):
    (tmp_path / "train").write_text("1:7($)\n2:9($)\n")
    (tmp_path / "valid").write_text("2:7($)\n4:9($)\n")
    settings = DataSettings(train=str(tmp_path / "train"), valid=str(tmp_path / "valid"))
    with pytest.raises(TreeError, match=r"valid:2: .*'4'"):
        load_splits(get_task("inex"), settings)


@pytest.mark.parametrize("limit", [None, 7])
def test_the_sentences_of_a_question_stay_together(tmp_path, limit):
    lines = [f"why {q} ?\tsentence {i}\t{int(i == 0)}" for q in range(8) for i in range(1 + q % 3)]
    (tmp_path / "pairs.txt").write_text("\n".join(lines) + "\n")
    task = get_task("wikiqa")
    settings = DataSettings(
        train=str(tmp_path / "pairs.txt"), keep_back=0.2, test_part=0.2, limit=limit
    )
    splits = load_splits(task, settings)
    found = [task.groups(part).max() + 1 for part in splits.all]
    sizes = [len(part) for part in splits.all]
    if limit is None:
        assert sum(sizes) == len(lines)
        assert sum(found) == 8  # no question is in two parts
        assert all(size >= 0.2 * len(lines) for size in sizes[1:])
    else:
        assert limit <= sum(sizes) < limit + 3
    for part in splits.all:
        questions = task.groups(part)
        assert (part.columns["target"] == 1).sum() == len(np.unique(questions))
