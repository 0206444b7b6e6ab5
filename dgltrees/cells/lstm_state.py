"""The last two equations of every LSTM and Tree-LSTM, which compute memory and state from gates."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn


def lstm_state(
    a: Tensor,
    carry: Tensor | None,
    dropout: nn.Module,
    norm: nn.Module,
    activation: Callable[[Tensor], Tensor] = torch.tanh,
) -> dict[str, Tensor]:
    r"""Compute the new memory c and state h of a Tree-LSTM.

    .. math::

        c_v = \sigma(a^i) \odot \tanh(a^u) + \sum_j f_{vj} \odot c_j, \quad
        h_v = \sigma(a^o) \odot \tanh(c_v)
    """
    i, o, u = a.unbind(1)
    c = torch.sigmoid(i) * dropout(activation(u))
    if carry is not None:
        c = c + carry
    return {"h": torch.sigmoid(o) * torch.tanh(norm(c)), "c": c}


def lstm(a: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
    r"""Compute one step of an LSTM, equations (4) and (5) of Zhang et al. (2016).

    .. math::

        \hat c_t = f_t \odot \hat c_{t'} + i_t \odot u_t, \quad
        \hat h_t = o_t \odot \tanh(\hat c_t)
    """
    i, f, o, u = a.chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(u)
    return torch.sigmoid(o) * torch.tanh(c), c
