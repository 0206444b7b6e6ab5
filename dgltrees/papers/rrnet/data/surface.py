"""Constituent trees over the words of a text alone."""

from __future__ import annotations

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.forest import Forest
from dgltrees.trees.order import over_subtrees
from dgltrees.trees.segments import offsets_of

__all__ = ["EMPTY", "surface_trees"]

EMPTY = "-NONE-"
"""The tag of what the Penn Treebank adds to a text: traces, and words that are understood."""


def surface_trees(forest: Forest, *, file: PathLike | None = None) -> Forest:
    """The same trees without the leaves with the tag ``-NONE-``, and without nodes with no others.

    Arguments:
        forest: the trees of ``read_mrg``.
        file: the file of the trees, for the error.

    Raises:
        TreeError: nothing of a tree is left.
    """
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
