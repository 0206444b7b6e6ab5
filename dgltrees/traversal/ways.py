"""The registry of fast implementations of the classes of cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules import module as of_all_modules

from dgltrees.traversal.views import IndexedRows
from dgltrees.trees.batch import TreeBatch

Way = TypeVar("Way", bound=Callable[..., Any])


class _Entry(NamedTuple):
    way: Callable[..., Any] | None = None
    second: bool = False


_WAYS: dict[type, _Entry] = {}
_NONE = _Entry()
_HOOK = re.compile("_(forward|backward)(_pre)?_hooks")
_HOOKS = [name for name in vars(nn.Module()) if _HOOK.fullmatch(name)]


def compiled_way(kind: type, *, second: bool = False) -> Callable[[Way], Way]:
    """Register a function as the fast implementation of one class; a decorator.

    The fast implementation of a cell is a function ``way(cell, batch, ndata)``. It returns the
    states of all nodes, equal to those of the cell's three functions, or None if it does not
    support the graph, the tensors or the settings of the cell. Subclasses of ``kind`` do not
    inherit it, since they may change an equation.

    Arguments:
        kind: the class.
        second: whether the general compiler (:mod:`dgltrees.cells.compiled`) is tried first, and
            this function only if that does not apply.

    Returns:
        the decorator, which returns the function unchanged.
    """

    def register(way: Way) -> Way:
        _WAYS[kind] = _Entry(way, second)
        return way

    return register


def way_of(instance: object) -> Callable[..., Any] | None:
    """Return the fast implementation registered for the class of ``instance``, or None."""
    return _WAYS.get(type(instance), _NONE).way


def compiled_states(
    cell: object, batch: TreeBatch, ndata: Mapping[str, Tensor | IndexedRows]
) -> dict[str, Tensor] | None:
    """Compute the states of all nodes by the fast implementation of a cell's class.

    Arguments:
        cell: the cell.
        batch: the graph.
        ndata: the fields of the nodes, each ``(N, ...)``.

    Returns:
        the states, each ``(N, ...)``; None if the class has no fast implementation that applies.
    """
    way = way_of(cell)
    if way is None or watched() or (isinstance(cell, nn.Module) and hooked([cell])):
        return None
    states: dict[str, Tensor] | None
    states = way(cell, batch, ndata)
    return states


class Traversal(NamedTuple):
    """The functions of a traversal, and how it calls them.

    Attributes:
        message, reduce, update: the functions, or built-ins of DGL; ``update`` may be None.
        prepare: that of a cell, or None.
        slots, group_by: its declarations (:class:`~dgltrees.traversal.topo.Cell`).
    """

    message: Any
    reduce: Any
    update: Any
    prepare: Callable[..., Any] | None
    slots: int | None
    group_by: str | None


def dense(ndata: Mapping[str, Tensor | IndexedRows]) -> dict[str, Tensor]:
    """Turn all fields into tensors ``(N, ...)``."""
    return {k: v.dense() if isinstance(v, IndexedRows) else v for k, v in ndata.items()}


def goes_second(cell: object) -> bool:
    """Return whether the general compiler is tried before the implementation of a cell's class."""
    return _WAYS.get(type(cell), _NONE).second


def watched() -> bool:
    """Return whether torch.func, torch.compile or a mode intercepts calls, which it would miss."""
    if torch.compiler.is_compiling():
        return True
    private = ("_are_functorch_transforms_active", "_len_torch_dispatch_stack")
    return any(bool(getattr(torch._C, name, bool)()) for name in private)


def hooked(modules: Iterable[nn.Module]) -> bool:
    """Return whether a module or all modules have hooks, which compiled code would not call."""
    return any(getattr(of_all_modules, f"_global{name}") for name in _HOOKS) or any(
        getattr(module, name) for root in modules for module in root.modules() for name in _HOOKS
    )
