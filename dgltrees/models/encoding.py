"""The base class of encoders, and the encoding that they return: states of nodes and trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Optional

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.models.decisions import Decisions
from dgltrees.models.inputs import Input
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import starts

__all__ = ["Encoder", "Encoding", "EncodingPair", "NodeTable"]


@dataclass(frozen=True)
class NodeTable:
    """The states of all nodes in a padded table with one row per tree.

    Attributes:
        states: ``(T, M, c)``, in the order of the nodes; zero after the last node of a tree.
        mask: ``(T, M)`` bool, the cells that hold a node.
        pad: ``(T, M)`` bool, the cells without a node, or whose node has no token below it.
        sizes: ``(T,)`` int64 on the CPU, the number of nodes of each tree.
    """

    states: Tensor
    mask: Tensor
    pad: Tensor
    sizes: Tensor


@dataclass(frozen=True)
class Encoding:
    """The states that an encoder computes for ``T`` trees or sentences.

    All encoders return ``batch``, ``states`` and ``roots``; the other attributes are None if an
    encoder does not compute them.

    Attributes:
        batch: the graph of the ``N`` nodes that have a state: the encoded trees, or the graph that
            the encoder built over sentences (NTI: full trees; RRNet: the graph of operations).
        states: ``(N, c)``, the states of all nodes.
        vectors: ``(T, c)``, the vector of each tree, if that is not the state of its root.
        token_nodes: ``(S,)`` int64, the node of each encoded token, if the encoder built the graph.
        memory: ``(N, c)``, the memory cells of all nodes.
        final: the recurrent state after the last token of each sentence, from which another
            sentence can continue; its type is the encoder's.
        operations: ``(S,)`` int64, the operation at each token (RRNet).
        decisions: the decisions of the policy (RRNet).
        attention: ``(N, M)``, the weights with which each node attended to the M nodes of the other
            tree of its pair; zero for nodes that did not attend.
    """

    batch: TreeBatch
    states: Tensor
    vectors: Optional[Tensor] = None
    token_nodes: Optional[Tensor] = None
    memory: Optional[Tensor] = None
    final: Optional[Any] = None
    operations: Optional[Tensor] = None
    decisions: Optional[Decisions] = None
    attention: Optional[Tensor] = None

    @property
    def roots(self) -> Tensor:
        """The vector of each tree, ``(T, c)``: ``vectors``, or else the state of its root."""
        if self.vectors is not None:
            return self.vectors
        return self.states.index_select(0, self.batch.roots.to(self.states.device))

    @property
    def tokens(self) -> Tensor:
        """The states of the encoded tokens, ``(S, c)``; of trees, those of all nodes."""
        if self.token_nodes is None:
            return self.states
        return self.states.index_select(0, self.token_nodes.to(self.states.device))

    @property
    def pad(self) -> Tensor:
        """Which nodes have no token below them, ``(N,)`` bool (NTI)."""
        return self.batch.ndata["pad"].to(self.states.device)

    @cached_property
    def table(self) -> NodeTable:
        """The states in a padded table with one row per tree (NTI)."""
        sizes, trees = self.batch.sizes, self.batch.num_trees
        index, mask = self._index
        if bool((sizes == sizes[:1]).all()):
            states, pad = self.states.view(trees, -1, self.states.shape[1]), self.pad
            return NodeTable(states, mask, pad.view(trees, -1), sizes)
        states = torch.cat([self.states, self.states.new_zeros(1, self.states.shape[1])])
        pad = torch.cat([self.pad, self.pad.new_ones(1)])
        return NodeTable(states[index], mask, pad[index], sizes)

    @property
    def _index(self) -> tuple[Tensor, Tensor]:
        """The node in each cell of the table, ``(T, M)``, N in empty cells; and the mask."""
        index = self.batch.cache.get("table", self._table_index, device=self.states.device)
        return index, index < self.batch.num_nodes

    def _table_index(self) -> Tensor:
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

    first: Encoding
    second: Encoding

    @property
    def roots(self) -> Tensor:
        """The vectors of all sentences, ``(2 E, c)``; the two of a pair are adjacent."""
        return torch.stack([self.first.roots, self.second.roots], 1).flatten(0, 1)


class Encoder(nn.Module, ABC):
    """The base class of modules that map a batch to its :class:`Encoding`.

    Attributes:
        input: maps each node or token to its vector.
        size: c, the size of a state.
    """

    input: Input
    size: int
    __call__: Callable[..., Encoding]

    @abstractmethod
    def forward(self, batch: Any) -> Encoding:
        """Encode a batch."""
