"""Rules of what rearranges numbers: views, parts, and joined tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dgltrees.cells.compiled.emit import rule
from dgltrees.cells.compiled.loops import (
    CHILDREN,
    NODES,
    Axis,
    CompileError,
    Const,
    Load,
    by_edge,
)
from dgltrees.cells.compiled.values import Value, aligned, regrouped, single

if TYPE_CHECKING:
    from torch import fx

    from dgltrees.cells.compiled.lower import Lowering

__all__ = ["one_axis", "squeeze"]


@rule("alias.default", "clone.default", "contiguous.default", "lift_fresh_copy.default")
def _same(low: Lowering, node: fx.Node, x: Value, **_: Any) -> Value:
    return x


@rule("_to_copy.default")
def _to_copy(low: Lowering, node: fx.Node, x: Value, **_: Any) -> Value:
    if node.args[0].meta["val"].dtype == node.meta["val"].dtype:  # type: ignore[union-attr]
        return x
    if node.args[0].meta["val"].dtype is torch.bool:  # type: ignore[union-attr]
        return low.apply("number", x)
    raise CompileError("it changes a dtype")


@rule("view.default", "_unsafe_view.default", "reshape.default", "flatten.using_ints")
def _view(low: Lowering, node: fx.Node, x: Any, *_: Any) -> Value:
    shape = []
    for size in node.meta["val"].shape:
        by_node, by_child, rest = low.factors(size)
        shape.append([NODES] * by_node + [CHILDREN] * by_child + [rest])
    return regrouped(low.value(x), shape)


@rule("unsqueeze.default")
def _unsqueeze(low: Lowering, node: fx.Node, x: Value, dim: int) -> Value:
    dim %= len(x.dims) + 1
    return Value(x.expr, (*x.dims[:dim], (), *x.dims[dim:]))


@rule("squeeze.dim", "squeeze.dims")
def squeeze(low: Lowering, node: fx.Node, x: Value, dims: Any) -> Value:
    """Drop dimensions of size 1."""
    places = {d % len(x.dims) for d in (dims if isinstance(dims, (list, tuple)) else [dims])}
    kept = [dim for i, dim in enumerate(x.dims) if i not in places or dim]
    return Value(x.expr, tuple(kept))


@rule("expand.default")
def _expand(low: Lowering, node: fx.Node, x: Any, *_: Any, **__: Any) -> Value:
    value = low.value(x)
    dims = low.dims(node.meta["val"].shape)
    own = ((),) * (len(dims) - len(value.dims)) + value.dims
    return Value(value.expr, tuple(mine or new for mine, new in zip(own, dims)))


@rule("permute.default")
def _permute(low: Lowering, node: fx.Node, x: Value, order: list[int]) -> Value:
    return Value(x.expr, tuple(x.dims[i] for i in order))


@rule("transpose.int")
def _transpose(low: Lowering, node: fx.Node, x: Value, one: int, two: int) -> Value:
    dims = list(x.dims)
    dims[one], dims[two] = dims[two], dims[one]
    return Value(x.expr, tuple(dims))


@rule("t.default")
def _t(low: Lowering, node: fx.Node, x: Value) -> Value:
    return Value(x.expr, x.dims[::-1])


@rule("slice.Tensor")
def _slice(
    low: Lowering,
    node: fx.Node,
    x: Any,
    dim: int = 0,
    start: int | None = None,
    end: Any = None,
    step: int = 1,
) -> Value:
    before = node.args[0].meta["val"].shape[dim]  # type: ignore[union-attr]
    size = node.meta["val"].shape[dim]
    value: Value = low.value(x)
    if before == size:
        return value
    return _part(low, value, dim, (start or 0) % before, size, step)


@rule("select.int")
def _select(low: Lowering, node: fx.Node, x: Value, dim: int, index: int) -> Value:
    dim %= len(x.dims)
    size = node.args[0].meta["val"].shape[dim]  # type: ignore[union-attr]
    value = _part(low, x, dim, index % size, 1, 1)
    return Value(value.expr, (*value.dims[:dim], *value.dims[dim + 1 :]))


@rule("split.Tensor", "unsafe_split.Tensor", "split_with_sizes.default", "unbind.int")
def _split(low: Lowering, node: fx.Node, x: Any, sizes: Any = None, dim: int = 0) -> list[Value]:
    x = low.value(x)
    if "unbind" in str(node.target):
        dim = sizes or 0
        size = node.args[0].meta["val"].shape[dim]  # type: ignore[union-attr]
        return [_select(low, node, x, dim, i) for i in range(size)]
    dim %= len(x.dims)
    parts, start = [], 0
    if len(node.meta["val"]) == 1:  # such as the rows of one type
        return [x]
    for part in node.meta["val"]:
        parts.append(_part(low, x, dim, start, part.shape[dim], 1))
        start += part.shape[dim]
    return parts


def _part(low: Lowering, x: Value, dim: int, start: int, size: int, step: int) -> Value:
    dim %= len(x.dims)
    if any(axis.size < 0 for axis in x.dims[dim]):
        raise CompileError("it picks children, or nodes, by their place")
    if not x.dims[dim]:
        return x
    x, axis = one_axis(low, x, dim)
    new = (Axis(size),) if size > 1 else ()
    change = {axis: (start, tuple((a, step) for a in new))}
    return x.replaced(change, (*x.dims[:dim], new, *x.dims[dim + 1 :]))


def one_axis(low: Lowering, x: Value, dim: int) -> tuple[Value, Axis]:
    """A value whose dimension has one axis; stored anew where its parts are not in a row."""
    try:
        return single(x, dim)
    except CompileError:
        return single(low.stored(x, x.axes), dim)


@rule("cat.default", "stack.default")
def _cat(low: Lowering, node: fx.Node, parts: list[Value], dim: int = 0) -> Value:
    if "stack" in str(node.target):
        rank = len(parts[0].dims) + 1
        parts = [_unsqueeze(low, node, part, dim % rank) for part in parts]
    if len(parts) == 1:
        return parts[0]
    dim %= len(parts[0].dims)
    pieces = []
    for part in parts:
        if any(axis.size < 0 for axis in part.dims[dim]):
            raise CompileError("it joins children, or nodes, with others")
        pieces.append(one_axis(low, part, dim) if part.dims[dim] else (part, Axis(1)))
    whole = Axis(sum(axis.size for _, axis in pieces))
    flat = [Value(p.expr, (*p.dims[:dim], (), *p.dims[dim + 1 :])) for p, _ in pieces]
    exprs, dims = aligned(flat)
    inner = [a for d in dims[:dim] for a in d if a.size > 0]
    outer = [a for d in dims[dim:] for a in d if a.size > 0]
    axes, start = [*inner, whole, *outer], 0
    rows = "edge" if any(map(by_edge, exprs)) else "node"
    target = low.new_target(rows, axes)
    stride = dict(target.strides)[whole]
    for expr, (_, axis) in zip(exprs, pieces):
        strides = tuple((axis if a is whole else a, s) for a, s in target.strides)
        own = [axis if a is whole else a for a in axes]
        at = Load(target.source, rows, start * stride, strides)
        low.assign(at, own, expr)
        start += axis.size
    return Value(target, (*dims[:dim], (whole,), *dims[dim + 1 :]))


@rule("constant_pad_nd.default")
def _pad(low: Lowering, node: fx.Node, x: Value, pads: list[int], fill: float = 0.0) -> Value:
    for place, (before, after) in enumerate(zip(pads[::2], pads[1::2])):
        dim = len(x.dims) - 1 - place
        if min(before, after) < 0:
            raise CompileError("there is no rule for a negative padding")
        parts = [x]
        for size, at in ((before, 0), (after, 2)):
            if size:
                end = (Axis(size),) if size > 1 else ()
                dims = (*x.dims[:dim], end, *x.dims[dim + 1 :])
                parts.insert(at, Value(Const(float(fill)), dims))
        x = _cat(low, node, parts, dim)
    return x
