"""ListOps: nested operations on lists of digits, drawn from the distribution of the release.

Nangia and Bowman, "ListOps: A Diagnostic Dataset for Latent Tree Learning" (NAACL SRW 2018). A node
is a digit with probability 3/4, otherwise one of MIN, MAX, MED and SM (sum modulo 10) with 2 to 5
arguments, all equally likely. At the last level it is always a digit. The trees of a data set are
distinct. They are not the trees of the release.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Literal

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import draws
from dgltrees.settings.values import SampleSize

DIGIT = 0.75
"""The probability that a node is a digit."""

OPERATORS: tuple[tuple[str, Callable[[list[int]], int]], ...] = (
    ("[MAX", max),
    ("[MED", lambda values: int(median(values))),
    ("[MIN", min),
    ("[SM", lambda values: sum(values) % 10),
)


def make_listops(
    out: PathLike,
    *,
    train: SampleSize = 90_000,
    valid: SampleSize = 0,
    test: SampleSize = 10_000,
    seed: int = 0,
    form: Literal["binary", "nary"] = "binary",
    max_depth: int = 20,
    max_arguments: int = 5,
    overwrite: bool = False,
) -> dict[str, Path]:
    """Write a ListOps data set: ``train.tsv``, ``valid.tsv``, ``test.tsv``.

    A line is ``value TAB expression``. The expressions of all splits are distinct, and every split
    has the same distribution: all expressions are drawn, shuffled and then split.

    Args:
        out: the folder to write to, new or empty.
        train: expressions in the training file; a split of 0 expressions has no file.
        valid: expressions in the validation file.
        test: expressions in the test file.
        seed: the same seed gives the same bytes on every machine.
        form: notation of an expression: ``( ( ( [SM 6 ) 5 ) ] )`` as in the release (binary), or
            ``[SM 6 5 ]`` (nary).
        max_depth: the number of levels of nodes, including the root; 1 gives single digits.
        max_arguments: the largest number of arguments of an operator, 2 to 5.
        overwrite: write to a folder that contains files; those of the same names are replaced.

    Returns:
        the files, by name: ``train``, ``valid``, ``test``.

    Raises:
        ConfigError: a setting is out of range, there are fewer distinct expressions than requested,
            or the folder contains files.
    """
    sizes = [train, valid, test]
    _check(form, max_depth, max_arguments)
    folder = draws.check_folder(out, overwrite)
    rng = draws.stream("listops", seed)
    lines = draws.distinct(
        lambda: _draw(rng, form == "binary", max_depth, max_arguments), sum(sizes), "ListOps trees"
    )
    draws.shuffle(rng, lines)
    files = draws.cut(lines, sizes, "{}.tsv")
    return draws.write_folder(folder, files)


def _check(form: str, max_depth: int, max_arguments: int) -> None:
    """Raise ConfigError for settings out of range."""
    if form not in ("binary", "nary"):
        raise ConfigError(f"form: expected 'binary' or 'nary', got {form!r}")
    if max_depth < 1:
        raise ConfigError(f"max_depth: expected 1 level or more, got {max_depth}")
    if not 2 <= max_arguments <= 5:
        raise ConfigError(f"max_arguments: expected 2 to 5, got {max_arguments}")


def _draw(rng: random.Random, binary: bool, max_depth: int, max_arguments: int) -> str:
    """Draw one line of the file; the value is computed while the expression is drawn."""
    words: list[str] = []
    pending: list[tuple[int, int, list[int]]] = []  # operator, number of arguments, their values
    while True:
        if len(pending) + 1 < max_depth and rng.random() >= DIGIT:
            operator = draws.below(rng, len(OPERATORS))
            arguments = 2 + draws.below(rng, max_arguments - 1)
            if binary:
                words.append("( " * arguments + "(")
            words.append(OPERATORS[operator][0])
            pending.append((operator, arguments, []))
            continue
        value = draws.below(rng, 10)
        words.append(str(value))
        while pending:  # the value is an argument, which may complete its operator
            operator, arguments, values = pending[-1]
            values.append(value)
            if binary:
                words.append(")")
            if len(values) < arguments:
                break
            pending.pop()
            value = OPERATORS[operator][1](values)
            words.append("] )" if binary else "]")
        if not pending:
            return f"{value}\t{' '.join(words)}"
