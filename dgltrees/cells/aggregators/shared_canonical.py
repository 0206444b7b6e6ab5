"""The canonical factorisation with one matrix for all positions."""

from __future__ import annotations

from torch import Tensor

from dgltrees.cells.aggregators.canonical import Canonical
from dgltrees.cells.aggregators.modes import reduce_shared

__all__ = ["SharedCanonical"]


class SharedCanonical(Canonical):
    r"""The canonical factorisation with the same matrix at all positions.

    .. math:: a = Q \, (U \bar h_1 \odot \dots \odot U \bar h_L) + W x + b

    A symmetric tensor: swapping children changes nothing. Otherwise as :class:`Canonical`.
    """

    ordered = False

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """``c r``."""
        return c * r

    def _reduce(self, h: Tensor, U: Tensor, b_U: Tensor) -> Tensor:
        return reduce_shared(h, U, b_U)
