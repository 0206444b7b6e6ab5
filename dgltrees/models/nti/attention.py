"""Attention over all nodes of a tree: equations (12) to (15) of Neural Tree Indexers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, Optional

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dgltrees.cells.initial import initialize
from dgltrees.cells.scores import Score
from dgltrees.models.nti.encoding import Encoding

__all__ = ["Attended", "AttentionOverTrees", "GlobalAttention", "in_chunks", "pad_mass"]

CHUNK = 640 << 20
"""Bytes that all queries of one chunk may take at once, about."""


class Attended(NamedTuple):
    """What attention makes of ``Q`` queries to each of ``T`` trees of at most ``M`` nodes.

    Arguments:
        h: ``(T, Q, c)``.
        weights: ``(T, Q, M)`` which part each node has in it, in the order of the tree's nodes;
            they sum to 1. For drawing: through those of tree attention no gradient flows.
    """

    h: Tensor
    weights: Tensor


def pad_mass(attended: Attended, encoding: Encoding) -> Tensor:
    """``(T, Q)`` the part of the attention that falls on nodes without a token below them."""
    return (attended.weights * encoding.table.pad.unsqueeze(1)).sum(2)


class AttentionOverTrees(nn.Module, ABC):
    """What global and tree attention share.

    Arguments:
        size: c.
        score: ``"mlp"``, equation (11), ``"dot"`` or ``"map"``, the paper's code
            (:class:`~dgltrees.cells.scores.Score`).
        mask_pads: whether nodes without a token below them are passed over; the paper does not.
        init: ``"kaiming"`` (normal), ``"xavier"`` or ``"uniform"``.

    Raises:
        ConfigError: there is no such score.
    """

    def __init__(
        self, size: int, *, score: str = "mlp", mask_pads: bool = False, init: str = "kaiming"
    ) -> None:
        super().__init__()
        self.size, self.mask_pads = size, mask_pads
        self.score = Score(size, score, init=init)
        self.W_1 = nn.Parameter(torch.empty(size, size))
        initialize(self.W_1, size, size, init)

    def keys(self, encoding: Encoding) -> Tensor:
        """``(T, M, c)`` what the scores need of all nodes, whatever the queries."""
        return self.score.keys(encoding.table.h)

    @abstractmethod
    def forward(
        self, queries: Tensor, encoding: Encoding, *, keys: Optional[Tensor] = None
    ) -> Attended:
        """Attend to each tree with its queries.

        Arguments:
            queries: ``(T, Q, c)``.
            encoding: T trees.
            keys: :meth:`keys` of ``encoding``, where it is asked more than once.
        """

    def extra_repr(self) -> str:
        """The settings, for printing."""
        return f"c={self.size}, mask_pads={self.mask_pads}"


class GlobalAttention(AttentionOverTrees):
    r"""A query attends to all nodes of a tree alike.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equations (12) to
    (15):

    .. math::

        m        &= f_{score}(S, q) \\
        \alpha   &= softmax(m) \\
        z        &= S \alpha^T \\
        h_{tree} &= ReLU(W_1 z + W_2 q)

    where the columns of S are the states of the 2n - 1 nodes. Arguments are those of
    :class:`AttentionOverTrees`.
    """

    def __init__(
        self, size: int, *, score: str = "mlp", mask_pads: bool = False, init: str = "kaiming"
    ) -> None:
        super().__init__(size, score=score, mask_pads=mask_pads, init=init)
        self.W_2 = nn.Parameter(torch.empty(size, size))
        initialize(self.W_2, size, size, init)

    def forward(
        self, queries: Tensor, encoding: Encoding, *, keys: Optional[Tensor] = None
    ) -> Attended:
        """See :class:`AttentionOverTrees`: a batched product, in chunks over the queries."""
        table = encoding.table
        return self.over(queries, table.h, table.pad if self.mask_pads else ~table.there, keys)

    def over(
        self, queries: Tensor, h: Tensor, hidden: Tensor, keys: Optional[Tensor] = None
    ) -> Attended:
        """Attend to any vectors.

        Arguments:
            queries: ``(T, Q, c)``.
            h: ``(T, M, c)``.
            hidden: ``(T, M)`` bool, vectors that are passed over.
            keys: ``(T, M, c)`` what the scores need of ``h``; made where it is not given.
        """
        keys = self.score.keys(h) if keys is None else keys

        def attend(q: Tensor) -> tuple[Tensor, Tensor]:
            m = self.score.every(keys, self.score.queries(q))  # (T, Q, M)
            alpha = torch.softmax(m.masked_fill(hidden.unsqueeze(1), -torch.inf), 2)
            return self.blend(torch.bmm(alpha, h), q), alpha

        return in_chunks(attend, queries, 4 * h[:, :, 0].numel() * h.element_size())

    def blend(self, z: Tensor, q: Tensor) -> Tensor:
        """Equation (15)."""
        return torch.relu(z @ self.W_1 + q @ self.W_2)


def in_chunks(
    attend: Callable[[Tensor], tuple[Tensor, Tensor]], queries: Tensor, size: int
) -> Attended:
    """``attend`` for some queries at a time; where there are more chunks, each is recomputed.

    Arguments:
        attend: from ``(T, Q, c)`` to what :class:`Attended` holds.
        queries: ``(T, Q, c)``.
        size: bytes that one query to each tree takes.
    """
    at_once = max(1, CHUNK // max(1, size))
    if at_once >= queries.shape[1]:
        return Attended(*attend(queries))
    number = queries.shape[1]
    sizes = [min(at_once, number - first) for first in range(0, number, at_once)]
    pieces = queries.split_with_sizes(sizes, 1)  # whose gradients are put together once
    parts = [checkpoint(attend, q, use_reentrant=False) for q in pieces]
    h, weights = zip(*parts)
    return Attended(torch.cat(h, 1), torch.cat(weights, 1))
