"""The arithmetic of math expression evaluation, on many expressions at once.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "CLOSE",
    "LARGEST_VALUE",
    "MEE_ALPHABET",
    "MOST_OPERATORS",
    "OPEN",
    "SMALLEST_VALUE",
    "SYMBOLS",
    "Evaluation",
    "combine",
    "evaluate",
]

SYMBOLS = "+-*%"
"""The operators, in the order of their numbers; ``%`` is the remainder as Python has it."""

MEE_ALPHABET = "0123456789" + SYMBOLS + "()"
"""The characters of an expression, in the order of their ids."""

OPEN, CLOSE = MEE_ALPHABET.index("("), MEE_ALPHABET.index(")")

SMALLEST_VALUE, LARGEST_VALUE = 10, 99
"""What a whole expression may be worth: a number of two digits."""

MOST_OPERATORS = 18
"""An expression of n operators on digits stays within 9^(n + 1), so within 64 bits."""


def combine(
    operator: NDArray[Any], left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Apply an operator to each pair of operands.

    Arguments:
        operator: ``(n,)`` places in :data:`SYMBOLS`.
        left, right: ``(n,)`` the operands.

    Returns:
        ``(n,)`` the values, and which of them there are: a remainder by zero is none.
    """
    defined = (operator != SYMBOLS.index("%")) | (right != 0)
    remainder = np.remainder(left, np.where(right == 0, 1, right))  # has the sign of the divisor
    return np.choose(operator, [left + right, left - right, left * right, remainder]), defined


class Evaluation(NamedTuple):
    """What :func:`evaluate` finds."""

    value: NDArray[np.int64]  # (L,) nonsense where one of the others holds
    misplaced: NDArray[np.bool_]  # (L, W) an operator too many, or a bracket closed without one
    undefined: NDArray[np.bool_]  # (L, W) the bracket of a remainder by zero closes


def evaluate(code: NDArray[np.int8], depth: NDArray[np.int8]) -> Evaluation:
    """The values of expressions of which every operator stands in a bracket of its own.

    One pass from left to right, with the left operand and the operator of each open bracket on a
    stack.

    Arguments:
        code: ``(L, W)`` places in :data:`MEE_ALPHABET`, or larger numbers, which are passed over.
            Operands and operators take turns, and all brackets close.
        depth: ``(L, W)`` how many brackets are open behind each character.
    """
    size = len(code), int(depth.max(initial=0)) + 1
    left, operator = np.zeros(size, np.int64), np.full(size, -1)
    operator[:, 0] = 0  # so that another one outside all brackets is too many
    value = np.zeros(len(code), np.int64)
    misplaced, undefined = np.zeros(code.shape, bool), np.zeros(code.shape, bool)
    for place, column in enumerate(code.T):
        np.copyto(value, column, where=column < 10)
        opens, closes = np.flatnonzero(column == OPEN), np.flatnonzero(column == CLOSE)
        operator[opens, depth[opens, place]] = -1
        rows = np.flatnonzero((column >= 10) & (column < OPEN))
        level = depth[rows, place]
        misplaced[rows, place] = operator[rows, level] >= 0
        left[rows, level], operator[rows, level] = value[rows], column[rows] - 10
        level = depth[closes, place] + 1
        chosen = operator[closes, level]
        misplaced[closes, place] = chosen < 0
        value[closes], good = combine(np.maximum(chosen, 0), left[closes, level], value[closes])
        undefined[closes, place] = ~good
    return Evaluation(value, misplaced, undefined)
