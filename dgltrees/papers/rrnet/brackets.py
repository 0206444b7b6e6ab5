"""The similarity of trees over the same sequences: precision, recall and F1 of their brackets.

Question (b) of Jacob et al. (RepL4NLP 2018), section 3, is whether trees learned without
supervision correspond to the true ones. To judge the scores, compare them with those of trivial
trees: left-branching, right-branching, and built by random operations.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import TreeError
from dgltrees.papers.rrnet.graphs import each_step
from dgltrees.trees.kinds import Operation
from dgltrees.trees.segments import Ints, offsets_of, owner, starts, within


class BracketScores(NamedTuple):
    """Scores over all sequences together, from 0 to 1; 0 if there is no bracket to count."""

    precision: float
    recall: float
    f1: float


def bracket_scores(predicted: ArrayLike, true: ArrayLike, sizes: ArrayLike) -> BracketScores:
    """Compute precision, recall and F1 of brackets, counted over all sequences.

    A bracket is the span of a subtree. Brackets of a single token and of a whole sequence, which
    every tree has, do not count; duplicates count once.
    """
    lengths = np.asarray(sizes, np.int64)
    ours, theirs = _numbered(predicted, lengths), _numbered(true, lengths)
    both = len(np.intersect1d(ours, theirs, assume_unique=True))
    return BracketScores(
        both / max(1, len(ours)),
        both / max(1, len(theirs)),
        2 * both / max(1, len(ours) + len(theirs)),
    )


def _numbered(spans: ArrayLike, lengths: Ints) -> Ints:
    """Return a unique number for each bracket that counts, sorted."""
    tree, first, last = np.asarray(spans, np.int64).reshape(-1, 3).T
    size = np.append(lengths, 0)[np.where((tree >= 0) & (tree < len(lengths)), tree, -1)]
    inside = (first >= 0) & (first <= last) & (last < size)
    if not inside.all():
        at = int(inside.argmin())
        raise TreeError(
            f"expected spans within the tokens of {len(lengths)} sequences, got tokens {first[at]} "
            f"to {last[at]} of sequence {tree[at]}"
        )
    counts = (first < last) & (last - first + 1 < size)
    return np.unique((starts(lengths**2)[tree] + first * size + last)[counts])


def restrict_spans(
    spans: ArrayLike, sizes: ArrayLike, mask: NDArray[np.bool_]
) -> tuple[Ints, Ints]:
    """Compute the spans of the same subtrees after some of the tokens are removed.

    If parentheses are tokens too, a left- or right-branching tree has no bracket in common with the
    true tree. Without these tokens, the trees can be compared as usual.
    """
    lengths = np.asarray(sizes, np.int64)
    begins = starts(lengths)
    before = offsets_of(mask)  # how many are kept before each token
    tree, first, last = np.asarray(spans, np.int64).reshape(-1, 3).T
    begin = begins[tree]
    bounds = before[begin + first] - before[begin], before[begin + last + 1] - before[begin] - 1
    restricted = np.stack([tree, *bounds], 1)[bounds[0] <= bounds[1]]
    return restricted, before[begins + lengths] - before[begins]


def left_branching_spans(sizes: ArrayLike) -> Ints:
    """Return the spans of binary trees in which all tokens up to each one form a subtree."""
    tree, token, _ = _tokens(sizes)
    return np.stack([tree, np.zeros_like(token), token], 1)[token > 0]


def right_branching_spans(sizes: ArrayLike) -> Ints:
    """Return the spans of binary trees in which all tokens from each one on form a subtree.

    Arguments and result are those of :func:`left_branching_spans`.
    """
    tree, token, size = _tokens(sizes)
    return np.stack([tree, token, size - 1], 1)[token < size - 1]


def _tokens(sizes: ArrayLike) -> tuple[Ints, Ints, Ints]:
    """Return the sequence of each token, its index there, and its length, each ``(N,)``."""
    lengths = np.asarray(sizes, np.int64)
    return owner(lengths), within(lengths), np.repeat(lengths, lengths)


def random_operations(sizes: ArrayLike, limit: int, seed: int = 0) -> Ints:
    """Draw a random operation for each token; all legal operations are equally likely."""
    lengths, rng = np.asarray(sizes, np.int64), np.random.default_rng(seed)
    operations = np.zeros(int(lengths.sum()), np.int64)
    depth = np.zeros(len(lengths), np.int64)
    for rows, at in each_step(lengths):
        can_split, can_merge = depth[rows] < limit, depth[rows] > 0
        nth = rng.integers(1 + can_split + can_merge)  # of those that are legal
        operation = nth + np.where(can_split, Operation.SPLIT, Operation.RECUR)
        operations[at] = operation
        depth[rows] += (operation == Operation.SPLIT).astype(np.int64)
        depth[rows] -= operation == Operation.MERGE
    return operations


def random_word_operations(sizes: ArrayLike, limit: int, seed: int = 0) -> tuple[Ints, Ints]:
    """Draw random merges and splits before each word, if only RECUR consumes a word.

    All legal operations are equally likely. Every subtree has at least one word.
    """
    lengths, rng = np.asarray(sizes, np.int64), np.random.default_rng(seed)
    merges, splits = np.zeros((2, int(lengths.sum())), np.int64)
    depth = np.zeros(len(lengths), np.int64)
    for rows, at in each_step(lengths):
        while len(rows):  # those whose word is not consumed yet
            can_split, can_merge = depth[rows] < limit, (depth[rows] > 0) & (splits[at] == 0)
            nth = rng.integers(1 + can_split + can_merge)  # first recur, then what is legal
            is_split = can_split & (nth == 1)
            is_merge = (nth > 0) & ~is_split
            splits[at] += is_split
            merges[at] += is_merge
            depth[rows] += is_split.astype(np.int64) - is_merge
            rows, at = rows[nth > 0], at[nth > 0]
    return merges, splits
