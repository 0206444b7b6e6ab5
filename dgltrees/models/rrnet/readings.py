"""What is done at each token of some sentences, and what they are read to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Optional

from torch import Tensor

from dgltrees.models.rrnet.agents import Decisions
from dgltrees.models.rrnet.sequences import steps_of
from dgltrees.models.rrnet.stepping import ReaderState
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import lasts

__all__ = ["OPERATION", "Reading", "Rollout"]

OPERATION = "op"
"""The column of sentences that says what is done at each token; 0 (START) where nobody says."""


@dataclass(frozen=True)
class Rollout:
    """What is done at each token of some sentences.

    Attributes:
        graph: the operations, START first, then an OPEN for each sub-tree that is open at the
            beginning. Node field ``given``: whether the operation was given.
        x_mask, h_mask: ``(T, m)`` and ``(T, d)`` of dropout, under which it was decided.
        start: the state in which the sentences begin; without it zeros and an empty stack.
        then: the policy's scores and values at the time, where it has been learned from before.
        beyond: those of what comes after the last steps, likewise; see :class:`Decisions`.
        rewards: what came of it, ``(T,)`` or ``(S,)``, likewise.
    """

    graph: TreeBatch
    x_mask: Optional[Tensor]
    h_mask: Optional[Tensor]
    start: Optional[ReaderState] = None
    then: Optional[tuple[Tensor, Tensor]] = None
    beyond: Optional[tuple[Tensor, Tensor]] = None
    rewards: Optional[Tensor] = None


@dataclass(frozen=True)
class Reading:
    """What some sentences have been read to.

    Attributes:
        graph: see :class:`Rollout`.
        h: ``(N, d)`` the state after each node.
        decisions: of the policy, if there is one.
        after: the state in which sentences end that began in a given one; no gradient leads back.
    """

    graph: TreeBatch
    h: Tensor
    decisions: Optional[Decisions]
    after: Optional[ReaderState] = None

    @property
    def along(self) -> Tensor:
        """``(S, d)`` the state after each token."""
        return self.h.index_select(0, steps_of(self.graph))

    @property
    def operations(self) -> Tensor:
        """``(S,)`` what was done at each token."""
        return self.graph.ndata[OPERATION].index_select(0, steps_of(self.graph))

    @property
    def last(self) -> Tensor:
        """``(T, d)`` the state after the last step of each sentence."""
        return self.h.index_select(0, lasts(self.graph.sizes).to(self.h.device))

    def learned_again(self, rollout: Rollout, rewards: Tensor) -> Rollout:
        """The rollout that was read, for learning its decisions once more.

        Arguments:
            rollout: whose reading this is, made before the network learned from it.
            rewards: what came of it, ``(T,)`` or ``(S,)``.
        """
        made = self.decisions
        if made is None:
            return replace(rollout, rewards=rewards)
        then = made.scores.detach(), made.values.detach()
        return replace(rollout, then=then, beyond=made.beyond, rewards=rewards)
