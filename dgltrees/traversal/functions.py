"""The functions of a cell: checked calls, and DGL's built-in functions on plain tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from dgltrees._dgl import need_dgl
from dgltrees.errors import ConfigError, TreeError
from dgltrees.traversal.views import Edges, FieldError, IndexedRows, Mailbox, Nodes

_TRACED: ContextVar[bool] = ContextVar("_TRACED", default=False)


def is_traced() -> bool:
    """Return whether the functions of a cell are being traced, in order to compile them.

    During a trace, tensors have shapes and no values. A check of values belongs into
    :meth:`~dgltrees.cells.base.BaseCell.check_graph`, which is called before compiled code runs.

    Returns:
        True during a trace.

    Example:
        >>> import dgltrees.traversal
        >>> dgltrees.traversal.is_traced()
        False
    """
    return _TRACED.get()


@contextmanager
def traced() -> Iterator[None]:
    """Make :func:`is_traced` return True."""
    token = _TRACED.set(True)
    try:
        yield
    finally:
        _TRACED.reset(token)


def call(
    function: Callable[[Any], Mapping[str, Tensor]], argument: Any, rows: int, hint: str = ""
) -> dict[str, Tensor]:
    """Call a message, reduce, update or prepare function and check its result."""
    try:
        fields = function(argument)
    except FieldError as error:
        raise FieldError(f"{name_of(function)} reads a {error}{hint}") from None
    if not isinstance(fields, Mapping):
        raise ConfigError(
            f"expected {name_of(function)} to return a dictionary of fields, such as "
            f"{{'h': states}}, got {type(fields).__name__}"
        )
    for name, tensor in fields.items():
        shape = tensor.shape if isinstance(tensor, Tensor) else None
        if not shape or shape[0] != rows:
            got = type(tensor).__name__ if shape is None else f"shape {tuple(shape)}"
            raise ConfigError(
                f"expected {name_of(function)} to return the field {name!r} with {rows} rows, as "
                f"many as its input has, got {got}"
            )
    return dict(fields)


def prepared(
    prepare: Callable[[Any], Mapping[str, Tensor]],
    ndata: Mapping[str, Tensor | IndexedRows],
    nodes: int,
) -> dict[str, Tensor | IndexedRows]:
    """Call ``prepare`` for all nodes, or once per distinct row of their only field."""
    shared = [field for field in ndata.values() if isinstance(field, IndexedRows)]
    for field in shared:
        _check_index(field)
    fewer = [field for field in shared if len(field.rows) <= nodes]
    if len(fewer) == len(ndata) == 1:
        (x,) = fewer
        rows, index = call(prepare, dict.fromkeys(ndata, x.rows), len(x.rows)), x.index.long()
        return {name: IndexedRows(table, index) for name, table in rows.items()}
    fields = {n: f.dense() if isinstance(f, IndexedRows) else f for n, f in ndata.items()}
    return dict(call(prepare, fields, nodes))


def _check_index(x: IndexedRows) -> None:
    """Raise TreeError if the index of a node is out of range; indices on a GPU are not checked."""
    index, rows = x.index, len(x.rows)
    if len(index) and index.device.type == "cpu":
        numbers = index.numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if low < 0 or high >= rows:
            raise TreeError(
                f"expected the indices of shared inputs to be 0 to {rows - 1}, got {low} to {high}"
            )


def check_fields(kind: str, fields: Mapping[str, Any], rows: int) -> None:
    """Check that every field of the nodes, or of the edges, has one row per node or edge."""
    if not isinstance(fields, Mapping):
        raise ConfigError(
            f"expected the fields of {kind}s as a dictionary, such as {{'x': x}}, got "
            f"{type(fields).__name__}"
        )
    for name, field in fields.items():
        if not isinstance(field, (Tensor, IndexedRows)):
            raise ConfigError(
                f"expected the {kind} field {name!r} as a tensor, got {type(field).__name__}; "
                "torch.as_tensor converts it"
            )
        shape = (field.index if isinstance(field, IndexedRows) else field).shape
        got = shape[0] if shape else "a single number"
        if got != rows:
            raise TreeError(
                f"expected the {kind} field {name!r} to have {rows} rows, one per {kind}, got {got}"
            )


def integer_field(fields: Mapping[str, Tensor], name: str, meaning: str, cure: str = "") -> Tensor:
    """Return a node field of integers, ``(N,)``; raise TreeError if there is none."""
    field = fields.get(name)
    if field is None or field.dim() != 1 or field.is_floating_point():
        got = sorted(fields) if field is None else f"{field.dtype} {tuple(field.shape)}"
        raise TreeError(
            f"expected an integer node field {name!r} of shape (N,), {meaning}, got {got}{cure}"
        )
    return field


def name_of(function: Any) -> str:
    """Return the name of a function with its class: ``"TreeLSTM.update"``."""
    name: str = getattr(function, "__qualname__", type(function).__qualname__)
    return name.rpartition("<locals>.")[2]


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
    """A built-in reduce function such as ``fn.sum``; it returns 0 for nodes without messages."""

    def __init__(self, builtin: Any) -> None:
        self.name, self.message, self.out = builtin.name, builtin.msg_field, builtin.out_field

    def __call__(self, nodes: Nodes) -> dict[str, Tensor]:
        """Reduce the mailboxes of nodes that have the same number of messages."""
        return {self.out: _REDUCE[self.name](nodes.mailbox[self.message])}

    def without_messages(self, messages: Mapping[str, Tensor], count: int) -> dict[str, Tensor]:
        """Return the fields of ``count`` nodes without messages: zeros shaped like a message."""
        message = Mailbox(messages)[self.message]
        return {self.out: message.new_zeros((count, *message.shape[1:]))}


def is_builtin(function: Any) -> bool:
    """Return whether ``function`` is one of DGL's built-in functions, such as ``fn.sum``."""
    return isinstance(function, _of_dgl("BuiltinFunction"))


def _of_dgl(name: str) -> Any:
    """Return a class of ``dgl.function``, or ``()`` if DGL has not been imported."""
    module = sys.modules.get("dgl.function")
    return () if module is None else attrgetter(name)(module)


def message_function(function: Message | Any) -> Message:
    """Return a message function on tensors: ``function``, or the equivalent of a DGL built-in."""
    if isinstance(function, _of_dgl("CopyMessageFunction")):
        target, field, out = function.target, function.in_field, function.out_field
        return lambda edges: {out: _side(edges, target)[field]}
    if isinstance(function, _of_dgl("BinaryMessageFunction")):
        operation = _BINARY[function.binary_op]
        left, right, out = function.lhs, function.rhs, function.out_field
        x_field, y_field = function.lhs_field, function.rhs_field

        def message(edges: Edges) -> dict[str, Tensor]:
            x, y = _side(edges, left)[x_field], _side(edges, right)[y_field]
            rank = max(x.dim(), y.dim())
            return {out: operation(_aligned(x, rank), _aligned(y, rank))}

        return message
    _check(function, "message")
    return function


def reduce_function(function: Reduce | Any) -> Reduce:
    """Return a reduce function on tensors: ``function``, or the equivalent of a DGL built-in."""
    if isinstance(function, _of_dgl("reducer.SimpleReduceFunction")):
        return BuiltinReduce(function)
    _check(function, "reduce")
    return function


def _check(function: Any, kind: str) -> None:
    if not callable(function):
        need_dgl(f"a built-in {kind} function")
    if not callable(function) or is_builtin(function):
        raise TypeError(
            f"expected a {kind} function of one argument or one of DGL's built-in {kind} "
            f"functions, got {function!r}"
        )


def _side(edges: Edges, target: int) -> Mapping[str, Tensor]:
    """Return the fields for one of DGL's target codes: 0 source, 1 destination, 2 edge."""
    return (edges.src, edges.dst, edges.data)[target]


def _aligned(x: Tensor, rank: int) -> Tensor:
    """Insert axes as DGL broadcasts, aligned at the last axis: ``(E, d)`` to ``(E, 1, d)``."""
    return x.reshape(len(x), *[1] * (rank - x.dim()), *x.shape[1:])
