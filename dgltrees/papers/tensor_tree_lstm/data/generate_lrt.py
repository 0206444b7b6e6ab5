"""Logical relations: pairs of propositional sentences and the relation between them.

After Bowman, Potts and Manning, "Recursive Neural Networks Can Learn Logical Semantics" (CVSC
2015). There are six variables; a pair uses at most four. Tautologies and contradictions are
skipped. Truth tables determine which of seven relations holds. The pairs are not those of the
release.

At the first three levels of a sentence a node is a variable with probability 0.55, otherwise AND or
OR of two nodes of the next level. At the fourth level it is a variable. Each node is negated with
probability 1/3. These numbers were fitted to the pairs of the paper. A truth table is an integer of
64 bits, one per assignment of the six variables.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, combinations
from pathlib import Path

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic import draws
from dgltrees.settings.values import SampleSize

LEVELS = 3
VARIABLE = 0.55
NEGATED = 1 / 3

LARGEST = 2 ** (LEVELS + 1) - 1 + 2**LEVELS - 1
"""The largest number of operators: every node is negated, and AND or OR above the last level."""

ALWAYS = 2**64 - 1
TABLES = {
    name: sum(1 << row for row in range(64) if row >> place & 1)
    for place, name in enumerate("abcdef")
}

_Shape = tuple[bool, int, int]  # negated?, operators to the left and right; -1, -1: a variable


def _grammar() -> tuple[list[list[tuple[list[float], list[_Shape]]]], list[float]]:
    """Compute the possible shapes of a node by level and number ``k`` of operators in its subtree.

    Returns:
        for each level and k, the cumulative weights of the shapes and the shapes; and the
        probability of k operators at the first level.
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
        operators: the number of AND, OR and NOT, 0 to ``LARGEST``.
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
                letter = variables[draws.below(rng, len(variables))]
                operands.append((letter, TABLES[letter]))
            else:
                pending.append(("and", "or")[draws.below(rng, 2)])
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


BINS = 13
"""The number of bins. Bin n contains the pairs whose longer sentence has n operators, the last bin
those with 12 or more."""

SHARES = (1, 110, 588, 1098, 1435, 1613, 1557, 1260, 896, 597, 386, 231, 228)
"""The pairs per bin, out of 10,000, of the published training data."""

SUBSETS = ["".join(letters) for letters in combinations("abcdef", 4)]

Sizes = SampleSize | list[SampleSize]


def make_lrt(
    out: PathLike,
    *,
    train: Sizes = 211_702,
    valid: Sizes = 0,
    test: Sizes = 36_000,
    seed: int = 0,
    overwrite: bool = False,
) -> dict[str, Path]:
    """Write a data set of logical relations: ``train0`` to ``train12``, ``valid0`` ..., ``test0``.

    A line is ``relation TAB sentence TAB sentence``. File n contains the pairs whose longer
    sentence has n operators (file 12: 12 or more). The pairs of all splits are distinct, and all
    splits of a bin have the same distribution. A file without pairs is not written.

    Args:
        out: the folder to write to, new or empty.
        train: the number of training pairs, spread over the bins as in the published data; or a
            list with a number per bin, from 0 operators on.
        valid: validation pairs, as train.
        test: test pairs, as train.
        seed: the same seed gives the same bytes on every machine.
        overwrite: write to a folder that contains files; those of the same names are replaced.

    Returns:
        the files, by name: ``train0``, ...

    Raises:
        ConfigError: a number is out of range, there are fewer distinct pairs than requested, or the
            folder contains files.
    """
    totals = dict(zip(draws.SPLITS, (train, valid, test)))
    sizes = {split: _by_bin(split, size) for split, size in totals.items()}
    folder = draws.check_folder(out, overwrite)
    files: dict[str, Sequence[str]] = {}
    for n in range(BINS):
        counts = [sizes[split][n] for split in draws.SPLITS]
        # "logic" is part of the seed: another word would draw other pairs
        pairs = _draw_bin(draws.stream("logic", seed, n), n, sum(counts))
        files |= draws.cut(pairs, counts, f"{{}}{n}")
    return draws.write_folder(folder, files)


def relation(left: int, right: int) -> str:
    """Return the relation between two sentences from their truth tables.

    ``=`` is equivalence, ``<`` and ``>`` are entailment (``<``: every model of the left sentence is
    one of the right), ``^`` negation, ``|`` alternation, ``v`` cover and ``#`` independence.

    Arguments:
        left, right: the truth tables, neither 0 nor ``ALWAYS``.

    Returns:
        the symbol of the relation.

    Example:
        >>> from dgltrees.papers.tensor_tree_lstm.data.generate_lrt import TABLES, relation
        >>> relation(TABLES["a"] & TABLES["b"], TABLES["a"])  # (a and b) entails a
        '<'
    """
    if left == right:
        return "="
    both, either = left & right, left | right
    if both == left:
        return "<"
    if both == right:
        return ">"
    if both == 0:
        return "^" if either == ALWAYS else "|"
    return "v" if either == ALWAYS else "#"


def _by_bin(split: str, size: Sizes) -> list[int]:
    """Return the number of pairs per bin of a split."""
    if isinstance(size, list):
        if len(size) > BINS:
            raise ConfigError(f"{split}: expected at most {BINS} numbers of pairs, got {len(size)}")
        return size + [0] * (BINS - len(size))
    total = sum(SHARES)
    counts = [size * share // total for share in SHARES]
    by_remainder = sorted(range(BINS), key=lambda n: -(size * SHARES[n] % total))
    for n in by_remainder[: size - sum(counts)]:
        counts[n] += 1
    return counts


def _draw_bin(rng: random.Random, n: int, count: int) -> list[str]:
    """Draw ``count`` distinct pairs of bin n in random order."""
    longer = range(n, LARGEST + 1) if n == BINS - 1 else (n,)
    sides = [
        (left, right)
        for left in range(LARGEST + 1)
        for right in range(LARGEST + 1)
        if max(left, right) in longer
    ]
    sums = list(accumulate(SIZE_WEIGHTS[left] * SIZE_WEIGHTS[right] for left, right in sides))

    def draw() -> str | None:
        letters = SUBSETS[draws.below(rng, len(SUBSETS))]
        sizes = sides[bisect_right(sums, rng.random() * sums[-1])]
        (left, left_table), (right, right_table) = (
            draw_sentence(rng, size, letters) for size in sizes
        )
        if left_table in (0, ALWAYS) or right_table in (0, ALWAYS):
            return None
        return f"{relation(left_table, right_table)}\t{left}\t{right}"

    pairs = draws.distinct(draw, count, f"LRT pairs of bin {n}")
    draws.shuffle(rng, pairs)
    return pairs
