from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import TreeError, Vocabulary, read
from tests.trees.nested import Tree, arrays, assert_bad, assert_shape, nested, write

TAGS = ["7", "12", "354"]


def text_of(tree: Tree) -> str:
    if isinstance(tree, str):
        return f"{tree}($)"
    return f"{tree[0]}({' '.join(map(text_of, tree[1:]))})"


@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["1", "3", "11"]), nested(TAGS, TAGS)), min_size=1, max_size=4
    )
)
def test_reads_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, Tree]]
) -> None:
    path = write(tmp_path_factory.mktemp("d"), "".join(f"{c}:{text_of(t)}\n" for c, t in rows))
    examples = read(path, "inex")
    trees = [tree for _, tree in rows]
    assert_shape(examples.forest, trees)
    assert (
        examples.forest.vocabs["label"].decode(examples.forest.columns["label"]) == arrays(trees)[2]
    )
    assert examples.targets.decode(examples.columns["target"]) == [name for name, _ in rows]


def test_names_that_frozen_vocabularies_lack(tmp_path: Path) -> None:
    path = write(tmp_path, "1:3(4($))\n2:3($)\n")
    with pytest.raises(TreeError, match=r":2: expected one of the 1 known names \('1'\), got '2'"):
        read(path, "inex", vocabs={"target": Vocabulary(["1"], frozen=True)})
    with pytest.raises(TreeError, match=r":1: expected one of the 1 known names \('3'\), got '4'"):
        read(path, "inex", vocabs={"label": Vocabulary(["3"], frozen=True)})


BEHIND = "expected a bracket after every label and only there, got "


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1:3($", "got 1 left open at the end of the line"),
        ("1:3($) 4($)", "expected a line of the form class:label(child child ...)"),
        ("3($)", "expected a line of the form class:label(child child ...)"),
        ("1:3", "expected a line of the form class:label(child child ...)"),
        ("(1) 3($)", "missing class, expected class:label(child child ...)"),
        ("1:3(4)", BEHIND + "'4'"),
        ("1:3(4 5($))", BEHIND + "'4'"),
        ("1:3(($))", BEHIND + "an opening bracket"),
        ("1:3(4($)(5($)))", BEHIND + "an opening bracket"),
        ("1:3()", "expected children or $, got an empty bracket"),
        ("1:3(4($) $)", "expected $ only as the single item of a bracket, got"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    assert_bad(tmp_path, "inex", f"1:3($)\n{line}\n", 2, message)
