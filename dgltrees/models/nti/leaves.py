"""Leaf functions: from the vectors of leaves, pads among them, to their states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor, nn

from dgltrees.cells.compiled.fused_lstm import autocasts
from dgltrees.cells.compiled.fused_steps import FusedSteps, lstm_steps
from dgltrees.cells.initial import initialize
from dgltrees.errors import ConfigError
from dgltrees.trees.segments import lasts, starts

__all__ = [
    "BidirectionalLSTMLeaves",
    "IdentityLeaves",
    "LSTMLeaves",
    "LeafFunction",
    "Leaves",
    "State",
]


State = tuple[Tensor, Tensor]
"""Of an LSTM its state and memory, each ``(T, d)``."""


class Leaves(NamedTuple):
    """What a leaf function makes of ``W`` leaves of ``T`` trees.

    Arguments:
        h: ``(W, size)`` states.
        c: ``(W, size)`` memories, or None: those of the tree start at 0.
        last: state and memory after each sentence, each ``(T, size)``; or None.
    """

    h: Tensor
    c: Optional[Tensor] = None
    last: Optional[State] = None


class LeafFunction(nn.Module, ABC):
    """f_leaf of Munkhdalai and Yu, section 3.

    Arguments:
        input_size: k, the size of a vector.
        size: of a state.
    """

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.input_size, self.size = input_size, size

    @abstractmethod
    def forward(self, x: Tensor, widths: Tensor, start: Optional[State] = None) -> Leaves:
        """States of all leaves.

        Arguments:
            x: ``(W, k)`` tree after tree, each from left to right.
            widths: ``(T,)`` int64 on the CPU, the leaves of each tree.
            start: state and memory before each sentence, each ``(T, size)``; zero, if not given.

        Raises:
            ConfigError: there is a start, but no state that passes from leaf to leaf.
        """


class IdentityLeaves(LeafFunction):
    """A leaf is its vector; what a linear map makes of it, where the cell has one for leaves.

    Arguments:
        size: k.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size, size)

    def forward(self, x: Tensor, widths: Tensor, start: Optional[State] = None) -> Leaves:
        """See :class:`LeafFunction`."""
        if start is not None:
            raise ConfigError("expected no start for leaves that have no state; leave it out")
        return Leaves(x)


class LSTMLeaves(LeafFunction):
    r"""An LSTM reads the leaves from left to right; its memories start those of the tree.

    .. math:: h_t, c_t = LSTM(W x_t + b, h_{t-1}, c_{t-1})

    as :func:`~dgltrees.cells.compiled.fused_steps.lstm_steps` has it.

    Arguments:
        input_size: k.
        size: d.
        init: ``"kaiming"`` (normal), ``"xavier"`` or ``"uniform"``; the bias is zero.
        fused: run all steps in one autograd function; False where a second derivative is wanted.
    """

    def __init__(
        self, input_size: int, size: int, *, init: str = "kaiming", fused: bool = True
    ) -> None:
        super().__init__(input_size, size)
        self.fused = fused
        self.W = nn.Parameter(torch.empty(input_size, 4 * size))
        self.U = nn.Parameter(torch.empty(size, 4 * size))
        self.b = nn.Parameter(torch.zeros(4 * size))
        initialize(self.W, input_size + size, size, init)
        initialize(self.U, input_size + size, size, init)

    def forward(self, x: Tensor, widths: Tensor, start: Optional[State] = None) -> Leaves:
        """See :class:`LeafFunction`."""
        wx = torch.addmm(self.b, x, self.W)  # (W, 4 d)
        index, back = _steps(widths, False)
        h, c = self.run(wx, index, back, start)
        ends = lasts(widths).to(x.device)
        return Leaves(h, c, (h.index_select(0, ends), c.index_select(0, ends)))

    def run(
        self,
        wx: Tensor,
        index: Tensor,
        back: Tensor,
        start: Optional[State] = None,
    ) -> tuple[Tensor, Tensor]:
        """All steps: ``(W, 4 d)`` to ``(W, d)`` states and memories.

        Arguments:
            wx: what the inputs add to the gates.
            index: ``(steps, T)`` the row that each sentence reads at each step.
            back: ``(W,)`` which of these ``steps T`` places each row has.
            start: see :meth:`forward`.
        """
        index, back = index.to(wx.device), back.to(wx.device)
        zero = wx.new_zeros(index.shape[1], self.size)
        h, c = (zero, zero) if start is None else start
        way: Any = lstm_steps
        if self.fused and not autocasts(wx.device.type):
            way = FusedSteps.apply
        h, c = way(wx, h, c, self.U, index, back)
        return h, c


class BidirectionalLSTMLeaves(LeafFunction):
    """Two LSTMs of half the size, from left to right and from right to left, side by side.

    Arguments:
        input_size: k.
        size: d, even.
        init, fused: see :class:`LSTMLeaves`.

    Raises:
        ConfigError: the size is odd.
    """

    def __init__(
        self, input_size: int, size: int, *, init: str = "kaiming", fused: bool = True
    ) -> None:
        super().__init__(input_size, size)
        if size % 2:
            raise ConfigError(f"expected an even size for two directions, got {size}")
        self.right = LSTMLeaves(input_size, size // 2, init=init, fused=fused)
        self.left = LSTMLeaves(input_size, size // 2, init=init, fused=fused)

    def forward(self, x: Tensor, widths: Tensor, start: Optional[State] = None) -> Leaves:
        """See :class:`LeafFunction`; the last state is that after the end each LSTM goes to."""
        halves = []
        ends = (self.right, lasts(widths)), (self.left, starts(widths))
        for k, (lstm, last) in enumerate(ends):
            wx = torch.addmm(lstm.b, x, lstm.W)
            begin = None if start is None else (start[0].chunk(2, 1)[k], start[1].chunk(2, 1)[k])
            h, c = lstm.run(wx, *_steps(widths, k == 1), begin)
            at = last.to(x.device)
            halves.append((h, c, h.index_select(0, at), c.index_select(0, at)))
        h, c, *last_state = (torch.cat(both, 1) for both in zip(*halves))
        return Leaves(h, c, (last_state[0], last_state[1]))


def _steps(widths: Tensor, backwards: bool) -> tuple[Tensor, Tensor]:
    """The row each sentence reads at each step, any row after its end; and each row's place."""
    first = starts(widths)
    step = torch.arange(int(widths.max()) if len(widths) else 0).unsqueeze(1)
    inside = step < widths  # (steps, T)
    place = widths - 1 - step if backwards else step.expand_as(inside)
    index = torch.where(inside, first + place, 0)
    back = torch.empty(int(widths.sum()), dtype=torch.int64)
    back[index[inside]] = torch.nonzero(inside.flatten())[:, 0]
    return index, back
