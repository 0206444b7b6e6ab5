"""Tensors of a trace: for each an expression of its number at an index, and the axes of the index.

Views change only the index and cost nothing; only stored values need memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from dgltrees.cells.compiled.loops import (
    CHILDREN,
    NODES,
    OPERATIONS,
    Axis,
    CompileError,
    Expr,
    Index,
    Load,
    Op,
    replaced,
    row_major,
    with_loads,
)


def as_number(expr: Expr) -> Expr:
    """Return an expression with its truth value as 0 or 1."""
    is_bool = isinstance(expr, Op) and OPERATIONS[expr.name].is_bool
    return Op("number", (expr,)) if is_bool else expr


@dataclass(frozen=True)
class Value:
    """A tensor of the trace: an expression, and the axes that make up each dimension.

    A dimension of size 1 has no axes.
    """

    expr: Expr
    dims: tuple[tuple[Axis, ...], ...]

    def __post_init__(self) -> None:
        rows = [axis for dim in self.dims for axis in dim if axis is NODES or axis is CHILDREN]
        if len(rows) > len(set(rows)):
            raise CompileError("it combines each child, or node, with each")

    @property
    def axes(self) -> list[Axis]:
        """Return all axes except those of nodes and children."""
        return [a for dim in self.dims for a in dim if a is not NODES and a is not CHILDREN]

    def replaced(self, axes: Mapping[Axis, Index], dims: Sequence[tuple[Axis, ...]]) -> Value:
        """Return the value with other axes and dimensions."""
        return Value(replaced(self.expr, axes), tuple(dims))


def regrouped(value: Value, shape: Sequence[list[Axis | int]]) -> Value:
    """Regroup the axes of a value, as ``view`` does."""
    axes = [axis for dim in value.dims for axis in dim]
    changes: dict[Axis, Index] = {}
    dims: list[tuple[Axis, ...]] = []
    for factors in shape:
        rows = [f for f in factors if isinstance(f, Axis)]
        left, dim = prod(f for f in factors if isinstance(f, int)), list[Axis]()
        while rows or left > 1:
            if not axes:
                raise CompileError("the compiler does not support how it views a tensor")
            axis = axes.pop(0)
            if axis in rows:
                rows.remove(axis)
            elif axis.size < 0 or (left % axis.size and axis.size % left):
                raise CompileError("the compiler does not support how it views a tensor")
            elif left % axis.size:
                first, rest = Axis(left), Axis(axis.size // left)
                changes[axis] = (0, ((first, rest.size), (rest, 1)))
                axes.insert(0, rest)
                axis = first
            if axis.size > 0:
                left //= axis.size
            dim.append(axis)
        dims.append(tuple(dim))
    if axes:
        raise CompileError("the compiler does not support how it views a tensor")
    return value.replaced(_resolved(changes), dims)


def _resolved(changes: dict[Axis, Index]) -> dict[Axis, Index]:
    """Apply changes of axes to one another."""
    done: dict[Axis, Index] = {}
    for axis in reversed(list(changes)):
        offset, terms = changes[axis]
        flat: list[tuple[Axis, int]] = []
        for term, times in terms:
            if term in done:
                flat.extend((t, times * k) for t, k in done[term][1])
            else:
                flat.append((term, times))
        done[axis] = (offset, tuple(flat))
    return done


def single(value: Value, dim: int) -> tuple[Value, Axis]:
    """Return a value whose dimension ``dim`` has one axis, joined from several if needed."""
    axes = value.dims[dim]
    if len(axes) == 1:
        return value, axes[0]
    if any(axis.size < 0 for axis in axes):
        raise CompileError("it slices over nodes or children")
    joined = Axis(prod(axis.size for axis in axes))

    def with_joined(load: Load) -> Load:
        strides = dict(load.strides)
        of = [strides.pop(axis, 0) for axis in axes]
        if not any(of):
            return load
        for (_, whole), stride in zip(row_major(axes), of):
            if stride != whole * of[-1]:
                raise CompileError("it slices a dimension that was joined from several")
        return replace(load, strides=(*strides.items(), (joined, of[-1])))

    expr = with_loads(value.expr, with_joined)
    return Value(expr, (*value.dims[:dim], (joined,), *value.dims[dim + 1 :])), joined


def aligned(values: Sequence[Value]) -> tuple[list[Expr], tuple[tuple[Axis, ...], ...]]:
    """Return the expressions of values that are broadcast together, over the same axes."""
    rank = max(len(value.dims) for value in values)
    padded = [Value(v.expr, ((),) * (rank - len(v.dims)) + v.dims) for v in values]
    exprs, dims = [value.expr for value in padded], list[tuple[Axis, ...]]()
    for place in range(rank):
        common, changes = _common([value.dims[place] for value in padded])
        for number, change in enumerate(changes):
            exprs[number] = replaced(exprs[number], change)
        dims.append(common)
    return exprs, tuple(dims)


def _common(dims: Sequence[tuple[Axis, ...]]) -> tuple[tuple[Axis, ...], list[dict[Axis, Index]]]:
    """Return axes that refine those of all operands in one dimension, and the replacements."""
    changes: list[dict[Axis, Index]] = [{} for _ in dims]
    rest = [list(dim) for dim in dims]
    filled = [i for i, dim in enumerate(dims) if dim]
    common: list[Axis] = []
    while filled and rest[filled[0]]:
        heads = [rest[i][0] for i in filled if rest[i]]
        size = min(axis.size for axis in heads)
        if size < 0:
            if len(heads) < len(filled) or any(axis is not heads[0] for axis in heads):
                raise CompileError("it combines nodes or children with something else")
            axis = heads[0]
        else:
            axis = Axis(size)
        common.append(axis)
        for i in filled:
            if not rest[i]:
                raise CompileError("the compiler does not support how it combines tensors")
            head = rest[i].pop(0)
            if head is axis:
                continue
            if head.size == size:
                changes[i][head] = (0, ((axis, 1),))
            elif head.size % size == 0:
                tail = Axis(head.size // size)
                changes[i][head] = (0, ((axis, tail.size), (tail, 1)))
                rest[i].insert(0, tail)
            else:
                raise CompileError("the compiler does not support how it combines tensors")
    if any(rest[i] for i in filled):
        raise CompileError("the compiler does not support how it combines tensors")
    return tuple(common), [_resolved(change) for change in changes]
