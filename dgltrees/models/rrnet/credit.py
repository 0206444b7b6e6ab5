"""What later rewards say of a decision."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

__all__ = ["advantages"]


def advantages(
    rewards: Tensor,
    values: Tensor,
    sizes: Tensor,
    *,
    discount: float,
    trace: float = 1.0,
    beyond: Optional[Tensor] = None,
) -> Tensor:
    r"""How much better it went from each step on than its value said.

    Generalized advantage estimation (Schulman et al., "High-Dimensional Continuous Control Using
    Generalized Advantage Estimation", ICLR 2016, equation 16),

    .. math::

        A_t = \delta_t + \gamma \lambda A_{t+1}, \quad
        \delta_t = r_t + \gamma V_{t+1} - V_t

    With :math:`\lambda = 1` it is the discounted return less the value, REINFORCE's with a
    baseline; with 0 the error of one step.

    Arguments:
        rewards, values: ``(S,)``, sequence after sequence.
        sizes: ``(T,)`` int64 on the CPU, the steps of each sequence, one or more.
        discount: gamma.
        trace: lambda.
        beyond: ``(T,)`` the value of the state after each sequence's last step; 0 without, where
            the last step ends it.

    Returns:
        ``(S,)``.
    """
    counts = sizes.tolist()
    r, v = (pad_sequence(list(each.split_with_sizes(counts))) for each in (rewards, values))
    following = torch.cat([v[1:], torch.zeros_like(v[:1])])  # (L, T); 0 behind the last step
    if beyond is not None:
        ends = (sizes - 1).to(v.device), torch.arange(len(sizes), device=v.device)
        following = following.index_put(ends, beyond)
    errors = r + discount * following - v
    running = torch.zeros_like(errors[0])
    found = []
    for error in reversed(errors.unbind(0)):  # behind a sequence's end all errors are 0
        running = error + discount * trace * running
        found.append(running)
    table = torch.stack(found[::-1])  # (L, T)
    there = torch.arange(len(table))[:, None] < sizes[None, :]
    return table.t()[there.t().to(table.device)]
