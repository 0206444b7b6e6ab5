"""The encoding of recurrent-recursive networks."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from dgltrees.models.encoder import Encoding
from dgltrees.papers.rrnet.models.decisions import Decisions

__all__ = ["RRNetEncoding"]


@dataclass(frozen=True)
class RRNetEncoding(Encoding):
    """The states of the operations on ``T`` sentences.

    Attributes:
        operations: ``(S,)`` int64, the operation at each token.
        decisions: the decisions of the policy.
    """

    operations: Tensor | None = None
    decisions: Decisions | None = None
