"""How alike trees over the same sequences are: precision, recall and F1 of their brackets.

The question (b) of Jacob et al. (RepL4NLP 2018), section 3: do the trees learned without
supervision correspond to the true ones? The scores mean something beside those of trees that know
nothing: left- and right-branching ones, and those of operations drawn at random.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.operations import Operation
from dgltrees.trees.segments import offsets_of, owner, starts, within

__all__ = [
    "BracketScores",
    "bracket_scores",
    "left_branching",
    "over_some",
    "random_operations",
    "right_branching",
]

Ints = NDArray[np.int64]


class BracketScores(NamedTuple):
    """Of all sequences together, each from 0 to 1; 0 where there is nothing to divide by."""

    precision: float
    recall: float
    f1: float


def bracket_scores(found: ArrayLike, true: ArrayLike, sizes: ArrayLike) -> BracketScores:
    """Precision, recall and F1 of brackets, counted over all sequences.

    A bracket is the span of a sub-tree. Those of one token and those of a whole sequence, which
    every tree has, do not count; one that is there twice counts once.

    Arguments:
        found, true: ``(K, 3)`` sequence, first and last token of each sub-tree.
        sizes: ``(T,)`` the number of tokens of each sequence.

    Raises:
        TreeError: a span is not within its sequence.
    """
    lengths = np.asarray(sizes, np.int64)
    ours, theirs = _numbered(found, lengths), _numbered(true, lengths)
    both = len(np.intersect1d(ours, theirs, assume_unique=True))
    return BracketScores(
        both / max(1, len(ours)),
        both / max(1, len(theirs)),
        2 * both / max(1, len(ours) + len(theirs)),
    )


def _numbered(spans: ArrayLike, lengths: Ints) -> Ints:
    """A number for each bracket that counts, once."""
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


def over_some(spans: ArrayLike, sizes: ArrayLike, kept: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """The same sub-trees over some of the tokens alone, as if the others were not there.

    Where brackets are tokens, no branching tree has a true one in common: all of them begin behind
    the first token and end before the last. Without them, trees compare as usual.

    Arguments:
        spans, sizes: as :func:`bracket_scores` takes them.
        kept: ``(N,)`` of all tokens, sequence after sequence.

    Returns:
        spans of those sub-trees that have a token left, and ``(T,)`` how many tokens there are.
    """
    lengths = np.asarray(sizes, np.int64)
    begins = starts(lengths)
    before = offsets_of(kept)  # how many are kept before each token
    tree, first, last = np.asarray(spans, np.int64).reshape(-1, 3).T
    begin = begins[tree]
    bounds = before[begin + first] - before[begin], before[begin + last + 1] - before[begin] - 1
    made = np.stack([tree, *bounds], 1)[bounds[0] <= bounds[1]]
    return made, before[begins + lengths] - before[begins]


def left_branching(sizes: ArrayLike) -> Ints:
    """The spans of binary trees in which all that stands before a token is one sub-tree.

    Arguments:
        sizes: ``(T,)`` the number of tokens of each sequence.

    Returns:
        ``(K, 3)``, as :func:`bracket_scores` takes them.
    """
    tree, token, _ = _tokens(sizes)
    return np.stack([tree, np.zeros_like(token), token], 1)[token > 0]


def right_branching(sizes: ArrayLike) -> Ints:
    """The spans of binary trees in which all that stands behind a token is one sub-tree.

    Arguments and result are those of :func:`left_branching`.
    """
    tree, token, size = _tokens(sizes)
    return np.stack([tree, token, size - 1], 1)[token < size - 1]


def _tokens(sizes: ArrayLike) -> tuple[Ints, Ints, Ints]:
    """Of each token its sequence, its place there, and the size of the sequence; each ``(N,)``."""
    lengths = np.asarray(sizes, np.int64)
    return owner(lengths), within(lengths), np.repeat(lengths, lengths)


def random_operations(sizes: ArrayLike, limit: int, seed: int = 0) -> Ints:
    """An operation for each token, all that are legal equally likely.

    Arguments:
        sizes: ``(T,)`` the number of tokens of each sequence.
        limit: how many sub-trees can be open.
        seed: the same seed draws the same operations.

    Returns:
        ``(N,)`` SPLIT, RECUR or MERGE, sequence after sequence; splits may be left open.
    """
    lengths = np.asarray(sizes, np.int64)
    begins = starts(lengths)
    rng = np.random.Generator(np.random.PCG64(seed))
    made = np.zeros(int(lengths.sum()), np.int64)
    depth = np.zeros(len(lengths), np.int64)
    for step in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > step)
        can_split, can_merge = depth[rows] < limit, depth[rows] > 0
        nth = rng.integers(1 + can_split + can_merge)  # of those that are legal
        operation = nth + np.where(can_split, Operation.SPLIT, Operation.RECUR)
        made[begins[rows] + step] = operation
        depth[rows] += (operation == Operation.SPLIT).astype(np.int64)
        depth[rows] -= operation == Operation.MERGE
    return made
