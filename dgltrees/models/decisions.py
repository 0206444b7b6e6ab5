"""The decisions of a policy that splits, recurs or merges at each token."""

from __future__ import annotations

from typing import NamedTuple, Optional

from torch import Tensor

__all__ = ["Decisions", "PolicyOutput"]


class PolicyOutput(NamedTuple):
    """What a policy computes for n states.

    Attributes:
        scores: ``(n, 3)`` of the operations, very low where they are not legal.
        values: ``(n,)`` of the states.
    """

    scores: Tensor
    values: Tensor


class Decisions(NamedTuple):
    """The decisions of a policy on the S steps of T sequences, one sequence after the other.

    Attributes:
        scores: ``(S, 3)`` of the operations.
        values: ``(S,)`` of the states before each step.
        actions: ``(S,)`` int64, the chosen operation minus 1.
        sizes: ``(T,)`` int64 on the CPU, the number of steps of each sequence.
        behavior: output of the policy that chose the actions, where it has been updated since;
            else None.
        bootstrap: output for the ``T`` states after the last steps, where the sequences continue;
            None where the last step ends them.
    """

    scores: Tensor
    values: Tensor
    actions: Tensor
    sizes: Tensor
    behavior: Optional[PolicyOutput] = None
    bootstrap: Optional[PolicyOutput] = None
