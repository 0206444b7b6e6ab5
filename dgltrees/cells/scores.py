"""The scoring functions of attention: how well a vector fits a query."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from dgltrees.cells.initial import Init, initialize
from dgltrees.options import Count, checked
from dgltrees.traversal.ways import way_of

__all__ = ["Score", "ScoreName"]

ScoreName = Literal["mlp", "dot", "map"]
"""The scoring functions; see :class:`Score`."""


@checked
class Score(nn.Module):
    r"""Scores of vectors s for a query q.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equation (11) and
    the line below it:

    .. math::

        m &= w^T ReLU(W_1 s + W_2 q) & \text{"mlp"} \\
        m &= q^T s                   & \text{"dot"} \\
        m &= (W_2 q + b)^T s         & \text{"map"}

    where the last is that of the paper's code.

    Arguments:
        size: k, the size of vectors and queries.
        kind: the scoring function: mlp, dot or map.
        init: how weights are drawn: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1);
            b is zero.
        fused: compute all scores of mlp block by block in one autograd function; False where a
            second derivative is wanted, which takes memory for all hidden units.

    Raises:
        ConfigError: an argument is out of range.
    """

    def __init__(
        self, size: Count, kind: ScoreName = "mlp", *, init: Init = "kaiming", fused: bool = True
    ) -> None:
        super().__init__()
        self.kind, self.fused = kind, fused
        if kind == "mlp":
            self.W_1 = nn.Parameter(torch.empty(size, size))
            self.w = nn.Parameter(torch.empty(size))
            initialize(self.W_1, 2 * size, size, init)
            initialize(self.w, size, 1, init)
        if kind != "dot":
            self.W_2 = nn.Parameter(torch.empty(size, size))
            initialize(self.W_2, 2 * size if kind == "mlp" else size, size, init)
        if kind == "map":
            self.b = nn.Parameter(torch.zeros(size))

    def keys(self, s: Tensor) -> Tensor:
        """Transform vectors once for all queries, ``(..., k)`` to ``(..., k)``."""
        return s @ self.W_1 if self.kind == "mlp" else s

    def queries(self, q: Tensor) -> Tensor:
        """Transform queries once for all vectors, ``(..., k)`` to ``(..., k)``."""
        if self.kind == "dot":
            return q
        return q @ self.W_2 + self.b if self.kind == "map" else q @ self.W_2

    def pairs(self, keys: Tensor, queries: Tensor) -> Tensor:
        """The score of each key for its own query: two broadcastable ``(..., k)`` to ``(...)``."""
        if self.kind == "mlp":
            return (keys + queries).relu_() @ self.w
        return (keys * queries).sum(-1)

    def every(self, keys: Tensor, queries: Tensor) -> Tensor:
        """The scores of all keys for all queries: ``(T, M, k)``, ``(T, Q, k)`` to ``(T, Q, M)``."""
        if self.kind != "mlp":
            return torch.bmm(queries, keys.transpose(1, 2))
        way = way_of(self) if self.fused else None
        scores: Tensor | None = None if way is None else way(self, keys, queries)
        if scores is None:
            scores = self.pairs(keys.unsqueeze(1), queries.unsqueeze(2))
        return scores
