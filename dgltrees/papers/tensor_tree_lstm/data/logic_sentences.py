"""Propositional sentences with a given number of operators, drawn from a small grammar.

At the first three levels a node is a variable with probability 0.55, else AND or OR of two nodes
of the next level; at the fourth it is a variable. Each node is negated with probability 1/3. These
numbers were fitted to the pairs of Bowman, Potts & Manning, "Recursive Neural Networks Can Learn
Logical Semantics", CVSC 2015.

A truth table is an integer of 64 bits, one per assignment of the six variables.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from itertools import accumulate

from dgltrees.formats.synthetic.draws import below

__all__ = ["ALWAYS", "LARGEST", "SIZE_WEIGHTS", "TABLES", "draw_sentence"]

LEVELS = 3
VARIABLE = 0.55
NEGATED = 1 / 3

LARGEST = 2 ** (LEVELS + 1) - 1 + 2**LEVELS - 1
"""The most operators: every node is negated, and AND or OR above the last level."""

ALWAYS = 2**64 - 1
TABLES = {
    name: sum(1 << row for row in range(64) if row >> place & 1)
    for place, name in enumerate("abcdef")
}

_Shape = tuple[bool, int, int]  # negated?, operators to the left and right; -1, -1: a variable


def _grammar() -> tuple[list[list[tuple[list[float], list[_Shape]]]], list[float]]:
    """The possible shapes of a node by its level and the number ``k`` of operators in its subtree.

    Returns:
        per level and k, the cumulative weights of the shapes and the shapes; and the probability of
        k operators at the first level.
    """
    table: list[list[tuple[list[float], list[_Shape]]]] = []
    lower: list[float] = []  # probability of k operators at the next level
    for level in range(LEVELS, -1, -1):
        variable = VARIABLE if level < LEVELS else 1.0
        sizes = 2 * len(lower) + 1 if lower else 2
        row, totals = [], []
        for k in range(sizes):
            weights, shapes = [], []
            for negated, weight in ((False, 1 - NEGATED), (True, NEGATED)):
                remaining = k - negated
                if remaining == 0:
                    weights.append(weight * variable)
                    shapes.append((negated, -1, -1))
                for left in range(remaining):
                    right = remaining - 1 - left
                    if left < len(lower) and right < len(lower):
                        weights.append(weight * (1 - variable) * lower[left] * lower[right])
                        shapes.append((negated, left, right))
            sums = list(accumulate(weights))
            row.append((sums, shapes))
            totals.append(sums[-1])
        table.insert(0, row)
        lower = totals
    return table, lower


_TABLE, SIZE_WEIGHTS = _grammar()


def draw_sentence(rng: random.Random, operators: int, variables: str) -> tuple[str, int]:
    """Draw a sentence with exactly this many operators.

    Arguments:
        operators: the number of AND, OR and NOT together, 0 to ``LARGEST``.
        variables: the letters to draw from, such as ``"acdf"``.

    Returns:
        the sentence, such as ``( a ( or ( not b ) ) )``, and its truth table, whose bit i is its
        value under assignment i.
    """
    pending: list[tuple[int, int] | str] = [(0, operators)]  # (level, size), or an operator
    operands: list[tuple[str, int]] = []
    while pending:
        item = pending.pop()
        if not isinstance(item, str):
            level, size = item
            sums, shapes = _TABLE[level][size]
            negated, left, right = shapes[bisect_right(sums, rng.random() * sums[-1])]
            if negated:
                pending.append("not")
            if left < 0:
                letter = variables[below(rng, len(variables))]
                operands.append((letter, TABLES[letter]))
            else:
                pending.append(("and", "or")[below(rng, 2)])
                pending.append((level + 1, right))
                pending.append((level + 1, left))
            continue
        text, table = operands.pop()
        if item == "not":
            operands.append((f"( not {text} )", ALWAYS ^ table))
        else:
            left_text, left_table = operands.pop()
            joined = left_table & table if item == "and" else left_table | table
            operands.append((f"( {left_text} ( {item} {text} ) )", joined))
    return operands[0]
