"""What autograd functions with derivatives by hand cannot do."""

from __future__ import annotations

import torch

__all__ = ["refuse_second_derivative"]


def refuse_second_derivative() -> None:
    """Raise RuntimeError in a backward pass whose own graph is wanted."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "expected one derivative of a fused cell, got a graph for a second "
            "(create_graph=True); run the cell with fused=False"
        )
