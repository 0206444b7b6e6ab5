"""Aggregators with hand-written derivatives, used by the fused tensor Tree-LSTM.

The equations are those of the aggregators; a test checks that both agree. States are homogeneous,
h̄ = [h; 1], so that the biases are part of the products. Sizes: K types, n rows of each, L
children, G gates, c the size of a state, r the rank.
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

__all__ = ["FusedFull", "FusedHOSVD", "FusedMap", "MapSaved", "fused_map"]

MapSaved = tuple[Any, ...]  # the tensors that a backward pass needs; some may be None


class FusedMap(ABC):
    """An aggregator from the states of the children to the gates' pre-activations, for K types.

    Arguments:
        children: L, the number of child positions.
        gates: G, the number of gates.
        filled: the positions at which any node has a child.
        parameters: the parameters of the aggregator, each stacked over the K types.
    """

    @abstractmethod
    def __init__(
        self, children: int, gates: int, filled: Sequence[int], *parameters: Tensor
    ) -> None: ...

    @abstractmethod
    def forward(self, h: Tensor) -> tuple[Tensor, MapSaved]:
        """Map ``(K, L, n, c + 1)`` to ``(K, G, n, c)``; also return what :meth:`backward` needs."""

    @abstractmethod
    def backward(self, h: Tensor, saved: MapSaved, da: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The gradient of the states, from that of the pre-activations.

        Arguments:
            h: ``(K, L, n, c + 1)``, the states.
            saved: the second result of :meth:`forward`.
            da: ``(K, G, n, c)``, the gradient of the pre-activations.

        Returns:
            ``(K L, n, c)``; and the factors of the products in :meth:`gradients`, rows last.
        """

    @abstractmethod
    def gradients(
        self, h: Tensor, da: Tensor, factors: tuple[Tensor, ...], out: Sequence[Tensor]
    ) -> None:
        """Write the gradients of the parameters, by one product over the rows of all levels.

        Arguments:
            h: ``(K, L, n, c + 1)``, the states of all levels.
            da: ``(K, G, n, c)``, the gradients of their pre-activations.
            factors: the second results of :meth:`backward`, concatenated over the levels.
            out: one tensor per parameter, overwritten with its gradient.
        """


class FusedHOSVD(FusedMap):
    """Equation (10): reduce each child to its rank, contract with the core, expand to the gates."""

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

    def forward(self, h: Tensor) -> tuple[Tensor, MapSaved]:
        """a = Q [core(u_1, .., u_L); 1]."""
        K, L, G = self.sizes
        n = h.shape[2]
        u = torch.bmm(self.U, h.flatten(0, 1).transpose(1, 2))
        u = u.view(K, L, G, -1, n).transpose(1, 2).flatten(0, 1)  # (K G, L, r + 1, n)
        y, partial = self.core.forward(u)
        g = torch.cat([y, y.new_ones(K * G, n, 1)], 2)
        return torch.bmm(g, self.Q).view(K, G, n, -1), (u, g, partial)

    def backward(self, h: Tensor, saved: MapSaved, da: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The chain rule of the same products."""
        K, L, G = self.sizes
        u, g, partial = saved
        dg = torch.bmm(self.Q_back, da.flatten(0, 1).transpose(1, 2))
        du = self.core.backward(u, partial, dg)
        du = du.view(K, G, L, *du.shape[2:]).transpose(1, 2).reshape(K * L, -1, du.shape[3])
        return torch.bmm(du.transpose(1, 2), self.U_back), (u, g.transpose(1, 2), dg, du)

    def gradients(
        self, h: Tensor, da: Tensor, factors: tuple[Tensor, ...], out: Sequence[Tensor]
    ) -> None:
        """Write the gradients of U, b_U, the core, Q and b."""
        K, L, G = self.sizes
        (u, g, dg, du), c = factors, da.shape[3]
        dU = torch.bmm(du, h.flatten(0, 1)).view(K, L, G, -1, c + 1)[..., :-1, :].flatten(2, 3)
        dQ = torch.bmm(g, da.flatten(0, 1)).view(K, G, -1, c)
        out[0].copy_(dU[..., :c].transpose(2, 3))
        out[1].copy_(dU[..., c].unsqueeze(2))
        self.core.gradient(u, dg, out[2].flatten(0, 1))
        out[3].copy_(dQ[:, :, :-1])
        out[4].copy_(dQ[:, :, -1:])


class FusedFull(FusedMap):
    """Equation (4): the full tensor times the outer product of the states of all children.

    An absent child is [0; 1], so of a position that never has a child only the last slice is used.
    """

    def __init__(self, children: int, gates: int, filled: Sequence[int], T: Tensor) -> None:
        self.size = T.shape[2] // gates + 1
        self.filled = filled
        self.sizes = len(T), children, gates
        self.T = Contraction(self._slice(T).flatten(1, -2), self.size, len(filled))

    def _slice(self, T: Tensor) -> Tensor:
        """The used slices of T, ``(K, c + 1, .., c + 1, G c)``, one mode per filled position."""
        K, L, _ = self.sizes
        modes = [slice(None) if j in self.filled else -1 for j in range(L)]
        return T.view(K, *(self.size,) * L, -1)[(slice(None), *modes)]

    def forward(self, h: Tensor) -> tuple[Tensor, MapSaved]:
        """a = T(h̄_1, .., h̄_L)."""
        K, _, G = self.sizes
        y, partial = self.T.forward(self._factors(h))
        return y.reshape(K, h.shape[2], G, -1).transpose(1, 2), (partial,)

    def backward(self, h: Tensor, saved: MapSaved, da: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The chain rule of the same products."""
        dv = self.T.backward(self._factors(h), saved[0], _unfold(da))
        dh = h.new_zeros(*h.shape[:3], h.shape[3] - 1)
        dh[:, self.filled] = dv[:, :, :-1].transpose(2, 3)
        return dh.flatten(0, 1), ()

    def gradients(
        self, h: Tensor, da: Tensor, factors: tuple[Tensor, ...], out: Sequence[Tensor]
    ) -> None:
        """Write the gradient of T; the outer products of all levels are computed again."""
        (dT,) = out
        if len(self.filled) == self.sizes[1]:
            self.T.gradient(self._factors(h), _unfold(da), dT)
            return
        dT_filled = torch.empty_like(self.T.T)
        self.T.gradient(self._factors(h), _unfold(da), dT_filled)
        filled_slice = self._slice(dT.zero_())
        filled_slice.copy_(dT_filled.view(filled_slice.shape))

    def _factors(self, h: Tensor) -> Tensor:
        """The states at the p filled positions, rows last: ``(K, p, c + 1, n)``."""
        if len(self.filled) < h.shape[1]:
            h = h[:, self.filled]
        return h.transpose(2, 3).contiguous()


def fused_map(f: Aggregator) -> Optional[type[FusedMap]]:
    """The fused class for an aggregator, or None if it has none or reads the node's label."""
    if f.label is not None:
        return None
    maps: dict[type[Aggregator], type[FusedMap]] = {HOSVD: FusedHOSVD, Full: FusedFull}
    return maps.get(type(f))


def _unfold(da: Tensor) -> Tensor:
    """``(K, G, n, c)`` to ``(K, G c, n)``."""
    return da.transpose(1, 2).flatten(2).transpose(1, 2)
