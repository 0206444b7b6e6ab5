"""Operations between words: counts, sequences, brackets, phrases and parses, against recursions."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.formats import read
from dgltrees.formats.lines import gather
from dgltrees.papers.rrnet.data.running_text import stream_running_trees
from dgltrees.papers.rrnet.graphs import (
    inferred_trees,
    operation_graph,
    spans,
    token_at,
    word_operations,
)
from dgltrees.trees import Forest
from dgltrees.trees.constituents import bracket_counts, constituent_counts
from dgltrees.trees.kinds import Operation
from dgltrees.trees.segments import starts

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


Step = tuple[Operation, int]
Ints = NDArray[np.int64]


def walk(forest: Forest, node: int, steps: list[Step]) -> None:
    """Append the steps of a subtree: its leaf or, between a split and a merge, its children."""
    children = [v for v in range(forest.num_nodes) if forest.global_parent[v] == node]
    children.sort(key=lambda v: forest.pos[v])
    if not children:
        steps.append((Operation.RECUR, node))
    elif len(children) == 1:
        walk(forest, children[0], steps)
    else:
        steps.append((Operation.SPLIT, -1))
        for child in children:
            walk(forest, child, steps)
        steps.append((Operation.MERGE, -1))


def slow(forest: Forest, root: int) -> tuple[list[int], list[int]]:
    """Operations of a tree, and the token of each: the next one that is consumed."""
    steps: list[Step] = []
    walk(forest, root, steps)
    tokens, next_token = [], -1
    for operation, token in reversed(steps):
        if operation == Operation.RECUR:
            next_token = token
        tokens.append(next_token)
    return [op for op, _ in steps], tokens[::-1]


def oracle(forest: Forest) -> tuple[Ints, Ints, Ints]:
    """The operations that build constituent trees, the leaf of each, and their numbers."""
    leaves, merges, splits = constituent_counts(forest)
    words = np.bincount(forest.tree_of_node[leaves], minlength=len(forest))
    operations, sizes = word_operations(merges, splits, words)
    return operations, np.append(leaves, -1)[token_at(operations, sizes, words)], sizes


def check(forest: Forest) -> tuple[Ints, Ints, Ints]:
    """The operations of a forest, which equal those of the recursion."""
    operations, tokens, sizes = oracle(forest)
    cuts = np.cumsum(sizes)[:-1]
    for root, *both in zip(forest.roots, np.split(operations, cuts), np.split(tokens, cuts)):
        assert tuple(each.tolist() for each in both) == slow(forest, root)
    return operations, tokens, sizes


def test_a_sentence_in_brackets(tmp_path: Path) -> None:
    path = tmp_path / "one.mrg"
    path.write_text(
        "( (S (NP (DT the) (NN cat)) (VP (VBD sat) (ADVP (RB there))) (. .)) )\n(X a)\n"
    )
    forest = read(path, "mrg").forest
    operations, tokens, sizes = check(forest)
    letters = "".join(Operation(op).name[:2] for op in operations)
    assert letters == "SPSPREREMESPREREMEREMERE"
    words = np.append(forest.columns["word"], -1)[tokens]
    names = ["-" if word < 0 else forest.vocabs["word"].names[word] for word in words]
    assert " ".join(names) == "the the the cat sat sat sat there . . - a"
    assert sizes.tolist() == [11, 1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 14))
def test_any_trees_in_any_node_order(seed: int, trees: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    parents, pos, sizes = [], [], []
    for _ in range(trees):
        size = int(rng.integers(1, most + 1))
        parent = np.array([-1, *(int(rng.integers(0, v)) for v in range(1, size))])
        order = rng.permutation(size)  # node v becomes order[v]
        shuffled = np.empty(size, np.int64)
        shuffled[order] = np.where(parent < 0, -1, order[parent])
        places = np.zeros(size, np.int64)
        for node in range(size):
            children = rng.permutation(np.flatnonzero(shuffled == node))
            places[children] = np.arange(len(children))
        parents.append(shuffled)
        pos.append(places)
        sizes.append(size)
    forest = Forest.build(
        np.concatenate(parents), pos=np.concatenate(pos), offsets=np.cumsum([0, *sizes])
    )
    operations, tokens, steps = check(forest)
    begins = starts(steps)
    graph = operation_graph(
        np.insert(operations, begins, Operation.START), steps + 1, complete=True
    )
    graph.ndata["leaf"] = torch.from_numpy(np.insert(tokens, begins, -1))
    inferred = inferred_trees(graph, ["leaf"], recur_only=True)
    found = {tuple(span) for span in spans(inferred).tolist()}
    expected = set()  # every tree's span, and those of its nodes with several children
    leaves = [int(leaf) for leaf in inferred.columns["leaf"] if leaf >= 0]
    place = {leaf: i for i, leaf in enumerate(leaves)}
    firsts = {t: min(place[v] for v in leaves if forest.tree_of_node[v] == t) for t in range(trees)}
    for node in range(forest.num_nodes):
        if forest.degree[node] > 1 or forest.parent[node] < 0:
            below = [place[v] for v in leaves if is_below(forest, v, node)]
            tree = int(forest.tree_of_node[node])
            expected.add((tree, min(below) - firsts[tree], max(below) - firsts[tree]))
    assert found == expected


def is_below(forest: Forest, node: int, top: int) -> bool:
    while node >= 0 and node != top:
        node = forest.global_parent[node]
    return node == top


def test_deep_trees_and_none() -> None:
    parent = np.repeat(np.arange(-1, 2999), 2)[1:]  # a spine with a leaf at each node
    parent[1:] = np.repeat(np.arange(0, 2999) * 2, 2)[: len(parent) - 1]
    forest = Forest.build(parent)
    assert np.bincount(oracle(forest)[0]).tolist() == [0, 2999, 3000, 2999]
    assert [len(each) for each in oracle(forest.select([]))] == [0, 0, 0]
