"""Rules of sums, maxima and what is made of them, and of products of matrices."""

from __future__ import annotations

from math import inf, prod
from typing import TYPE_CHECKING, Any

from dgltrees.cells.compiled.emit import rule
from dgltrees.cells.compiled.loops import (
    CHILDREN,
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
from dgltrees.cells.compiled.rules_views import one_axis, squeeze
from dgltrees.cells.compiled.values import Value, aligned

if TYPE_CHECKING:
    from torch import fx

    from dgltrees.cells.compiled.lower import Lowering

__all__: list[str] = []


@rule("sum.dim_IntList")
def _sum(low: Lowering, node: fx.Node, x: Value, dims: Any, keepdim: bool = False) -> Value:
    return low.reduce("sum", x, dims or range(len(x.dims)), keepdim)


@rule("mean.dim")
def _mean(low: Lowering, node: fx.Node, x: Value, dims: Any, keepdim: bool = False) -> Value:
    dims = dims or range(len(x.dims))
    total = low.reduce("sum", x, dims, keepdim)
    return low.apply("div", total, _count(low, node, dims))


def _count(low: Lowering, node: fx.Node, dims: Any) -> Any:
    """The number of entries of some dimensions of the first argument."""
    shape = node.args[0].meta["val"].shape  # type: ignore[union-attr]
    return low.number(prod(shape[dim] for dim in dims))


@rule("index_add.default")
def _index_add(
    low: Lowering, node: fx.Node, into: Any, dim: int, index: fx.Node, source: Any, alpha: float = 1
) -> Value:
    x, dim = low.value(source), dim % len(node.meta["val"].shape)
    if low.value(into).expr != Const(0.0) or alpha != 1:
        raise CompileError("it adds by an index to what is not zero")
    if index.op != "get_attr":
        raise CompileError("it adds by an index that is no buffer of the cell")
    if by_edge(x.expr):
        raise CompileError("it adds by an index to what each child has")
    x, axis = one_axis(low, x, dim) if x.dims[dim] else (x, Axis(1))
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
    return low.apply("div", total, count)


@rule("amin.default")
def _amin(low: Lowering, node: fx.Node, x: Value, *args: Any, **kwargs: Any) -> Value:
    return low.apply("neg", _amax(low, node, low.apply("neg", x), *args, **kwargs))


@rule("max.dim")
def _max(
    low: Lowering, node: fx.Node, x: Value, dim: int, keepdim: bool = False
) -> tuple[Value, None]:
    dim %= len(x.dims)
    if x.dims[dim] != (CHILDREN,):
        raise CompileError("there is no rule for a maximum with its place but over children")
    if any(user.args[1] == 1 and user.users for user in node.users):
        raise CompileError("it reads which child has the maximum")
    largest = low.reduce("max", low.apply("stop", x), [dim], True)
    place = Value(Position(), tuple((CHILDREN,) if i == dim else () for i in range(len(x.dims))))
    far = low.apply("where", low.apply("eq", x, largest), place, 2**24)
    first = low.reduce("min", low.apply("stop", far), [dim], True)
    total = low.reduce("sum", low.apply("where", low.apply("eq", place, first), x, 0), [dim], True)
    value = low.apply("where", low.apply("eq", largest, largest), total, largest)
    return (value if keepdim else squeeze(low, node, value, dim)), None


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
    """Zeros where all are minus infinity."""
    if dtype is not None:
        raise CompileError("there is no rule for a softmax in another dtype")
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


@rule("var_mean.correction")
def _var_mean(
    low: Lowering,
    node: fx.Node,
    x: Value,
    dims: Any = None,
    *,
    correction: float = 1,
    keepdim: bool = False,
) -> tuple[Value, Value]:
    dims = dims or range(len(x.dims))
    count = _count(low, node, dims)
    x = low.stored(x) if isinstance(x.expr, Op) else x
    mean = low.stored(low.apply("div", low.reduce("sum", x, dims, True), count))
    off = low.apply("sub", x, mean)
    total = low.reduce("sum", low.apply("mul", off, off), dims, keepdim)
    less = low.apply("sub", count, correction)
    if not keepdim:
        mean = squeeze(low, node, mean, list(dims))
    return low.apply("div", total, less), mean


@rule("var.correction")
def _var(low: Lowering, node: fx.Node, x: Value, dims: Any = None, **options: Any) -> Value:
    variance: Value = _var_mean(low, node, x, dims, **options)[0]
    return variance


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
