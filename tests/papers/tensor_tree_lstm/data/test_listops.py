from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, TreeError, read
from dgltrees.draw import draw_file
from dgltrees.papers.tensor_tree_lstm.data.listops import LISTOPS_OPERATORS, stream_listops
from tests.trees.nested import Tree, arrays, assert_bad, assert_shape, nested, write

EXPRESSIONS = nested(LISTOPS_OPERATORS, "0123456789", max_children=5)


def value(tree: Tree) -> int:
    """The rules of the data set, by recursion."""
    if isinstance(tree, str):
        return int(tree)
    values = [value(child) for child in tree[1:]]
    rules: dict[str, Callable[[list[int]], float]] = {
        "MAX": max,
        "MIN": min,
        "MED": np.median,
        "SM": sum,
    }
    return int(rules[tree[0]](values)) % 10


def nary(tree: Tree) -> str:
    return tree if isinstance(tree, str) else f"[{tree[0]} {' '.join(map(nary, tree[1:]))} ]"


def binary(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    text = "[" + tree[0]
    for child in tree[1:]:
        text = f"( {text} {binary(child)} )"
    return f"( {text} ] )"


def tree_of(forest: Forest, node: Any) -> Tree:
    """A node of a forest as nested tuples, by recursion."""
    op, digit = forest.columns["op"][node], forest.columns["value"][node]
    if op < 0:
        return str(digit)
    children = np.flatnonzero(forest.global_parent == node)
    children = children[np.argsort(forest.pos[children])]
    return (forest.vocabs["op"].names[op], *(tree_of(forest, child) for child in children))


@given(trees=st.lists(EXPRESSIONS, min_size=1, max_size=5), form=st.sampled_from([nary, binary]))
def test_reads_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, trees: list[Tree], form: Callable[[Tree], str]
) -> None:
    path = write(tmp_path_factory.mktemp("d"), "".join(f"{value(t)}\t{form(t)}\n" for t in trees))
    examples = read(path, "listops")
    assert_shape(examples.forest, trees)
    labels = arrays(trees)[2]
    names = [*LISTOPS_OPERATORS, None]
    assert [names[op] for op in examples.forest.columns["op"]] == [
        None if label.isdigit() else label for label in labels
    ]
    np.testing.assert_array_equal(
        examples.forest.columns["value"], [int(x) if x.isdigit() else -1 for x in labels]
    )
    np.testing.assert_array_equal(examples.columns["target"], [value(tree) for tree in trees])


@pytest.mark.parametrize(
    ("line", "tree"),
    [
        ("5\t( ( ( [SM 7 ) 8 ) ] )", ("SM", "7", "8")),
        ("4\t( ( ( ( ( [MED 9 ) 2 ) 6 ) 3 ) ] )", ("MED", "9", "2", "6", "3")),
        ("8\t( ( ( [MAX ( ( ( [MIN 8 ) 9 ) ] ) ) 2 ) ] )", ("MAX", ("MIN", "8", "9"), "2")),
        ("6\t[MAX 1 [MED 3 6 9 ] ]", ("MAX", "1", ("MED", "3", "6", "9"))),
        ("7\t7", "7"),
    ],
)
def test_targets_are_the_values(tmp_path: Path, line: str, tree: Tree) -> None:
    examples = read(write(tmp_path, line), "listops")
    assert tree_of(examples.forest, 0) == tree
    assert examples.columns["target"].tolist() == [value(tree)]


def test_header_says_that_the_value_comes_last(tmp_path: Path) -> None:
    text = "Source\tTarget\n( ( ( [MAX 1 ) 2 ) ] )\t2\n7\t3\n"
    examples = read(write(tmp_path, text), "listops")
    assert examples.columns["target"].tolist() == [2, 3]
    assert examples.forest.columns["value"].tolist() == [-1, 1, 2, 7]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("3\t[MAX 1 3 ]\n3\t[MAX 1 3\n", 2, "expected a ']' for every '[', got 1 left open"),
        ("3\t[MAX 1 3 ]\n3", 2, "expected a line of the form value TAB expression"),
        ("# a = b c\n3\t[MAX 1 3\n", 1, "got 5; is it cut off, or of another format?"),
        ("# a = b c\n3\t( [MAX 1 3 ]\n", 1, "got 5; is it cut off, or of another format?"),
        ("3\t[MAX 1 3 ] [MAX 1 3 ]", 1, "with 2 parts outside all brackets, got 3"),
        ("3\t[MAX 1 ] 3 ]", 1, "got a ']' that closes nothing"),
        ("3\t( [MAX 1 2 ]", 1, "expected a ')' for every '(', got 1 left open"),
        ("3\t( ) ) ( [MAX 1 2 ]", 1, "got a ')' that closes nothing"),
        ("\n3\t[FOO 1 2 ]", 2, "one of MAX MED MIN SM, got 'FOO'"),
        ("3\t[MAX 1 x ]", 1, "expected a digit, one of 0 1 2 3 4 5 6 7 8 9, got 'x'"),
        ("3\t[MAX 1 12 ]", 1, "expected a digit, one of 0 1 2 3 4 5 6 7 8 9, got '12'"),
        ("13\t[MAX 1 2 ]", 1, "expected the value of an expression, one of"),
        ("[MAX 1 2 ]\t2", 1, "got an opening bracket"),
        ("3\t[MAX ]", 1, "expected at least one argument, got none"),
        ("3\t[ [MAX 1 2 ] ]", 1, "missing an operator at the beginning of a bracket"),
        ("Source\tTarget\n1\tx", 2, "expected the value of an expression"),
    ],
)
def test_bad_lines(tmp_path: Path, text: str, line: int, message: str) -> None:
    assert_bad(tmp_path, "listops", text, line, message)


def test_errors_in_later_chunks_have_the_files_line(tmp_path: Path) -> None:
    path = write(tmp_path, "2\t[MAX 1 2 ]\n\n" * 5 + "2\t[MAX 1 b ]\n")
    chunks = stream_listops(path, trees=2)
    for _ in range(5):
        next(chunks)
    with pytest.raises(TreeError, match=r":11: .* got 'b'"):
        next(chunks)


def test_binarised_listops_with_a_header_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "basic.tsv"
    path.write_text("Source\tTarget\n( ( ( [MIN 4 ) 3 ) ] )\t3\n")
    assert draw_file(path) == "tree 0\nMIN  = 3\n├─ 4\n└─ 3"
