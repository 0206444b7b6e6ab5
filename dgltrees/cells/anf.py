"""The attentive node function: equations (7) to (11) of Neural Tree Indexers."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from dgltrees.cells.initial import initialize
from dgltrees.cells.node_function import NodeFunction
from dgltrees.cells.scores import Score
from dgltrees.errors import ConfigError
from dgltrees.traversal.views import Nodes

__all__ = ["AttentiveNode"]

QUERIES = ("learned", "given")


class AttentiveNode(NodeFunction):
    r"""The attentive node function (ANF): a node is a mean of its children, weighted by a query.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equations (7) to
    (10):

    .. math::

        m_j    &= f_{score}(h_j, q) \\
        \alpha &= softmax(m) \\
        z      &= \textstyle\sum_j \alpha_j h_j \\
        h_p    &= ReLU(W z)

    where j runs over the children that are there and q is the vector of another text, which the
    node field ``q`` ``(N, c)`` gives to each node, or one parameter for all. There is no memory.

    Arguments:
        input_size, hidden_size, max_children, leaf, dropout, init: see :class:`NodeFunction`.
        score: ``"mlp"``, ``"dot"`` or ``"map"`` (:class:`~dgltrees.cells.scores.Score`).
        query: ``"learned"``, a parameter, or ``"given"``.

    Shapes:
        ``x`` (N, m), ``q`` (N, c) in; ``h`` (N, c) out.

    Raises:
        ConfigError: an argument is out of range.
    """

    ordered = False

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        max_children: int,
        *,
        score: str = "mlp",
        query: str = "learned",
        leaf: str = "linear",
        dropout: float = 0.0,
        init: str = "kaiming",
    ) -> None:
        super().__init__(
            input_size, hidden_size, max_children, leaf=leaf, dropout=dropout, init=init
        )
        if query not in QUERIES:
            raise ConfigError(f"expected query to be one of {', '.join(QUERIES)}, got {query!r}")
        self.score = Score(hidden_size, score, init=init)
        self.W = nn.Parameter(torch.empty(hidden_size, hidden_size))
        initialize(self.W, hidden_size, hidden_size, init)
        self.q = nn.Parameter(torch.empty(hidden_size)) if query == "learned" else None
        if self.q is None:
            self.input_fields = ("x", "q")
        else:
            initialize(self.q, hidden_size, 1, init)

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What the scores need of the query of each node."""
        x = self.check(ndata)
        if self.q is not None:
            return {"wq": self.score.queries(self.q).expand(len(x), -1)}
        self.check_field(ndata, "q")
        return {"wq": self.score.queries(ndata["q"])}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Equations (7) to (9): ``a``, the weighted mean of the children."""
        there = self.child_mask(nodes)  # (n, L)
        h = self.dropout(nodes.mailbox["h"])  # (n, L, c)
        m = self.score.pairs(self.score.keys(h), nodes.data["wq"].unsqueeze(1))  # (n, L)
        alpha = torch.softmax(m.masked_fill(~there, -torch.inf), 1)
        return {"a": (alpha.unsqueeze(2) * h).sum(1)}

    def composed(self, nodes: Nodes) -> dict[str, Tensor]:
        """Equation (10)."""
        return {"h": torch.relu(nodes.data["a"] @ self.W)}
