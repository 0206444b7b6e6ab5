"""Generation trees as graphs for a top-down traversal."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.cache import Cache
from dgltrees.trees.edge_types import EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import owner

__all__ = ["generation_batch", "left_chains", "nearest_left", "sources"]


def generation_batch(forest: Forest, ids: ArrayLike | None = None) -> TreeBatch:
    """One graph of the trees ``ids`` (by default all), with edges from source to dependent.

    Edge data: ``etype``, the ``EdgeType``. Node data: the
    columns, including the ``etype`` of the edge into each node (0 at ROOT); and ``nearest_left``:
    for a node whose incoming edge is RIGHT, the nearest left dependent of its head (``w_1`` in
    Figure 4) as an index into the nodes of the batch; -1 for other nodes.

    Arguments:
        forest: a generation forest.
        ids: the indices of its trees.

    Raises:
        IndexError: an id is out of range.
        TreeError: the ids are not integers, or a column holds text.
    """
    batch = forest.batch(ids).reversed()
    batch.edata["etype"] = batch.edata["pos"]
    batch.ndata["nearest_left"] = nearest_left(batch)
    return batch


def sources(batch: TreeBatch) -> NDArray[np.int64]:
    """The source of the edge into each node of a batch, ``(N,)``; -1 at ROOT."""
    source = np.full(batch.num_nodes, -1)
    source[batch.dst.numpy()] = batch.src.numpy()
    return source


def nearest_left(batch: TreeBatch) -> Tensor:
    """The node field ``nearest_left``, ``(N,)``, of a batch on the CPU with edge data ``etype``."""
    etype = batch.edata["etype"]
    is_left, is_right = etype == EdgeType.LEFT, etype == EdgeType.RIGHT
    of_head = torch.full((batch.num_nodes,), -1)
    of_head[batch.src[is_left]] = batch.dst[is_left]
    nearest = torch.full((batch.num_nodes,), -1)
    nearest[batch.dst[is_right]] = of_head[batch.src[is_right]]
    return nearest


def left_chains(batch: TreeBatch) -> TreeBatch:
    """The graph of the left dependents of a generation batch, linked from far to near.

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
