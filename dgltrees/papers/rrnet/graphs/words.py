"""Operations where RECUR alone consumes a token: how many splits and merges come before each word.

Jacob et al. (2018), section 2: there are L operations for N tokens, L >= N. Between two words first
sub-trees end, then others begin, since a sub-tree without a word says nothing. So two numbers for
each word are all operations of a sentence: the merges after the word before it, and the splits
before the word itself. What is open at the end is merged there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.trees.kinds import Operation
from dgltrees.trees.segments import lasts, owner, running_sum, starts

__all__ = ["each_step", "token_at", "word_operations"]

Ints = NDArray[np.int64]


def word_operations(
    merges: ArrayLike, splits: ArrayLike, sizes: ArrayLike, opened: ArrayLike | None = None
) -> tuple[Ints, Ints]:
    """The operations of sentences, ``(L,)``, and the number of them in each, ``(T,)``.

    Arguments:
        merges, splits: ``(N,)`` the merges and then the splits before each word, sentence after
            sentence. A sentence with a negative number has unknown operations: there is a START
            for each of its words.
        sizes: ``(T,)`` the number of words of each sentence.
        opened: ``(T,)`` the sub-trees that are open at the beginning of windows of longer texts: no
            sub-tree is merged at their end, and none that began before the text. By default
            sentences are whole.
    """
    before, after = np.array(merges, np.int64), np.array(splits, np.int64)
    lengths = np.asarray(sizes, np.int64)
    sentence = owner(lengths)
    unknown = np.zeros(len(lengths), np.bool_)
    unknown[sentence[(before < 0) | (after < 0)]] = True
    known = ~unknown[sentence]
    before, after = before * known, after * known
    if opened is not None:
        before = _of_open(before, after, lengths, np.asarray(opened, np.int64))
    end = np.zeros_like(before)
    if opened is None and len(lengths):
        end[lasts(lengths)] = np.maximum(np.add.reduceat(after - before, starts(lengths)), 0)
    counts = np.stack([before, after, np.ones_like(before), end], 1)
    order = [Operation.MERGE, Operation.SPLIT, Operation.RECUR, Operation.MERGE]
    kinds = np.tile(order, (len(before), 1))
    kinds[~known] = Operation.START
    total = np.zeros_like(lengths)
    np.add.at(total, sentence, counts.sum(1))
    return np.repeat(kinds.ravel(), counts.ravel()), total


def _of_open(merges: Ints, splits: Ints, sizes: Ints, opened: Ints) -> Ints:
    """The merges that have a sub-tree to merge, ``(N,)``."""
    depth, merges = opened.copy(), merges.copy()
    for rows, at in each_step(sizes):
        merges[at] = np.minimum(merges[at], depth[rows])
        depth[rows] += splits[at] - merges[at]
    return merges


def each_step(sizes: Ints) -> Iterator[tuple[Ints, Ints]]:
    """For each step the sequences that have it, and its index among all steps, ``(R,)`` each.

    Arguments:
        sizes: ``(T,)`` the number of steps of each sequence.
    """
    first = starts(sizes)
    for step in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > step)
        yield rows, first[rows] + step


def token_at(operations: ArrayLike, sizes: ArrayLike, tokens: ArrayLike) -> Ints:
    """The token that each step has at hand, ``(L,)``: the next one to consume, -1 after the last.

    Arguments:
        operations: ``(L,)``, sequence after sequence.
        sizes, tokens: ``(T,)`` the number of operations and of tokens of each sequence.
    """
    recurs = (np.asarray(operations) == Operation.RECUR).astype(np.int64)
    lengths, counts = np.asarray(sizes, np.int64), np.asarray(tokens, np.int64)
    place = running_sum(recurs, lengths) - recurs
    sequence = owner(lengths)
    return np.where(place < counts[sequence], starts(counts)[sequence] + place, -1)
