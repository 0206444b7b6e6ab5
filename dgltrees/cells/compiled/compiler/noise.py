"""Random numbers of a cell, as dropout draws them: tables that are drawn before a traversal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

__all__ = ["Noise", "WithoutNoise", "bernoulli", "dropout", "expected"]

Noise = Callable[[Tensor, float], None]
"""Fills a table with numbers of this mean."""


def bernoulli(table: Tensor, mean: float) -> None:
    """Ones with probability ``mean``, and zeros."""
    table.bernoulli_(mean)


def expected(table: Tensor, mean: float) -> None:
    """The mean everywhere, so that two ways can be compared: :class:`WithoutNoise`."""
    table.fill_(mean)


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``torch.dropout``, by an operation whose random numbers can be drawn before."""
    if not training or p == 0:
        return x
    keep = 1.0 - p
    return x * (torch.bernoulli(torch.full_like(x, keep)) / keep)


class WithoutNoise(TorchFunctionMode):
    """Calls :func:`dropout` and ``bernoulli`` with the mean of their random numbers instead."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call the function."""
        if getattr(func, "__name__", "") in ("dropout", "bernoulli"):
            return args[0] if args else (kwargs or {})["input"]
        return func(*args, **(kwargs or {}))
