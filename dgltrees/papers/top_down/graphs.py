"""Dependency trees, and the trees along which they are generated top-down.

In a *dependency forest* node 0 of each tree is ROOT, node i is its i-th word, and the parent of a
node is its head. In the *generation forest* of Zhang, Lu & Lapata, "Top-down Tree Long Short-Term
Memory Networks" (NAACL 2016, section 2, Figures 1 to 3) the parent of the same
node is the *source* of its edge: its head, if it is the nearest dependent on its side, else the
sibling next to it on the side of the head. ::

    dependencies            generation
    w0 -> w2 w1 | w4 w5     w0 -LEFT-> w1 -NX-LEFT-> w2,  w0 -RIGHT-> w4 -NX-RIGHT-> w5

where w2, w1 are left of w0 and w4, w5 right of it. The dependents of ROOT are right of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.formats.sentences import Sentence
from dgltrees.trees.batch import Cache, TreeBatch
from dgltrees.trees.builders.sentences import from_heads
from dgltrees.trees.check import check_roots
from dgltrees.trees.forest import Forest
from dgltrees.trees.kinds import EDGE_TYPES, EdgeType
from dgltrees.trees.order import over_subtrees
from dgltrees.trees.segments import inverse, locate, offsets_of, owner, run_offsets, within


def generation_forest(forest: Forest) -> Forest:
    """Return the generation forest of a dependency forest: each node's parent is its source.

    ``pos`` is the type of the edge into a node. Three columns are added: ``etype``, the same with a
    vocabulary (0 at ROOT, which has no incoming edge); ``t``, the step at which a node is generated
    (:func:`generation_order`); and ``position``, the place of a word in its sentence, which the
    edges of a tree that is not projective do not determine.

    Arguments:
        forest: a dependency forest.

    Raises:
        TreeError: node 0 of a tree is not its root.
    """
    child, head, is_left, _ = _siblings(forest)
    same_side = (head[1:] == head[:-1]) & (is_left[1:] == is_left[:-1])
    # The dependents of a head are in word order: the next one inwards is one row down or up.
    is_next_left = np.append(same_side, False)[: len(child)] & is_left
    is_next_right = np.append(False, same_side)[: len(child)] & ~is_left
    source = head.copy()
    source[is_next_left] = child[np.flatnonzero(is_next_left) + 1]
    source[is_next_right] = child[np.flatnonzero(is_next_right) - 1]
    side = np.where(is_left, EdgeType.LEFT, EdgeType.RIGHT)
    etype = np.zeros(forest.num_nodes, np.int32)
    etype[child] = side + EdgeType.NX_LEFT * (is_next_left | is_next_right)
    parent = np.full(forest.num_nodes, -1, np.int32)
    parent[child] = source - forest.offsets[forest.tree_of_node[child]]
    position = within(forest.sizes).astype(np.int32)
    added = {"etype": etype, "t": generation_order(forest), "position": position}
    columns = {**forest.columns, **added}
    vocabs = {**forest.vocabs, "etype": EDGE_TYPES}
    return Forest(parent, etype, forest.offsets, columns, vocabs)


def generation_order(forest: Forest) -> NDArray[np.int32]:
    """Return the step 0, 1, ... at which each node is generated, ``(N,)``; ROOT has 0.

    The order is breadth-first, with the left dependents of a node before the right ones and the
    nearest first on each side (the subscripts in Figure 2).
    """
    child, _, _, place = _siblings(forest)
    # Nodes of equal depth are in the order of the paths to them. Pointer doubling: after round k,
    # rank orders them by the last 2^k steps of their paths.
    rank = np.zeros(forest.num_nodes, np.int64)
    rank[child] = place
    above = np.where(forest.parent < 0, np.arange(forest.num_nodes), forest.global_parent)
    for _ in range(int(forest.depth.max(initial=0)).bit_length()):
        keys = rank[above] * (rank.max() + 1) + rank
        rank = np.unique(keys, return_inverse=True)[1].reshape(-1)
        above = above[above]
    order = np.lexsort((rank, forest.depth, forest.tree_of_node))
    t = np.empty(forest.num_nodes, np.int32)
    t[order] = within(forest.sizes)
    return t


def _siblings(
    forest: Forest,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_], NDArray[np.int64]]:
    """Return all dependents, by head and for each head in word order."""
    check_roots(forest)
    up = forest.global_parent
    child = np.flatnonzero(up >= 0)
    child = child[np.argsort(up[child], kind="stable")]
    head = up[child]
    is_left = child < head
    lefts = np.bincount(head[is_left], minlength=forest.num_nodes)[head]
    place = within(np.diff(run_offsets(head)))
    return child, head, is_left, np.where(is_left, lefts - 1 - place, place)


def dependency_forest(forest: Forest) -> Forest:
    """Return the dependency forest of a generation forest, in word order.

    This is the inverse of ``generation_forest``. The nodes of the generation forest may be in any
    order. Without the column ``position``, as in sampled trees, the words are in the order of
    projective trees. The columns that ``generation_forest`` adds are dropped.

    Arguments:
        forest: a generation forest, whose ``pos`` are edge types.

    Raises:
        TreeError: ROOT has an edge that is not RIGHT, a left dependent one that is NX-RIGHT, or a
            right dependent one that is NX-LEFT.
    """
    _check_edges(forest)
    place = forest.columns.get("position")
    first = forest.offsets[forest.tree_of_node]
    index = _word_order(forest) if place is None else first + place
    order = inverse(index)
    head = _heads(forest)
    parent = np.where(head < 0, -1, index[head] - first)
    added = ("etype", "t", "position")
    columns = {name: column[order] for name, column in forest.columns.items() if name not in added}
    vocabs = {name: vocab for name, vocab in forest.vocabs.items() if name in columns}
    return Forest.build(parent[order], offsets=forest.offsets, columns=columns, vocabs=vocabs)


def _check_edges(forest: Forest) -> None:
    """Check that every node has edges only of the types that it can have."""
    up, etype = forest.global_parent, forest.pos
    inner = up >= 0
    above = etype[up]
    at_root = inner & (forest.parent[up] < 0)
    leftward = (above == EdgeType.LEFT) | (above == EdgeType.NX_LEFT)
    wrong_side = np.where(leftward, EdgeType.NX_RIGHT, EdgeType.NX_LEFT)
    broken = inner & (at_root & (etype != EdgeType.RIGHT) | ~at_root & (etype == wrong_side))
    broken |= inner & (etype >= len(EdgeType))
    if broken.any():
        row = int(np.argmax(broken))
        tree, node = locate(forest.offsets, row)
        name = EdgeType(etype[row]) if etype[row] < len(EdgeType) else etype[row]
        raise TreeError(
            "expected edges RIGHT from ROOT, LEFT, RIGHT and NX-LEFT from a left dependent, and "
            f"LEFT, RIGHT and NX-RIGHT from a right one, got {name} into this node",
            tree=tree,
            node=node,
        )


def _heads(forest: Forest) -> NDArray[np.int64]:
    """Return the heads of the nodes of a generation forest, ``(N,)``, -1 at ROOT."""
    up, index = forest.global_parent, np.arange(forest.num_nodes)
    nearest = np.where(forest.pos >= EdgeType.NX_LEFT, up, index)
    for _ in range(int(forest.depth.max(initial=0)).bit_length()):
        nearest = nearest[nearest]  # pointer doubling along NX edges
    return up[nearest]


def _word_order(forest: Forest) -> NDArray[np.int64]:
    """Return the index of each node of a generation forest in word order, among all nodes.

    The result is ``(N,)``. The subtree of a node is in the order NX-LEFT, LEFT, the node itself,
    RIGHT, NX-RIGHT.
    """
    up, etype = forest.global_parent, forest.pos
    child = np.flatnonzero(up >= 0)
    below = np.zeros((len(EdgeType), forest.num_nodes), np.int64)  # subtree sizes by edge type
    sizes = over_subtrees(np.add, np.ones(forest.num_nodes, np.int64), up)
    below[etype[child], up[child]] = sizes[child]
    left, right = below[EdgeType.LEFT], below[EdgeType.RIGHT]
    step = np.choose(
        etype[child],
        [
            -1 - right[child],
            1 + left[child],
            -1 - right[child] - left[up[child]],
            1 + left[child] + right[up[child]],
        ],
    )
    place = np.zeros(forest.num_nodes, np.int64)
    place[child] = step
    above = np.where(up < 0, np.arange(forest.num_nodes), up)
    for _ in range(int(forest.depth.max(initial=0)).bit_length()):
        place += place[above]  # pointer doubling: the sum of the steps from the root
        above = above[above]
    return place + np.repeat(forest.offsets[:-1], forest.sizes)


def edge_decisions(etype: NDArray[Any], source: NDArray[Any]) -> NDArray[np.int8]:
    """Return whether each node has an outgoing edge of each type, ``(4, N)``.

    The values are 1 or 0, or -1 if the node cannot have the edge. Every word can have LEFT and
    RIGHT; a left dependent can have NX-LEFT, a right one NX-RIGHT. ROOT has no decisions: it always
    has a right dependent and never a left one.
    """
    has_source = source >= 0
    added = np.zeros((len(EDGE_TYPES), len(source)), np.int8)
    added[etype[has_source], source[has_source]] = 1
    is_left = np.isin(etype, (EdgeType.LEFT, EdgeType.NX_LEFT))
    added[EdgeType.NX_LEFT, ~is_left] = added[EdgeType.NX_RIGHT, is_left] = -1
    added[:, ~has_source] = -1
    return added


def dependency_path(forest: Forest, tree: int, node: int) -> list[tuple[str, EdgeType]]:
    """Return D(w), the words and edge types on the path from ROOT to a word w, without w."""
    if not (0 <= tree < len(forest) and 0 <= node < forest.sizes[tree]):
        raise TreeError(
            "expected a node of the forest, got one that does not exist", tree=tree, node=node
        )
    if "word" not in forest.columns:
        raise TreeError(f"expected a column 'word', got the columns {list(forest.columns)}")
    first = int(forest.offsets[tree])
    steps = []
    while forest.parent[first + node] >= 0:
        etype = EdgeType(int(forest.pos[first + node]))
        node = int(forest.parent[first + node])
        steps.append((first + node, etype))
    steps.reverse()
    words = forest.columns["word"][[at for at, _ in steps]].tolist() if steps else []
    if "word" in forest.vocabs:
        words = forest.vocabs["word"].decode(words)
    return list(zip(words, (etype for _, etype in steps)))


def generation_batch(forest: Forest, ids: ArrayLike | None = None) -> TreeBatch:
    """Return one graph of trees, with edges from source to dependent.

    Edge data: ``etype``, the ``EdgeType``. Node data: the
    columns, including the ``etype`` of the edge into each node (0 at ROOT); and ``nearest_left``:
    for a node whose incoming edge is RIGHT, the nearest left dependent of its head (``w_1`` in
    Figure 4) as an index into the nodes of the batch; -1 for other nodes.

    Arguments:
        forest: a generation forest.
        ids: the indices of trees, by default all.

    Raises:
        IndexError: an id is out of range.
        TreeError: the ids are not integers, or a column holds text.
    """
    batch = forest.batch(ids).reversed()
    batch.edata["etype"] = batch.edata["pos"]
    batch.etype_names = tuple(EDGE_TYPES.names)
    batch.ndata["nearest_left"] = nearest_left(batch)
    return batch


def source_nodes(batch: TreeBatch) -> NDArray[np.int64]:
    """Return the source of the edge into each node of a batch, ``(N,)``; -1 at ROOT."""
    source = np.full(batch.num_nodes, -1)
    source[batch.dst.numpy()] = batch.src.numpy()
    return source


def nearest_left(batch: TreeBatch) -> Tensor:
    """Return ``nearest_left``, ``(N,)``, of a batch on the CPU with edge data ``etype``."""
    etype = batch.edata["etype"]
    is_left, is_right = etype == EdgeType.LEFT, etype == EdgeType.RIGHT
    of_head = torch.full((batch.num_nodes,), -1)
    of_head[batch.src[is_left]] = batch.dst[is_left]
    nearest = torch.full((batch.num_nodes,), -1)
    nearest[batch.dst[is_right]] = of_head[batch.src[is_right]]
    return nearest


def left_chains(batch: TreeBatch) -> TreeBatch:
    """Return the graph of the left dependents of a generation batch, from far to near.

    A traversal of this graph runs over the left dependents of each head from the farthest to the
    nearest, as LdTreeLSTM does (Figure 4). Node data: ``node``, the index of
    each node in ``batch``.
    """
    etype = batch.on_host(batch.edata["etype"])
    is_next = etype == EdgeType.NX_LEFT
    nodes = batch.dst[is_next | (etype == EdgeType.LEFT)].sort().values
    place = torch.full((batch.num_nodes,), -1).index_copy(0, nodes, torch.arange(len(nodes)))
    tree = owner(batch.sizes)[nodes]
    chains = TreeBatch(
        place[batch.dst[is_next]],
        place[batch.src[is_next]],
        torch.bincount(tree, minlength=batch.num_trees),
        ndata={"node": nodes.to(batch.device, non_blocking=True)},
    )
    chains.cache = batch.cache.get("left_chains", Cache)
    return chains


def sentence_forest(sentences: Sequence[Sentence]) -> Forest:
    """Build a forest of sentences without heads, in which each word is the child of the one before.

    Columns: ``word``, ``upos`` and ``xpos``, -1 where a sentence has none.
    """
    sizes = np.array([len(each.words) for each in sentences], np.int64)
    tags = {
        name: list(
            chain.from_iterable(
                each.columns.get(name) or [None] * len(each.words) for each in sentences
            )
        )
        for name in ("upos", "xpos")
    }
    words = list(chain.from_iterable(each.words for each in sentences))
    return from_heads(words, within(sizes), offsets=offsets_of(sizes), columns=tags)
