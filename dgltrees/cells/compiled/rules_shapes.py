"""Rules of views, parts and joined tensors, of sums and maxima, and of products of matrices."""

from __future__ import annotations

from math import inf, prod
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
    Lookup,
    Op,
    Position,
    by_edge,
    loads,
)
from dgltrees.cells.compiled.values import Value, aligned, regrouped, single

if TYPE_CHECKING:
    from torch import fx

    from dgltrees.cells.compiled.lower import Lowering


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
def _squeeze(low: Lowering, node: fx.Node, x: Value, dims: Any) -> Value:
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
        raise CompileError("it selects children, or nodes, by their index")
    if not x.dims[dim]:
        return x
    x, axis = _one_axis(low, x, dim)
    new = (Axis(size),) if size > 1 else ()
    change = {axis: (start, tuple((a, step) for a in new))}
    return x.replaced(change, (*x.dims[:dim], new, *x.dims[dim + 1 :]))


def _one_axis(low: Lowering, x: Value, dim: int) -> tuple[Value, Axis]:
    """Return a value whose dimension has one axis; store it again if its parts are not adjacent."""
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
        pieces.append(_one_axis(low, part, dim) if part.dims[dim] else (part, Axis(1)))
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
            raise CompileError("the compiler does not support a negative padding")
        parts = [x]
        for size, at in ((before, 0), (after, 2)):
            if size:
                end = (Axis(size),) if size > 1 else ()
                dims = (*x.dims[:dim], end, *x.dims[dim + 1 :])
                parts.insert(at, Value(Const(float(fill)), dims))
        x = _cat(low, node, parts, dim)
    return x


# Sums, maxima, and what is made of them.


@rule("sum.dim_IntList")
def _sum(low: Lowering, node: fx.Node, x: Value, dims: Any, keepdim: bool = False) -> Value:
    return low.reduce("sum", x, dims or range(len(x.dims)), keepdim)


@rule("mean.dim")
def _mean(low: Lowering, node: fx.Node, x: Value, dims: Any, keepdim: bool = False) -> Value:
    dims = dims or range(len(x.dims))
    total = low.reduce("sum", x, dims, keepdim)
    return low.apply("div", total, _count(low, node, dims))


def _count(low: Lowering, node: fx.Node, dims: Any) -> Any:
    """Return the number of entries of some dimensions of the first argument."""
    shape = node.args[0].meta["val"].shape  # type: ignore[union-attr]
    return low.number(prod(shape[dim] for dim in dims))


@rule("index_add.default")
def _index_add(
    low: Lowering, node: fx.Node, into: Any, dim: int, index: fx.Node, source: Any, alpha: float = 1
) -> Value:
    x, dim = low.value(source), dim % len(node.meta["val"].shape)
    if low.value(into).expr != Const(0.0) or alpha != 1:
        raise CompileError("it adds by index to a tensor that is not zero")
    if index.op != "get_attr":
        raise CompileError("it adds by an index that is not a buffer of the cell")
    if by_edge(x.expr):
        raise CompileError("it adds by index to a tensor of the children")
    x, axis = _one_axis(low, x, dim) if x.dims[dim] else (x, Axis(1))
    out = Axis(node.meta["val"].shape[dim])
    dims = (*x.dims[:dim], (out,), *x.dims[dim + 1 :])
    axes = [a for each in dims for a in each if a.size > 0]
    target = low.new_target("node", axes)
    table = low.program.input(low.hoisted.key(index), "none", index.meta["val"].numel())
    lookup = Lookup(out.size, table, axis)
    strides = tuple((lookup if a is out else a, stride) for a, stride in target.strides)
    own = tuple(axis if a is out else a for a in axes)
    at = Load(target.source, "node", 0, strides)
    low.assign(at, own, x.expr, merge="sum")
    return Value(target, dims)


@rule("amax.default")
def _amax(low: Lowering, node: fx.Node, x: Value, dims: Any = (), keepdim: bool = False) -> Value:
    dims = dims or range(len(x.dims))
    largest = low.reduce("max", low.apply("stop", x), dims, True)
    hit = low.apply("eq", x, largest)
    count = low.reduce("sum", low.apply("number", hit), dims, keepdim)
    total = low.reduce("sum", low.apply("where", hit, x, 0), dims, keepdim)
    return low.apply(
        "instead",
        largest if keepdim else _squeeze(low, node, largest, list(dims)),
        low.apply("div", total, count),
    )


@rule("amin.default")
def _amin(low: Lowering, node: fx.Node, x: Value, *args: Any, **kwargs: Any) -> Value:
    return low.apply("neg", _amax(low, node, low.apply("neg", x), *args, **kwargs))


@rule("max.dim")
def _max(
    low: Lowering, node: fx.Node, x: Value, dim: int, keepdim: bool = False
) -> tuple[Value, None]:
    dim %= len(x.dims)
    if x.dims[dim] != (CHILDREN,):
        raise CompileError("the compiler supports a maximum with its index only over children")
    if any(user.args[1] == 1 and user.users for user in node.users):
        raise CompileError("it reads which child has the maximum")
    largest = low.reduce("max", low.apply("stop", x), [dim], True)
    place = Value(Position(), tuple((CHILDREN,) if i == dim else () for i in range(len(x.dims))))
    far = low.apply("where", low.apply("eq", x, largest), place, 2**24)
    first = low.reduce("min", low.apply("stop", far), [dim], True)
    total = low.reduce("sum", low.apply("where", low.apply("eq", place, first), x, 0), [dim], True)
    value = low.apply("where", low.apply("eq", largest, largest), total, largest)
    return (value if keepdim else _squeeze(low, node, value, dim)), None


@rule("min.dim")
def _min(
    low: Lowering, node: fx.Node, x: Value, dim: int, keepdim: bool = False
) -> tuple[Value, None]:
    value, _ = _max(low, node, low.apply("neg", x), dim, keepdim)
    return low.apply("neg", value), None


@rule("_softmax.default")
def _softmax(low: Lowering, node: fx.Node, x: Value, dim: int, half: bool = False) -> Value:
    weights = low.stored(low.apply("exp", _shifted(low, x, dim)))
    return low.apply("div", weights, low.reduce("sum", weights, [dim], True))


@rule("_safe_softmax.default")
def _safe_softmax(low: Lowering, node: fx.Node, x: Value, dim: int, dtype: Any = None) -> Value:
    """Compute a softmax that is zero where all scores are minus infinity."""
    if dtype is not None:
        raise CompileError("the compiler does not support a softmax in another dtype")
    largest = low.stored(low.reduce("max", low.apply("stop", x), [dim], True))
    masked = low.apply("eq", largest, -inf)
    shift = low.apply("stop", low.apply("where", masked, 0, largest))
    weights = low.stored(low.apply("exp", low.apply("sub", x, shift)))
    total = low.apply("where", masked, 1, low.reduce("sum", weights, [dim], True))
    return low.apply("div", weights, total)


@rule("_log_softmax.default")
def _log_softmax(low: Lowering, node: fx.Node, x: Value, dim: int, half: bool = False) -> Value:
    shifted = low.stored(_shifted(low, x, dim))
    weights = low.stored(low.apply("exp", shifted))
    total = low.stored(low.apply("log", low.reduce("sum", weights, [dim], True)))
    return low.apply("sub", shifted, total)


def _shifted(low: Lowering, x: Value, dim: int) -> Value:
    largest = low.reduce("max", low.apply("stop", x), [dim], True)
    return low.apply("sub", x, low.apply("stop", largest))


@rule("var_mean.correction", "var.correction", "std_mean.correction", "std.correction")
def _spread(
    low: Lowering,
    node: fx.Node,
    x: Value,
    dims: Any = None,
    *,
    correction: float = 1,
    keepdim: bool = False,
) -> Any:
    """Compute a variance or a standard deviation; also the mean if the name has it."""
    dims = dims or range(len(x.dims))
    count = _count(low, node, dims)
    x = low.stored(x) if isinstance(x.expr, Op) else x
    mean = low.stored(low.apply("div", low.reduce("sum", x, dims, True), count))
    off = low.apply("sub", x, mean)
    total = low.reduce("sum", low.apply("mul", off, off), dims, keepdim)
    less = low.apply("sub", count, correction)
    spread = low.apply("div", total, less)
    if "std" in str(node.target):
        spread = low.apply("root", spread)
    if "_mean" not in str(node.target):
        return spread
    return spread, (mean if keepdim else _squeeze(low, node, mean, list(dims)))


@rule("linalg_vector_norm.default")
def _norm(
    low: Lowering,
    node: fx.Node,
    x: Value,
    order: float = 2,
    dims: Any = None,
    keepdim: bool = False,
    **_: Any,
) -> Value:
    dims = range(len(x.dims)) if dims is None else dims
    if order == inf:
        largest: Value = _amax(low, node, low.apply("abs", x), dims, keepdim)
        return largest
    if order not in (1, 2):
        raise CompileError(f"the compiler does not support the norm of order {order}")
    if order == 1:
        return low.reduce("sum", low.apply("abs", x), dims, keepdim)
    return low.apply("root", low.reduce("sum", low.apply("mul", x, x), dims, keepdim))


# Products.


@rule("mm.default")
def _mm(low: Lowering, node: fx.Node, x: Value, weight: Value) -> Value:
    return low.product(x, weight)


@rule("mv.default")
def _mv(low: Lowering, node: fx.Node, x: Value, weight: Value) -> Value:
    return low.reduce("sum", low.apply("mul", x, weight), [1], False)


@rule("addmm.default")
def _addmm(
    low: Lowering,
    node: fx.Node,
    bias: Value,
    x: Value,
    weight: Value,
    *,
    beta: float = 1,
    alpha: float = 1,
) -> Value:
    total = low.product(x, weight)
    total = total if alpha == 1 else low.apply("mul", total, alpha)
    return low.apply("add", bias if beta == 1 else low.apply("mul", bias, beta), total)


@rule("bmm.default")
def _bmm(low: Lowering, node: fx.Node, x: Value, y: Value) -> Value:
    read = list(loads(y.expr))
    used = {axis for load in read for axis, stride in load.strides if stride}
    if all(load.rows in ("none", "type") for load in read):
        if not used.intersection(y.dims[0]):
            return low.product(x, Value(y.expr, y.dims[1:]))
        one, two = Value(x.expr, (*x.dims, ())), Value(y.expr, (y.dims[0], (), *y.dims[1:]))
        (first, second), dims = aligned([one, two])
        return low.product(Value(first, dims[:3]), Value(second, (dims[0], *dims[2:])))
    wide = Value(x.expr, (*x.dims[:2], (), x.dims[2]))
    turned = Value(y.expr, (y.dims[0], (), y.dims[2], y.dims[1]))
    return low.reduce("sum", low.apply("mul", wide, turned), [3], False)
