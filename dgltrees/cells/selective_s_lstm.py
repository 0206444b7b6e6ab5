"""An S-LSTM that learns which of its children to compose, and how many."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from dgltrees.cells.initial import Init, initialize
from dgltrees.cells.s_lstm import SLSTM
from dgltrees.cells.scores import Score, ScoreName
from dgltrees.options import Count, checked
from dgltrees.traversal.views import Nodes

__all__ = ["SelectiveSLSTM", "sparsemax"]


@checked
class SelectiveSLSTM(SLSTM):
    r"""An S-LSTM that selects the children it composes.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), propose
    as future work models that "select and compose dynamic number of nodes". This one is by this
    package: the scores of (11), for a learned query q, pass through a softmax that is exactly zero
    at low scores (Martins and Astudillo, "From Softmax to Sparsemax", ICML 2016):

    .. math::

        m_j &= f_{score}(h_j, q) \\
        p   &= sparsemax(m) \\
        g_j &= p_j / \max_l p_l

    and :math:`g_j h_j`, :math:`g_j c_j` take the place of :math:`h_j`, :math:`c_j` in (1) to (6).
    The child with the highest score always has the weight 1; children with much lower scores have
    the weight 0 and are treated as absent. With equal scores this is the S-LSTM. Selection matters
    most on wide trees, and on trees whose sub-trees overlap.

    Arguments:
        score: scoring function of a child for the learned query: an MLP (mlp), the scalar product
            (dot) or a bilinear map (map).
        options: as of :class:`~dgltrees.cells.s_lstm.SLSTM`.

    Shapes:
        ``x`` (N, m) and optionally ``c0`` (N, c) in; ``h`` and ``c``, each (N, c), out.

    Raises:
        ConfigError: an argument is out of range.
    """

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        max_children: Count,
        *,
        score: ScoreName = "mlp",
        init: Init = "kaiming",
        **options: Any,
    ) -> None:
        super().__init__(input_size, hidden_size, max_children, init=init, **options)
        self.score = Score(hidden_size, score, init=init)
        self.q = nn.Parameter(torch.empty(hidden_size))
        initialize(self.q, hidden_size, 1, init)

    def _children(self, nodes: Nodes) -> tuple[Tensor, Tensor]:
        """States and memories of the children, each ``(n, L, c)``, times their weights."""
        mask = self.child_mask(nodes)  # (n, L)
        h, c = super()._children(nodes)
        g = self.selected(h, mask).unsqueeze(2)  # (n, L, 1)
        return g * h, g * c

    def selected(self, h: Tensor, mask: Tensor) -> Tensor:
        """The weights g of the children, ``(n, L)``, from 0 to 1.

        Arguments:
            h: ``(n, L, c)``, the states of the children.
            mask: ``(n, L)`` bool, the slots that hold a child, at least one per node.
        """
        m = self.score.pairs(self.score.keys(h), self.score.queries(self.q))
        p = sparsemax(m.masked_fill(~mask, -torch.inf))
        return p / p.amax(1, keepdim=True)


def sparsemax(m: Tensor) -> Tensor:
    r"""The point of the simplex nearest to each row of scores: ``(n, L)`` to ``(n, L)``.

    .. math::

        p_j = \max(m_j - \tau, 0), \quad
        \tau = (\textstyle\sum_{j \in S} m_j - 1) / |S|, \quad
        S = \{j : 1 + k_j m_j > \textstyle\sum_{l : m_l \ge m_j} m_l\}

    with :math:`k_j` the number of scores :math:`m_l \ge m_j`: scores are compared in pairs and not
    sorted. A score of minus infinity has the weight 0; every row must have a finite score.
    """
    above = m.unsqueeze(1) >= m.unsqueeze(2)  # (n, L, L), for each j the l
    k = above.to(m.dtype).sum(2)
    selected = 1 + k * m > torch.where(above, m.unsqueeze(1), 0).sum(2)
    total = torch.where(selected, m, 0).sum(1, keepdim=True)
    tau = (total - 1) / selected.to(m.dtype).sum(1, keepdim=True)
    return (m - tau).clamp(min=0)
