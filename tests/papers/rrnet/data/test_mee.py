from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dgltrees import TreeError, read
from dgltrees.papers.rrnet.data.generate_mee import make_mee
from dgltrees.papers.rrnet.data.mee import MEE_ALPHABET, stream_mee
from dgltrees.papers.rrnet.graphs import match_splits
from dgltrees.trees.kinds import Operation
from tests.papers.rrnet.data.test_arithmetic import EXPRESSIONS, is_zero_division
from tests.trees.nested import assert_bad, assert_same, write


def is_example(expression: str) -> bool:
    return not is_zero_division(expression) and 10 <= int(eval(expression)) <= 99


# The values of the second kind have two digits, so that hypothesis rejects few examples.
EXAMPLES = st.one_of(EXPRESSIONS, EXPRESSIONS.map("(({}%9)+(3*6))".format)).filter(
    lambda text: is_example(text) and text.count("(") <= 18
)


def lines(expressions: Sequence[str]) -> str:
    return "".join(f"{eval(text)}\t{text}\n" for text in expressions)


@given(expressions=st.lists(EXAMPLES, min_size=1, max_size=5))
def test_reads_characters(tmp_path_factory: pytest.TempPathFactory, expressions: list[str]) -> None:
    examples = read(write(tmp_path_factory.mktemp("d"), lines(expressions)), "mee")
    forest = examples.forest
    assert forest.sizes.tolist() == [len(text) for text in expressions]
    letters = "".join(expressions)
    assert "".join(forest.vocabs["word"].decode(forest.columns["word"])) == letters
    assert [MEE_ALPHABET[i] for i in forest.columns["word"]] == list(letters)
    kinds = {"(": Operation.SPLIT, ")": Operation.MERGE}
    assert forest.columns["op"].tolist() == [kinds.get(x, Operation.RECUR) for x in letters]
    assert examples.columns["target"].tolist() == [eval(text) for text in expressions]
    names = examples.targets.decode(examples.columns["target"])
    assert names == [str(eval(text)) for text in expressions]
    operators = [sum(letter in "+-*%" for letter in text) for text in expressions]
    assert examples.columns["operators"].tolist() == operators
    for start, size in zip(forest.offsets, forest.sizes):  # each character below the next
        np.testing.assert_array_equal(forest.parent[start : start + size - 1], range(1, size))
        assert forest.parent[start + size - 1] == -1


def test_reads_generated_files(tmp_path: Path) -> None:
    paths = make_mee(tmp_path / "made", train=50, valid=0, test=0, lengths=[3, 6])
    texts = [paths[name].read_text() for name in ("train3", "train6")]
    one, two = (read(paths[name], "mee") for name in ("train3", "train6"))
    assert np.unique(one.columns["operators"]) == 3
    assert np.unique(two.columns["operators"]) == 6
    both = read(write(tmp_path, "".join(texts)), "mee")
    assert_same(type(one).concat([one, two]), both)
    matching = match_splits(both.forest.columns["op"], both.forest.sizes, complete=True)
    assert len(matching.merge) == both.columns["operators"].sum()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("12\t(3*4)\n\n12\t(3*4)", 2, "expected a line of the form value TAB expression, got an"),
        ("\n12\t(3*4)\n", 1, "expected a line of the form value TAB expression, got an empty line"),
        ("12\t(3*4)\n12 (3*4)\n1\t2", 2, "value TAB expression, got a line without a TAB"),
        ("12", 1, "value TAB expression, got a line without a TAB"),
        ("7\t(3+4)", 1, "expected a value from 10 to 99 before the TAB, got '7'"),
        ("08\t(4+4)", 1, "expected a value from 10 to 99 before the TAB, got '08'"),
        ("100\t(4+4)", 1, "expected a value from 10 to 99 before the TAB, got '100'"),
        ("-9\t(0-9)", 1, "expected a value from 10 to 99 before the TAB, got '-9'"),
        ("1é\t(0-9)", 1, "expected a value from 10 to 99 before the TAB, got '1é'"),
        ("(3*4)\t12", 1, "expected a value from 10 to 99 before the TAB, got '(3*4)'"),
        ("\t(3*4)", 1, "expected a value from 10 to 99 before the TAB, got ''"),
        ("\t", 1, "expected a value from 10 to 99 before the TAB, got ''"),
        ("12\t(3*4)\n12\t(3/4)", 2, "one of 0123456789+-*%(), got '/' in column 6"),
        ("12\t(3 * 4)", 1, "one of 0123456789+-*%(), got ' ' in column 6"),
        ("12\t(3·4)", 1, "one of 0123456789+-*%(), got '·' in column 6"),
        ("12\t(3*4)\t", 1, "one of 0123456789+-*%(), got '\\t' in column 9"),
        ("12\t", 1, "expected a digit or (, got the end of the line in column 4"),
        ("12\t(3*", 1, "expected a digit or (, got the end of the line in column 7"),
        ("12\t(3*)", 1, "expected a digit or (, got ')' in column 7"),
        ("12\t()", 1, "expected a digit or (, got ')' in column 5"),
        ("12\t(-3*4)", 1, "expected a digit or (, got '-' in column 5"),
        ("12\t(12+0)", 1, "expected an operator or ), got '2' in column 6"),
        ("12\t(3*4)(3*4)", 1, "expected an operator or ), got '(' in column 9"),
        ("12\t(3*4", 1, "expected a ) for every (, got 1 left open; is it cut off?"),
        ("12\t((3*4)", 1, "expected a ) for every (, got 1 left open; is it cut off?"),
        ("12\t(3*4))", 1, "expected a ( for every ), got ')' in column 9, which closes nothing"),
        ("12\t3*4)+(1", 1, "expected a ( for every ), got ')' in column 7, which closes nothing"),
        ("12\t3*4", 1, "none outside, as in (1+(2*3)), got '*' in column 5"),
        ("12\t(3*4*1)", 1, "none outside, as in (1+(2*3)), got '*' in column 8"),
        ("12\t((3*4))", 1, "none outside, as in (1+(2*3)), got ')' in column 10"),
        ("12\t((3)*4)", 1, "expected one operator in every bracket and none outside"),
        ("12\t(3*4)*1", 1, "expected one operator in every bracket and none outside"),
        ("12\t(3*(4%(1-1)))", 1, "got one in the bracket closed by ')' in column 15"),
        ("12\t(3*4)\n12\t(3*5)", 2, "expected the value of the expression, 15, got 12"),
        ("12\t(0-(3*4))", 1, "expected the value of the expression, -12, got 12"),
        ("12\t(3-(7%(0-4)))", 1, "expected the value of the expression, 4, got 12"),
        ("12\t7", 1, "expected the value of the expression, 7, got 12"),
        ("12\t" + "(" * 19, 1, "got the end of the line in column 23"),
        (
            "12\t" + "(" * 19 + "1" + "+1)" * 19,
            1,
            "at most 18 operators, so of 73 characters, got 77 characters",
        ),
    ],
)
def test_bad_lines(tmp_path: Path, text: str, line: int, message: str) -> None:
    assert_bad(tmp_path, "mee", text, line, message)


def test_18_operators(tmp_path: Path) -> None:
    examples = read(write(tmp_path, "19\t" + "(" * 18 + "1" + "+1)" * 18), "mee")
    assert examples.columns["operators"].tolist() == [18]


def test_ends_of_lines(tmp_path: Path) -> None:
    expected = read(write(tmp_path, "12\t(3*4)\n13\t(9+4)\n"), "mee")
    for text in ("12\t(3*4)\r\n13\t(9+4)\r\n", "\ufeff12\t(3*4)\n13\t(9+4)"):
        assert_same(read(write(tmp_path, text), "mee"), expected)


@pytest.mark.parametrize("trees", [1, 2, 3, 100])
def test_errors_in_later_chunks_have_the_files_line(tmp_path: Path, trees: int) -> None:
    text = lines(["(3*4)", "((1+9)*(2+2))", "(9+4)", "(6*(9%5))", "((9*9)+1)"])
    for bad, message in (("\n", "an empty line"), ("12\t(3*5)\n", "the expression, 15, got 12")):
        with pytest.raises(TreeError, match=f":6: .*{message}"):
            list(stream_mee(write(tmp_path, text + bad), trees))
