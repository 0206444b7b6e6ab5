"""The operations at the tokens of some sentences, decided before they are encoded."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

from dgltrees.papers.rrnet.models.stepping import RRNetState
from dgltrees.trees.batch import TreeBatch

__all__ = ["OPERATION", "Rollout"]

OPERATION = "op"
"""The node column of operations in the data; 0 (START) where there is none."""


class Rollout(NamedTuple):
    """The operations at the tokens of ``T`` sentences.

    Attributes:
        graph: the graph of the operations: of each sentence START, then an OPEN for each sub-tree
            that is open at its beginning, then the tokens. Its node field ``from_data`` is True
            for operations from the data.
        x_mask, h_mask: ``(T, m)`` and ``(T, d)``, the dropout masks of the decisions.
        start: the state in which the sentences begin; None for zeros and an empty stack.
    """

    graph: TreeBatch
    x_mask: Tensor | None
    h_mask: Tensor | None
    start: RRNetState | None = None
