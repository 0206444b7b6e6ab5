"""Bracketed text to forests and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import Forest, TreeError, Vocabulary
from dgltrees.trees.builders import from_brackets, from_nested, to_brackets
from tests.trees.nested import Tree, arrays, assert_shape, nested
from tests.worlds import chain, forests, star

TREES = nested(["S", "NP", "\xe9"], ["a", "b", "S"])


def text_of(tree: Tree) -> str:
    return tree if isinstance(tree, str) else f"({tree[0]} {' '.join(map(text_of, tree[1:]))})"


@given(trees=st.lists(TREES, min_size=1, max_size=4), space=st.sampled_from([" ", "\n", ""]))
def test_reads_what_was_written(trees: list[Tree], space: str) -> None:
    texts = [text_of(tree).replace(" (", space + "(") for tree in trees]
    forest = from_brackets("\n".join(texts))
    assert_shape(forest, trees)
    assert forest.vocabs["label"].decode(forest.columns["label"]) == arrays(trees)[2]
    assert [to_brackets(forest, t) for t in range(len(trees))] == list(map(text_of, trees))


@given(forest=forests())
def test_children_are_written_by_position(forest: Forest) -> None:
    """Against a recursion over one tree; nodes stand in any order and positions have gaps."""
    numbered = Forest(
        forest.parent, forest.pos, forest.offsets, {"number": forest.tree_of_node * 0}
    )
    numbered.columns["number"][:] = range(forest.num_nodes)

    def write(node: int) -> str:
        children = [c for c in range(forest.num_nodes) if forest.global_parent[c] == node]
        if not children:
            return str(node)
        children.sort(key=lambda c: forest.pos[c])
        return f"({node} {' '.join(map(write, children))})"

    for tree, root in enumerate(forest.roots):
        assert to_brackets(numbered, tree, column="number") == write(root)


def test_a_bracket_around_one_word_is_a_leaf() -> None:
    forest = from_brackets("(S (a) b)")
    assert to_brackets(forest) == "(S a b)"


def test_deep_and_wide() -> None:
    many = 100_000
    deep = "(a " * many + "b" + ")" * many
    wide = "(a" + " b" * many + ")"
    for text in (deep, wide):
        assert to_brackets(from_brackets(text)) == text
    for forest in (chain(many), star(many)):
        numbered = Forest.build(forest.parent, columns={"zero": forest.parent * 0})
        assert to_brackets(numbered, column="zero").count("0") == forest.num_nodes


def test_nodes_without_a_name() -> None:
    assert to_brackets(from_nested((("a", "b"), "c"))) == "(_ (_ a b) c)"
    assert to_brackets(from_nested(("a", "b")), none="?") == "(? a b)"


@pytest.mark.parametrize("name", ["a b", "(", "a)", ""])
def test_a_name_that_cannot_be_read_again(name: str) -> None:
    forest = from_nested("x", ("y", name), form="head")
    with pytest.raises(TreeError, match="^tree 1, node 1: expected a name without white space"):
        to_brackets(forest, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "t.txt: expected at least one tree, got empty text"),
        ("(a\n(b)\n", "t.txt:1: expected a ')' for every '(', got 1 left open"),
        ("(a)\nb)", "t.txt:2: expected an opening '(' for every ')'"),
        ("a\n(b\n(() a))", "t.txt:3: missing a label at the beginning of a bracket"),
        (b"a\n\xff", "t.txt:2: expected UTF-8 text, got the byte 0xff"),
        ("a\n(b\nzz)", "t.txt:3: expected one of the 6 known names"),
    ],
)
def test_bad_text(text: str | bytes, message: str) -> None:
    letters = Vocabulary("abcdef", frozen=True)
    with pytest.raises(TreeError) as caught:
        from_brackets(text, file="t.txt", vocabs={"label": letters})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("text", ["t.mrg", "../my trees/wsj.txt", "C:\\a.ptb.gz\n", 3, None])
def test_text_that_has_no_trees(text: Any) -> None:
    cure = ".*; dgltrees.read reads a file" * isinstance(text, str)
    with pytest.raises(TreeError, match=f"^expected trees in brackets, got {cure}"):
        from_brackets(text)
    assert from_brackets("3.5 U.S. (a.b c.d)").num_nodes == 4
