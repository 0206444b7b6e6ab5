"""The operations at the tokens of some sentences, decided before they are encoded."""

from __future__ import annotations

from typing import NamedTuple, Optional

from torch import Tensor

from dgltrees.models.decisions import PolicyOutput
from dgltrees.models.rrnet.encoding import RRNetEncoding
from dgltrees.models.rrnet.stepping import RRNetState
from dgltrees.trees.batch import TreeBatch

__all__ = ["OPERATION", "Rollout"]

OPERATION = "op"
"""The node column of operations in the data; 0 (START) where there is none."""


class Rollout(NamedTuple):
    """The operations at the tokens of ``T`` sentences, and the values that later updates need.

    Attributes:
        graph: the graph of the operations: of each sentence START, then an OPEN for each sub-tree
            that is open at its beginning, then the tokens. Its node field ``from_data`` is True
            for operations from the data.
        x_mask, h_mask: ``(T, m)`` and ``(T, d)``, the dropout masks of the decisions.
        start: the state in which the sentences begin; None for zeros and an empty stack.
        behavior: the policy's output at the time of the decisions, if it has been updated since.
        bootstrap: likewise, the output for the states after the last steps.
        rewards: likewise, the rewards, ``(T,)`` or ``(S,)``.
    """

    graph: TreeBatch
    x_mask: Optional[Tensor]
    h_mask: Optional[Tensor]
    start: Optional[RRNetState] = None
    behavior: Optional[PolicyOutput] = None
    bootstrap: Optional[PolicyOutput] = None
    rewards: Optional[Tensor] = None

    def rewarded(self, encoding: RRNetEncoding, rewards: Tensor) -> Rollout:
        """The same rollout for the updates after the first one.

        Arguments:
            encoding: the encoding of this rollout before the first update.
            rewards: ``(T,)``, the rewards of sentences, or ``(S,)``, those of steps.
        """
        decisions = encoding.decisions
        if decisions is None:
            return self._replace(rewards=rewards)
        behavior = PolicyOutput(decisions.scores.detach(), decisions.values.detach())
        return self._replace(behavior=behavior, bootstrap=decisions.bootstrap, rewards=rewards)
