"""The constituents that end and begin before each word of a sentence.

Two numbers for each word are a whole tree over the words: before it first constituents end, then
others begin, since one without a word says nothing. What is open after the last word ends there.
Constituents of one word, and those of a single other constituent, do not count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.order import preorder
from dgltrees.trees.segments import Ints, inverse, offsets_of, owner, running_sum

MERGES, SPLITS = "merges", "splits"
"""The node columns of sentences with the constituents that end and then begin before each word."""


def bracket_counts(brackets: ArrayLike, sizes: ArrayLike) -> tuple[Ints, Ints]:
    """The constituents of bracketed sentences that end and begin before each word, ``(N,)`` each.

    Arguments:
        brackets: ``(L,)``, 1 for an opening bracket, -1 for a closing one, 0 for a word, sentence
            after sentence.
        sizes: ``(T,)`` the number of brackets and words of each sentence.

    Raises:
        TreeError: with the sentence as tree: a bracket is not closed, or not opened.
    """
    items, lengths = np.asarray(brackets, np.int64), np.asarray(sizes, np.int64)
    sentence, depth = owner(lengths), running_sum(items, lengths)
    wrong = sentence[depth < 0]
    if not len(wrong):
        wrong = np.flatnonzero(np.bincount(sentence, items, len(lengths)))
    if len(wrong):
        raise TreeError("expected brackets that open and close in turn", tree=int(wrong[0]))
    event = np.flatnonzero(items)
    level = depth[event] + (items[event] < 0)  # that of the constituent that begins or ends
    event = event[np.lexsort((event, level, sentence[event]))]
    begin, stop = event[::2], event[1::2]
    end = np.full(len(items), -1)
    end[begin] = stop
    single = (stop - begin <= 2) | (end[np.minimum(begin + 1, len(items) - 1)] == stop - 1)
    kept = np.zeros(len(items), np.bool_)
    kept[begin[~single]] = kept[stop[~single]] = True
    words = np.flatnonzero(items == 0)
    first = np.append(-1, sentence[words][:-1])[: len(words)] != sentence[words]
    ends, begins = (running_sum(kept & (items == sign), lengths)[words] for sign in (-1, 1))
    return _since(ends, first), _since(begins, first)


def _since(counts: Ints, first: NDArray[np.bool_]) -> Ints:
    """How much counts grow from each word of a sentence to the next; the first from 0."""
    return counts - np.where(first, 0, np.roll(counts, 1))


def constituent_counts(forest: Forest) -> tuple[Ints, Ints, Ints]:
    """The leaves of trees in order, and the constituents that end and begin before each.

    Arguments:
        forest: constituent trees whose leaves are the words, as in the format ``mrg``.

    Returns:
        three arrays, ``(N,)`` each.
    """
    ranks, subtree_sizes = preorder(forest)
    by_rank = inverse(ranks)
    is_leaf = forest.degree[by_rank] == 0
    before = offsets_of(is_leaf)  # leaves before each rank
    leaves = by_rank[is_leaf]
    tree = forest.tree_of_node[leaves]
    inner = np.flatnonzero(forest.degree > 1)
    begins, ends = before[ranks[inner]], before[ranks[inner] + subtree_sizes[inner]]
    splits, merges = (np.bincount(at, minlength=len(leaves) + 1) for at in (begins, ends))
    first = np.append(True, tree[1:] != tree[:-1])[: len(leaves)]
    return leaves, np.where(first, 0, merges[:-1]), splits[:-1]
