"""The states of all nodes of the trees over some sentences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import numpy as np
import torch
from torch import Tensor

from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import starts

__all__ = ["Encoding", "NodeTable"]


@dataclass(frozen=True)
class NodeTable:
    """States tree by tree, in a table as wide as the largest tree.

    Arguments:
        h: ``(T, M, c)`` states in the order of the nodes; zero where a tree has no more.
        there: ``(T, M)`` bool, where there is a node.
        pad: ``(T, M)`` bool, where there is none, or one that has no token below it.
        sizes: ``(T,)`` int64 on the CPU, the number of nodes of each tree.
    """

    h: Tensor
    there: Tensor
    pad: Tensor
    sizes: Tensor


@dataclass(frozen=True)
class Encoding:
    """What an encoder makes of ``T`` sentences.

    Arguments:
        batch: the trees, ``N`` nodes, with the node data of
            :func:`dgltrees.trees.builders.full_trees`.
        h: ``(N, c)`` states.
        c: ``(N, c)`` memories; None where the cell has none.
        last: state and memory of the leaf LSTM after each sentence, each ``(T, d)``; None where
            there is no leaf LSTM.
    """

    batch: TreeBatch
    h: Tensor
    c: Optional[Tensor] = None
    last: Optional[tuple[Tensor, Tensor]] = None

    @property
    def roots(self) -> Tensor:
        """``(T, c)`` states of the roots."""
        return self.h.index_select(0, self.batch.roots.to(self.h.device))

    @property
    def pad(self) -> Tensor:
        """``(N,)`` bool, nodes that have no token below them."""
        return self.batch.ndata["pad"].to(self.h.device)

    @cached_property
    def table(self) -> NodeTable:
        """The states tree by tree."""
        sizes, trees = self.batch.sizes, self.batch.num_trees
        index, there = self._index
        if bool((sizes == sizes[:1]).all()):
            h, pad = self.h.view(trees, -1, self.h.shape[1]), self.pad.view(trees, -1)
            return NodeTable(h, there, pad, sizes)
        h = torch.cat([self.h, self.h.new_zeros(1, self.h.shape[1])])
        pad = torch.cat([self.pad, self.pad.new_ones(1)])
        return NodeTable(h[index], there, pad[index], sizes)

    @property
    def _index(self) -> tuple[Tensor, Tensor]:
        """``(T, M)`` the node at each place of the table, N where there is none; and where."""
        index = self.batch.cache.get("table", self._table_index, device=self.h.device)
        return index, index < self.batch.num_nodes

    def _table_index(self) -> Tensor:
        sizes = self.batch.sizes.numpy()
        place = np.arange(sizes.max(initial=0))
        index = np.where(place < sizes[:, None], starts(sizes)[:, None] + place, sizes.sum())
        return torch.from_numpy(index)
