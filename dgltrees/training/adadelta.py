"""AdaDelta in blocks that fit into the processor's cache."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.optim.adadelta import adadelta

# Elements of a block: its gradient, its two averages and two temporaries take 1.5 MiB.
_BLOCK = 1 << 16
_COUNTS = "state_steps" in signature(adadelta).parameters  # since torch 2.3


class Adadelta(torch.optim.Adadelta):
    """AdaDelta with the results and state of ``torch.optim.Adadelta``, computed block by block.

    A step is eleven passes over every parameter. For millions of weights, each pass reads main
    memory; blocks stay in the cache. Only dense parameters on the CPU are split. Others, and the
    options ``foreach``, ``capturable`` and ``differentiable``, use the step of torch.

    Source: Zeiler, "ADADELTA: An Adaptive Learning Rate Method" (2012), Algorithm 1.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; return the value of the closure, if any."""
        if closure is not None or not all(map(_can_cut, self.param_groups)):
            return super().step(closure)
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._step_parameter(parameter, group)
        return None

    def _step_parameter(self, parameter: Tensor, group: dict[str, Any]) -> None:
        assert parameter.grad is not None
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(())
            state["square_avg"] = torch.zeros_like(parameter)
            state["acc_delta"] = torch.zeros_like(parameter)
        state["step"] += 1
        weights = _cut(parameter)
        # The function counts steps per tensor; here the tensors are blocks of one parameter.
        steps: dict[str, Any] = (
            {"state_steps": [torch.zeros(()) for _ in weights]} if _COUNTS else {}
        )
        adadelta(
            weights,
            _cut(parameter.grad),
            _cut(state["square_avg"]),
            _cut(state["acc_delta"]),
            **steps,
            foreach=False,
            lr=group["lr"],
            rho=group["rho"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )


def _cut(tensor: Tensor) -> list[Tensor]:
    return list(torch.split(tensor.view(-1), _BLOCK))


def _can_cut(group: dict[str, Any]) -> bool:
    options = ("foreach", "capturable", "differentiable")
    return not any(group.get(name) for name in options) and all(map(_is_plain, group["params"]))


def _is_plain(parameter: Tensor) -> bool:
    grad = parameter.grad
    return grad is None or (
        parameter.device.type == "cpu"
        and not parameter.is_complex()
        and not grad.is_sparse
        and parameter.is_contiguous()
        and grad.is_contiguous()
    )
