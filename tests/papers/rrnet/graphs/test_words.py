"""Operations between words: counts, sequences, brackets and phrases, against recursions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees.errors import TreeError
from dgltrees.formats.lines import gather
from dgltrees.papers.rrnet.data.running_text import stream_running_trees
from dgltrees.papers.rrnet.graphs import Operation, token_at, word_operations
from dgltrees.trees.constituents import bracket_counts

LETTERS = {Operation.SPLIT: "(", Operation.RECUR: "w", Operation.MERGE: ")", Operation.START: "?"}
TREES = st.recursive(st.just("w"), lambda nodes: st.lists(nodes, min_size=1, max_size=3))


def brackets(tree: Any) -> str:
    """A nested list in brackets, those around a single thing too."""
    return tree if isinstance(tree, str) else f"({''.join(map(brackets, tree))})"


def operations_of(tree: Any) -> str:
    """A split and a merge around what has several children, w per word."""
    if isinstance(tree, str) or len(tree) == 1:
        return tree if isinstance(tree, str) else operations_of(tree[0])
    return f"({''.join(map(operations_of, tree))})"


def text(operations: Any, sizes: Any) -> list[str]:
    parts = np.split(operations, np.cumsum(sizes)[:-1])
    return ["".join(LETTERS[Operation(op)] for op in part) for part in parts]


def written(counts: Any, sizes: list[int], **options: Any) -> list[str]:
    return text(*word_operations(*counts, sizes, **options))


@given(st.lists(TREES, min_size=1, max_size=4))
def test_brackets_are_counted_before_each_word(trees: list[Any]) -> None:
    texts = [brackets(tree) for tree in trees]
    kinds = {"(": 1, "w": 0, ")": -1}
    items = [kinds[letter] for each in texts for letter in each]
    counts = bracket_counts(items, [len(each) for each in texts])
    words = [each.count("w") for each in texts]
    assert written(counts, words) == [operations_of(tree) for tree in trees]


def test_windows_merge_what_is_open_and_nothing_at_their_end() -> None:
    counts = [2, 0, 3, 1], [0, 2, 0, 1]
    assert written(counts, [3, 1], opened=[1, 0]) == [")w((w))w", "(w"]


@pytest.mark.parametrize("wrong", [[0, -1, 1], [1, 1, -1]])
def test_brackets_open_and_close(wrong: list[int]) -> None:
    with pytest.raises(TreeError, match="expected brackets that open and close in turn") as error:
        bracket_counts([1, 0, -1, *wrong], [3, 0, 3])
    assert error.value.tree == 2


def test_unknown_sentences_have_a_start_per_word() -> None:
    assert written(([0, 0, -1, 0], [1, 0, 0, 0]), [2, 2]) == ["(ww)", "??"]
    operations, sizes = word_operations([0, 0], [1, 0], [2])
    assert token_at(operations, sizes, [2]).tolist() == [0, 0, 1, -1]


def test_running_trees(tmp_path: Path) -> None:
    path = tmp_path / "text.mrg"
    path.write_text(
        "( (S (NP (DT the) (NN cat)) (VP (VBD sat) (NP (-NONE- *))) (. .)) )\n(X (Y a))\n"
    )
    forest = gather(stream_running_trees(path)).forest
    words = forest.vocabs["word"].decode(forest.columns["word"])
    assert " ".join(words) == "the cat sat . <eos> a <eos>"
    found = written((forest.columns["merges"], forest.columns["splits"]), forest.sizes.tolist())
    assert found == ["((ww)ww)w", "ww"]
    path.write_text("(X (Y a))\n(X (-NONE- 0))\n")
    with pytest.raises(TreeError, match=re.escape("text.mrg: tree 1: expected a word without")):
        gather(stream_running_trees(path))
