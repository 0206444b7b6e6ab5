"""The head of rankers: a score per tree, learned from the order within groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.cells.initial import Init
from dgltrees.models.targets import TargetHead
from dgltrees.settings import Fraction, Positive, checked
from dgltrees.trees.sampler import higher_and_lower


@checked
class RankTarget(TargetHead):
    r"""A score s per tree that orders the trees of a group like their targets y.

    Arguments:
        size, hidden, dropout, init: see :class:`~dgltrees.models.targets.TargetHead`.
        objective: ``pairwise``, over all pairs of trees of a group, or ``listwise``, over whole
            groups.
        temperature: temperature of the listwise objective, in standard deviations of the training
            targets.

    ``pairwise`` is RankNet (Burges et al., "Learning to Rank using Gradient Descent", ICML 2005,
    section 3): the probability that tree i ranks higher than j is :math:`\sigma(s_i - s_j)`, and
    the loss of a group is the mean over all pairs with :math:`y_i > y_j` of :math:`\log(1 +
    e^{-(s_i - s_j)})`. Pairs with equal targets are ignored.

    ``listwise`` is ListNet (Cao et al., "Learning to Rank: From Pairwise Approach to Listwise
    Approach", ICML 2007, section 4) with the probabilities that a tree ranks first: the loss of a
    group is :math:`-\sum_j P_y(j) \log P_s(j)`, where :math:`P_s(j) = e^{s_j} / \sum_k e^{s_k}` and
    :math:`P_y` is the same function of :math:`y / (\tau \delta)`. The temperature :math:`\tau` and
    the standard deviation :math:`\delta` are not in the paper; they make the loss independent of
    the unit of the target.

    The targets are ``(R, 2)``: y, NaN if unknown, and the index of the group. Every tree has the
    loss of its group, so that a group is weighted by its number of trees. The loss is 0 if y is
    unknown or if all targets of the group are equal.
    """

    deviation: Tensor

    def __init__(
        self,
        size: int,
        hidden: Sequence[int] = (),
        *,
        objective: Literal["pairwise", "listwise"] = "pairwise",
        temperature: Positive = 1.0,
        dropout: Fraction = 0.0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__(size, 1, hidden, dropout=dropout, init=init)
        self.objective, self.temperature = objective, temperature
        self.register_buffer("deviation", torch.ones((), dtype=torch.float64))

    def learn_scale(self, targets: NDArray[Any]) -> None:
        """Store the standard deviation of the training targets ``(R,)``, NaN if unknown."""
        deviation = float(np.nanstd(targets))
        self.deviation.fill_(deviation if deviation > 0 else 1.0)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the losses, ``(R,)``, of scores ``(R, 1)``."""
        losses, (y, group) = torch.zeros_like(outputs[:, 0]), targets.unbind(1)
        rows = (~y.isnan()).nonzero()[:, 0]
        _, group = torch.unique(group[rows], return_inverse=True)
        count = int(group.max()) + 1 if len(rows) else 0
        y, s = y[rows], outputs[rows, 0]
        higher, lower = higher_and_lower(y, group)
        pairs = torch.bincount(group[higher], minlength=count)
        if self.objective == "pairwise":
            terms = F.softplus(s[lower] - s[higher]) / pairs[group[higher]]
            of_group = _sums(terms, group[higher], count)
        else:
            y = y / (self.temperature * self.deviation.to(y))
            p = _log_softmax(y, group, count).exp().to(s)
            of_group = -_sums(p * _log_softmax(s, group, count), group, count)
        of_group = torch.where(pairs > 0, of_group, 0.0)
        return losses.index_put((rows,), of_group[group])

    def decode(self, outputs: Tensor) -> dict[str, Tensor]:
        """Return ``score``, ``(R,)``; the tree with the highest score ranks first in its group."""
        return {"score": outputs[:, 0]}


def _sums(values: Tensor, group: Tensor, count: int) -> Tensor:
    """Return the sum over each group, ``(G,)``, of values ``(R,)``."""
    return values.new_zeros(count).index_add(0, group, values)


def _log_softmax(values: Tensor, group: Tensor, count: int) -> Tensor:
    """Return the logarithm of the softmax within each group, ``(R,)``."""
    top = values.new_full((count,), -torch.inf)
    top = top.scatter_reduce(0, group, values.detach(), "amax")
    shifted = values - top[group]
    return shifted - _sums(shifted.exp(), group, count).log()[group]
