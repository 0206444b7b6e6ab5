"""Small trees as nested tuples, the slow way to their arrays, and files to read them from."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dgltrees import Forest, LabeledTrees, TreeError, read

Tree = str | tuple[Any, ...]


def nested(
    heads: Sequence[str], leaves: Sequence[str], max_children: int = 4
) -> st.SearchStrategy[Tree]:
    """Trees ``(head, child, ...)`` or a leaf."""
    return st.recursive(
        st.sampled_from(leaves),
        lambda below: st.builds(
            lambda head, children: (head, *children),
            st.sampled_from(heads),
            st.lists(below, min_size=1, max_size=max_children),
        ),
        max_leaves=12,
    )


def arrays(trees: Sequence[Tree]) -> tuple[list[int], list[int], list[str]]:
    """Parents, positions and labels in preorder, by recursion."""
    parent: list[int] = []
    pos: list[int] = []
    labels: list[str] = []

    def visit(tree: Tree, up: int, place: int, base: int) -> None:
        node = len(parent) - base
        parent.append(up)
        pos.append(place)
        labels.append(tree if isinstance(tree, str) else tree[0])
        for i, child in enumerate(() if isinstance(tree, str) else tree[1:]):
            visit(child, node, i, base)

    for tree in trees:
        visit(tree, -1, 0, len(parent))
    return parent, pos, labels


def size(tree: Tree) -> int:
    """The number of nodes."""
    return 1 if isinstance(tree, str) else 1 + sum(map(size, tree[1:]))


def assert_shape(forest: Forest, trees: Sequence[Tree]) -> None:
    """The forest has the trees' parents, positions and sizes, in preorder."""
    parent, pos, _ = arrays(trees)
    np.testing.assert_array_equal(forest.parent, parent)
    np.testing.assert_array_equal(forest.pos, pos)
    np.testing.assert_array_equal(forest.sizes, [size(tree) for tree in trees])


def assert_same(first: LabeledTrees, second: LabeledTrees) -> None:
    """Two data sets are equal in everything."""
    assert first.arity == second.arity
    assert first.targets == second.targets
    assert first.forest.vocabs == second.forest.vocabs
    for name in ("parent", "pos", "offsets"):
        np.testing.assert_array_equal(getattr(first.forest, name), getattr(second.forest, name))
    for one, other in (
        (first.columns, second.columns),
        (first.forest.columns, second.forest.columns),
    ):
        assert list(one) == list(other)
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def names_of(forest: Forest, column: str) -> list[str | None]:
    """The name of each node in a column of ids, None for -1."""
    names = [*forest.vocabs[column].names, None]
    return [names[i] for i in forest.columns[column]]


def write(folder: Path, content: str | bytes) -> Path:
    """A file with this content."""
    path = folder / "data.txt"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def assert_bad(folder: Path, form: str, text: str | bytes, line: int, message: str) -> None:
    """A file with this text is refused, with its name, this line and this message."""
    path = write(folder, text)
    with pytest.raises(TreeError) as caught:
        read(path, form)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert message in str(caught.value)


Constituent = tuple[str, Any]  # a label, and a word or the constituents below it


def constituents(labels: Sequence[str], words: Sequence[str]) -> st.SearchStrategy[Constituent]:
    label = st.sampled_from(labels)
    return st.recursive(
        st.tuples(label, st.sampled_from(words)),
        lambda below: st.tuples(label, st.lists(below, min_size=1, max_size=3)),
        max_leaves=8,
    )


def in_brackets(tree: Constituent, space: str = " ") -> str:
    label, below = tree
    if not isinstance(below, str):
        below = space.join(in_brackets(child, space) for child in below)
    return f"({label} {below})"


def constituent_rows(tree: Constituent) -> list[tuple[str, str | None, int]]:
    """``(label, word, number of children)`` in preorder."""
    label, below = tree
    if isinstance(below, str):
        return [(label, below, 0)]
    rows = [row for child in below for row in constituent_rows(child)]
    return [(label, None, len(below)), *rows]
