"""Aggregators with their derivatives by hand, as the fused tensor Tree-LSTM takes them.

The equations are those of the aggregators, and a test holds them together. States are homogeneous,
h̄ = [h; 1], so that no bias stands alone. Sizes: K types, n rows of each, L children, G gates, c the
size of a state, r the rank.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Optional

import torch
from torch import Tensor

from dgltrees.cells.aggregators.base import Aggregator
from dgltrees.cells.aggregators.full import Full
from dgltrees.cells.aggregators.hosvd import HOSVD
from dgltrees.cells.compiled.contraction import Contraction

__all__ = ["FusedFull", "FusedHOSVD", "FusedMap", "Kept", "fused_map"]

Kept = tuple[Any, ...]  # tensors, and None where there is none


class FusedMap(ABC):
    """A map of states to pre-activations, for some types and for their rows of any level.

    Arguments:
        children: L.
        gates: G.
        filled: the positions at which there ever is a child.
        parameters: those that the aggregator stacks, of the K types.
    """

    @abstractmethod
    def __init__(
        self, children: int, gates: int, filled: Sequence[int], *parameters: Tensor
    ) -> None: ...

    @abstractmethod
    def forward(self, h: Tensor) -> tuple[Tensor, Kept]:
        """The map, ``(K, L, n, c + 1)`` to ``(K, G, n, c)``; and what it keeps besides h."""

    @abstractmethod
    def backward(self, h: Tensor, kept: Kept, da: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """From the gradient of the pre-activations to that of the states.

        Returns:
            ``(K L, n, c)``; and what :meth:`gradients` needs, rows last.
        """

    @abstractmethod
    def gradients(
        self, h: Tensor, da: Tensor, made: tuple[Tensor, ...], out: Sequence[Tensor]
    ) -> None:
        """Write the gradients of the parameters, by one product over the rows of all levels.

        Arguments:
            h: ``(K, L, n, c + 1)``.
            da: ``(K, G, n, c)``.
            made: what :meth:`backward` returned.
            out: a place for each parameter.
        """


class FusedHOSVD(FusedMap):
    """Equation (10): reduce every child, contract with the core, expand."""

    def __init__(
        self,
        children: int,
        gates: int,
        filled: Sequence[int],
        U: Tensor,
        b_U: Tensor,
        core: Tensor,
        Q: Tensor,
        b: Tensor,
    ) -> None:
        K, L, c, _ = U.shape
        self.sizes = K, L, gates
        # [u_j; 1] = U_j h̄_j: a last row of each gate leads from 1 to 1.
        self.U = U.new_zeros(K, L, gates, Q.shape[2] + 1, c + 1)
        self.U[..., :-1, :c] = U.transpose(2, 3).reshape(K, L, gates, -1, c)
        self.U[..., :-1, c] = b_U.view(K, L, gates, -1)
        self.U[..., -1, c] = 1
        self.U = self.U.view(K * L, -1, c + 1)
        self.Q = torch.cat([Q, b], 2).flatten(0, 1)  # (K G, r + 1, c)
        self.U_back, self.Q_back = self.U[..., :-1], self.Q[:, :-1]
        self.core = Contraction(core.flatten(0, 1), Q.shape[2] + 1, L)

    def forward(self, h: Tensor) -> tuple[Tensor, Kept]:
        """a = Q [core(u_1, .., u_L); 1]."""
        K, L, G = self.sizes
        n = h.shape[2]
        u = torch.bmm(self.U, h.flatten(0, 1).transpose(1, 2))
        u = u.view(K, L, G, -1, n).transpose(1, 2).flatten(0, 1)  # (K G, L, r + 1, n)
        y, rest = self.core.forward(u)
        g = torch.cat([y, y.new_ones(K * G, n, 1)], 2)
        return torch.bmm(g, self.Q).view(K, G, n, -1), (u, g, rest)

    def backward(self, h: Tensor, kept: Kept, da: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The same way back."""
        K, L, G = self.sizes
        u, g, rest = kept
        dg = torch.bmm(self.Q_back, da.flatten(0, 1).transpose(1, 2))
        du = self.core.backward(u, rest, dg)
        du = du.view(K, G, L, *du.shape[2:]).transpose(1, 2).reshape(K * L, -1, du.shape[3])
        return torch.bmm(du.transpose(1, 2), self.U_back), (u, g.transpose(1, 2), dg, du)

    def gradients(
        self, h: Tensor, da: Tensor, made: tuple[Tensor, ...], out: Sequence[Tensor]
    ) -> None:
        """Of U, b_U, the core, Q and b."""
        K, L, G = self.sizes
        (u, g, dg, du), c = made, da.shape[3]
        dU = torch.bmm(du, h.flatten(0, 1)).view(K, L, G, -1, c + 1)[..., :-1, :].flatten(2, 3)
        dQ = torch.bmm(g, da.flatten(0, 1)).view(K, G, -1, c)
        out[0].copy_(dU[..., :c].transpose(2, 3))
        out[1].copy_(dU[..., c].unsqueeze(2))
        self.core.gradient(u, dg, out[2].flatten(0, 1))
        out[3].copy_(dQ[:, :, :-1])
        out[4].copy_(dQ[:, :, -1:])


class FusedFull(FusedMap):
    """Equation (4): the tensor meets the outer product of all states.

    An absent child is [0; 1]: of a position that never has a child, the last slice is all there is.
    """

    def __init__(self, children: int, gates: int, filled: Sequence[int], T: Tensor) -> None:
        self.size = T.shape[2] // gates + 1
        self.filled = filled
        self.sizes = len(T), children, gates
        self.T = Contraction(self._slice(T).flatten(1, -2), self.size, len(filled))

    def _slice(self, T: Tensor) -> Tensor:
        """``(K, c + 1, .., c + 1, G c)``, a mode for each position that is filled."""
        K, L, _ = self.sizes
        modes = [slice(None) if j in self.filled else -1 for j in range(L)]
        return T.view(K, *(self.size,) * L, -1)[(slice(None), *modes)]

    def forward(self, h: Tensor) -> tuple[Tensor, Kept]:
        """a = T(h̄_1, .., h̄_L)."""
        K, _, G = self.sizes
        y, rest = self.T.forward(self._factors(h))
        return y.reshape(K, h.shape[2], G, -1).transpose(1, 2), (rest,)

    def backward(self, h: Tensor, kept: Kept, da: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The same way back."""
        dv = self.T.backward(self._factors(h), kept[0], _unfold(da))
        dh = h.new_zeros(*h.shape[:3], h.shape[3] - 1)
        dh[:, self.filled] = dv[:, :, :-1].transpose(2, 3)
        return dh.flatten(0, 1), ()

    def gradients(
        self, h: Tensor, da: Tensor, made: tuple[Tensor, ...], out: Sequence[Tensor]
    ) -> None:
        """Of T: the outer products of all levels are made once more."""
        (dT,) = out
        if len(self.filled) == self.sizes[1]:
            self.T.gradient(self._factors(h), _unfold(da), dT)
            return
        some = torch.empty_like(self.T.T)
        self.T.gradient(self._factors(h), _unfold(da), some)
        place = self._slice(dT.zero_())
        place.copy_(some.view(place.shape))

    def _factors(self, h: Tensor) -> Tensor:
        """``(K, p, c + 1, n)``."""
        if len(self.filled) < h.shape[1]:
            h = h[:, self.filled]
        return h.transpose(2, 3).contiguous()


def fused_map(f: Aggregator) -> Optional[type[FusedMap]]:
    """The map of an aggregator, None where there is none."""
    if f.label is not None:
        return None
    maps: dict[type[Aggregator], type[FusedMap]] = {HOSVD: FusedHOSVD, Full: FusedFull}
    return maps.get(type(f))


def _unfold(da: Tensor) -> Tensor:
    """``(K, G, n, c)`` to ``(K, G c, n)``."""
    return da.transpose(1, 2).flatten(2).transpose(1, 2)
