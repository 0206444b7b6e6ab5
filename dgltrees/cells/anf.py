"""The attentive node function: equations (7) to (11) of Neural Tree Indexers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor, nn

from dgltrees.cells.base import GateNorm, normalize_one
from dgltrees.cells.initial import Init, initialize
from dgltrees.cells.node_function import NodeFunction
from dgltrees.cells.scores import Score, ScoreName
from dgltrees.options import Count, checked
from dgltrees.traversal.views import Nodes

__all__ = ["AttentiveNode"]


@checked
class AttentiveNode(NodeFunction):
    r"""The attentive node function (ANF): a mean of the children, weighted by their fit to a query.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equations (7) to
    (10):

    .. math::

        m_j    &= f_{score}(h_j, q) \\
        \alpha &= softmax(m) \\
        z      &= \textstyle\sum_j \alpha_j h_j \\
        h_p    &= ReLU(W z)

    where j runs over the children of the node and q is the vector of another text, a row of the
    node field ``q`` ``(N, c)``, or one parameter for all nodes. The cell has no memory c.

    Arguments:
        score: scoring function of a child for the query q: an MLP (mlp), the scalar product (dot)
            or a bilinear map (map).
        query: where q comes from: learned, one parameter, or given, the node field ``q``.
        layer_norm: layer normalisation of W z, the argument of (10) (Ba et al., 2016).
        options: as of :class:`NodeFunction`.

    Shapes:
        ``x`` (N, m), ``q`` (N, c) in; ``h`` (N, c) out.

    Raises:
        ConfigError: an argument is out of range.
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
        """The queries of all nodes, transformed for the scores."""
        x = self.check(ndata)
        if self.q is not None:
            return {"wq": self.score.queries(self.q).expand(len(x), -1)}
        self.check_field(ndata, "q")
        return {"wq": self.score.queries(ndata["q"])}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Equations (7) to (9): ``a``, the weighted mean of the children."""
        mask = self.child_mask(nodes)  # (n, L)
        h = self.dropout(nodes.mailbox["h"])  # (n, L, c)
        m = self.score.pairs(self.score.keys(h), nodes.data["wq"].unsqueeze(1))  # (n, L)
        alpha = torch.softmax(m.masked_fill(~mask, -torch.inf), 1)
        return {"a": (alpha.unsqueeze(2) * h).sum(1)}

    def composed(self, nodes: Nodes) -> dict[str, Tensor]:
        """Equation (10)."""
        return {"h": torch.relu(normalize_one(self.norm, nodes.data["a"] @ self.W))}
