"""Readouts: from an encoding to the vectors that the head receives, one per tree or node."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from dgltrees.models.encoder import Encoding
from dgltrees.models.heads import wide
from dgltrees.trees.batch import TreeBatch


class _Rooted(Protocol):
    """An encoding of trees, or of pairs of trees."""

    @property
    def roots(self) -> Tensor: ...


class Root(nn.Module):
    """The vector of each tree, ``(T, c)``: by default the state of its root.

    For pairs, the vectors of the two trees of a pair are adjacent.
    """

    def forward(self, encoding: _Rooted) -> Tensor:
        """Return the vectors of an encoding."""
        return encoding.roots


class EveryNode(nn.Module):
    """The states of all nodes, ``(N, c)``; for sentences, those of the tokens."""

    def forward(self, encoding: Encoding) -> Tensor:
        """Return the vectors of an encoding."""
        return encoding.tokens


class Mean(nn.Module):
    """The mean over the states of each tree, ``(T, c)``; half precision is summed in float32."""

    def forward(self, encoding: Encoding) -> Tensor:
        """Return the vectors of an encoding."""
        return mean_by_tree(encoding.states, encoding.batch)


class Max(nn.Module):
    """The maximum of each component over the states of each tree, ``(T, c)``."""

    def forward(self, encoding: Encoding) -> Tensor:
        """Return the vectors of an encoding."""
        return max_by_tree(encoding.states, encoding.batch)


class RootAndMax(nn.Module):
    """The concatenation of :class:`Root` and :class:`Max`, ``(T, 2 c)``."""

    def forward(self, encoding: Encoding) -> Tensor:
        """Return the vectors of an encoding."""
        return torch.cat([encoding.roots, max_by_tree(encoding.states, encoding.batch)], 1)


class Attention(nn.Module):
    r"""A learned weighted mean over the states of each tree, ``(T, c)``.

    .. math::

        s_v = w \cdot \tanh(W h_v + b), \quad
        \alpha_v = \frac{e^{s_v}}{\sum_{u \in tree(v)} e^{s_u}}, \quad
        z = \sum_v \alpha_v h_v

    This is the attention of Yang et al., "Hierarchical Attention Networks for Document
    Classification" (NAACL 2016), equations (5) to (7), over the nodes of a tree. Half precision is
    summed in float32.

    Arguments:
        size: c.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.key = nn.Linear(size, size)
        self.score = nn.Linear(size, 1, bias=False)

    def forward(self, encoding: Encoding) -> Tensor:
        """Return the vectors of an encoding."""
        h, batch = encoding.states, encoding.batch
        tree = batch.tree_of_node
        s = wide(self.score(torch.tanh(self.key(h))))  # (N, 1)
        weight = torch.exp(s - max_by_tree(s.detach(), batch).index_select(0, tree))  # (N, 1)
        total = sum_by_tree(torch.cat([weight * h, weight], 1), batch)  # (T, c + 1)
        return (total[:, :-1] / total[:, -1:]).to(h.dtype)


def make_readout(name: str, size: int) -> nn.Module:
    """Return the readout of a name in settings, for states of ``size``."""
    if name == "attention":
        return Attention(size)
    return {"root": Root, "mean": Mean, "max": Max, "root_max": RootAndMax}[name]()


def mean_by_tree(rows: Tensor, batch: TreeBatch) -> Tensor:
    """Return the mean over the nodes of each tree, ``(N, d)`` to ``(T, d)``.

    Half precision is summed in float32.
    """
    total = sum_by_tree(rows, batch)
    return (total / batch.sizes.to(total).unsqueeze(1)).to(rows.dtype)


def max_by_tree(rows: Tensor, batch: TreeBatch) -> Tensor:
    """Return the maximum over the nodes of each tree, ``(N, d)`` to ``(T, d)``."""
    if batch.num_trees == 1:
        return rows.amax(0, keepdim=True)
    tree = batch.tree_of_node.unsqueeze(1).expand_as(rows)
    lowest = rows.new_full((batch.num_trees, rows.shape[1]), -torch.inf)
    return lowest.scatter_reduce(0, tree, rows, "amax")


def sum_by_tree(rows: Tensor, batch: TreeBatch) -> Tensor:
    """Return the sum over the nodes of each tree, ``(N, d)`` to ``(T, d)``, in float32 at least."""
    rows = wide(rows)
    total = rows.new_zeros(batch.num_trees, rows.shape[1])
    return total.index_add(0, batch.tree_of_node, rows)
