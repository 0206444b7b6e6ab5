"""START and STOP: symbols at the ends of dependents, by which a tree's shape is generated too."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.models.add_decisions import deciding
from dgltrees.trees.edge_types import EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["START", "STOP", "with_stops"]

START, STOP = "<start>", "<stop>"


def with_stops(forest: Forest) -> Forest:
    """The generation forest with START after each last left dependent and STOP after each right.

    Zhang, Lu and Lapata (2016), footnote 5, after Eisner (1996): with these symbols, words like
    others, P(S|T) of the new trees is the joint probability of the words and of the shape. Where a
    node could have another edge and has none, the edge leads to a symbol: each word has one START,
    at the end of its left dependents or in their place, and one STOP; ROOT has a STOP after its
    dependents. That is 2 N + 1 symbols for N words.

    Arguments:
        forest: a generation forest with columns ``word`` and ``etype``.

    Returns:
        the same nodes, and the symbols behind them in each tree; columns ``word``, whose vocabulary
        has the two symbols at its end, and ``etype``.

    Raises:
        TreeError: there is no vocabulary of words, or it has the symbols already.
    """
    vocab = forest.vocabs.get("word")
    if vocab is None or START in vocab or STOP in vocab:
        got = sorted(forest.vocabs) if vocab is None else f"one with {START} or {STOP}"
        raise TreeError(f"expected a vocabulary 'word' without {START} and {STOP}, got {got}")
    names = Vocabulary([*vocab.names, START, STOP], unknown=vocab.unknown, frozen=vocab.frozen)
    is_root = forest.parent < 0
    has = np.zeros((len(EdgeType), forest.num_nodes), np.bool_)
    has[forest.pos[~is_root], forest.global_parent[~is_root]] = True
    kind, source = np.nonzero(deciding(forest.pos, is_root) & ~has)
    is_left = np.isin(kind, (EdgeType.LEFT, EdgeType.NX_LEFT))
    symbol = np.where(is_left, len(vocab), len(vocab) + 1)

    tree = np.concatenate([forest.tree_of_node, forest.tree_of_node[source]])
    order = np.argsort(tree, kind="stable")  # the symbols stand behind their tree's nodes

    def column(old: NDArray[Any], new: NDArray[Any]) -> NDArray[Any]:
        joined: NDArray[Any] = np.concatenate([old, new.astype(old.dtype)])[order]
        return joined

    local = source - forest.offsets[forest.tree_of_node[source]]
    sizes = np.bincount(tree, minlength=len(forest))
    pos = column(forest.pos, kind)
    return replace(
        forest,
        parent=column(forest.parent, local),
        pos=pos,
        offsets=np.concatenate([[0], np.cumsum(sizes)]),
        columns={"word": column(forest.columns["word"], symbol), "etype": pos},
        vocabs={"word": names, "etype": forest.vocabs["etype"]},
    )
