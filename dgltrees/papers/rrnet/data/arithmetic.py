"""The arithmetic of math expressions, vectorized over expressions.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SYMBOLS = "+-*%"
"""The operators; ``%`` is the remainder as in Python."""

MEE_ALPHABET = "0123456789" + SYMBOLS + "()"
"""The characters of an expression, in the order of their ids."""

OPEN, CLOSE = MEE_ALPHABET.index("("), MEE_ALPHABET.index(")")

SMALLEST_VALUE, LARGEST_VALUE = 10, 99
"""The range of the value of a whole expression: two digits."""

MOST_OPERATORS = 18
"""The absolute value of n operators on digits is at most 9^(n + 1), which fits into 64 bits."""


def combine(
    operator: NDArray[Any], left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Apply operators to pairs of operands."""
    defined = (operator != SYMBOLS.index("%")) | (right != 0)
    remainder = np.remainder(left, np.where(right == 0, 1, right))  # has the sign of the divisor
    return np.choose(operator, [left + right, left - right, left * right, remainder]), defined


class Evaluation(NamedTuple):
    """The values of ``L`` expressions of ``W`` characters, and the positions of errors."""

    value: NDArray[np.int64]  # (L,) meaningless for expressions that break a rule
    misplaced: NDArray[np.bool_]  # (L, W) a second operator, or the end of a bracket without one
    undefined: NDArray[np.bool_]  # (L, W) the end of a bracket with a remainder by zero


def evaluate(code: NDArray[np.int8], depth: NDArray[np.int8]) -> Evaluation:
    """Evaluate expressions with exactly one operator per bracket.

    It is one pass from left to right. A stack per expression holds the left operand and the
    operator of each open bracket.
    """
    size = len(code), int(depth.max(initial=0)) + 1
    left, operator = np.zeros(size, np.int64), np.full(size, -1)
    operator[:, 0] = 0  # so that any operator outside all brackets is a second one
    value = np.zeros(len(code), np.int64)
    misplaced, undefined = np.zeros(code.shape, bool), np.zeros(code.shape, bool)
    for column, character in enumerate(code.T):
        np.copyto(value, character, where=character < 10)
        opens, closes = np.flatnonzero(character == OPEN), np.flatnonzero(character == CLOSE)
        operator[opens, depth[opens, column]] = -1
        rows = np.flatnonzero((character >= 10) & (character < OPEN))
        level = depth[rows, column]
        misplaced[rows, column] = operator[rows, level] >= 0
        left[rows, level], operator[rows, level] = value[rows], character[rows] - 10
        level = depth[closes, column] + 1
        closed = operator[closes, level]
        misplaced[closes, column] = closed < 0
        value[closes], defined = combine(np.maximum(closed, 0), left[closes, level], value[closes])
        undefined[closes, column] = ~defined
    return Evaluation(value, misplaced, undefined)
