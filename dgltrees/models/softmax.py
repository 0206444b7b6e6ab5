"""The output layer of language models: a softmax over all words."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dgltrees.cells.compiled.workspace import refuse_second_derivative, tables
from dgltrees.settings import Count
from dgltrees.trees.segments import blocks

MAX_LOGITS = 1 << 26
"""Largest number of logits in memory at once: 256 MiB of float32."""

BLOCK = 1 << 19
"""Number of logits that are normalised at a time; 2 MiB, which fit a core's cache."""


def softmax_nll(
    h: Tensor, output: Tensor, words: Tensor, *, max_logits: Count = MAX_LOGITS
) -> Tensor:
    r"""Return the negative log-likelihood of each word, ``(P,)``.

    .. math:: y_t = W_{ho} h_t, \quad P(w_t) = \frac{\exp(y_{t, w_t})}{\sum_k \exp(y_{t, k})}

    Equations (2d) and (3) of Zhang et al. (2016). If there are more logits than ``max_logits``,
    they are computed in chunks of positions, and again in the backward pass, so that memory does
    not grow with the number of positions.

    Arguments:
        h: ``(P, d)`` the states of P positions.
        output: ``(V, d)`` the output embeddings :math:`W_{ho}`; there is no bias.
        words: ``(P,)`` the words, 0 to V - 1.
        max_logits: largest number of logits in memory, at least those of one position.

    Returns:
        ``(P,)`` in nats, in float32 at least; second derivatives are not supported.
    """
    dtype = (h[:0] @ output[:1].t()).dtype  # that of autocast, where it is on
    rows = max(1, max_logits // len(output))
    args = h.to(dtype), output.to(dtype), words, rows
    nll: Tensor = _SoftmaxNLL.apply(*args)  # type: ignore[no-untyped-call]
    return nll


class _SoftmaxNLL(torch.autograd.Function):
    """A table ``(rows, V)`` of logits y, overwritten by e = exp(y - max y), and its row sums Z.

    The table is never divided by Z: the factors 1 / Z are applied to the rows of h instead.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, output: Tensor, words: Tensor, rows: int) -> Tensor:
        wide = torch.promote_types(h.dtype, torch.float32)
        Z, nll = (h.new_empty(len(h), dtype=wide) for _ in range(2))
        space, (table,) = tables(Z, [(min(rows, len(h)), len(output))])
        for at in blocks(len(h), rows):
            y = _logits(h[at], output, table)
            gold = y.gather(1, words[at].unsqueeze(1)).squeeze(1)
            nll[at] = _exponentiate(y, Z[at]) + torch.log(Z[at]) - gold
        # The table's memory lives as long as the graph.
        ctx.space, saved = (space, table) if len(h) <= rows else (None, None)
        ctx.save_for_backward(h, output, words, Z, saved)
        ctx.rows = rows
        return nll

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivative("softmax_nll", "use torch.nn.functional.cross_entropy")
        h, output, words, Z, e = ctx.saved_tensors
        outer = (grad / Z).to(h.dtype).unsqueeze(1)  # (P, 1)
        grad = grad.to(h.dtype).unsqueeze(1)
        dh, doutput = torch.empty_like(h), torch.zeros_like(output)
        _held, (table,) = (None, [e]) if e is not None else tables(Z, [(ctx.rows, len(output))])
        for at in blocks(len(h), ctx.rows):
            if e is None:
                _exponentiate(_logits(h[at], output, table), torch.empty_like(Z[at]))
            p = table[: at.stop - at.start].to(h.dtype)
            dh[at] = p @ output * outer[at]
            doutput.addmm_(p.t(), h[at] * outer[at])
        dh.addcmul_(output.index_select(0, words), grad, value=-1)
        doutput.index_add_(0, words, h * grad, alpha=-1)
        return dh, doutput, None, None


def _logits(h: Tensor, output: Tensor, table: Tensor) -> Tensor:
    """Write the logits, ``(n, V)``, to the first rows of the table, and return them."""
    y = table[: len(h)]
    if h.dtype == table.dtype:
        return torch.mm(h, output.t(), out=y)
    return y.copy_(h @ output.t())


def _exponentiate(y: Tensor, Z: Tensor) -> Tensor:
    """Replace y by exp(y - max y), write the row sums to Z, and return max y, ``(n,)``."""
    rows = max(1, BLOCK // y.shape[1]) if y.device.type == "cpu" else len(y)
    tops = []
    for part, total in zip(torch.split(y, rows), torch.split(Z, rows)):
        top = part.amax(1)
        part.sub_(top.unsqueeze(1)).exp_()
        torch.sum(part, 1, out=total)
        tops.append(top)
    return torch.cat(tops)
