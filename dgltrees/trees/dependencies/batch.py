"""Generation trees as graphs for a top-down traversal."""

from __future__ import annotations

from typing import Optional

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.edge_types import EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import owner

__all__ = ["generation_batch", "left_chains", "nearest_left"]


def generation_batch(forest: Forest, ids: Optional[ArrayLike] = None) -> TreeBatch:
    """The trees ``ids`` of a generation forest as a graph with edges from source to dependent.

    Edge data: ``etype``. Node data: the columns, so ``etype`` of the incoming edge (0 at ROOT);
    and ``nearest_left``, at a node with the incoming edge RIGHT the nearest left dependent of its
    head as a node of the batch, -1 at all others and where there is none (``w_1`` of Figure 4).

    Raises:
        IndexError: an id is out of range.
        TreeError: the ids are no integers, or a column holds text.
    """
    batch = forest.batch(ids).reversed()
    batch.edata["etype"] = batch.edata["pos"]
    batch.ndata["nearest_left"] = nearest_left(batch)
    return batch


def nearest_left(batch: TreeBatch) -> Tensor:
    """``(N,)`` the node column of that name of a batch on the CPU, from its types of edges."""
    etype = batch.edata["etype"]
    below = torch.full((batch.num_nodes,), -1)
    first_left, first_right = etype == EdgeType.LEFT, etype == EdgeType.RIGHT
    below[batch.src[first_left]] = batch.dst[first_left]
    nearest = torch.full((batch.num_nodes,), -1)
    nearest[batch.dst[first_right]] = below[batch.src[first_right]]
    return nearest


def left_chains(batch: TreeBatch) -> TreeBatch:
    """The left dependents of a generation batch with edges from each to the next nearer one.

    Along them the left dependents of a node are read from the farthest to the nearest, as LD does
    (Figure 4). Node data: ``node``, which node of ``batch`` each is.
    """
    etype = batch.on_host(batch.edata["etype"])
    further = etype == EdgeType.NX_LEFT
    nodes = batch.dst[further | (etype == EdgeType.LEFT)].sort().values
    place = torch.full((batch.num_nodes,), -1).index_copy(0, nodes, torch.arange(len(nodes)))
    tree = owner(batch.sizes)[nodes]
    chains = TreeBatch(
        place[batch.dst[further]],
        place[batch.src[further]],
        torch.bincount(tree, minlength=batch.num_trees),
        ndata={"node": nodes.to(batch.device, non_blocking=True)},
    )
    chains.memo = batch.memo.setdefault("left_chains", {})
    return chains
