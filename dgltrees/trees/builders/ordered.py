"""Constituent trees, taxonomies and all other ordered trees as dependency trees.

"There is nothing inherent in our formulation that disallows its application to other types of tree
structure such as constituent trees or even taxonomies" (Zhang, Lu & Lapata 2016, section 5).
"""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import TreeError
from dgltrees.trees.builders.render import preorder, render
from dgltrees.trees.dependencies import ROOT
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import offsets_of
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["brackets", "constituents", "right_branching"]

OPEN = "("
"""What the names of constituents begin with, so that no word is taken for one."""


def right_branching(
    forest: Forest,
    *,
    column: str = "label",
    vocab: Optional[Vocabulary] = None,
    file: Optional[PathLike] = None,
) -> Forest:
    """Ordered trees, in which no child is a head, as dependency trees.

    The nodes stand in preorder, below a ROOT: so all children stand right of their parent, the
    first on a RIGHT edge and each next one on NX-RIGHT, and a top-down model generates the trees
    breadth first, children in their order.

    Arguments:
        forest: any forest.
        column: its column of names, of which every node has one.
        vocab: the vocabulary of the result; a new one with ROOT at first, if not given.
        file: where the trees were read, for the errors.

    Returns:
        a dependency forest, node 0 ROOT, with the one column ``word``.

    Raises:
        TreeError: there is no such column of names, or a node without a name.
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
    place = ranks + tree + 1  # a ROOT before each tree
    parent = np.full(forest.num_nodes + len(forest), -1)
    parent[place] = np.where(up < 0, 0, ranks[up] - offsets[tree] + 1)
    word = np.full(len(parent), vocab.encode([ROOT])[0])
    word[place] = _names(forest, column, vocab, file)
    bounds = offsets + np.arange(len(forest) + 1)
    return Forest.build(parent, offsets=bounds, columns={"word": word}, vocabs={"word": vocab})


def constituents(forest: Forest, *, lower: bool = False) -> Forest:
    """The trees that ``read_mrg`` reads, with each word a leaf below its tag.

    Arguments:
        forest: its columns ``label`` and ``word`` have -1 at nodes without the one or the other.
        lower: whether to turn the words to lower case.

    Returns:
        a forest with the one column ``label``: of a constituent or tag its label after ``(``, as
        in ``(NP``, and of a leaf its word.

    Raises:
        TreeError: one of the columns is missing.
    """
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
    order = np.argsort(tree, kind="stable")  # the new leaves stand behind their tree's nodes

    def column(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        joined: NDArray[Any] = np.concatenate([old, new])[order]
        return joined

    names = np.where(label >= 0, _take(as_label, label), _take(as_word, word))
    return Forest.build(
        column(forest.parent, local),
        pos=column(forest.pos, np.zeros_like(local)),
        offsets=offsets_of(np.bincount(tree, minlength=len(forest))),
        columns={"label": column(names, as_word[word[tagged]])},
        vocabs={"label": vocab},
    )


def brackets(forest: Forest) -> list[str]:
    """Bracketed text of each tree of :func:`right_branching`, or of a model trained on such trees.

    A constituent, and any node with others below it, is ``(name child child)``, every other node
    its name. ROOT is left out.

    Raises:
        TreeError: there is no column ``word`` of names.
    """
    if "word" not in forest.columns or "word" not in forest.vocabs:
        raise TreeError(f"expected names in a column 'word', got {list(forest.vocabs)}")
    names = np.array(forest.vocabs["word"].decode(forest.columns["word"]), object)
    is_root, inner = forest.parent < 0, np.zeros(forest.num_nodes, np.bool_)
    inner[forest.global_parent[~is_root]] = True
    inner |= np.array([name.startswith(OPEN) for name in names], np.bool_)
    bare = np.array([name[name.startswith(OPEN) :] for name in names], object)
    enter = np.where(inner, " (" + bare, " " + names)
    enter[is_root] = ""
    leave = np.where(inner & ~is_root, ")", "")
    return [text.lstrip() for text in render(forest, enter, leave)]


def _names(
    forest: Forest, column: str, vocab: Vocabulary, file: Optional[PathLike]
) -> NDArray[np.int32]:
    """``(N,)`` a column as ids of ``vocab``."""
    ids = np.asarray(forest.columns[column])
    if (ids < 0).any():
        node = int(np.argmax(ids < 0))
        tree = int(forest.tree_of_node[node])
        raise TreeError(
            f"expected a name in column {column!r} at every node, got none",
            file=file,
            tree=tree,
            node=node - int(forest.offsets[tree]),
        )
    used = np.unique(ids)
    new = np.zeros(len(forest.vocabs[column]), np.int32)
    new[used] = vocab.encode(forest.vocabs[column].decode(used))
    return np.asarray(new[ids])


def _take(new: NDArray[np.int32], ids: NDArray[Any]) -> NDArray[np.int32]:
    """The new ids, anything where there is none."""
    return np.asarray(np.append(new, -1)[ids])
