"""What autograd functions with derivatives by hand cannot do."""

from __future__ import annotations

import torch

__all__ = ["refuse_second_derivative"]


def refuse_second_derivative(
    what: str = "a fused cell", instead: str = "run the cell with fused=False"
) -> None:
    """Raise RuntimeError in a backward pass whose own graph is wanted."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            f"expected one derivative of {what}, got a graph for a second (create_graph=True); "
            f"{instead}"
        )
