"""Generalized advantage estimation."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from dgltrees.trees.segments import mask_of

__all__ = ["advantages"]


def advantages(
    rewards: Tensor,
    values: Tensor,
    sizes: Tensor,
    *,
    discount: float,
    gae_lambda: float = 1.0,
    bootstrap_value: Optional[Tensor] = None,
) -> Tensor:
    r"""The advantage of each step of some sequences.

    Schulman et al., "High-Dimensional Continuous Control Using Generalized Advantage Estimation"
    (ICLR 2016), equation (16):

    .. math::

        A_t = \delta_t + \gamma \lambda A_{t+1}, \quad
        \delta_t = r_t + \gamma V_{t+1} - V_t

    With :math:`\lambda = 1` it is the discounted return less the value, as in REINFORCE with a
    baseline; with :math:`\lambda = 0` it is the error of one step.

    Arguments:
        rewards, values: ``(S,)``, sequence after sequence.
        sizes: ``(T,)`` int64 on the CPU, the number of steps of each sequence, at least 1.
        discount: gamma.
        gae_lambda: lambda.
        bootstrap_value: ``(T,)`` the value of the state after the last step of each sequence;
            without it, sequences end with their last step, and the value after it is 0.

    Returns:
        ``(S,)``.
    """
    counts = sizes.tolist()
    r, v = (pad_sequence(list(each.split_with_sizes(counts))) for each in (rewards, values))
    v_next = torch.cat([v[1:], torch.zeros_like(v[:1])])  # (L, T); 0 after the last step
    if bootstrap_value is not None:
        ends = (sizes - 1).to(v.device), torch.arange(len(sizes), device=v.device)
        v_next = v_next.index_put(ends, bootstrap_value)
    errors = r + discount * v_next - v
    advantage = torch.zeros_like(errors[0])
    reversed_rows = []
    for error in reversed(errors.unbind(0)):  # padded steps have error 0
        advantage = error + discount * gae_lambda * advantage
        reversed_rows.append(advantage)
    table = torch.stack(reversed_rows[::-1])  # (L, T)
    return table.t()[mask_of(sizes, len(table)).to(table.device)]
