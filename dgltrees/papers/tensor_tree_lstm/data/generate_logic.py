"""Logical relations: pairs of propositional sentences and the relation between them.

After Bowman, Potts & Manning, "Recursive Neural Networks Can Learn Logical Semantics", CVSC 2015.
There are six variables, of which a pair uses at most four. Tautologies and contradictions are
skipped. Truth tables decide which of seven relations holds. The pairs are not those of the release.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, combinations
from pathlib import Path

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic.draws import below, distinct, shuffle, stream
from dgltrees.formats.synthetic.splits import SPLITS, check_folder, check_sizes, cut, write_folder
from dgltrees.papers.tensor_tree_lstm.data.logic_sentences import (
    ALWAYS,
    LARGEST,
    SIZE_WEIGHTS,
    draw_sentence,
)

__all__ = ["make_logic", "relation"]

VERSION = 1
"""Increased whenever the same settings give other bytes."""

BINS = 13
"""Bin n holds the pairs whose longer sentence has n operators; the last bin 12 or more."""

SHARES = (1, 110, 588, 1098, 1435, 1613, 1557, 1260, 896, 597, 386, 231, 228)
"""The pairs per bin, out of 10,000, of the published training data."""

SUBSETS = ["".join(letters) for letters in combinations("abcdef", 4)]

Sizes = int | list[int]


def make_logic(
    out: PathLike,
    *,
    train: Sizes = 211_702,
    valid: Sizes = 0,
    test: Sizes = 36_000,
    seed: int = 0,
    overwrite: bool = False,
) -> dict[str, Path]:
    """Write a data set of logical relations: ``train0`` to ``train12``, ``valid0`` ..., ``test0``.

    A line is ``relation TAB sentence TAB sentence``; file n holds the pairs whose longer sentence
    has n operators (file 12: 12 or more). The pairs of all splits are distinct, and all splits of a
    bin have the same distribution. A file without pairs is not written.

    Args:
        out: the folder to write to, new or empty.
        train: the number of training pairs, spread over the bins as in the published data; or a
            list with a number per bin, from 0 operators on.
        valid: validation pairs, likewise.
        test: test pairs, likewise.
        seed: the same seed gives the same bytes on every machine.
        overwrite: write to a folder that holds files; those of an older data set are removed.

    Returns:
        the files, by name: ``train0``, ..., ``manifest``.

    Raises:
        ConfigError: a number is out of range, there are fewer distinct pairs than asked for, or the
            folder holds files.
    """
    totals = dict(zip(SPLITS, (train, valid, test)))
    check_sizes([sum(n) if isinstance(n, list) else n for n in totals.values()], "pairs")
    sizes = {split: _by_bin(split, size) for split, size in totals.items()}
    folder = check_folder(out, overwrite)
    files: dict[str, Sequence[str]] = {}
    for n in range(BINS):
        counts = [sizes[split][n] for split in SPLITS]
        pairs = _draw_bin(stream("logic", seed, n), n, sum(counts))
        files.update((f"{split}{n}", part) for split, part in zip(SPLITS, cut(pairs, counts)))
    settings = {**totals, "seed": seed}
    header = {"generator": "logic", "version": VERSION, "settings": settings}
    return write_folder(folder, files, header)


def relation(left: int, right: int) -> str:
    """The relation between two sentences with these truth tables (neither 0 nor ``ALWAYS``).

    ``=`` is equivalence, ``<`` and ``>`` entailment (``<``: every model of the left sentence is one
    of the right), ``^`` negation, ``|`` alternation, ``v`` cover and ``#`` independence.
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
    """The number of pairs per bin of a split."""
    if isinstance(size, list):
        if len(size) > BINS or any(count < 0 for count in size):
            raise ConfigError(
                f"{split}: expected at most {BINS} numbers of pairs, each 0 or more, got {size}"
            )
        return size + [0] * (BINS - len(size))
    total = sum(SHARES)
    counts = [size * share // total for share in SHARES]
    by_remainder = sorted(range(BINS), key=lambda n: -(size * SHARES[n] % total))
    for n in by_remainder[: size - sum(counts)]:
        counts[n] += 1
    return counts


def _draw_bin(rng: random.Random, n: int, count: int) -> list[str]:
    """``count`` distinct pairs of bin n in random order."""
    longer = range(n, LARGEST + 1) if n == BINS - 1 else (n,)
    sides = [
        (left, right)
        for left in range(LARGEST + 1)
        for right in range(LARGEST + 1)
        if max(left, right) in longer
    ]
    sums = list(accumulate(SIZE_WEIGHTS[left] * SIZE_WEIGHTS[right] for left, right in sides))

    def draw() -> str | None:
        letters = SUBSETS[below(rng, len(SUBSETS))]
        sizes = sides[bisect_right(sums, rng.random() * sums[-1])]
        (left, left_table), (right, right_table) = (
            draw_sentence(rng, size, letters) for size in sizes
        )
        if left_table in (0, ALWAYS) or right_table in (0, ALWAYS):
            return None
        return f"{relation(left_table, right_table)}\t{left}\t{right}"

    pairs = distinct(draw, count, f"logic pairs of bin {n}")
    shuffle(rng, pairs)
    return pairs
