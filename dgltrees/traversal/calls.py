"""Calls of the functions of a cell, with errors that name the function where it is wrong.

What a function returns is checked by its shape alone, which costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from torch import Tensor

from dgltrees.errors import ConfigError, TreeError
from dgltrees.traversal.views import FieldError, IndexedRows

__all__ = ["call", "check_fields", "is_traced", "name_of", "prepared", "traced"]

_TRACED: ContextVar[bool] = ContextVar("_TRACED", default=False)


def is_traced() -> bool:
    """Whether the functions of a cell are called once, on tensors without values, to be compiled.

    Values cannot be looked at then; a check of them belongs to
    :meth:`~dgltrees.cells.base.BaseCell.check_graph`, which is called before compiled code runs.
    """
    return _TRACED.get()


@contextmanager
def traced() -> Iterator[None]:
    """Let :func:`is_traced` be true."""
    token = _TRACED.set(True)
    try:
        yield
    finally:
        _TRACED.reset(token)


def call(
    function: Callable[[Any], Mapping[str, Tensor]], argument: Any, rows: int, hint: str = ""
) -> dict[str, Tensor]:
    """The fields that a message, reduce, update or prepare function returns.

    Arguments:
        function: the function.
        argument: its edges, nodes or fields.
        rows: how many these are.
        hint: what an error says of fields that are not there.

    Raises:
        ConfigError: it reads a field that is not there, returns no dictionary, or a field has
            another number of rows.
    """
    try:
        fields = function(argument)
    except FieldError as error:
        raise FieldError(f"{name_of(function)} reads a field: {error}{hint}") from None
    if not isinstance(fields, Mapping):
        raise ConfigError(
            f"expected {name_of(function)} to return a dictionary of fields, such as "
            f"{{'h': states}}, got {type(fields).__name__}"
        )
    for name, tensor in fields.items():
        shape = getattr(tensor, "shape", None)
        if not shape or shape[0] != rows:
            got = type(tensor).__name__ if shape is None else f"shape {tuple(shape)}"
            raise ConfigError(
                f"expected {name_of(function)} to return the field {name!r} with {rows} rows, one "
                f"for each it is called with, got {got}"
            )
    return dict(fields)


def prepared(
    prepare: Callable[[Any], Mapping[str, Tensor]],
    ndata: Mapping[str, Tensor | IndexedRows],
    nodes: int,
) -> dict[str, Tensor | IndexedRows]:
    """What ``prepare`` returns for all nodes; if they share rows of their only field, by row.

    Raises:
        TreeError: a node names no row.
        ConfigError: see :func:`call`.
    """
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
    """Raise TreeError if the index of a node, on a processor, is out of range."""
    index, rows = x.index, len(x.rows)
    if len(index) and index.device.type == "cpu":
        numbers = index.numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if low < 0 or high >= rows:
            raise TreeError(
                f"expected shared inputs to name rows from 0 to {rows - 1}, got {low} to {high}"
            )


def check_fields(kind: str, fields: Mapping[str, Any], rows: int) -> None:
    """Raise an error if a field of all nodes, or edges, has another number of rows.

    Arguments:
        kind: ``"node"`` or ``"edge"``.
        fields: tensors or :class:`~dgltrees.traversal.IndexedRows` by name.
        rows: the number of nodes, or edges.

    Raises:
        ConfigError: they are no dictionary.
        TreeError: a field has another number of rows.
    """
    if not isinstance(fields, Mapping):
        raise ConfigError(
            f"expected the fields of {kind}s by their names, such as {{'x': x}}, got "
            f"{type(fields).__name__}"
        )
    for name, field in fields.items():
        got = len(field.index if isinstance(field, IndexedRows) else field)
        if got != rows:
            raise TreeError(
                f"expected the {kind} field {name!r} to have {rows} rows, one per {kind}, got {got}"
            )


def name_of(function: Any) -> str:
    """The name of a function with its class: ``"TreeLSTM.update"``."""
    name: str = getattr(function, "__qualname__", type(function).__qualname__)
    return name.rpartition("<locals>.")[2]
