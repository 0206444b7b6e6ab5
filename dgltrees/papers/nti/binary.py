"""Binary constituent trees, with words at their leaves, from other parses of sentences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import offsets_of, within

__all__ = ["binary_constituents", "binary_dependencies"]


def binary_constituents(forest: Forest) -> Forest:
    """The same trees with two children or none at every node; of the columns, ``word`` alone.

    A node with one child gives its place to that child. Of more than two children the first stays,
    and the others get a node of their own: ``(a b c d)`` becomes ``(a (b (c d)))``.

    Arguments:
        forest: constituent trees with words at their leaves, in the column ``word``.
    """
    single = forest.degree == 1
    up = forest.global_parent
    top = np.where((up >= 0) & single[up], up, np.arange(len(up)))  # of a chain of single children
    while (top != top[top]).any():
        top = top[top]
    kept = np.flatnonzero(~single)
    kept = kept[np.lexsort((forest.pos[top[kept]], up[top[kept]]))]  # siblings side by side
    parent = up[top[kept]]
    _, family, sizes = np.unique(parent, return_inverse=True, return_counts=True)
    place, last = within(sizes), sizes[family] - 1
    is_root = parent < 0
    # each child but the first and the last gets a node above it, which stands before it
    middle = (place > 0) & (place < last) & ~is_root
    counts = np.zeros(len(up), np.int64)
    counts[kept] = 1 + middle
    first = offsets_of(counts)
    at = first[kept] + middle
    above = np.where(place > 1, np.roll(first[kept], 1), (first[1:] - 1)[parent])
    new_parent, pos = np.full(first[-1], -1), np.zeros(first[-1], np.int64)
    new_parent[at] = np.where(is_root, -1, np.where(place > 0, above, (first[1:] - 1)[parent]))
    pos[at] = (place > 0) & ~is_root
    new_parent[first[kept][middle]], pos[first[kept][middle]] = above[middle], 1
    new_parent[at[middle]], pos[at[middle]] = first[kept][middle], 0
    word = np.full(first[-1], -1, np.int32)
    word[at] = forest.columns["word"][kept]
    return _forest(new_parent, pos, first[forest.offsets], word, forest)


def binary_dependencies(forest: Forest) -> Forest:
    """Binary constituent trees of dependency trees; of the columns, ``word`` alone.

    A word and its dependents become a constituent one by one: first those to the right, the nearest
    first, then those to the left. So ``she likes old films`` with the head ``likes`` becomes
    ``(she (likes (old films)))``.

    Arguments:
        forest: dependency trees with one word below ROOT, which is node 0.
    """
    head, tree = forest.global_parent, forest.tree_of_node
    index, root = np.arange(len(head)), forest.roots[tree]
    dependents = np.flatnonzero((head >= 0) & (head != root))
    right = index > head
    order = (abs(index - head)[dependents], ~right[dependents], head[dependents])
    dependents = dependents[np.lexsort(order)]
    # a sentence of n words has n leaves, then n - 1 constituents, one for each dependent
    words = forest.sizes - 1
    offsets = offsets_of(2 * words - 1)
    leaf = offsets[tree] + index - root - 1
    constituent = np.full(len(head), -1)
    constituent[dependents] = (offsets[:-1] + words)[tree[dependents]] + within(words - 1)
    parent, pos = np.full(offsets[-1], -1), np.zeros(offsets[-1], np.int64)
    whole = leaf.copy()  # the node of a word with all its dependents
    heads = head[dependents]
    whole[heads] = constituent[dependents]  # the last one of each head
    joined = constituent[dependents]
    rest = np.where(np.diff(heads, prepend=-1) > 0, leaf[heads], np.roll(joined, 1))
    for child, is_second in ((whole[dependents], right), (rest, ~right)):
        parent[child], pos[child] = joined, is_second[dependents]
    word = np.full(offsets[-1], -1, np.int32)
    word[leaf[head >= 0]] = forest.columns["word"][head >= 0]
    return _forest(parent, pos, offsets, word, forest)


def _forest(
    parent: NDArray[np.int64],
    pos: NDArray[np.int64],
    offsets: NDArray[np.int64],
    word: NDArray[np.int32],
    source: Forest,
) -> Forest:
    begin = np.repeat(offsets[:-1], np.diff(offsets))
    return Forest(
        np.where(parent < 0, -1, parent - begin).astype(np.int32),
        pos.astype(np.int32),
        offsets,
        {"word": word},
        {"word": source.vocabs["word"]},
    )
