"""Initialisation of parameters.

The schemes are Kaiming normal (in the paper on tensor Tree-LSTMs), Xavier uniform (in its authors'
code), and one uniform range for all parameters (in the code of Neural Tree Indexers).
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError
from dgltrees.settings import expected

Init = Literal["kaiming", "xavier", "uniform"]
"""How weights are drawn; see :func:`initialize`."""

UNIFORM = 0.1
"""The bound of ``"uniform"``."""


def initialize(weight: Tensor, fan_in: int, fan_out: int, scheme: Init = "kaiming") -> None:
    """Initialise ``weight`` in place.

    The fans are arguments because they do not follow from the shape of a stack of tensors. For
    example, ``fan_in`` of a full tensor is ``(c + 1)^L``.
    """
    fan_in = min(fan_in, 10**300)  # the range of a float; in float32 such weights are zero
    with torch.no_grad():
        if scheme == "kaiming":
            weight.normal_(0.0, math.sqrt(2.0 / fan_in))
        elif scheme == "xavier":
            bound = math.sqrt(6.0 / (fan_in + fan_out))
            weight.uniform_(-bound, bound)
        elif scheme == "uniform":
            weight.uniform_(-UNIFORM, UNIFORM)
        else:
            raise ConfigError(f"expected init to be {expected(Init, scheme)}, got {scheme!r}")


def uniform(module: nn.Module, bound: float = 0.1) -> None:
    """Initialise all parameters, biases included, from U(-bound, bound)."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.uniform_(-bound, bound)
