"""Ordered trees as dependency trees, and back to brackets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, TreeError, Vocabulary, read
from dgltrees.papers.top_down.data.ordered import brackets, constituents, right_branching
from dgltrees.papers.top_down.graphs import dependency_forest, generation_forest
from dgltrees.trees.builders import from_nested
from dgltrees.trees.kinds import EdgeType

ANIMALS = ("animal", ("fish", "carp", "eel"), "worm", ("bird", ("owl", "barn owl")))


def test_children_are_right_dependents_in_order() -> None:
    forest = right_branching(from_nested(ANIMALS, form="head"))
    names = forest.vocabs["word"].decode(forest.columns["word"])
    assert names == ["<root>", "animal", "fish", "carp", "eel", "worm", "bird", "owl", "barn owl"]
    assert forest.parent.tolist() == [-1, 0, 1, 2, 2, 1, 1, 6, 7]
    grown = generation_forest(forest)
    R, N = EdgeType.RIGHT, EdgeType.NX_RIGHT
    assert grown.pos[1:].tolist() == [R, R, R, N, N, N, R, R]
    by_time = np.argsort(grown.columns["t"])
    assert [names[i] for i in by_time[:5]] == ["<root>", "animal", "fish", "worm", "bird"]
    assert brackets(forest) == ["(animal (fish carp eel) worm (bird (owl barn owl)))"]


@given(seed=st.integers(0, 1000))
def test_every_ordered_tree_comes_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, 3)
    parent = np.concatenate([[-1, *(rng.integers(0, i) for i in range(1, n))] for n in sizes])
    vocab = Vocabulary("abc")
    forest = Forest.build(
        parent,
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        columns={"label": rng.integers(0, 3, len(parent))},
        vocabs={"label": vocab},
    )
    made = right_branching(forest)
    again = dependency_forest(generation_forest(made))
    assert (again.parent == made.parent).all()
    assert brackets(again) == brackets(made)
    assert (made.sizes == sizes + 1).all()
    slow = []
    for t in range(3):
        one = forest.tree(t)
        children = [np.flatnonzero(one.parent == v) for v in range(len(one.parent))]

        def text(v: int, one: Forest = one, children: list[Any] = children) -> str:
            name = "abc"[one.columns["label"][v]]
            below = " ".join(text(int(c)) for c in children[v])
            return f"({name} {below})" if below else name

        slow.append(text(0))
    assert brackets(made) == slow


def test_penn_trees(tmp_path: Path) -> None:
    text = "(S (NP (DT The) (NN cat)) (VP (VBD saw) (NP old (NN NN))))"
    (tmp_path / "a.mrg").write_text(f"( {text} )\n{text}\n", encoding="utf-8")
    forest = constituents(read(tmp_path / "a.mrg", "mrg").forest)
    assert brackets(right_branching(forest)) == [text, text]
    assert {"NN", "(NN"} <= set(forest.vocabs["label"].names)
    lower = constituents(read(tmp_path / "a.mrg", "mrg").forest, lower=True)
    assert brackets(right_branching(lower))[0] == text.replace("The", "the").replace(
        "NN NN", "NN nn"
    )
    (tmp_path / "b.mrg").write_text(brackets(right_branching(forest))[0], encoding="utf-8")
    assert len(read(tmp_path / "b.mrg", "mrg")) == 1


def test_errors() -> None:
    forest = Forest.build([-1, 0], columns={"label": [0, -1]}, vocabs={"label": Vocabulary("a")})
    with pytest.raises(TreeError, match=r"tree 0.*node 1.*name in column 'label' at every node"):
        right_branching(forest)
    with pytest.raises(TreeError, match=r"a column 'kind' of names .* got the columns \['label'\]"):
        right_branching(forest, column="kind")
    with pytest.raises(TreeError, match=r"expected a vocabulary 'word', got \['label'\]"):
        constituents(forest)
    with pytest.raises(TreeError, match=r"names in a column 'word', got \['label'\]"):
        brackets(forest)
