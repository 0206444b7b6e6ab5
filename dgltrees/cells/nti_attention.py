"""The attentive node function and its scores, equations (7) to (11) of Neural Tree Indexers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dgltrees.cells.base import GateNorm, autocasts, normalize_one
from dgltrees.cells.compiled.fused_scores import FusedScores
from dgltrees.cells.initial import Init, initialize
from dgltrees.cells.node_function import NodeFunction
from dgltrees.settings import Count, checked
from dgltrees.traversal.views import Nodes

ScoreName = Literal["mlp", "dot", "map"]
"""The scoring functions; see :class:`Score`."""


@checked
class Score(nn.Module):
    r"""A scoring function of vectors s for a query q.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equation (11) and
    the line below it:

    .. math::

        m_{\mathrm{mlp}} &= w^T \mathrm{ReLU}(W_1 s + W_2 q) \\
        m_{\mathrm{dot}} &= q^T s \\
        m_{\mathrm{map}} &= (W_2 q + b)^T s

    The last one is in the paper's code.

    Arguments:
        size: k, the size of vectors and queries.
        kind: the scoring function: mlp, dot or map.
        init: how weights are drawn: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1);
            b is zero.
        compile: compute all scores of mlp block by block in one autograd function. Set it to False
            for a second derivative; this needs memory for all hidden units.

    Raises:
        ConfigError: an argument is none of its choices.

    Example:
        >>> import torch
        >>> from dgltrees.cells import Score
        >>> score = Score(3)
        >>> s, q = torch.ones(2, 5, 3), torch.ones(2, 4, 3)
        >>> score.every(score.keys(s), score.queries(q)).shape
        torch.Size([2, 4, 5])
    """

    def __init__(
        self, size: Count, kind: ScoreName = "mlp", *, init: Init = "kaiming", compile: bool = True
    ) -> None:
        super().__init__()
        self.kind, self.compiled = kind, compile
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
        """Score each key for its own query: two broadcastable ``(..., k)`` to ``(...)``."""
        if self.kind == "mlp":
            return (keys + queries).relu_() @ self.w
        return (keys * queries).sum(-1)

    def every(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Score all keys for all queries: ``(T, M, k)`` and ``(T, Q, k)`` to ``(T, Q, M)``."""
        if self.kind != "mlp":
            return torch.bmm(queries, keys.transpose(1, 2))
        several = queries.shape[1] > 1  # the table of one query is as large as the keys
        if self.compiled and several and type(self) is Score and not autocasts(keys.device.type):
            fused: Any = FusedScores.apply
            scores: Tensor = fused(keys, queries, self.w)
            return scores
        return self.pairs(keys.unsqueeze(1), queries.unsqueeze(2))


@checked
class NTIAttention(NodeFunction):
    r"""The attentive node function (ANF): a mean of the children, weighted by scores for a query.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equations (7) to
    (10):

    .. math::

        m_j    &= f_{\mathrm{score}}(h_j, q) \\
        \alpha &= \mathrm{softmax}(m) \\
        z      &= \textstyle\sum_j \alpha_j h_j \\
        h_p    &= \mathrm{ReLU}(W z)

    where j runs over the children of the node. The query q is either a row of the node field ``q``
    ``(N, c)``, such as the vector of another sentence, or one parameter for all nodes. The cell has
    no memory c.

    Arguments:
        score: scoring function of a child for the query q: an MLP (mlp), the scalar product (dot)
            or a bilinear map (map).
        query: source of the query q: learned (one parameter) or given (the node field ``q``).
        layer_norm: layer normalisation of W z, the argument of (10) (Ba et al., 2016).
        options: the other arguments of :class:`NodeFunction`.

    Shapes:
        ``x`` (N, m), ``q`` (N, c) in; ``h`` (N, c) out.

    Raises:
        ConfigError: an argument is none of its choices.

    Example:
        >>> import torch
        >>> from dgltrees import Forest
        >>> from dgltrees.cells import NTIAttention
        >>> cell = NTIAttention(input_size=2, hidden_size=3, max_children=2)
        >>> cell(Forest.build([-1, 0, 0]), torch.ones(3, 2))["h"].shape
        torch.Size([3, 3])
    """

    ordered = False

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        max_children: Count,
        *,
        score: ScoreName = "mlp",
        query: Literal["learned", "given"] = "learned",
        layer_norm: bool = False,
        init: Init = "kaiming",
        **options: Any,
    ) -> None:
        super().__init__(input_size, hidden_size, max_children, init=init, **options)
        self.score = Score(hidden_size, score, init=init)
        self.W = nn.Parameter(torch.empty(hidden_size, hidden_size))
        initialize(self.W, hidden_size, hidden_size, init)
        self.norm = GateNorm(1, hidden_size) if layer_norm else nn.Identity()
        self.q = nn.Parameter(torch.empty(hidden_size)) if query == "learned" else None
        if self.q is None:
            self.input_fields = ("x", "q")
        else:
            initialize(self.q, hidden_size, 1, init)

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Transform the queries of all nodes for the scores, ``wq`` ``(N, c)``."""
        x = self.check(ndata)
        if self.q is not None:
            return {"wq": self.score.queries(self.q).expand(len(x), -1)}
        self.check_field(ndata, "q")
        return {"wq": self.score.queries(ndata["q"])}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute ``a``, the weighted mean of the children, by equations (7) to (9)."""
        mask = self.child_mask(nodes)  # (n, L)
        h = self.dropout(nodes.mailbox["h"])  # (n, L, c)
        m = self.score.pairs(self.score.keys(h), nodes.data["wq"].unsqueeze(1))  # (n, L)
        alpha = torch.softmax(m.masked_fill(~mask, -torch.inf), 1)
        return {"a": (alpha.unsqueeze(2) * h).sum(1)}

    def composed(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the state by equation (10)."""
        return {"h": torch.relu(normalize_one(self.norm, nodes.data["a"] @ self.W))}
