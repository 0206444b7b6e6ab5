"""What compiled code does for a node: statements, products, and calls of torch before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from dgltrees.cells.compiled.compiler.expressions import (
    SLOT,
    Axis,
    Buffer,
    Expr,
    Input,
    Load,
    Lookup,
)

__all__ = ["SEND", "Key", "Phase", "Product", "Program", "Statement", "Step"]

Key = tuple[Any, ...]


class Phase(NamedTuple):
    """Rows that the same steps are done for: ``"leaf"``, ``"inner"``, or all, ``"send"``.

    If types have steps of their own, those of one type.
    """

    rows: str
    kind: int | None = None

    @property
    def name(self) -> str:
        """As part of the name of a function."""
        return self.rows if self.kind is None else f"{self.rows}_{self.kind}"


SEND = Phase("send")


@dataclass(frozen=True, eq=False)
class Statement:
    """Columns of a buffer, computed row by row.

    Attributes:
        target: the load that reads what is stored.
        axes: the axes of the target.
        expr: the expression to store.
        reduction: ``"sum"``, ``"max"`` or ``"min"`` over more axes, or none; a sum with a target
            whose index is looked up adds there.
        over: these axes.
        children: whether it runs over the children too.
    """

    target: Load
    axes: tuple[Axis, ...]
    expr: Expr
    reduction: str | None = None
    over: tuple[Axis, ...] = ()
    children: bool = False

    @property
    def edges(self) -> bool:
        """Whether the statement runs over the edges of a node."""
        return self.children or self.target.rows == "edge"

    @property
    def scatters(self) -> bool:
        """Whether it adds at an index that is no sum of its axes, to what is cleared before."""
        return any(a is SLOT or isinstance(a, Lookup) for a, _ in self.target.strides)


@dataclass(frozen=True, eq=False)
class Product:
    """A matrix product over all rows of a level: ``target[:, i] = x[:, i] W[i]``, for each i.

    Attributes:
        target, x: the loads of the first column.
        weight: the matrices ``(k, m)``, one after another; for each type, if it has such rows.
        shape: k and m.
        parts: for each product its first columns in ``x`` and ``target``, and its first number in
            ``weight``.
    """

    target: Load
    x: Load
    weight: Input
    shape: tuple[int, int]
    parts: tuple[tuple[int, int, int], ...] = field(default=((0, 0, 0),))


Step = Statement | Product


@dataclass
class Program:
    """What to compute for a node, and what to compute before by torch.

    Attributes:
        arity: the width of each mailbox, if it is the same everywhere.
        before: calls of torch whose results are inputs, in order: for each key the function and its
            arguments, which may be keys.
        keys: the keys of these calls.
        inputs: the inputs by the keys of what they hold, and the kind of their rows.
        tables: the numbers of inputs that are the same in every traversal.
        states: the buffers of the states.
        buffers: all buffers.
        dtype: that of all numbers.
        types: the number of types that pick from parameters or have steps of their own; 0 if none
            does.
        leaf_types: whether those of leaves do.
        empty: the states that are zero at leaves.
        gathered: what inner nodes gather of them, which is zero on their lowest level.
        steps: what is done for leaves, for other nodes, and then for all.
    """

    arity: int | None = None
    before: dict[Key, tuple[Any, tuple[Any, ...], Mapping[str, Any]]] = field(default_factory=dict)
    keys: dict[tuple[str, ...], Key] = field(default_factory=dict)
    inputs: dict[tuple[Key, str], Input] = field(default_factory=dict)
    tables: dict[Input, tuple[float, ...]] = field(default_factory=dict)
    states: dict[str, tuple[Buffer, tuple[int, ...]]] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    dtype: torch.dtype = torch.float32
    types: int = 0
    leaf_types: bool = False
    empty: set[Any] = field(default_factory=set)
    gathered: set[Any] = field(default_factory=set)
    steps: dict[Phase, list[Step]] = field(default_factory=lambda: {SEND: []})

    def of(self, rows: str) -> dict[Phase, list[Step]]:
        """The steps of leaves, or of other nodes."""
        return {phase: steps for phase, steps in self.steps.items() if phase.rows == rows}

    def call(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Key:
        """The key of the result of a call before the traversal, the same for the same call."""
        call = str(function), repr(args), repr(sorted(kwargs.items()))
        key = self.keys.setdefault(call, ("call", len(self.keys)))
        self.before.setdefault(key, (function, args, kwargs))
        return key

    def buffer(self, rows: str, width: int) -> Buffer:
        """A new buffer."""
        self.buffers.append(Buffer(len(self.buffers), rows, width))
        return self.buffers[-1]

    def input(self, key: Key, rows: str, width: int) -> Input:
        """The input that holds the tensor of a key."""
        return self.inputs.setdefault((key, rows), Input(len(self.inputs), rows, width))
