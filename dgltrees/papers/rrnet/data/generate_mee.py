"""Math expression evaluation: bracketed arithmetic on digits, with its value.

Jacob, Lin, Sordoni & Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences", RepL4NLP 2018, section 3.1. In an expression of n
operators, the number of operators to the left of the root is uniform over 0 to n - 1, and likewise
in every subexpression; operators and digits are uniform. Expressions with a remainder by zero, and
those whose value does not have two digits, are dropped. They are not the expressions of the paper.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import draws
from dgltrees.papers.rrnet.data.arithmetic import (
    LARGEST_VALUE,
    MOST_OPERATORS,
    SMALLEST_VALUE,
    SYMBOLS,
    combine,
)
from dgltrees.settings.values import SampleSize

BLOCK = 50_000
"""The number of expressions drawn at once; the result does not depend on it."""


def make_mee(
    out: PathLike,
    *,
    train: SampleSize = 100_000,
    valid: SampleSize = 10_000,
    test: SampleSize = 10_000,
    lengths: Sequence[int] = (4, 5, 6, 7),
    seed: int = 0,
    positive: bool = False,
    overwrite: bool = False,
) -> dict[str, Path]:
    """Write math expressions: ``train4.tsv`` to ``train7.tsv``, ``valid4.tsv`` ..., ``test4.tsv``.

    A line is ``value TAB expression``. File n contains expressions of n operators. The expressions
    of all splits are distinct, and all splits of a length have the same distribution.

    Args:
        out: the folder to write to, new or empty.
        train: training expressions per length; a split of 0 expressions has no files.
        valid: validation expressions per length.
        test: test expressions per length.
        lengths: the numbers of operators, each 1 to 18.
        seed: the same seed gives the same bytes on every machine.
        positive: also drop expressions with a negative subexpression, as the authors' code does;
            the paper restricts only the value of the whole expression.
        overwrite: write to a folder that contains files; those of the same names are replaced.

    Returns:
        the files, by name: ``train4``, ...

    Raises:
        ConfigError: a setting is out of range, there are fewer distinct expressions than requested,
            or the folder contains files.
    """
    sizes = [train, valid, test]
    once = len(set(lengths)) == len(lengths) > 0
    if not once or not all(1 <= n <= MOST_OPERATORS for n in lengths):
        raise ConfigError(
            f"lengths: expected different numbers of operators from 1 to {MOST_OPERATORS}, "
            f"got {list(lengths)}"
        )
    folder = draws.check_folder(out, overwrite)
    files: dict[str, Sequence[str]] = {}
    for n in lengths:
        lines = _distinct(draws.stream("mee", seed, n), n, sum(sizes), positive)
        draws.shuffle(draws.stream("mee", seed, n, "order"), lines)
        files |= draws.cut(lines, sizes, f"{{}}{n}.tsv")
    return draws.write_folder(folder, files)


def _distinct(rng: random.Random, n: int, count: int, positive: bool) -> list[str]:
    """Draw ``count`` different lines of expressions of n operators, in the order of their draws."""
    lines = np.zeros(0, f"S{4 * n + 4}")
    while len(lines) < count:
        block = draw_expressions(rng, n, BLOCK)
        mask = block.defined & (block.value >= SMALLEST_VALUE) & (block.value <= LARGEST_VALUE)
        if positive:
            mask &= ~block.negative
        before, lines = len(lines), np.append(lines, _lines(block, mask))
        first = np.unique(lines, return_index=True)[1]
        lines = lines[np.sort(first)]
        if len(lines) == before:
            raise ConfigError(
                f"expected at most {before:,} expressions of length {n} in all splits together, "
                f"since {BLOCK:,} more draws gave no other, got {count:,}; reduce train, valid or "
                "test"
            )
    texts: list[str] = lines[:count].astype(str).tolist()
    return texts


class Expressions(NamedTuple):
    """``B`` expressions of ``n`` operators."""

    digits: NDArray[np.int64]  # (B, n + 1)
    operators: NDArray[np.int64]  # (B, n) rows of SYMBOLS; operator i follows digit i
    opens: NDArray[np.int64]  # (B, n + 1) the number of brackets that open before each digit
    closes: NDArray[np.int64]  # (B, n + 1) the number of brackets that close behind each digit
    value: NDArray[np.int64]  # (B,)
    defined: NDArray[np.bool_]  # (B,) whether no subexpression is a remainder by zero
    negative: NDArray[np.bool_]  # (B,) whether the value of any subexpression is below zero


def draw_expressions(rng: random.Random, n: int, count: int) -> Expressions:
    """Draw ``count`` expressions of ``n`` operators, with any value.

    The operators are applied in a uniformly random order. So each of them is equally likely to be
    the last, which is the root, also in every subexpression.
    """
    uniform = draws.table(rng, count, 3 * n + 1)
    order = np.argsort(uniform[:, :n], axis=1, kind="stable")
    operators = (uniform[:, n : 2 * n] * len(SYMBOLS)).astype(np.int64)
    digits = (uniform[:, 2 * n :] * 10).astype(np.int64)
    rows = np.arange(count)
    value = digits.copy()  # of each subexpression, at its first digit
    first = np.tile(np.arange(n + 1), (count, 1))  # digit of each subexpression, at its last one
    last = first.copy()  # digit of each subexpression, at its first one
    opens, closes = np.zeros_like(digits), np.zeros_like(digits)
    defined, negative = np.ones(count, bool), np.zeros(count, bool)
    for i in order.T:  # joins the subexpressions to the left and right of operator i
        begin, end = first[rows, i], last[rows, i + 1]
        result, exists = combine(operators[rows, i], value[rows, begin], value[rows, i + 1])
        value[rows, begin], first[rows, end], last[rows, begin] = result, begin, end
        opens[rows, begin] += 1
        closes[rows, end] += 1
        defined &= exists
        negative |= result < 0
    return Expressions(digits, operators, opens, closes, value[:, 0], defined, negative)


def _lines(expressions: Expressions, mask: NDArray[np.bool_]) -> NDArray[np.bytes_]:
    """Format the lines of the expressions in ``mask``, whose values have two digits."""
    digits, operators, opens, closes, value = (column[mask] for column in expressions[:5])
    count, n = operators.shape
    rows = np.arange(count)[:, None]
    brackets_before = np.cumsum(opens, axis=1) + np.cumsum(closes, axis=1) - closes
    at_digit = brackets_before + 2 * np.arange(n + 1)
    at_operator = (at_digit + closes)[:, :-1] + 1
    text = np.zeros((count, 4 * n + 1), np.uint8)
    text[rows, at_digit] = ord("0") + digits
    text[rows, at_operator] = np.frombuffer(SYMBOLS.encode(), np.uint8)[operators]
    # Brackets close where there is one digit more than operators to the left, and open elsewhere.
    behind_digit = np.cumsum(text != 0, axis=1) % 2 == 1
    brackets = np.where(behind_digit, ord(")"), ord("("))
    tens, ones = np.divmod(value, 10)
    head = np.stack([ord("0") + tens, ord("0") + ones, np.full(count, ord("\t"))], axis=1)
    lines = np.concatenate([head, np.where(text == 0, brackets, text)], axis=1).astype(np.uint8)
    return np.asarray(lines.view(f"S{4 * n + 4}")[:, 0])
