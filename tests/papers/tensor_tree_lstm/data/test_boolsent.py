from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees.formats import read
from dgltrees.papers.tensor_tree_lstm.data.boolsent import BOOLSENT_OPERATORS
from tests.trees.nested import Tree, arrays, assert_bad, assert_shape, nested, write

HEADS = [f"{bit}_{name}" for bit in "01" for name in BOOLSENT_OPERATORS]


def text_of(tree: Tree) -> str:
    return (
        f" {tree} " if isinstance(tree, str) else f"({tree[0]} {''.join(map(text_of, tree[1:]))})"
    )


@given(trees=st.lists(nested(HEADS, "01"), min_size=1, max_size=4))
def test_reads_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, trees: list[Tree]
) -> None:
    path = write(tmp_path_factory.mktemp("d"), "\n".join(map(text_of, trees)))
    examples = read(path, "boolsent")
    assert_shape(examples.forest, trees)
    labels = arrays(trees)[2]
    names = [*BOOLSENT_OPERATORS, None]
    columns = examples.forest.columns
    assert [names[op] for op in columns["op"]] == [
        label[2:] if "_" in label else None for label in labels
    ]
    assert columns["value"].tolist() == [-1 if "_" in label else int(label) for label in labels]
    assert columns["target"].tolist() == [int(label[0]) for label in labels]
    assert examples.columns["target"].tolist() == [int(arrays([tree])[2][0][0]) for tree in trees]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("(1_AND 2)", "expected a bit, one of 0 1, got '2'"),
        ("(1_NOT 1)", "got '1_NOT'"),
        ("(2_AND 1)", "got '2_AND'"),
        ("(AND 1)", "expected an operator with its value, one of 0_AND 1_AND"),
        ("(1_AND )", "expected at least one argument, got none"),
        ("1 1", "expected a line of the form (value_OPERATOR ...)"),
        ("(1_AND 1", "got 1 left open at the end of the line"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    assert_bad(tmp_path, "boolsent", f"(1_AND 1)\n{line}\n", 2, message)
