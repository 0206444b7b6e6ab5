"""Constituents of sentences as two numbers per word: how many end and how many begin before it.

These numbers describe the whole tree over the words. Before a word, constituents first end, then
others begin. All that are open after the last word end there. Constituents of one word, and those
that contain only one other constituent, are ignored.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.order import over_subtrees, preorder
from dgltrees.trees.segments import Bools, Ints, inverse, offsets_of, owner, running_sum

MERGES, SPLITS = "merges", "splits"
"""The node columns of sentences: how many constituents end and begin before each word."""

EMPTY = "-NONE-"
"""The tag of the Penn Treebank for words that are not in the text, such as traces."""


def bracket_counts(brackets: ArrayLike, sizes: ArrayLike) -> tuple[Ints, Ints]:
    """Count the constituents of bracketed sentences that end and begin before each word."""
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


def _since(counts: Ints, first: Bools) -> Ints:
    """Return how much counts grow from each word of a sentence to the next; the first from 0."""
    return counts - np.where(first, 0, np.roll(counts, 1))


def constituent_counts(forest: Forest) -> tuple[Ints, Ints, Ints]:
    """Find leaves in order and count the constituents that end and begin before each."""
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


def surface_trees(forest: Forest, *, file: PathLike | None = None) -> Forest:
    """Remove the leaves with the tag ``-NONE-``, and the nodes that have no other leaves."""
    names = np.array([*forest.vocabs["label"].names, ""], object)  # the last is that of -1
    is_word = (forest.degree == 0) & (names[forest.columns["label"]] != EMPTY)
    up = forest.global_parent
    kept = over_subtrees(np.add, is_word.astype(np.int64), up) > 0
    sizes = np.bincount(forest.tree_of_node[kept], minlength=len(forest))
    if (sizes == 0).any():
        raise TreeError(
            f"expected a word without the tag {EMPTY} in every sentence, got none",
            file=file,
            tree=int(sizes.argmin()),
        )
    place, offsets = offsets_of(kept), offsets_of(sizes)
    parent = np.where(up < 0, -1, place[up])[kept]
    tree = forest.tree_of_node[kept]
    return Forest.build(
        np.where(parent < 0, -1, parent - offsets[tree]),
        pos=forest.pos[kept],
        offsets=offsets,
        columns={name: column[kept] for name, column in forest.columns.items()},
        vocabs=forest.vocabs,
    )
