"""DGL's built-in functions (``fn.copy_u``, ``fn.sum`` and others) as functions of tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from dgltrees._dgl import dgl, need_dgl
from dgltrees.traversal.views import Edges, Nodes

__all__ = [
    "BuiltinReduce",
    "Message",
    "Reduce",
    "is_builtin",
    "message_function",
    "reduce_function",
]

Message = Callable[[Edges], Mapping[str, Tensor]]
Reduce = Callable[[Nodes], Mapping[str, Tensor]]

_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "dot": lambda x, y: (x * y).sum(-1, keepdim=True) if x.dim() > 1 else x * y,
}

_REDUCE: dict[str, Callable[[Tensor], Tensor]] = {
    "sum": lambda m: m.sum(1),
    "mean": lambda m: m.mean(1),
    "max": lambda m: m.max(1).values,
    "min": lambda m: m.min(1).values,
}


class BuiltinReduce:
    """A built-in reduce function such as ``fn.sum``, which returns 0 for nodes without messages."""

    def __init__(self, builtin: Any) -> None:
        self.name, self.message, self.out = builtin.name, builtin.msg_field, builtin.out_field

    def __call__(self, nodes: Nodes) -> dict[str, Tensor]:
        """Reduce the mailboxes of nodes that have the same number of messages."""
        return {self.out: _REDUCE[self.name](nodes.mailbox[self.message])}

    def without_messages(self, messages: Mapping[str, Tensor], count: int) -> dict[str, Tensor]:
        """The fields of ``count`` nodes without messages: zeros shaped like a message."""
        message = messages[self.message]
        return {self.out: message.new_zeros((count, *message.shape[1:]))}


def is_builtin(function: Any) -> bool:
    """Whether ``function`` is one of DGL's built-in functions, such as ``fn.sum``."""
    return dgl is not None and isinstance(function, dgl.function.BuiltinFunction)


def message_function(function: Message | Any) -> Message:
    """A message function on tensors: ``function`` itself, or the equivalent of a DGL built-in.

    Raises:
        TypeError: it is neither callable nor a built-in message function.
        ConfigError: it is not callable, and DGL is not installed.
    """
    if is_builtin(function) and isinstance(function, dgl.function.CopyMessageFunction):
        target, field, out = function.target, function.in_field, function.out_field
        return lambda edges: {out: _side(edges, target)[field]}
    if is_builtin(function) and isinstance(function, dgl.function.BinaryMessageFunction):
        operation = _BINARY[function.binary_op]
        left, right, out = function.lhs, function.rhs, function.out_field
        x_field, y_field = function.lhs_field, function.rhs_field

        def message(edges: Edges) -> dict[str, Tensor]:
            x, y = _side(edges, left)[x_field], _side(edges, right)[y_field]
            rank = max(x.dim(), y.dim())
            return {out: operation(_aligned(x, rank), _aligned(y, rank))}

        return message
    _check(function, "message")
    checked: Message = function
    return checked


def reduce_function(function: Reduce | Any) -> Reduce:
    """A reduce function on tensors: ``function`` itself, or the equivalent of a DGL built-in.

    Raises:
        TypeError: it is neither callable nor a built-in reduce function.
        ConfigError: it is not callable, and DGL is not installed.
    """
    if is_builtin(function) and isinstance(function, dgl.function.reducer.SimpleReduceFunction):
        return BuiltinReduce(function)
    _check(function, "reduce")
    checked: Reduce = function
    return checked


def _check(function: Any, kind: str) -> None:
    if not callable(function):
        need_dgl(f"a built-in {kind} function")
    if not callable(function) or is_builtin(function):
        raise TypeError(
            f"expected a {kind} function of one argument or one of DGL's built-in {kind} "
            f"functions, got {function!r}"
        )


def _side(edges: Edges, target: int) -> Mapping[str, Tensor]:
    """The fields that one of DGL's target codes names: 0 source, 1 destination, 2 edge."""
    return (edges.src, edges.dst, edges.data)[target]


def _aligned(x: Tensor, rank: int) -> Tensor:
    """Insert axes as DGL broadcasts, aligned at the last axis: ``(E, d)`` to ``(E, 1, d)``."""
    return x.reshape(len(x), *[1] * (rank - x.dim()), *x.shape[1:])
