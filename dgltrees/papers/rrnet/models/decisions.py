"""The decisions of a policy that splits, recurs or merges at each token."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor

__all__ = ["Decisions", "PolicyOutput"]


class PolicyOutput(NamedTuple):
    """The output of a policy for n states.

    Attributes:
        scores: ``(n, 3)``, the scores of the operations; those of illegal ones are very low.
        values: ``(n,)``, the values of the states.
    """

    scores: Tensor
    values: Tensor


class Decisions(NamedTuple):
    """The decisions of a policy on the S steps of T sequences, one sequence after the other.

    Attributes:
        scores: ``(S, 3)``, the scores of the operations.
        values: ``(S,)``, the values of the states before each step.
        actions: ``(S,)`` int64, the chosen operations minus 1.
        sizes: ``(T,)`` int64 on the CPU, the number of steps of each sequence.
        bootstrap: the policy's output for the ``T`` states after the last steps, if the sequences
            continue; None if they end.
    """

    scores: Tensor
    values: Tensor
    actions: Tensor
    sizes: Tensor
    bootstrap: PolicyOutput | None = None
