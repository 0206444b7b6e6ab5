import itertools
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dgltrees.papers.rrnet.data.arithmetic import MEE_ALPHABET, SYMBOLS, combine, evaluate

DIGITS = st.sampled_from("0123456789")
EXPRESSIONS = st.recursive(
    DIGITS,
    lambda below: st.builds("({}{}{})".format, below, st.sampled_from(SYMBOLS), below),
    max_leaves=19,
)


def codes(expressions: Sequence[str]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """``(L, W)`` characters as rows of the alphabet, and ``(L, W)`` the depth behind each."""
    width = max(map(len, expressions)) + 1
    code = np.full((len(expressions), width), len(MEE_ALPHABET), np.int8)
    for row, expression in enumerate(expressions):
        code[row, : len(expression)] = [MEE_ALPHABET.index(letter) for letter in expression]
    step = (code == MEE_ALPHABET.index("(")).astype(int) - (code == MEE_ALPHABET.index(")"))
    return code, np.cumsum(step, axis=1, dtype=np.int8)


def test_operators_are_those_of_python() -> None:
    cases = list(itertools.product(range(4), range(-12, 13), range(-12, 13)))
    value, defined = combine(*np.array(cases).T)
    for (operator, left, right), result, is_defined in zip(cases, value, defined):
        assert is_defined == (SYMBOLS[operator] != "%" or right != 0)
        if is_defined:
            assert result == eval(f"({left}){SYMBOLS[operator]}({right})")


def test_the_largest_values_are_exact() -> None:
    product = "9"
    for _ in range(18):
        product = f"({product}*9)"
    other = product[:-2] + "8)"
    assert evaluate(*codes([product, other])).value.tolist() == [9**19, 9**18 * 8]


@given(expressions=st.lists(EXPRESSIONS, min_size=1, max_size=6))
def test_values_are_those_of_python(expressions: list[str]) -> None:
    evaluation = evaluate(*codes(expressions))
    assert not evaluation.misplaced.any()
    for row, expression in enumerate(expressions):
        try:
            assert eval(expression) == evaluation.value[row]
            assert not evaluation.undefined[row].any()
        except ZeroDivisionError:
            first = int(evaluation.undefined[row].argmax())
            assert is_zero_division(innermost(expression[: first + 1]))


def innermost(prefix: str) -> str:
    """The bracket at the end of the beginning of an expression."""
    depth = 0
    for start in reversed(range(len(prefix))):
        depth += (prefix[start] == ")") - (prefix[start] == "(")
        if depth == 0:
            return prefix[start:]
    raise AssertionError(prefix)


def is_zero_division(expression: str) -> bool:
    try:
        eval(expression)
    except ZeroDivisionError:
        return True
    return False


def test_brackets_without_exactly_one_operator_are_found() -> None:
    evaluation = evaluate(*codes(["(1+2-3)", "1+2", "((1+2))", "((1+2)+(3))", "((1*2)+(3-4))"]))
    places = [np.flatnonzero(row).tolist() for row in evaluation.misplaced]
    assert places == [[4], [1], [6], [9], []]
