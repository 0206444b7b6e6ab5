"""Nests and products for values about one node and its children, each where it is due."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product as combinations
from math import prod
from typing import Any

import torch

from dgltrees.cells.compiled.loops import (
    ALL,
    CHILDREN,
    NODES,
    OPERATIONS,
    SLOT,
    Assign,
    Axis,
    Buffer,
    CompileError,
    Const,
    Degree,
    Expr,
    Input,
    Load,
    Lookup,
    Nest,
    Op,
    Phase,
    Product,
    Program,
    by_edge,
    leaves,
    loads,
    row_major,
    with_loads,
)
from dgltrees.cells.compiled.trace import Sizes
from dgltrees.cells.compiled.values import Value, aligned, as_number

aten = torch.ops.aten


Rule = Callable[..., Any]
OPERATORS: dict[str, Rule] = {}
"""What each operation of ATen does to values: ``rule(lowering, node, *args, **kwargs)``."""
HEAVY = {"mm.default", "addmm.default", "bmm.default", "embedding.default"}
"""Operations that torch does for all nodes at once where they do not depend on the children."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of some operations."""

    def register(function: Rule) -> Rule:
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return register


class Emitter:
    """Appends the steps of a phase to a program."""

    def __init__(self, program: Program, phase: Phase, sizes: Sizes) -> None:
        self.program, self.phase, self.sizes = program, phase, sizes

    def dims(self, shape: Sequence[int]) -> tuple[tuple[Axis, ...], ...]:
        """Return new axes for a shape of the trace."""
        dims = []
        for size in shape:
            by_node, by_child, rest = self.factors(size)
            rows = (NODES,) * by_node + (CHILDREN,) * by_child
            dims.append(rows + ((Axis(rest),) if rest > 1 else ()))
        return tuple(dims)

    def factors(self, size: int) -> tuple[bool, bool, int]:
        """Return what a size counts."""
        factors = self.sizes.factors(size)
        if factors is None:
            raise CompileError("it creates an empty tensor")
        return factors

    def table(self, numbers: Sequence[float]) -> Value:
        """Return a vector of numbers."""
        key = self.program.call(torch.tensor, (list(numbers),), {})
        source, (dim,) = self.program.input(key, "none", len(numbers)), self.dims([len(numbers)])
        self.program.tables[source] = tuple(map(float, numbers))
        return Value(Load(source, "none", 0, tuple((axis, 1) for axis in dim)), (dim,))

    def assign(
        self,
        target: Load,
        axes: Sequence[Axis],
        expr: Expr,
        *,
        merge: str | None = None,
        over: tuple[Axis, ...] = (),
        children: bool = False,
        phase: Phase | None = None,
    ) -> None:
        """Append a nest with one assignment."""
        placed = any(axis is SLOT or isinstance(axis, Lookup) for axis, _ in target.strides)
        onto = merge is not None and (children or placed)
        expr = folded(as_number(expr), self.program.tables)
        nest = Nest(
            children or target.rows == "edge",
            (*axes, *over),
            (Assign(target, expr, merge, over, onto),),
        )
        self.program.steps[phase or self.phase].append(nest)

    def place(self, expr: Expr, at_child: bool = True) -> tuple[Phase, str, Expr]:
        """Choose where to store an expression: phase, rows, and the expression there.

        Expressions that depend on only one child are computed once, in the row of the child.
        """
        if not by_edge(expr):
            return self.phase, "node", expr
        if at_child and all(map(_is_of_child, leaves(expr))):
            return ALL, "node", with_loads(expr, _at_child)
        return self.phase, "edge", expr

    def stored(
        self, value: Value, axes: Sequence[Axis] | None = None, at_child: bool = True
    ) -> Value:
        """Store a value and return the load that reads it."""
        phase, rows, expr = self.place(value.expr, at_child)
        used = {axis for load in loads(expr) for axis in load.axes}
        kept = tuple(axes) if axes is not None else tuple(a for a in value.axes if a in used)
        target = self.new_target(rows, kept)
        self.assign(target, kept, expr, phase=phase)
        return Value(_seen(target, phase), value.dims)

    def new_target(self, rows: str, axes: Sequence[Axis]) -> Load:
        """Return a new buffer for these axes."""
        width = prod(axis.size for axis in axes)
        return Load(self.program.buffer(rows, width), rows, 0, row_major(axes))

    def apply(self, name: str, *operands: Any) -> Value:
        """Apply an operation to values and numbers, broadcast together."""
        values = [o if isinstance(o, Value) else Value(Const(float(o)), ()) for o in operands]
        exprs, dims = aligned(values)
        if not OPERATIONS[name].is_bool and name != "number":
            numbers = list(map(as_number, exprs))
            exprs = [exprs[0], *numbers[1:]] if name == "where" else numbers
        return Value(Op(name, tuple(exprs)), dims)

    def reduce(self, kind: str, value: Value, dims: Sequence[int], keepdim: bool) -> Value:
        """Emit a sum, maximum or minimum over dimensions."""
        rank = len(value.dims)
        places = {dim % rank for dim in dims} if rank else set()
        over = [axis for place in places for axis in value.dims[place]]
        rest = [() if i in places else dim for i, dim in enumerate(value.dims)]
        out = tuple(rest) if keepdim else tuple(d for i, d in enumerate(rest) if i not in places)
        if NODES in over:
            raise CompileError("it computes across the nodes of a level")
        expr = as_number(value.expr)
        used = {axis for load in loads(expr) for axis in load.axes}
        children = CHILDREN in over
        count: Expr = Const(float(prod(a.size for a in over if a.size > 0 and a not in used)))
        inner = tuple(a for a in over if a.size > 0 and a in used)
        if children and not by_edge(expr):
            count, children = Op("mul", (count, Degree())), False
        result = expr
        if children or inner:
            phase, rows, expr = self.place(expr) if not children else (self.phase, "node", expr)
            kept = tuple(a for dim in out for a in dim if a.size > 0 and a in used)
            target = self.new_target(rows, kept)
            self.assign(target, kept, expr, merge=kind, over=inner, children=children, phase=phase)
            result = _seen(target, phase)
        if kind == "sum" and count != Const(1.0):
            result = Op("mul", (result, count))
        return Value(result, out)

    def product(self, x: Value, weight: Value) -> Value:
        """Emit ``x W`` for a parameter W: the last dimension of x, the last but one of the weight.

        The dimensions of the weight before these have axes of x.
        """
        (*batch, k_dim, m_dim), columns = weight.dims, list(x.dims[-1])
        several = [a for dim in batch for a in dim]
        k, m = (prod(axis.size for axis in dim) for dim in (k_dim, m_dim))
        source = self._matrices(weight, [*k_dim, *m_dim])
        weight_of = source.source
        assert isinstance(weight_of, Input)
        of_type = source.rows == "type"
        extra = [a for dim in x.dims[:-1] for a in dim if a.size > 0]
        phase, rows, load = self.place(x.expr, not of_type)
        from_child = isinstance(load, Load) and load.rows == "child"
        if not _is_matrix(load, columns) or (of_type and from_child):
            stored = self.stored(x, [*extra, *columns], not of_type)
            load = stored.expr
            assert isinstance(load, Load)
            load = replace(load, rows=rows)
        assert isinstance(load, Load)
        reads, picks = dict(load.strides), dict(source.strides)
        used = [a for a in extra if reads.get(a, 0) or (a in several and picks.get(a, 0))]
        outputs = (Axis(m),) if m > 1 else ()
        target = self.new_target(rows, [*used, *outputs])
        above = load.source in self.program.gathered
        for index in combinations(*(range(axis.size) for axis in used)):
            at, to, first = (
                sum(i * table.get(axis, 0) for i, axis in zip(index, used))
                for table in (reads, dict(target.strides), picks)
            )
            product = Product(
                Load(target.source, target.rows, to, ()),
                Load(load.source, load.rows, load.offset + at, ()),
                weight_of,
                source.offset + first,
                (k, m),
                above=above,
            )
            self.program.steps[phase].append(product)
        return Value(_seen(target, phase), (*x.dims[:-1], outputs))

    def _matrices(self, weight: Value, inner: Sequence[Axis]) -> Load:
        """Return the load of a weight with dense axes ``inner``; torch rearranges it if needed."""
        load = weight.expr
        if not isinstance(load, Load) or not isinstance(load.source, Input):
            raise CompileError("it multiplies two matrices of the same node")
        strides = {axis: stride for axis, stride in load.strides if stride}
        if all(strides.get(axis) == stride for axis, stride in row_major(inner)):
            return load
        axes = [a for dim in weight.dims for a in dim]
        if load.rows not in ("none", "type"):
            raise CompileError("it multiplies two matrices of the same node")
        key, rows = next(key for key, i in self.program.inputs.items() if i is load.source)
        sizes, steps = [a.size for a in axes], [strides.get(a, 0) for a in axes]
        if rows == "type":
            sizes, steps = [self.program.types, *sizes], [load.source.width, *steps]
        dense = self.program.call(aten.reshape.default, (key, [-1]), {})
        new = self.program.call(aten.as_strided.default, (dense, sizes, steps, load.offset), {})
        width = prod(a.size for a in axes)
        return Load(self.program.input(new, rows, width), rows, 0, row_major(axes))


def _is_of_child(leaf: Expr) -> bool:
    return isinstance(leaf, Const) or (isinstance(leaf, Load) and leaf.rows in ("child", "none"))


def _at_child(load: Load) -> Load:
    return replace(load, rows="node") if load.rows == "child" else load


def _seen(target: Load, phase: Phase) -> Load:
    """Return a stored value as the parent reads it."""
    return replace(target, rows="child") if phase == ALL else target


def _is_matrix(expr: Expr, columns: Sequence[Axis]) -> bool:
    """Return whether columns of a buffer are read in their order."""
    if not isinstance(expr, Load) or not isinstance(expr.source, Buffer):
        return False
    strides = dict(expr.strides)
    return all(strides.get(axis) == stride for axis, stride in row_major(columns))


# Numbers that are known before anything runs, such as which slot a message is in.

Tables = Mapping[Any, tuple[float, ...]]
"""The numbers of inputs that are the same in every traversal."""

_COMPARED: dict[str, Callable[[float, float], bool]] = {
    name: getattr(operator, name) for name in ("gt", "ge", "lt", "le", "eq", "ne")
}


def folded(expr: Expr, tables: Tables) -> Expr:
    """Simplify conditions of an expression whose outcome is known."""
    if isinstance(expr, Load):
        known = expr.source in tables and not any(stride for _, stride in expr.strides)
        return Const(tables[expr.source][expr.offset]) if known else expr
    if not isinstance(expr, Op):
        return expr
    args = [folded(arg, tables) for arg in expr.args]
    values = [arg.value if isinstance(arg, Const) else None for arg in args]
    first = values[0]
    if expr.name in _COMPARED and first is not None and values[1] is not None:
        return Const(float(_COMPARED[expr.name](first, values[1])))
    if expr.name == "where" and first is not None:
        return args[1] if first else args[2]
    if expr.name == "not" and first is not None:
        return Const(float(not first))
    if expr.name in ("and", "or"):
        stays = expr.name == "and"  # what a known truth value has to be to leave the other one
        for value, other in zip(values, reversed(args)):
            if value is not None:
                return other if bool(value) == stays else Const(float(not stays))
    return Op(expr.name, tuple(args))
