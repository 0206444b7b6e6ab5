"""Logical relations: pairs of propositional sentences and the relation between them.

After Samuel Bowman, Christopher Potts and Christopher Manning, "Recursive Neural Networks Can
Learn Logical Semantics", 2015. Six variables, of which a pair uses at most four; tautologies and
contradictions are skipped; truth tables decide which of seven relations holds. What this file
does not do: reproduce the very pairs of the release.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, combinations
from pathlib import Path
from typing import Optional, Union

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.formats.synthetic.draws import below, distinct, shuffle, stream
from dgltrees.formats.synthetic.sentences import ALWAYS, LARGEST, SIZE_WEIGHTS, draw_sentence
from dgltrees.formats.synthetic.splits import SPLITS, check_folder, cut, write_folder

__all__ = ["make_logic", "relation"]

VERSION = 1
"""Goes up when the same settings give other bytes."""

BINS = 13
"""Bin n holds pairs whose larger side has n operators; the last one 12 or more."""

SHARES = (1, 110, 588, 1098, 1435, 1613, 1557, 1260, 896, 597, 386, 231, 228)
"""Pairs out of 10,000 in every bin of the published training data."""

SUBSETS = ["".join(letters) for letters in combinations("abcdef", 4)]

Sizes = Union[int, list[int]]


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

    A line is ``relation TAB sentence TAB sentence``; file n holds the pairs whose larger side has
    n operators (12: 12 or more). All pairs of all splits are distinct, and within a bin every
    split has the same distribution. A file without pairs is not written.

    Args:
        out: the folder to write to; new or empty.
        train: training pairs: their number in all, spread over the bins as in the published
            data, or a list with the number for each bin, 0 operators first.
        valid: validation pairs, likewise.
        test: test pairs, likewise.
        seed: the same seed gives the same bytes on every machine.
        overwrite: write although the folder holds files; those of an older data set go.

    Returns:
        The paths written, by name: ``train0``, ..., ``manifest``.

    Raises:
        ConfigError: for sizes out of range, more pairs than there are, or a folder in use.
    """
    asked = dict(zip(SPLITS, (train, valid, test)))
    sizes = {split: _by_bin(split, size) for split, size in asked.items()}
    if not any(map(any, sizes.values())):
        raise ConfigError("train, valid and test are all 0: there is nothing to write")
    folder = check_folder(out, overwrite)
    files: dict[str, Sequence[str]] = {}
    for place in range(BINS):
        counts = [sizes[split][place] for split in SPLITS]
        pairs = _bin(stream("logic", seed, place), place, sum(counts))
        files.update((f"{split}{place}", part) for split, part in zip(SPLITS, cut(pairs, counts)))
    settings = {**asked, "seed": seed}
    header = {"generator": "logic", "version": VERSION, "settings": settings}
    return write_folder(folder, files, header)


def relation(left: int, right: int) -> str:
    """The relation between two sentences, given as truth tables (neither 0 nor ``ALWAYS``).

    ``=`` equivalence, ``<`` and ``>`` entailment (``<``: the left one's models lie within the
    right one's), ``^`` negation, ``|`` alternation, ``v`` cover, ``#`` independence.
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
    """How many pairs each bin of a split gets."""
    if isinstance(size, list):
        if len(size) > BINS or any(count < 0 for count in size):
            raise ConfigError(
                f"{split}: expected at most {BINS} numbers of pairs, each 0 or more, got {size}"
            )
        return size + [0] * (BINS - len(size))
    if size < 0:
        raise ConfigError(f"{split}: expected 0 pairs or more, got {size}")
    whole = sum(SHARES)
    counts = [size * share // whole for share in SHARES]
    by_remainder = sorted(range(BINS), key=lambda place: -(size * SHARES[place] % whole))
    for place in by_remainder[: size - sum(counts)]:
        counts[place] += 1
    return counts


def _bin(rng: random.Random, place: int, count: int) -> list[str]:
    """``count`` distinct pairs of one bin in random order."""
    pick = range(place, LARGEST + 1) if place == BINS - 1 else (place,)
    sides = [
        (left, right)
        for left in range(LARGEST + 1)
        for right in range(LARGEST + 1)
        if max(left, right) in pick
    ]
    sums = list(accumulate(SIZE_WEIGHTS[left] * SIZE_WEIGHTS[right] for left, right in sides))

    def draw() -> Optional[str]:
        letters = SUBSETS[below(rng, len(SUBSETS))]
        left, right = sides[bisect_right(sums, rng.random() * sums[-1])]
        one, first = draw_sentence(rng, left, letters)
        two, second = draw_sentence(rng, right, letters)
        if first in (0, ALWAYS) or second in (0, ALWAYS):
            return None
        return f"{relation(first, second)}\t{one}\t{two}"

    pairs = distinct(draw, count, f"logic pairs of bin {place}")
    shuffle(rng, pairs)
    return pairs
