"""Hand-written derivatives cannot be differentiated a second time; here is the error for it."""

from __future__ import annotations

import torch

__all__ = ["refuse_second_derivative"]


def refuse_second_derivative(
    subject: str = "a fused cell", advice: str = "run the cell with fused=False"
) -> None:
    """Raise RuntimeError in a backward pass that was called with ``create_graph=True``.

    Arguments:
        subject: the subject of the error message, such as "a fused cell".
        advice: what the message advises to do.
    """
    if torch.is_grad_enabled():
        raise RuntimeError(
            f"expected one derivative of {subject}, got a graph for a second (create_graph=True); "
            f"{advice}"
        )
