"""Aggregators with their derivatives by hand, as the fused tensor Tree-LSTM takes them.

The equations are those of the aggregators, and a test holds them together. States are homogeneous,
h̄ = [h; 1], so that no bias stands alone, and inside rows come last. Sizes: K types, K' of them in a
block, n' rows of each, L children, G gates, c the size of a state, r the rank.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from dgltrees.cells.aggregators.base import Aggregator
from dgltrees.cells.aggregators.full import Full
from dgltrees.cells.aggregators.hosvd import HOSVD
from dgltrees.cells.contraction import Contraction

__all__ = ["FusedFull", "FusedHOSVD", "FusedMap", "Rows", "fused_map"]

Kept = tuple[Any, ...]  # tensors, and None where there is none


class Rows(NamedTuple):
    """All rows of some types, when the pass backwards is over.

    Attributes:
        of: the types.
        h: ``(K', L, n', c + 1)``.
        da: ``(K', G, n', c)``.
        kept: what :meth:`FusedMap.backward` returned.
    """

    of: slice
    h: Tensor
    da: Tensor
    kept: tuple[Tensor, ...]


class FusedMap(ABC):
    """A map of states to pre-activations, for blocks of types.

    Arguments:
        L: the largest number of children.
        gates: G.
        parameters: those that the aggregator stacks.
    """

    @abstractmethod
    def __init__(self, L: int, gates: int, *parameters: Tensor) -> None: ...

    @abstractmethod
    def forward(self, of: slice, h: Tensor) -> tuple[Tensor, Kept]:
        """The map, of types ``of``.

        Arguments:
            of: the types, K' of them.
            h: ``(K', L, n', c + 1)`` homogeneous states.

        Returns:
            ``(K', G, n', c)`` and what the way back needs besides h.
        """

    @abstractmethod
    def backward(
        self, of: slice, h: Tensor, kept: Kept, da: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """From the gradient of the pre-activations to that of the states.

        Returns:
            ``(K' L, n', c)``, and what :meth:`gradients` needs, rows last.
        """

    @abstractmethod
    def gradients(self, rows: Sequence[Rows]) -> tuple[Tensor, ...]:
        """The gradients of the parameters, by one product over the rows of all levels."""


class FusedHOSVD(FusedMap):
    """Equation (10): reduce every child, contract with the core, expand."""

    def __init__(
        self, L: int, gates: int, U: Tensor, b_U: Tensor, core: Tensor, Q: Tensor, b: Tensor
    ) -> None:
        K, _, c, d = U.shape
        self.L, self.G, self.r = L, gates, d // gates
        # [u_j; 1] = U_j h̄_j: a last row of each gate leads from 1 to 1.
        self.U = U.new_zeros(K, L, gates, self.r + 1, c + 1)
        self.U[..., :-1, :c] = U.transpose(2, 3).reshape(K, L, gates, -1, c)
        self.U[..., :-1, c] = b_U.view(K, L, gates, -1)
        self.U[..., -1, c] = 1
        self.Q = torch.cat([Q, b], 2).flatten(0, 1)  # (K G, r + 1, c)
        self.core = Contraction(core.flatten(0, 1), self.r + 1, L)

    def forward(self, of: slice, h: Tensor) -> tuple[Tensor, Kept]:
        """a = Q̄ [core(u_1, .., u_L); 1]."""
        K, n = h.shape[0], h.shape[2]
        own = self._gates(of)
        u = torch.bmm(self.U[of].view(K * self.L, -1, h.shape[3]), h.flatten(0, 1).transpose(1, 2))
        u = u.view(K, self.L, self.G, -1, n).transpose(1, 2).flatten(0, 1)  # (K' G, L, r + 1, n')
        y, rest = self.core.forward(own, u)
        g = torch.cat([y, y.new_ones(len(y), 1, n)], 1)
        a = torch.bmm(g.transpose(1, 2), self.Q[own])
        return a.view(K, self.G, n, -1), (u, g, rest)

    def backward(
        self, of: slice, h: Tensor, kept: Kept, da: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The same way back."""
        u, g, rest = kept
        K, n, own = h.shape[0], h.shape[2], self._gates(of)
        dg = torch.bmm(self.Q[own, : self.r], da.flatten(0, 1).transpose(1, 2))
        du = self.core.backward(own, u, rest, dg)
        du = du.view(K, self.G, self.L, -1, n).transpose(1, 2).reshape(K * self.L, -1, n)
        U = self.U[of].view(K * self.L, -1, h.shape[3])
        return torch.bmm(du.transpose(1, 2), U[..., :-1]), (u, g, dg, du)

    def gradients(self, rows: Sequence[Rows]) -> tuple[Tensor, ...]:
        """Of U, b_U, the core, Q and b."""
        dU, dQ = torch.zeros_like(self.U), torch.zeros_like(self.Q)
        K, c = len(dU), dQ.shape[2]
        dcore = self.core.T.new_zeros(K * self.G, (self.r + 1) ** self.L, self.r)
        for of, h, da, (u, g, dg, du) in rows:
            own = self._gates(of)
            dU[of] = torch.bmm(du, h.flatten(0, 1)).view_as(dU[of])
            dQ[own] = torch.bmm(g, da.flatten(0, 1))
            self.core.gradient(dcore[own], u, dg)
        dU, dQ = dU[..., :-1, :].flatten(2, 3), dQ.view(K, self.G, -1, c)
        return (
            dU[..., :c].transpose(2, 3),
            dU[..., c].unsqueeze(2),
            dcore.view(K, self.G, *dcore.shape[1:]),
            dQ[:, :, :-1],
            dQ[:, :, -1:],
        )

    def _gates(self, of: slice) -> slice:
        """Where the types ``of`` are when all gates stand one after another."""
        return slice(of.start * self.G, of.stop * self.G)


class FusedFull(FusedMap):
    """Equation (4): the tensor meets the outer product of all states."""

    def __init__(self, L: int, gates: int, T: Tensor) -> None:
        self.G, self.K = gates, len(T)
        self.T, self.size = T, T.shape[2] // gates + 1
        self.tensor = Contraction(T, self.size, L)

    def forward(self, of: slice, h: Tensor) -> tuple[Tensor, Kept]:
        """a = T(h̄_1, .., h̄_L)."""
        y, rest = self.tensor.forward(of, _rows_last(h))
        return _rows_last(y.view(len(y), self.G, -1, y.shape[2])), (rest,)

    def backward(
        self, of: slice, h: Tensor, kept: Kept, da: Tensor
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The same way back."""
        dy = _rows_last(da).flatten(1, 2)
        dh = self.tensor.backward(of, _rows_last(h), kept[0], dy)
        return dh.flatten(0, 1)[:, :-1].transpose(1, 2).contiguous(), (dy,)

    def gradients(self, rows: Sequence[Rows]) -> tuple[Tensor, ...]:
        """Of T: the outer products of all levels are made once more, some rows at a time."""
        dT = torch.empty_like(self.T)
        for of in _others([each.of for each in rows], self.K):
            dT[of] = 0
        for of, h, _, (dy,) in rows:
            self.tensor.gradient(dT[of], _rows_last(h), dy)
        return (dT,)


def fused_map(f: Aggregator) -> Optional[type[FusedMap]]:
    """The map of an aggregator, None where there is none."""
    if f.label is not None:
        return None
    maps: dict[type[Aggregator], type[FusedMap]] = {HOSVD: FusedHOSVD, Full: FusedFull}
    return maps.get(type(f))


def _rows_last(t: Tensor) -> Tensor:
    """``(..., n', c)`` to ``(..., c, n')`` and back."""
    return t.transpose(-1, -2).contiguous()


def _others(of: Sequence[slice], K: int) -> list[slice]:
    """What of 0 .. K - 1 is in none of the slices, which go up."""
    stops = [0, *(each.stop for each in of)]
    starts = [*(each.start for each in of), K]
    return [slice(a, b) for a, b in zip(stops, starts) if a < b]
