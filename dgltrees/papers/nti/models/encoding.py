"""The encoding of Neural Tree Indexers, with a table of nodes to attend to; and that of a pair."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltrees.models.encoding import Encoding
from dgltrees.trees.segments import starts

__all__ = ["EncodingPair", "NTIEncoding", "NodeTable"]


@dataclass(frozen=True)
class NodeTable:
    """The states of all nodes in a padded table with one row per tree.

    Attributes:
        states: ``(T, M, c)``, in the order of the nodes; zero after the last node of a tree.
        mask: ``(T, M)`` bool, the cells that hold a node.
        pad: ``(T, M)`` bool, the cells without a node, or whose node has no token below it.
    """

    states: Tensor
    mask: Tensor
    pad: Tensor


@dataclass(frozen=True)
class NTIEncoding(Encoding):
    """The states of the nodes of trees over ``T`` sentences.

    Attributes:
        memory: ``(N, c)``, the memory cells of all nodes.
        attention: ``(N, M)``, the weights with which each node attended to the M nodes of the other
            tree of its pair; zero for nodes that did not attend.
    """

    memory: Tensor | None = None
    attention: Tensor | None = None

    @property
    def pad(self) -> Tensor:
        """Which nodes have no token below them, ``(N,)`` bool."""
        return self.batch.ndata["pad"].to(self.states.device)

    @cached_property
    def table(self) -> NodeTable:
        """The states in a padded table with one row per tree."""
        sizes, size = self.batch.sizes, self.states.shape[1]
        index = self.batch.cache.get("table", self._table_index, device=self.states.device)
        mask = index < self.batch.num_nodes
        if bool((sizes == sizes[:1]).all()):
            states, pad = self.states.view(*mask.shape, size), self.pad.view(mask.shape)
            return NodeTable(states, mask, pad)
        states = torch.cat([self.states, self.states.new_zeros(1, size)])
        pad = torch.cat([self.pad, self.pad.new_ones(1)])
        return NodeTable(states[index], mask, pad[index])

    def _table_index(self) -> Tensor:
        """The node in each cell of the table, ``(T, M)``; N in empty cells."""
        sizes = self.batch.sizes.numpy()
        column = np.arange(sizes.max(initial=0))
        index = np.where(column < sizes[:, None], starts(sizes)[:, None] + column, sizes.sum())
        return torch.from_numpy(index)


class EncodingPair(NamedTuple):
    """The encodings of the first and of the second sentences of ``E`` pairs.

    Attributes:
        first: the encodings of premises or questions.
        second: the encodings of hypotheses or answers.
    """

    first: NTIEncoding
    second: NTIEncoding

    @property
    def roots(self) -> Tensor:
        """The vectors of all sentences, ``(2 E, c)``; the two of a pair are adjacent."""
        return torch.stack([self.first.roots, self.second.roots], 1).flatten(0, 1)
