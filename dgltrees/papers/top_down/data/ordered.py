"""Constituent trees, taxonomies and other ordered trees as dependency trees.

"There is nothing inherent in our formulation that disallows its application to other types of tree
structure such as constituent trees or even taxonomies" (Zhang, Lu & Lapata 2016, section 5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.brackets import render
from dgltrees.trees.forest import Forest
from dgltrees.trees.order import preorder
from dgltrees.trees.segments import locate, offsets_of
from dgltrees.trees.vocabulary import Vocabulary
from dgltrees.trees.words import ROOT

OPEN = "("
"""The first character of the names of constituents, which distinguishes them from words."""


def right_branching(
    forest: Forest,
    *,
    column: str = "label",
    vocab: Vocabulary | None = None,
    file: PathLike | None = None,
) -> Forest:
    """Convert ordered trees to dependency trees in which every child is right of its parent.

    The nodes are in preorder, below a ROOT. So the first child of a node has a RIGHT edge and each
    further one an NX-RIGHT edge, and a top-down model generates the trees breadth first, children
    in their order.
    """
    if column not in forest.columns or column not in forest.vocabs:
        raise TreeError(
            f"expected a column {column!r} of names with its vocabulary, got the columns "
            f"{list(forest.columns)} and the vocabularies {list(forest.vocabs)}",
            file=file,
        )
    vocab = Vocabulary([ROOT]) if vocab is None else vocab
    ranks, _ = preorder(forest)
    tree, up, offsets = forest.tree_of_node, forest.global_parent, forest.offsets
    place = ranks + tree + 1  # there is a ROOT before each tree
    parent = np.full(forest.num_nodes + len(forest), -1)
    parent[place] = np.where(up < 0, 0, ranks[up] - offsets[tree] + 1)
    word = np.full(len(parent), vocab.encode([ROOT])[0])
    word[place] = _names(forest, column, vocab, file)
    bounds = offsets + np.arange(len(forest) + 1)
    return Forest.build(parent, offsets=bounds, columns={"word": word}, vocabs={"word": vocab})


def constituents(forest: Forest, *, lower: bool = False) -> Forest:
    """Return the trees of the format ``mrg`` with each word as a leaf below its tag."""
    for name in ("label", "word"):
        if name not in forest.vocabs:
            raise TreeError(f"expected a vocabulary {name!r}, got {list(forest.vocabs)}")
    label, word = forest.columns["label"], forest.columns["word"]
    tagged = np.flatnonzero((label >= 0) & (word >= 0))
    vocab = Vocabulary()
    words = forest.vocabs["word"].names
    as_label = vocab.encode([OPEN + name for name in forest.vocabs["label"].names])
    as_word = vocab.encode([name.lower() for name in words] if lower else words)

    local = tagged - forest.offsets[forest.tree_of_node[tagged]]
    tree = np.concatenate([forest.tree_of_node, forest.tree_of_node[tagged]])
    order = np.argsort(tree, kind="stable")  # the new leaves come after their tree's nodes

    def column(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        joined: NDArray[Any] = np.concatenate([old, new])[order]
        return joined

    # Id -1 reads the entry that is appended last.
    names = np.where(label >= 0, np.append(as_label, -1)[label], np.append(as_word, -1)[word])
    return Forest.build(
        column(forest.parent, local),
        pos=column(forest.pos, np.zeros_like(local)),
        offsets=offsets_of(np.bincount(tree, minlength=len(forest))),
        columns={"label": column(names, as_word[word[tagged]])},
        vocabs={"label": vocab},
    )


def brackets(forest: Forest) -> list[str]:
    """Return the bracketed text of each tree, of :func:`right_branching` or a model's sample.

    A constituent, and any node with children, is ``(name child child)``; another node is its name.
    ROOT is left out.
    """
    if "word" not in forest.columns or "word" not in forest.vocabs:
        raise TreeError(f"expected names in a column 'word', got {list(forest.vocabs)}")
    words = np.array(forest.vocabs["word"].decode(forest.columns["word"]), object)
    is_root = forest.parent < 0
    has_bracket = np.array([word.startswith(OPEN) for word in words], np.bool_)
    has_bracket |= forest.degree > 0
    names = np.array([word[word.startswith(OPEN) :] for word in words], object)
    enter = np.where(has_bracket, " (" + names, " " + words)
    enter[is_root] = ""
    leave = np.where(has_bracket & ~is_root, ")", "")
    return [text.lstrip() for text in render(forest, enter, leave)]


def _names(
    forest: Forest, column: str, vocab: Vocabulary, file: PathLike | None
) -> NDArray[np.int32]:
    """Return the names in a column as ids of ``vocab``, ``(N,)``."""
    ids = np.asarray(forest.columns[column])
    if (ids < 0).any():
        tree, node = locate(forest.offsets, int(np.argmax(ids < 0)))
        raise TreeError(
            f"expected a name in column {column!r} at every node, got none",
            file=file,
            tree=tree,
            node=node,
        )
    used = np.unique(ids)
    new_id = np.zeros(len(forest.vocabs[column]), np.int32)
    new_id[used] = vocab.encode(forest.vocabs[column].decode(used))
    return np.asarray(new_id[ids])
