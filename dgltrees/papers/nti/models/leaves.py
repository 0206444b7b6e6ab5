"""Leaf functions: modules that map the vectors of leaves to their states."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dgltrees.cells.base import autocasts
from dgltrees.cells.initial import Init, initialize
from dgltrees.errors import ConfigError
from dgltrees.papers.nti.models.fused_steps import FusedSteps, lstm_steps
from dgltrees.trees.segments import lasts, starts

State = tuple[Tensor, Tensor]
"""State and memory of an LSTM, each ``(T, d)``."""


class Leaves(NamedTuple):
    """States of ``W`` leaves of ``T`` trees.

    Attributes:
        h: ``(W, size)``, the states.
        c: ``(W, size)``, the memories; None for zeros.
        last: state and memory after each sentence, each ``(T, size)``; None without an LSTM.
    """

    h: Tensor
    c: Tensor | None = None
    last: State | None = None


class LeafFunction(nn.Module, ABC):
    """Base class of leaf functions f_leaf: Munkhdalai and Yu (EACL 2017), section 3.

    Arguments:
        input_size: k, the size of a vector.
        size: the size of a state.
    """

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.input_size, self.size = input_size, size

    @abstractmethod
    def forward(self, x: Tensor, widths: Tensor, start: State | None = None) -> Leaves:
        """Compute the states of all leaves."""


class IdentityLeaves(LeafFunction):
    """Identity as leaf function: the state of a leaf is its vector.

    Arguments:
        size: k, the size of a vector.
    """

    def __init__(self, size: int) -> None:
        super().__init__(size, size)

    def forward(self, x: Tensor, widths: Tensor, start: State | None = None) -> Leaves:
        """Return the vectors as states; see :class:`LeafFunction`."""
        if start is not None:
            raise ConfigError("expected no start for leaves without an LSTM, got one; leave it out")
        return Leaves(x)


class LSTMLeaves(LeafFunction):
    r"""LSTM over the leaves from left to right, whose memories are those of the tree's leaves.

    .. math:: h_t, c_t = LSTM(W x_t + b, h_{t-1}, c_{t-1})

    It is computed by :func:`~dgltrees.papers.nti.models.fused_steps.lstm_steps`.

    Arguments:
        input_size: k, the size of a vector.
        size: d, the size of a state.
        init: how weights are drawn; the bias is zero.
        compile: run all steps in one autograd function; False where a second derivative is needed.
        backwards: run from right to left.
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        *,
        init: Init = "kaiming",
        compile: bool = True,
        backwards: bool = False,
    ) -> None:
        super().__init__(input_size, size)
        self.compiled, self.backwards = compile, backwards
        self.W = nn.Parameter(torch.empty(input_size, 4 * size))
        self.U = nn.Parameter(torch.empty(size, 4 * size))
        self.b = nn.Parameter(torch.zeros(4 * size))
        initialize(self.W, input_size + size, size, init)
        initialize(self.U, input_size + size, size, init)

    def forward(self, x: Tensor, widths: Tensor, start: State | None = None) -> Leaves:
        """Run the LSTM over the leaves; see :class:`LeafFunction`."""
        h, c, *last = self.states(x, widths, start)
        return Leaves(h, c, (last[0], last[1]))

    def states(self, x: Tensor, widths: Tensor, start: State | None) -> list[Tensor]:
        """Return states and memories of all leaves, and those at the end of each sentence."""
        wx = torch.addmm(self.b, x, self.W)  # (W, 4 d)
        index, back = (each.to(x.device) for each in _steps(widths, self.backwards))
        zero = wx.new_zeros(len(widths), self.size)
        h, c = (zero, zero) if start is None else start
        run: Any = lstm_steps
        if self.compiled and not autocasts(wx.device.type):
            run = FusedSteps.apply
        h, c = run(wx, h, c, self.U, index, back)
        ends = (starts if self.backwards else lasts)(widths).to(x.device)
        return [h, c, h.index_select(0, ends), c.index_select(0, ends)]


class BidirectionalLSTMLeaves(LeafFunction):
    """Two LSTMs of half the size, left to right and right to left, with concatenated states.

    Arguments:
        input_size: k, the size of a vector.
        size: d, the size of a state, even.
        init, compile: see :class:`LSTMLeaves`.

    Raises:
        ConfigError: the size is odd.
    """

    def __init__(
        self, input_size: int, size: int, *, init: Init = "kaiming", compile: bool = True
    ) -> None:
        super().__init__(input_size, size)
        if size % 2:
            raise ConfigError(f"expected an even size for two directions, got {size}")
        self.right = LSTMLeaves(input_size, size // 2, init=init, compile=compile)
        self.left = LSTMLeaves(input_size, size // 2, init=init, compile=compile, backwards=True)

    def forward(self, x: Tensor, widths: Tensor, start: State | None = None) -> Leaves:
        """Concatenate the states of both LSTMs; the last one of each is that of its last step."""
        halves = []
        for k, lstm in enumerate((self.right, self.left)):
            begin = None if start is None else (start[0].chunk(2, 1)[k], start[1].chunk(2, 1)[k])
            halves.append(lstm.states(x, widths, begin))
        h, c, *last = (torch.cat(both, 1) for both in zip(*halves))
        return Leaves(h, c, (last[0], last[1]))


def _steps(widths: Tensor, backwards: bool) -> tuple[Tensor, Tensor]:
    """Return the arguments ``index`` and ``back`` of :func:`lstm_steps`."""
    first = starts(widths)
    step = torch.arange(int(widths.max()) if len(widths) else 0).unsqueeze(1)
    inside = step < widths  # (steps, T)
    place = widths - 1 - step if backwards else step.expand_as(inside)
    index = torch.where(inside, first + place, 0)
    back = torch.empty(int(widths.sum()), dtype=torch.int64)
    back[index[inside]] = torch.nonzero(inside.flatten())[:, 0]
    return index, back
