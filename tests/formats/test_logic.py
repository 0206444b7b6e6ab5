from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import TreeError
from dgltrees.formats import (
    LOGIC_OPERATORS,
    LOGIC_RELATIONS,
    LOGIC_TOKENS,
    read_logic,
    read_logic_sequences,
    stream_logic_sequences,
    write_logic,
)
from dgltrees.trees import Examples
from dgltrees.trees.operations import match_splits
from tests.formats.table import SAMPLES
from tests.trees.nested import Tree, arrays, assert_same, assert_shape, write

SENTENCES: st.SearchStrategy[Tree] = st.recursive(
    st.sampled_from("abcdef"),
    lambda below: (
        st.tuples(st.just("not"), below) | st.tuples(st.sampled_from(["and", "or"]), below, below)
    ),
    max_leaves=8,
)
Pair = tuple[str, Tree, Tree]  # relation, left and right sentence

PAIRS = st.lists(
    st.tuples(st.sampled_from(LOGIC_RELATIONS), SENTENCES, SENTENCES), min_size=1, max_size=5
)


def text_of(tree: Tree) -> str:
    if isinstance(tree, str):
        return tree
    if tree[0] == "not":
        return f"( not {text_of(tree[1])} )"
    return f"( {text_of(tree[1])} ( {tree[0]} {text_of(tree[2])} ) )"


def operators(tree: Tree) -> int:
    return 0 if isinstance(tree, str) else 1 + sum(map(operators, tree[1:]))


def lines(pairs: Sequence[Pair]) -> str:
    return "".join(f"{r}\t{text_of(left)}\t{text_of(right)}\n" for r, left, right in pairs)


@given(pairs=PAIRS)
def test_reads_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]
) -> None:
    examples = read_logic(write(tmp_path_factory.mktemp("d"), lines(pairs)))
    trees = [tree for _, left, right in pairs for tree in (left, right)]
    assert len(examples) == len(pairs)
    assert_shape(examples.forest, trees)
    labels = arrays(trees)[2]
    names = [*LOGIC_OPERATORS, None]
    assert [names[op] for op in examples.forest.columns["op"]] == [
        label if label in LOGIC_OPERATORS else None for label in labels
    ]
    assert ["abcdef"[i] if i >= 0 else None for i in examples.forest.columns["value"]] == [
        None if label in LOGIC_OPERATORS else label for label in labels
    ]
    assert [examples.targets.names[i] for i in examples.columns["target"]] == [p[0] for p in pairs]
    np.testing.assert_array_equal(
        examples.columns["operators"],
        [max(operators(left), operators(right)) for _, left, right in pairs],
    )


@given(pairs=PAIRS)
def test_writes_what_was_read(tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]) -> None:
    folder = tmp_path_factory.mktemp("d")
    write_logic(read_logic(write(folder, lines(pairs))), folder / "again")
    assert (folder / "again").read_bytes() == lines(pairs).encode()


def test_a_node_that_does_not_fit_its_operator_is_not_written(tmp_path: Path) -> None:
    examples = read_logic(write(tmp_path, "#\ta\t( not b )\n"))
    examples.forest.columns["op"][1] = LOGIC_OPERATORS.index("and")
    with pytest.raises(TreeError, match=r"^tree 1, node 0: expected two children below 'and'"):
        write_logic(examples, tmp_path / "again")


def test_operators_are_those_of_the_longer_sentence(tmp_path: Path) -> None:
    text = "#\ta\tb\n<\t( not ( a ( and b ) ) )\t( not c )\n>\ta\t( ( not a ) ( or ( not b ) ) )\n"
    assert read_logic(write(tmp_path, text)).columns["operators"].tolist() == [0, 2, 3]


@pytest.mark.parametrize("trees", [1, 2, 50])
def test_chunks_of_sequences_equal_the_whole(tmp_path: Path, trees: int) -> None:
    path = write(tmp_path, SAMPLES["logic"].text)
    chunks = list(stream_logic_sequences(path, trees=trees))
    assert_same(Examples.concat(chunks), read_logic_sequences(path))


def sequences(examples: Examples) -> Iterator[tuple[str, str]]:
    """The tokens of each sentence, and the first letters of their operations."""
    forest = examples.forest
    for start, stop in zip(forest.offsets, forest.offsets[1:]):
        tokens = forest.vocabs["word"].decode(forest.columns["word"][start:stop])
        names = forest.vocabs["op"].decode(forest.columns["op"][start:stop])
        yield " ".join(tokens), "".join(name[0] for name in names)


@given(pairs=PAIRS)
def test_sequences_are_the_tokens_of_the_lines(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]
) -> None:
    path = write(tmp_path_factory.mktemp("d"), lines(pairs))
    examples, trees = read_logic_sequences(path), read_logic(path)
    texts = [text_of(tree) for _, left, right in pairs for tree in (left, right)]
    for text, (tokens, operations) in zip(texts, sequences(examples)):
        assert tokens == text
        assert operations == "".join({"(": "S", ")": "M"}.get(t, "R") for t in text.split())
    assert len(texts) == len(examples.forest)
    match_splits(examples.forest.columns["op"], examples.forest.sizes, complete=True)
    for column in ("target", "operators"):
        np.testing.assert_array_equal(examples.columns[column], trees.columns[column])
    assert (examples.arity, examples.targets) == (2, trees.targets)


def test_the_spaces_of_a_line_do_not_matter(tmp_path: Path) -> None:
    path = write(tmp_path, "\n <\t(not(a(and b)))  c\r\n\n=\tb\tb\n")
    examples = read_logic_sequences(path)
    assert list(sequences(examples)) == [
        ("( not ( a ( and b ) ) )", "SRSRSRRMMM"),
        ("c", "R"),
        ("b", "R"),
        ("b", "R"),
    ]
    assert set(LOGIC_TOKENS) == set("abcdef()") | set(LOGIC_OPERATORS)


PAIR = "'and' or 'or' begins the second bracket of a pair"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("#\ta", "expected a line of the form relation TAB sentence TAB sentence"),
        ("x\ta\tb", "expected a relation, one of # < > v | = ^, got 'x'"),
        ("( not a )\tb\tc", "expected a relation, one of # < > v | = ^, got an opening bracket"),
        ("#\ta\tg", "one of a b c d e f and not or, got 'g'"),
        ("#\t( a ( xor b ) )\tb", "one of a b c d e f and not or, got 'xor'"),
        ("#\t( a ( or b )\tb", "expected a ')' for every '(', got 1 left open"),
        ("#\t( not a b )\tc", "expected '( not S )' or '( S ( or S ) )', got a bracket of 3"),
        ("#\t( )\tc", "expected '( not S )' or '( S ( or S ) )', got a bracket of 0"),
        ("#\t( a or )\tc", "expected 'or' at the beginning of a bracket"),
        ("#\tnot\tb", "expected 'not' at the beginning of a bracket"),
        ("#\t( or a )\tc", PAIR),
        ("#\t( a b )\tc", PAIR),
        ("#\t( not ( or a ) )\tb", PAIR),
        ("#\t( ( or a ) b )\ta", PAIR),
        ("#\t( a ( not b ) )\tc", PAIR),
        ("#\t( a ( or ( or b ) ) )\tc", PAIR),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path, f"=\ta\ta\n{line}\n")
    for read in (read_logic, read_logic_sequences):
        with pytest.raises(TreeError, match=re.escape(message)) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}:2: ")
