"""Attention over all nodes of a tree: equations (12) to (15) of Neural Tree Indexers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dgltrees.cells.initial import Init, initialize
from dgltrees.cells.nti_attention import Score, ScoreName
from dgltrees.papers.nti.models.encoder import NTIEncoding
from dgltrees.settings import checked

CHUNK = 640 << 20
"""Approximate memory of one chunk of queries, in bytes."""


class Attended(NamedTuple):
    """Result of attention of ``Q`` queries over each of ``T`` trees of at most ``M`` nodes.

    Attributes:
        h: ``(T, Q, c)``, the attention vectors.
        weights: ``(T, Q, M)``, the weight of each node, in the order of the tree's nodes; they sum
            to 1. Use them only for drawing: the weights of tree attention have no gradient.
    """

    h: Tensor
    weights: Tensor


@checked
class AttentionOverTrees(nn.Module, ABC):
    """Base class of global and tree attention.

    Arguments:
        size: c, the size of a state.
        score: the scoring function: ``"mlp"``, equation (11), ``"dot"``, or ``"map"``, as in the
            paper's code (:class:`~dgltrees.cells.nti_attention.Score`).
        mask_pads: ignore nodes without a token below them; the paper includes them.
        init: how weights are drawn.

    Raises:
        ConfigError: there is no such score.
    """

    __call__: Callable[..., Attended]

    def __init__(
        self,
        size: int,
        *,
        score: ScoreName = "mlp",
        mask_pads: bool = False,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        self.size, self.mask_pads = size, mask_pads
        self.score = Score(size, score, init=init)
        self.W_1 = self._weight(init)

    def _weight(self, init: Init) -> nn.Parameter:
        weight = nn.Parameter(torch.empty(self.size, self.size))
        initialize(weight, self.size, self.size, init)
        return weight

    def keys(self, encoding: NTIEncoding) -> Tensor:
        """Transform the states of all nodes once for all queries, ``(T, M, c)``."""
        return self.score.keys(encoding.table.states)

    @abstractmethod
    def forward(
        self, queries: Tensor, encoding: NTIEncoding, *, keys: Tensor | None = None
    ) -> Attended:
        """Attend to each tree with its queries.

        Arguments:
            queries: ``(T, Q, c)``.
            encoding: the encoding of T trees.
            keys: the result of :meth:`keys` for ``encoding``, to compute it once for several calls.

        Returns:
            the attention vectors ``h`` and the ``weights``.
        """

    def extra_repr(self) -> str:
        """Return the settings, for ``repr``."""
        return f"c={self.size}, mask_pads={self.mask_pads}"


class GlobalAttention(AttentionOverTrees):
    r"""Attention of a query over all nodes of a tree at once.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equations (12) to
    (15):

    .. math::

        m        &= f_{score}(S, q) \\
        \alpha   &= softmax(m) \\
        z        &= S \alpha^T \\
        h_{tree} &= ReLU(W_1 z + W_2 q)

    where the columns of S are the states of the 2n - 1 nodes. For the arguments see
    :class:`AttentionOverTrees`.
    """

    def __init__(
        self,
        size: int,
        *,
        score: ScoreName = "mlp",
        mask_pads: bool = False,
        init: Init = "kaiming",
    ) -> None:
        super().__init__(size, score=score, mask_pads=mask_pads, init=init)
        self.W_2 = self._weight(init)

    def forward(
        self, queries: Tensor, encoding: NTIEncoding, *, keys: Tensor | None = None
    ) -> Attended:
        """Attend by matrix products, in chunks of queries; see :class:`AttentionOverTrees`."""
        table = encoding.table
        hidden = table.pad if self.mask_pads else ~table.mask
        return self.over(queries, table.states, hidden, keys)

    def over(
        self, queries: Tensor, h: Tensor, hidden: Tensor, keys: Tensor | None = None
    ) -> Attended:
        """Attend to vectors instead of an encoding.

        Arguments:
            queries: ``(T, Q, c)``.
            h: ``(T, M, c)``, the vectors.
            hidden: ``(T, M)`` bool, the vectors to ignore.
            keys: ``(T, M, c)``, the keys of ``h``; computed by default.

        Returns:
            the attention vectors ``h`` and the ``weights``.
        """
        keys = self.score.keys(h) if keys is None else keys

        def attend(q: Tensor) -> tuple[Tensor, Tensor]:
            m = self.score.every(keys, self.score.queries(q))  # (T, Q, M)
            alpha = torch.softmax(m.masked_fill(hidden.unsqueeze(1), -torch.inf), 2)
            return self.blend(torch.bmm(alpha, h), q), alpha

        return in_chunks(attend, queries, 4 * h[:, :, 0].numel() * h.element_size())

    def blend(self, z: Tensor, q: Tensor) -> Tensor:
        """Return the attention vectors of averaged states z and queries q, equation (15)."""
        return torch.relu(z @ self.W_1 + q @ self.W_2)


def in_chunks(
    attend: Callable[[Tensor], tuple[Tensor, Tensor]], queries: Tensor, size: int
) -> Attended:
    """Call ``attend`` on chunks of the queries, with checkpoints for more than one chunk."""
    at_once = max(1, CHUNK // max(1, size))
    if at_once >= queries.shape[1]:
        return Attended(*attend(queries))
    number = queries.shape[1]
    sizes = [min(at_once, number - first) for first in range(0, number, at_once)]
    chunks = queries.split_with_sizes(sizes, 1)  # their gradients are concatenated once
    parts = [checkpoint(attend, q, use_reentrant=False) for q in chunks]
    h, weights = zip(*parts)
    return Attended(torch.cat(h, 1), torch.cat(weights, 1))
