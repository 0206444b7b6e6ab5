"""LSTM over sequences that returns the memories of all steps, in one autograd function.

``torch.nn.LSTM`` returns the memory of the last step only.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dgltrees.cells.compiled.workspace import refuse_second_derivative, tables
from dgltrees.cells.lstm_state import lstm

aten = torch.ops.aten


def lstm_steps(
    wx: Tensor, h: Tensor, c: Tensor, U: Tensor, index: Tensor, back: Tensor
) -> tuple[Tensor, Tensor]:
    r"""Run an LSTM over sequences and return its state and memory at every step.

    .. math::

        (i, f, o, u) &= (\sigma, \sigma, \sigma, \tanh)(wx_t + U h_{t-1}) \\
        c_t &= f \odot c_{t-1} + i \odot u, \quad h_t = o \odot \tanh(c_t)
    """
    states, memories = [], []
    for rows in index.unbind(0):
        h, c = lstm(torch.addmm(wx.index_select(0, rows), h, U), c)
        states.append(h)
        memories.append(c)
    return torch.cat(states).index_select(0, back), torch.cat(memories).index_select(0, back)


class FusedSteps(torch.autograd.Function):
    """Autograd function of :func:`lstm_steps`, with one product for the gradient of U."""

    @staticmethod
    def forward(  # noqa: D102
        ctx: Any, wx: Tensor, h: Tensor, c: Tensor, U: Tensor, index: Tensor, back: Tensor
    ) -> tuple[Tensor, Tensor]:
        (steps, trees), d = index.shape, len(U)
        state, gates = (1 + steps, trees, d), (steps, trees, 4 * d)
        ctx.space, (H, C, T, A) = tables(wx, [state, state, (steps, trees, d), gates])
        H[0], C[0] = h, c
        torch.index_select(wx, 0, index.flatten(), out=A.view(-1, 4 * d))
        for before, after, c_before, c_after, t, a in zip(H, H[1:], C, C[1:], T, A):
            a.addmm_(before, U)
            a[:, : 3 * d].sigmoid_()
            i, f, o, u = a.chunk(4, 1)
            torch.mul(f, c_before, out=c_after).addcmul_(i, u.tanh_())
            torch.tanh(c_after, out=t)
            torch.mul(o, t, out=after)
        ctx.save_for_backward(U, back)
        ctx.tables = H, C, T, A
        ctx.set_materialize_grads(False)
        h, c = (table[1:].view(-1, d).index_select(0, back) for table in (H, C))
        return h, c

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:  # noqa: D102
        refuse_second_derivative()
        (U, back), (H, C, T, A) = ctx.saved_tensors, ctx.tables
        d, V = len(U), U.t().contiguous()
        _space, (dH, dC, dA) = tables(U, [H.shape, C.shape, A.shape])
        for grad, table in zip(grads, (dH, dC)):
            table.zero_()
            if grad is not None:
                table[1:].view(-1, d).index_copy_(0, back, grad)
        for step in range(len(A) - 1, -1, -1):
            a, t, dh, dc, da = A[step], T[step], dH[step + 1], dC[step + 1], dA[step]
            i, f, o, u = a.chunk(4, 1)
            di, df, do, du = da.chunk(4, 1)
            dc.add_(aten.tanh_backward(dh * o, t))
            torch.mul(dc, u, out=di)
            torch.mul(dc, C[step], out=df)
            torch.mul(dh, t, out=do)
            torch.mul(dc, i, out=du)
            aten.sigmoid_backward.grad_input(
                da[:, : 3 * d], a[:, : 3 * d], grad_input=da[:, : 3 * d]
            )
            aten.tanh_backward.grad_input(du, u, grad_input=du)
            dH[step].addmm_(da, V)
            dC[step].addcmul_(dc, f)
        dU = torch.mm(H[:-1].view(-1, d).t(), dA.view(-1, 4 * d))
        dwx = dA.view(-1, 4 * d).index_select(0, back)
        return dwx, dH[0].clone(), dC[0].clone(), dU, None, None
