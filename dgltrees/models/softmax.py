"""The output layer of language models: a softmax over all words."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

__all__ = ["softmax_nll"]

LOGITS = 1 << 26
"""So many logits are held at once at most: 256 MiB of float32, and twice that backwards."""


def softmax_nll(h: Tensor, output: Tensor, words: Tensor, *, most: int = LOGITS) -> Tensor:
    r"""Negative log-likelihood of each word, equations (2d) and (3) of Zhang et al. (2016).

    .. math:: y_t = W_{ho} h_t, \quad P(w_t) = \frac{\exp(y_{t, w_t})}{\sum_k \exp(y_{t, k})}

    Where there are too many logits they are made in chunks of positions, and again on the way back,
    so that memory does not grow with the positions.

    Arguments:
        h: ``(P, d)`` the states of P positions.
        output: ``(V, d)`` the output embeddings :math:`W_{ho}`; there is no bias.
        words: ``(P,)`` the words, 0 to V - 1.
        most: logits held at once; at least those of one position.

    Returns:
        ``(P,)``, float32 at least.
    """
    rows = max(1, most // len(output))
    if len(h) <= rows:
        return _nll(h, output, words)
    parts = zip(torch.split(h, rows), torch.split(words, rows))
    if torch.is_grad_enabled():
        return torch.cat([checkpoint(_nll, a, output, w, use_reentrant=False) for a, w in parts])
    return torch.cat([_nll(a, output, w) for a, w in parts])


def _nll(h: Tensor, output: Tensor, words: Tensor) -> Tensor:
    y = h @ output.t()  # (P, V)
    y = y.to(torch.promote_types(y.dtype, torch.float32))
    return F.cross_entropy(y, words, reduction="none")
