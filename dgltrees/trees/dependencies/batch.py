"""Generation trees as graphs for a top-down traversal."""

from __future__ import annotations

from typing import Optional

import torch
from numpy.typing import ArrayLike

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.edge_types import EdgeType
from dgltrees.trees.forest import Forest

__all__ = ["generation_batch", "left_chains"]


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
    etype = batch.edata["etype"] = batch.edata["pos"]
    below = torch.full((batch.num_nodes,), -1)
    first_left, first_right = etype == EdgeType.LEFT, etype == EdgeType.RIGHT
    below[batch.src[first_left]] = batch.dst[first_left]
    nearest = torch.full((batch.num_nodes,), -1)
    nearest[batch.dst[first_right]] = below[batch.src[first_right]]
    batch.ndata["nearest_left"] = nearest
    return batch


def left_chains(batch: TreeBatch) -> TreeBatch:
    """The nodes of a generation batch with edges from each left dependent to the next nearer one.

    Along them the left dependents of a node are read from the farthest to the nearest, as LD does
    (Figure 4); all other nodes stand alone.
    """
    further = batch.on_host(batch.edata["etype"]) == EdgeType.NX_LEFT
    chains = TreeBatch(batch.dst[further], batch.src[further], batch.sizes, ndata=batch.ndata)
    chains.memo = batch.memo.setdefault("left_chains", {})
    return chains
