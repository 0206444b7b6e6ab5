"""What each operation of ATen does to values."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any, Optional

import torch

from dgltrees.cells.compiled.compiler.expressions import (
    CHILDREN,
    NODES,
    Axis,
    Const,
    Load,
    Op,
    Position,
    Statement,
    Value,
    aligned,
    as_number,
    by_edge,
    loads,
    regrouped,
    single,
)
from dgltrees.cells.compiled.compiler.reasons import CompileError

if TYPE_CHECKING:
    from torch import fx

    from dgltrees.cells.compiled.compiler.lower import Lowering

__all__ = ["HEAVY", "OPERATORS"]

Rule = Callable[..., Any]
OPERATORS: dict[str, Rule] = {}
HEAVY = {"mm.default", "addmm.default", "bmm.default", "embedding.default"}
"""Operations that torch does for all nodes at once where they do not depend on the children."""


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        OPERATORS.update(dict.fromkeys(names, rule))
        return rule

    return register


# Operations on numbers.


def _pointwise(name: str) -> Rule:
    return lambda low, node, *args: low.apply(name, *args)


for _operation, _names in {
    "mul": "mul.Tensor mul.Scalar",
    "div": "div.Tensor div.Scalar",
    "neg": "neg.default",
    "abs": "abs.default",
    "sign": "sign.default sgn.default",
    "exp": "exp.default",
    "expm1": "expm1.default",
    "log": "log.default",
    "log1p": "log1p.default",
    "sqrt": "sqrt.default",
    "rsqrt": "rsqrt.default",
    "sigmoid": "sigmoid.default",
    "tanh": "tanh.default",
    "erf": "erf.default",
    "sin": "sin.default",
    "cos": "cos.default",
    "relu": "relu.default",
    "reciprocal": "reciprocal.default",
    "maximum": "maximum.default",
    "minimum": "minimum.default",
    "where": "where.self where.ScalarOther where.ScalarSelf where.Scalar",
    "gt": "gt.Tensor gt.Scalar",
    "ge": "ge.Tensor ge.Scalar",
    "lt": "lt.Tensor lt.Scalar",
    "le": "le.Tensor le.Scalar",
    "eq": "eq.Tensor eq.Scalar",
    "ne": "ne.Tensor ne.Scalar",
    "and": "logical_and.default bitwise_and.Tensor",
    "or": "logical_or.default bitwise_or.Tensor",
    "not": "logical_not.default bitwise_not.default",
    "stop": "detach.default",
}.items():
    OPERATORS.update(dict.fromkeys(_names.split(), _pointwise(_operation)))


@_rule("add.Tensor", "add.Scalar")
def _add(low: Lowering, node: fx.Node, x: Any, y: Any, alpha: float = 1) -> Value:
    return low.apply("add", x, y if alpha == 1 else low.apply("mul", y, alpha))


@_rule("sub.Tensor", "sub.Scalar")
def _sub(low: Lowering, node: fx.Node, x: Any, y: Any, alpha: float = 1) -> Value:
    return low.apply("sub", x, y if alpha == 1 else low.apply("mul", y, alpha))


@_rule("rsub.Tensor", "rsub.Scalar")
def _rsub(low: Lowering, node: fx.Node, x: Any, y: Any, alpha: float = 1) -> Value:
    result: Value = _sub(low, node, y, x, alpha)
    return result


@_rule("pow.Tensor_Scalar")
def _pow(low: Lowering, node: fx.Node, x: Value, exponent: float) -> Value:
    if exponent == 0.5:
        return low.apply("sqrt", x)
    if exponent not in (1, 2, 3):
        raise CompileError(f"there is no rule for the power {exponent}")
    result = x
    for _ in range(int(exponent) - 1):
        result = low.apply("mul", result, x)
    return result


@_rule("silu.default")
def _silu(low: Lowering, node: fx.Node, x: Value) -> Value:
    return low.apply("mul", x, low.stored(low.apply("sigmoid", x)))


@_rule("leaky_relu.default")
def _leaky_relu(low: Lowering, node: fx.Node, x: Value, slope: float = 0.01) -> Value:
    return low.apply("where", low.apply("gt", x, 0), x, low.apply("mul", x, slope))


@_rule("elu.default")
def _elu(low: Lowering, node: fx.Node, x: Value, alpha: float = 1.0, *scales: float) -> Value:
    if any(scale != 1 for scale in scales):
        raise CompileError("there is no rule for a scaled elu")
    below = low.stored(low.apply("expm1", low.apply("minimum", x, 0)))
    return low.apply("where", low.apply("gt", x, 0), x, low.apply("mul", below, alpha))


@_rule("clamp.default", "clamp_min.default", "clamp_max.default", "hardtanh.default")
def _clamp(
    low: Lowering, node: fx.Node, x: Value, low_end: Any = None, high_end: Any = None
) -> Value:
    if "clamp_max" in str(node.target):
        low_end, high_end = None, low_end
    if low_end is not None:
        x = low.apply("where", low.apply("lt", x, low_end), low_end, x)
    if high_end is not None:
        x = low.apply("where", low.apply("gt", x, high_end), high_end, x)
    return x


@_rule("addcmul.default")
def _addcmul(low: Lowering, node: fx.Node, x: Value, y: Value, z: Value, value: float = 1) -> Value:
    result: Value = _add(low, node, x, low.apply("mul", y, z), value)
    return result


@_rule("lerp.Tensor", "lerp.Scalar")
def _lerp(low: Lowering, node: fx.Node, x: Value, y: Value, weight: Any) -> Value:
    return low.apply("add", x, low.apply("mul", weight, low.apply("sub", y, x)))


@_rule("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(low: Lowering, node: fx.Node, x: Value, mask: Value, number: Any) -> Value:
    return low.apply("where", mask, number, x)


@_rule("bernoulli.default")
def _bernoulli(low: Lowering, node: fx.Node, mean: Value) -> Value:
    if not isinstance(mean.expr, Const):
        raise CompileError("it draws random numbers with a mean that is computed")
    return low.noise(node, mean.expr.value)


# Constants.


@_rule("new_zeros.default", "zeros.default", "zeros_like.default")
def _zeros(low: Lowering, node: fx.Node, *_: Any, **__: Any) -> Value:
    return Value(Const(0.0), low.dims(node.meta["val"].shape))


@_rule("ones.default", "ones_like.default", "new_ones.default")
def _ones(low: Lowering, node: fx.Node, *_: Any, **__: Any) -> Value:
    return Value(Const(1.0), low.dims(node.meta["val"].shape))


@_rule("full.default", "full_like.default", "new_full.default", "scalar_tensor.default")
def _full(low: Lowering, node: fx.Node, *args: Any, **_: Any) -> Value:
    fill = low.value(args[-1])
    expr = fill.expr if isinstance(fill, Value) else Const(float(fill))
    return Value(expr, low.dims(node.meta["val"].shape))


@_rule("arange.default", "arange.start", "arange.start_step")
def _arange(low: Lowering, node: fx.Node, *args: Any, **_: Any) -> Value:
    ((size,),) = (node.meta["val"].shape,)
    if low.factors(size) != (False, True, 1):
        raise CompileError("there is no rule for aten.arange but over children")
    start, step = (args[0] if len(args) > 1 else 0), (args[2] if len(args) > 2 else 1)
    return Value(
        Op("add", (Op("mul", (Position(), Const(float(step)))), Const(float(start)))),
        ((CHILDREN,),),
    )


# Views.


@_rule("alias.default", "clone.default", "contiguous.default", "lift_fresh_copy.default")
def _same(low: Lowering, node: fx.Node, x: Value, **_: Any) -> Value:
    return x


@_rule("_to_copy.default")
def _to_copy(low: Lowering, node: fx.Node, x: Value, **_: Any) -> Value:
    if node.args[0].meta["val"].dtype == node.meta["val"].dtype:  # type: ignore[union-attr]
        return x
    if node.args[0].meta["val"].dtype is torch.bool:  # type: ignore[union-attr]
        return low.apply("number", x)
    raise CompileError("it changes a dtype")


@_rule("view.default", "_unsafe_view.default", "reshape.default", "flatten.using_ints")
def _view(low: Lowering, node: fx.Node, x: Any, *_: Any) -> Value:
    shape = []
    for size in node.meta["val"].shape:
        by_node, by_child, rest = low.factors(size)
        shape.append([NODES] * by_node + [CHILDREN] * by_child + [rest])
    return regrouped(low.value(x), shape)


@_rule("unsqueeze.default")
def _unsqueeze(low: Lowering, node: fx.Node, x: Value, dim: int) -> Value:
    dim %= len(x.dims) + 1
    return Value(x.expr, (*x.dims[:dim], (), *x.dims[dim:]))


@_rule("squeeze.dim", "squeeze.dims")
def _squeeze(low: Lowering, node: fx.Node, x: Value, dims: Any) -> Value:
    places = {d % len(x.dims) for d in (dims if isinstance(dims, (list, tuple)) else [dims])}
    kept = [dim for i, dim in enumerate(x.dims) if i not in places or dim]
    return Value(x.expr, tuple(kept))


@_rule("expand.default")
def _expand(low: Lowering, node: fx.Node, x: Any, *_: Any, **__: Any) -> Value:
    value = low.value(x)
    dims = low.dims(node.meta["val"].shape)
    own = ((),) * (len(dims) - len(value.dims)) + value.dims
    return Value(value.expr, tuple(mine or new for mine, new in zip(own, dims)))


@_rule("permute.default")
def _permute(low: Lowering, node: fx.Node, x: Value, order: list[int]) -> Value:
    return Value(x.expr, tuple(x.dims[i] for i in order))


@_rule("transpose.int")
def _transpose(low: Lowering, node: fx.Node, x: Value, one: int, two: int) -> Value:
    dims = list(x.dims)
    dims[one], dims[two] = dims[two], dims[one]
    return Value(x.expr, tuple(dims))


@_rule("t.default")
def _t(low: Lowering, node: fx.Node, x: Value) -> Value:
    return Value(x.expr, x.dims[::-1])


@_rule("slice.Tensor")
def _slice(
    low: Lowering,
    node: fx.Node,
    x: Value,
    dim: int = 0,
    start: Optional[int] = None,
    end: Any = None,
    step: int = 1,
) -> Value:
    before = node.args[0].meta["val"].shape[dim]  # type: ignore[union-attr]
    size = node.meta["val"].shape[dim]
    if before == size:
        return x
    return _part(low, x, dim, (start or 0) % before, size, step)


@_rule("select.int")
def _select(low: Lowering, node: fx.Node, x: Value, dim: int, index: int) -> Value:
    dim %= len(x.dims)
    size = node.args[0].meta["val"].shape[dim]  # type: ignore[union-attr]
    value = _part(low, x, dim, index % size, 1, 1)
    return Value(value.expr, (*value.dims[:dim], *value.dims[dim + 1 :]))


@_rule("split.Tensor", "unsafe_split.Tensor", "split_with_sizes.default", "unbind.int")
def _split(low: Lowering, node: fx.Node, x: Value, sizes: Any = None, dim: int = 0) -> list[Value]:
    if "unbind" in str(node.target):
        dim = sizes or 0
        size = node.args[0].meta["val"].shape[dim]  # type: ignore[union-attr]
        return [_select(low, node, x, dim, i) for i in range(size)]
    dim %= len(x.dims)
    parts, start = [], 0
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
    x, axis = single(x, dim)
    new = (Axis(size),) if size > 1 else ()
    change = {axis: (start, tuple((a, step) for a in new))}
    return x.replaced(change, (*x.dims[:dim], new, *x.dims[dim + 1 :]))


@_rule("cat.default", "stack.default")
def _cat(low: Lowering, node: fx.Node, parts: list[Value], dim: int = 0) -> Value:
    if "stack" in str(node.target):
        rank = len(parts[0].dims) + 1
        parts = [_unsqueeze(low, node, part, dim % rank) for part in parts]
    dim %= len(parts[0].dims)
    pieces = []
    for part in parts:
        if any(axis.size < 0 for axis in part.dims[dim]):
            raise CompileError("it joins children, or nodes, with others")
        pieces.append(single(part, dim) if part.dims[dim] else (part, Axis(1)))
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
        low.emit(Statement(at, tuple(own), as_number(expr)))
        start += axis.size
    return Value(target, (*dims[:dim], (whole,), *dims[dim + 1 :]))


@_rule("constant_pad_nd.default")
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


# Reductions.


@_rule("sum.dim_IntList")
def _sum(low: Lowering, node: fx.Node, x: Value, dims: Any, keepdim: bool = False) -> Value:
    return low.reduce("sum", x, dims or range(len(x.dims)), keepdim)


@_rule("mean.dim")
def _mean(low: Lowering, node: fx.Node, x: Value, dims: Any, keepdim: bool = False) -> Value:
    dims = dims or range(len(x.dims))
    total = low.reduce("sum", x, dims, keepdim)
    return low.apply("div", total, _count(low, node, dims))


def _count(low: Lowering, node: fx.Node, dims: Any) -> Any:
    """The number of entries of some dimensions of the first argument."""
    shape = node.args[0].meta["val"].shape  # type: ignore[union-attr]
    return low.number(prod(shape[dim] for dim in dims))


@_rule("amax.default")
def _amax(low: Lowering, node: fx.Node, x: Value, dims: Any = (), keepdim: bool = False) -> Value:
    dims = dims or range(len(x.dims))
    largest = low.reduce("max", low.apply("stop", x), dims, True)
    hit = low.apply("eq", x, largest)
    count = low.reduce("sum", low.apply("number", hit), dims, keepdim)
    total = low.reduce("sum", low.apply("where", hit, x, 0), dims, keepdim)
    return low.apply("div", total, count)


@_rule("amin.default")
def _amin(low: Lowering, node: fx.Node, x: Value, *args: Any, **kwargs: Any) -> Value:
    return low.apply("neg", _amax(low, node, low.apply("neg", x), *args, **kwargs))


@_rule("max.dim")
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
    return (value if keepdim else _squeeze(low, node, value, dim)), None


@_rule("min.dim")
def _min(
    low: Lowering, node: fx.Node, x: Value, dim: int, keepdim: bool = False
) -> tuple[Value, None]:
    value, _ = _max(low, node, low.apply("neg", x), dim, keepdim)
    return low.apply("neg", value), None


@_rule("_softmax.default")
def _softmax(low: Lowering, node: fx.Node, x: Value, dim: int, half: bool = False) -> Value:
    weights = low.stored(low.apply("exp", _shifted(low, x, dim)))
    return low.apply("div", weights, low.reduce("sum", weights, [dim], True))


@_rule("_log_softmax.default")
def _log_softmax(low: Lowering, node: fx.Node, x: Value, dim: int, half: bool = False) -> Value:
    shifted = low.stored(_shifted(low, x, dim))
    weights = low.stored(low.apply("exp", shifted))
    total = low.stored(low.apply("log", low.reduce("sum", weights, [dim], True)))
    return low.apply("sub", shifted, total)


def _shifted(low: Lowering, x: Value, dim: int) -> Value:
    largest = low.reduce("max", low.apply("stop", x), [dim], True)
    return low.apply("sub", x, low.apply("stop", largest))


@_rule("var_mean.correction")
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
        mean = _squeeze(low, node, mean, list(dims))
    return low.apply("div", total, less), mean


@_rule("var.correction")
def _var(low: Lowering, node: fx.Node, x: Value, dims: Any = None, **options: Any) -> Value:
    variance: Value = _var_mean(low, node, x, dims, **options)[0]
    return variance


# Products.


@_rule("mm.default")
def _mm(low: Lowering, node: fx.Node, x: Value, weight: Value) -> Value:
    return low.product(x, weight)


@_rule("mv.default")
def _mv(low: Lowering, node: fx.Node, x: Value, weight: Value) -> Value:
    return low.reduce("sum", low.apply("mul", x, weight), [1], False)


@_rule("addmm.default")
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


@_rule("bmm.default")
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
