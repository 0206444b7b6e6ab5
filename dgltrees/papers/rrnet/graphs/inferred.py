"""The trees that sequences of operations build over their tokens: Figure 1(e) of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.forest import Forest
from dgltrees.trees.kinds import Operation
from dgltrees.trees.order import over_subtrees
from dgltrees.trees.segments import running_sum, starts
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["inferred_trees", "spans"]

Ints = NDArray[np.int64]


def inferred_trees(
    graph: TreeBatch,
    columns: Sequence[str] = (),
    *,
    recur_only: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """The trees that sequences of operations build, with nodes in preorder.

    Jacob et al. (2018), Figure 1(e). The root is the whole sequence, an inner node is a sub-tree
    from its SPLIT (or OPEN) to its MERGE, and leaves are tokens. A sub-tree without a MERGE ends
    with its sequence.

    Arguments:
        graph: the result of :func:`~dgltrees.papers.rrnet.graphs.operation_graph`.
        columns: names of node data for the leaves, such as the ids of words; inner nodes have -1.
        recur_only: whether only RECUR has a token. By default every step has one, as in sequences
            with brackets: that of SPLIT is the first leaf of its sub-tree, that of MERGE the last.
        vocabs: the vocabularies of those columns that hold ids.

    Returns:
        a forest with these columns and ``token``: the index of a leaf's token in its sequence, -1
        at inner nodes. A sub-tree without tokens is an inner node without children.
    """
    ops = graph.on_host(graph.ndata["op"]).numpy()
    inner = _innermost(graph, ops)
    above = np.append(inner[:1], inner[:-1])  # before the step; not used at START
    is_tree = (ops != Operation.RECUR) & (ops != Operation.MERGE)
    is_token = (ops != Operation.START) & (ops != Operation.OPEN)
    if recur_only:
        is_token = ops == Operation.RECUR
    counts = is_tree.astype(np.int64) + is_token
    tree_node = starts(counts)  # the node of the sub-tree that a step begins, if it begins one
    token_node = tree_node + is_tree
    parent = np.full(counts.sum(), -1)
    begins, steps = np.flatnonzero(is_tree), np.flatnonzero(is_token)
    parent[tree_node[begins]] = tree_node[above[begins]]
    of_token = np.where(ops == Operation.MERGE, above, inner)  # a merge's token ends its sub-tree
    parent[token_node[steps]] = tree_node[of_token[steps]]
    roots = tree_node[ops == Operation.START]
    offsets = np.append(roots, len(parent))
    sizes = np.diff(offsets)
    parent -= np.repeat(roots, sizes)
    parent[roots] = -1

    def at_leaves(values: NDArray[np.generic]) -> NDArray[np.generic]:
        column = np.full((len(parent), *values.shape[1:]), -1, values.dtype)
        column[token_node[steps]] = values[steps]
        return column

    place = running_sum(is_token, graph.sizes.numpy()) - is_token  # tokens before each step
    leaf_columns = {name: at_leaves(graph.on_host(graph.ndata[name]).numpy()) for name in columns}
    leaf_columns["token"] = at_leaves(place)
    return Forest.build(parent, offsets=offsets, columns=leaf_columns, vocabs=vocabs)


def _innermost(graph: TreeBatch, ops: Ints) -> Ints:
    """The START, SPLIT or OPEN of the innermost sub-tree that is open after each step, ``(N,)``.

    It is the last such node, up to the step, with the same number of open sub-trees after it.
    """
    depth = graph.on_host(graph.ndata["open"]).numpy()
    order = np.lexsort((depth, graph.tree_of_node.cpu().numpy()))  # steps of one level in order
    begins = (ops != Operation.RECUR) & (ops != Operation.MERGE)
    last = np.maximum.accumulate(np.where(begins[order], np.arange(len(ops)), 0))
    inner = np.empty_like(order)
    inner[order] = order[last]
    return inner


def spans(forest: Forest) -> Ints:
    """The sequence, first and last token of each sub-tree with tokens, roots included, ``(K, 3)``.

    Arguments:
        forest: the result of :func:`inferred_trees`.
    """
    token = forest.columns["token"].astype(np.int64)
    is_tree = token < 0
    firsts = np.where(is_tree, len(token), token)
    first = over_subtrees(np.minimum, firsts, forest.global_parent)
    last = over_subtrees(np.maximum, token, forest.global_parent)
    nodes = np.flatnonzero(is_tree & (last >= 0))
    return np.stack([forest.tree_of_node[nodes], first[nodes], last[nodes]], 1)
