"""Math expression evaluation: arithmetic on digits, in brackets, with the value.

Athul Paul Jacob, Zhouhan Lin, Alessandro Sordoni and Yoshua Bengio, "Learning Hierarchical
Structures On-The-Fly with a Recurrent-Recursive Model for Sequences", 2018, section 3.1. An
expression of n operators has k of them on the left of its root, k even over 0 to n-1, and so has
every part of it; operators and digits are all equally likely. Those without a value, because of a
remainder by zero, and those whose value has not two digits are dropped. What this file does not
do: reproduce the very expressions of the paper.
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
from dgltrees.formats.arithmetic import (
    LARGEST_VALUE,
    MOST_OPERATORS,
    SMALLEST_VALUE,
    SYMBOLS,
    combine,
)
from dgltrees.formats.synthetic.draws import shuffle, stream, table
from dgltrees.formats.synthetic.splits import SPLITS, check_folder, cut, write_folder

__all__ = ["draw_expressions", "make_mee"]

VERSION = 1
"""Goes up when the same settings give other bytes."""

BLOCK = 50_000
"""So many expressions are drawn at once; what comes out does not depend on it."""


def make_mee(
    out: PathLike,
    *,
    train: int = 100_000,
    valid: int = 10_000,
    test: int = 10_000,
    lengths: Sequence[int] = (4, 5, 6, 7),
    seed: int = 0,
    positive: bool = False,
    overwrite: bool = False,
) -> dict[str, Path]:
    """Write math expressions: ``train4.tsv`` to ``train7.tsv``, ``valid4.tsv`` ..., ``test4.tsv``.

    A line is ``value TAB expression``; file n holds expressions of n operators. All expressions of
    all splits are distinct, and all splits of a length have the same distribution.

    Args:
        out: the folder to write to; new or empty.
        train: training expressions of each length; a split of 0 expressions has no files.
        valid: validation expressions of each length.
        test: test expressions of each length.
        lengths: numbers of operators, each 1 to 18.
        seed: the same seed gives the same bytes on every machine.
        positive: also drop expressions in which a part is negative, as the authors' code does;
            the paper restricts the value of the whole alone.
        overwrite: write although the folder holds files; those of an older data set go.

    Returns:
        The paths written, by name: ``train4``, ..., ``manifest``.

    Raises:
        ConfigError: for settings out of range, more expressions than there are, or a folder in use.
    """
    sizes = [train, valid, test]
    _check(sizes, lengths)
    folder = check_folder(out, overwrite)
    files: dict[str, Sequence[str]] = {}
    for n in lengths:
        lines = _distinct(stream("mee", seed, n), n, sum(sizes), positive)
        shuffle(stream("mee", seed, n, "order"), lines)
        files.update((f"{split}{n}.tsv", part) for split, part in zip(SPLITS, cut(lines, sizes)))
    settings = {
        "train": train,
        "valid": valid,
        "test": test,
        "lengths": list(lengths),
        "seed": seed,
        "positive": positive,
    }
    header = {"generator": "mee", "version": VERSION, "settings": settings}
    return write_folder(folder, files, header)


def _check(sizes: Sequence[int], lengths: Sequence[int]) -> None:
    """Refuse settings that make no sense."""
    for split, size in zip(SPLITS, sizes):
        if size < 0:
            raise ConfigError(f"{split}: expected 0 expressions or more, got {size}")
    if not any(sizes):
        raise ConfigError("train, valid and test are all 0: there is nothing to write")
    once = len(set(lengths)) == len(lengths) > 0
    if not once or not all(1 <= n <= MOST_OPERATORS for n in lengths):
        raise ConfigError(
            f"lengths: expected different numbers of operators from 1 to {MOST_OPERATORS}, "
            f"got {list(lengths)}"
        )


def _distinct(rng: random.Random, n: int, count: int, positive: bool) -> list[str]:
    """``count`` different lines of one length, in the order in which they were drawn."""
    lines = np.zeros(0, f"S{4 * n + 4}")
    while len(lines) < count:
        drawn = draw_expressions(rng, n, BLOCK)
        keep = drawn.defined & (drawn.value >= SMALLEST_VALUE) & (drawn.value <= LARGEST_VALUE)
        if positive:
            keep &= ~drawn.negative
        known, lines = len(lines), np.append(lines, _lines(drawn, keep))
        first = np.unique(lines, return_index=True)[1]
        lines = lines[np.sort(first)]
        if len(lines) == known:
            raise ConfigError(
                f"{count:,} distinct expressions of length {n} were asked for in all splits "
                f"together, but after {known:,} the next {BLOCK:,} draws gave nothing new; "
                "ask for fewer"
            )
    chosen: list[str] = lines[:count].astype(str).tolist()
    return chosen


class Expressions(NamedTuple):
    """``B`` expressions of ``n`` operators."""

    digits: NDArray[np.int64]  # (B, n + 1)
    operators: NDArray[np.int64]  # (B, n) places in SYMBOLS, the i-th right of the i-th digit
    opens: NDArray[np.int64]  # (B, n + 1) brackets that open before each digit
    closes: NDArray[np.int64]  # (B, n + 1) brackets that close behind it
    value: NDArray[np.int64]  # (B,)
    defined: NDArray[np.bool_]  # (B,) no remainder by zero
    negative: NDArray[np.bool_]  # (B,) a part, or the whole, is below zero


def draw_expressions(rng: random.Random, n: int, count: int) -> Expressions:
    """Draw ``count`` expressions of ``n`` operators, whatever they are worth.

    The operators are applied in a random order, all orders equally likely. Then each of them is
    equally likely to come last, which makes it the root, and so within every part.
    """
    drawn = table(rng, count, 3 * n + 1)
    order = np.argsort(drawn[:, :n], axis=1, kind="stable")
    operators = (drawn[:, n : 2 * n] * len(SYMBOLS)).astype(np.int64)
    digits = (drawn[:, 2 * n :] * 10).astype(np.int64)
    rows = np.arange(count)
    value = digits.copy()  # of each part at its first digit
    first = np.tile(np.arange(n + 1), (count, 1))  # of each part at its last digit
    last = first.copy()  # of each part at its first digit
    opens, closes = np.zeros_like(digits), np.zeros_like(digits)
    defined, negative = np.ones(count, bool), np.zeros(count, bool)
    for place in order.T:  # joins the parts left and right of an operator
        begin, end = first[rows, place], last[rows, place + 1]
        result, good = combine(operators[rows, place], value[rows, begin], value[rows, place + 1])
        value[rows, begin], first[rows, end], last[rows, begin] = result, begin, end
        opens[rows, begin] += 1
        closes[rows, end] += 1
        defined &= good
        negative |= result < 0
    return Expressions(digits, operators, opens, closes, value[:, 0], defined, negative)


def _lines(drawn: Expressions, keep: NDArray[np.bool_]) -> NDArray[np.bytes_]:
    """``(K,)`` lines of the file: those expressions to keep, whose values have two digits."""
    digits, operators, opens, closes, value = (column[keep] for column in drawn[:5])
    count, n = operators.shape
    rows = np.arange(count)[:, None]
    before = np.cumsum(opens, axis=1) + np.cumsum(closes, axis=1) - closes  # brackets
    at_digit = before + 2 * np.arange(n + 1)
    at_operator = (at_digit + closes)[:, :-1] + 1
    text = np.zeros((count, 4 * n + 1), np.uint8)
    text[rows, at_digit] = ord("0") + digits
    text[rows, at_operator] = np.frombuffer(SYMBOLS.encode(), np.uint8)[operators]
    # Brackets close behind a digit, when one digit more than operators has been written, and open
    # elsewhere.
    behind_digit = np.cumsum(text != 0, axis=1) % 2 == 1
    brackets = np.where(behind_digit, ord(")"), ord("("))
    tens, ones = np.divmod(value, 10)
    head = np.stack([ord("0") + tens, ord("0") + ones, np.full(count, ord("\t"))], axis=1)
    lines = np.concatenate([head, np.where(text == 0, brackets, text)], axis=1).astype(np.uint8)
    return np.asarray(lines.view(f"S{4 * n + 4}")[:, 0])
