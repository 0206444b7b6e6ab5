"""The operations at the tokens of some sentences, decided before they are encoded."""

from __future__ import annotations

from typing import NamedTuple, Optional

from torch import Tensor

from dgltrees.models.decisions import PolicyOutput
from dgltrees.models.encoding import Encoding
from dgltrees.models.rrnet.stepping import RRNetState
from dgltrees.trees.batch import TreeBatch

__all__ = ["OPERATION", "Rollout"]

OPERATION = "op"
"""The node column of given operations; 0 (START) where none is given."""


class Rollout(NamedTuple):
    """The operations at the tokens of ``T`` sentences, and what a later update needs.

    Attributes:
        graph: the graph of the operations: of each sentence START, then an OPEN for each sub-tree
            that is open at its beginning, then the tokens. Its node field ``given`` is True where
            the data gave the operation.
        x_mask, h_mask: ``(T, m)`` and ``(T, d)``, the dropout masks under which it was decided.
        start: the state in which the sentences begin; without it zeros and an empty stack.
        behavior: output of the policy when it decided, where it has been updated since.
        bootstrap: output for the states after the last steps, likewise.
        rewards: ``(T,)`` or ``(S,)``, likewise.
    """

    graph: TreeBatch
    x_mask: Optional[Tensor]
    h_mask: Optional[Tensor]
    start: Optional[RRNetState] = None
    behavior: Optional[PolicyOutput] = None
    bootstrap: Optional[PolicyOutput] = None
    rewards: Optional[Tensor] = None

    def rewarded(self, encoding: Encoding, rewards: Tensor) -> Rollout:
        """The same rollout for updates after the first.

        Arguments:
            encoding: of this rollout, by the network before the first update.
            rewards: ``(T,)`` of sentences, or ``(S,)`` of steps.
        """
        decisions = encoding.decisions
        if decisions is None:
            return self._replace(rewards=rewards)
        behavior = PolicyOutput(decisions.scores.detach(), decisions.values.detach())
        return self._replace(behavior=behavior, bootstrap=decisions.bootstrap, rewards=rewards)
