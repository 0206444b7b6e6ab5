"""Propositional sentences with a given number of operators, drawn from a small grammar.

At the first three levels a node is a variable with probability 0.55, else AND or OR of two nodes
of the next level; at the fourth it is a variable. A third of all nodes is negated, once. These
numbers were fitted to the pairs of Bowman, Potts and Manning, "Recursive Neural Networks Can
Learn Logical Semantics", 2015.

A truth table is an integer of 64 bits, one for every assignment of the six variables.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from itertools import accumulate
from typing import Union

from dgltrees.formats.synthetic.draws import below

__all__ = ["ALWAYS", "LARGEST", "SIZE_WEIGHTS", "TABLES", "draw_sentence"]

LEVELS = 3
VARIABLE = 0.55
NEGATED = 1 / 3

LARGEST = 2 ** (LEVELS + 1) - 1 + 2**LEVELS - 1
"""The most operators: every node negated, and every one above the last level AND or OR."""

ALWAYS = 2**64 - 1
TABLES = {
    name: sum(1 << row for row in range(64) if row >> place & 1)
    for place, name in enumerate("abcdef")
}

_Shape = tuple[bool, int, int]  # negated?, operators to the left and right; -1, -1: a variable


def _grammar() -> tuple[list[list[tuple[list[float], list[_Shape]]]], list[float]]:
    """What a node with ``k`` operators at and below it can be, by level and ``k``.

    Returns:
        for every level and k, running sums of the weights of the shapes, and the shapes; and the
        probability of k operators at the first level.
    """
    table: list[list[tuple[list[float], list[_Shape]]]] = []
    lower: list[float] = []  # probability of k operators, one level down
    for level in range(LEVELS, -1, -1):
        variable = VARIABLE if level < LEVELS else 1.0
        sizes = 2 * len(lower) + 1 if lower else 2
        row, totals = [], []
        for k in range(sizes):
            weights, shapes = [], []
            for negated, sign in ((False, 1 - NEGATED), (True, NEGATED)):
                rest = k - negated
                if rest == 0:
                    weights.append(sign * variable)
                    shapes.append((negated, -1, -1))
                for left in range(rest):
                    right = rest - 1 - left
                    if left < len(lower) and right < len(lower):
                        weights.append(sign * (1 - variable) * lower[left] * lower[right])
                        shapes.append((negated, left, right))
            sums = list(accumulate(weights))
            row.append((sums, shapes))
            totals.append(sums[-1])
        table.insert(0, row)
        lower = totals
    return table, lower


_TABLE, SIZE_WEIGHTS = _grammar()


def draw_sentence(rng: random.Random, operators: int, variables: str) -> tuple[str, int]:
    """One sentence with exactly this many operators, and its truth table.

    Arguments:
        operators: AND, OR and NOT together, 0 to ``LARGEST``.
        variables: the letters to draw from, such as ``"acdf"``.

    Returns:
        text such as ``( a ( or ( not b ) ) )``, and the table, bit i for assignment i.
    """
    todo: list[Union[tuple[int, int], str]] = [(0, operators)]
    done: list[tuple[str, int]] = []
    while todo:
        item = todo.pop()
        if not isinstance(item, str):
            level, size = item
            sums, shapes = _TABLE[level][size]
            negated, left, right = shapes[bisect_right(sums, rng.random() * sums[-1])]
            if negated:
                todo.append("not")
            if left < 0:
                letter = variables[below(rng, len(variables))]
                done.append((letter, TABLES[letter]))
            else:
                todo.append(("and", "or")[below(rng, 2)])
                todo.append((level + 1, right))
                todo.append((level + 1, left))
            continue
        text, table = done.pop()
        if item == "not":
            done.append((f"( not {text} )", ALWAYS ^ table))
        else:
            first, other = done.pop()
            both = other & table if item == "and" else other | table
            done.append((f"( {first} ( {item} {text} ) )", both))
    return done[0]
