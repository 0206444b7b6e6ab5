"""Numbers of trees and of their nodes: targets of nodes, and predictions that are sums over nodes.

The vectors of the trees are not enough for them, so a :class:`WithNodes` readout keeps the states
of the nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.errors import TreeError, called
from dgltrees.models.encoder import Encoding
from dgltrees.models.readout import sum_by_tree
from dgltrees.models.targets import NumberTargets
from dgltrees.settings import Count, Positive
from dgltrees.trees.batch import TreeBatch

NODE_TARGET = "(node target)"
"""The node column with the target of each node, ``(N, 1)``, NaN if it is missing."""


@dataclass(frozen=True)
class VectorsAndNodes:
    """The vectors that a readout computes, with the nodes of the ``T`` trees.

    Attributes:
        vectors: ``(T, c)`` the vectors of the trees; ``(N, c)`` for a sum over nodes.
        states: ``(N, c)`` the states of the nodes.
        batch: the trees.
    """

    vectors: Tensor
    states: Tensor
    batch: TreeBatch


class WithNodes(nn.Module):
    """A readout that keeps the states of the nodes.

    Arguments:
        readout: computes the vectors.
    """

    def __init__(self, readout: nn.Module) -> None:
        super().__init__()
        self.readout = readout

    def forward(self, encoding: Encoding) -> VectorsAndNodes:
        """Return the vectors of an encoding, with its nodes."""
        return VectorsAndNodes(self.readout(encoding), encoding.tokens, encoding.batch)


class NodeNumberTargets(NumberTargets):
    r"""Numbers of trees, with a number of each node.

    With ``additive`` the prediction of a tree is the sum of what its nodes contribute. Node v
    contributes

    .. math:: c_v = (\sigma o_v + \mu) / n \quad \text{or, with log\_target,} \quad
        c_v = e^{\sigma o_v + \mu} / n,

    where o is the output of the MLP for the state of the node, :math:`\mu` is the mean of the
    training targets, or of their logarithms, :math:`\sigma` is their deviation, or that of the node
    targets if it is larger, and n is the geometric mean of the numbers of nodes of the training
    trees.

    With a node target the loss of a tree is that of its own target plus ``node_target_weight``
    times the mean loss of its nodes with a known target, which is standardised by the mean and
    deviation of the node targets. The prediction for a node is the output of another MLP for its
    state. If the model is also additive, it is instead the sum of the contributions of the node and
    its descendants, as the total time of an operator includes that of its inputs.

    Arguments:
        size, count, hidden, options: see :class:`~dgltrees.models.NumberTargets`.
        node_size: c, the size of the state of a node, if nodes have a target.
        node_target_weight: weight of the losses of the nodes.
        additive: predict the sum of the contributions of the nodes.

    Raises:
        TreeError: nodes have several parents, with ``additive`` and a node target.
    """

    typical_size: Tensor
    stretch: Tensor
    nodes: NumberTargets | None

    def __init__(
        self,
        size: int,
        count: Count,
        hidden: Sequence[int] = (),
        *,
        node_size: int | None = None,
        node_target_weight: Positive | None = None,
        additive: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(size, count, hidden, **options)
        self.additive = additive
        self.node_target_weight = 1.0 if node_target_weight is None else node_target_weight
        self.nodes = None
        if node_size is not None:
            self.nodes = NumberTargets(node_size, 1, hidden, **options)
            if additive:  # which has an MLP already
                self.nodes.mlp = nn.Identity()  # type: ignore[assignment]
        for name in ("typical_size", "stretch"):
            self.register_buffer(name, torch.ones((), dtype=torch.float64))

    def learn_nodes(self, sizes: NDArray[np.int64], targets: NDArray[np.float64] | None) -> None:
        """Store statistics of the nodes of the training trees, after those of the trees."""
        self.typical_size.fill_(float(np.exp(np.log(sizes).mean())))
        if self.nodes is not None and targets is not None:
            self.nodes.learn_scale(targets, "node targets")
            if self.additive and self.deviation > 0:
                self.stretch.copy_((self.nodes.deviation / self.deviation).clamp(min=1.0)[0])

    def contributions(self, z: VectorsAndNodes) -> Tensor:
        """Return what each node contributes, in the unit of the target, ``(N, numbers)``."""
        values = self.values(super().forward(z.vectors) * self.stretch)
        sizes = z.batch.sizes.to(values)[z.batch.tree_of_node].unsqueeze(1)
        # a constant is divided evenly
        return values / torch.where(self.deviation > 0, self.typical_size, sizes)

    def _of_trees(self, contributions: Tensor, batch: TreeBatch) -> Tensor:
        return self.standardised(sum_by_tree(contributions, batch))

    def forward(self, z: VectorsAndNodes) -> Tensor:  # type: ignore[override]
        """Return the standardised predictions of the trees, ``(T, numbers)``."""
        if self.additive:
            return self._of_trees(self.contributions(z), z.batch)
        return super().forward(z.vectors)

    def nll(self, z: VectorsAndNodes, targets: Tensor) -> Tensor:
        """Return the losses of the trees with those of their nodes, ``(T,)``."""
        if self.nodes is None or NODE_TARGET not in z.batch.ndata:
            return super().nll(z, targets)
        if self.additive:
            contributions = self.contributions(z)
            loss = self.loss(self._of_trees(contributions, z.batch), targets)
            outputs = self.nodes.standardised(sum_below(contributions, z.batch))
        else:
            loss, outputs = super().nll(z, targets), self.nodes(z.states)
        y = z.batch.ndata[NODE_TARGET]
        known = ~y.isnan()
        of_nodes = self.nodes.loss(outputs, y).unsqueeze(1)  # 0 where the target is missing
        total, count = sum_by_tree(torch.cat([of_nodes, known.to(of_nodes)], 1), z.batch).unbind(1)
        return loss + self.node_target_weight * total / count.clamp(min=1)

    def columns(self, z: VectorsAndNodes, targets: Tensor) -> dict[str, Tensor]:
        """Return the loss of each tree with those of its nodes, and the predictions, ``(T,)``."""
        columns = super().columns(z, targets)
        return columns if targets.isnan().all() else {**columns, "loss": self.nll(z, targets)}

    def node_values(self, z: VectorsAndNodes) -> Tensor:
        """Return the predictions for the nodes, or their contributions without a node target."""
        if not self.additive:
            assert self.nodes is not None
            return self.nodes.values(self.nodes(z.states))
        contributions = self.contributions(z)
        return contributions if self.nodes is None else sum_below(contributions, z.batch)


def sum_below(values: Tensor, batch: TreeBatch) -> Tensor:
    """Return the sum over the subtree of each node, ``(N, d)``.

    Pointer doubling: after round k a node has the sum over its descendants less than 2^k edges
    below (see :func:`dgltrees.trees.order.over_subtrees`, which has no gradients).
    """
    child, parent = batch.src.to(values.device), batch.dst.to(values.device)
    up = torch.full((len(values),), -1, device=values.device)
    up[child] = parent
    if len(child) > int((up >= 0).sum()):
        raise TreeError(
            f"expected trees for {called('model.additive')} with {called('data.node_target')}, got "
            "a child with several parents"
        )
    rows = (up >= 0).nonzero().squeeze(1)
    while len(rows):
        values = values.index_add(0, up[rows], values[rows])
        up = torch.where(up >= 0, up[up], -1)
        rows = (up >= 0).nonzero().squeeze(1)
    return values
