"""Rules of operations on each number, and of constants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dgltrees.cells.compiled.emit import OPERATORS, Rule, rule
from dgltrees.cells.compiled.loops import CHILDREN, CompileError, Const, Op, Position
from dgltrees.cells.compiled.values import Value

if TYPE_CHECKING:
    from torch import fx

    from dgltrees.cells.compiled.lower import Lowering


HIGHEST = 8
"""The largest power that is multiplied out."""


def _pointwise(name: str) -> Rule:
    return lambda low, node, *args: low.apply(name, *args)


_ALONE = "neg abs sign exp expm1 log log1p sqrt rsqrt sigmoid tanh erf sin cos relu reciprocal"
_PAIRS = "mul div gt ge lt le eq ne"
_OTHERS = {
    "sign": "sgn.default",
    "maximum": "maximum.default",
    "minimum": "minimum.default",
    "where": "where.self where.ScalarOther where.ScalarSelf where.Scalar",
    "and": "logical_and.default bitwise_and.Tensor",
    "or": "logical_or.default bitwise_or.Tensor",
    "not": "logical_not.default bitwise_not.default",
    "stop": "detach.default",
}
"""Operations with the names of ATen: of one number, of two numbers, and others."""
for _name in _ALONE.split():
    OPERATORS[f"{_name}.default"] = _pointwise(_name)
for _name in _PAIRS.split():
    OPERATORS[f"{_name}.Tensor"] = OPERATORS[f"{_name}.Scalar"] = _pointwise(_name)
for _name, _names in _OTHERS.items():
    OPERATORS.update(dict.fromkeys(_names.split(), _pointwise(_name)))


@rule("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar")
def _add(low: Lowering, node: fx.Node, x: Any, y: Any, alpha: float = 1) -> Value:
    name = "add" if "add" in str(node.target) else "sub"
    return low.apply(name, x, y if alpha == 1 else low.apply("mul", y, alpha))


@rule("pow.Tensor_Scalar")
def _pow(low: Lowering, node: fx.Node, x: Value, exponent: float) -> Value:
    times, half = divmod(abs(exponent), 1)
    if half not in (0, 0.5) or not 0 < abs(exponent) <= HIGHEST:
        raise CompileError(f"the compiler does not support the power {exponent}")
    root = "root" if times else "sqrt"  # the derivative of x sqrt(x) is 0 at 0
    factors = [low.apply(root, x)] * (half > 0) + [x] * int(times)
    result = factors.pop()
    for factor in factors:
        result = low.apply("mul", result, factor)
    return result if exponent > 0 else low.apply("reciprocal", result)


@rule("silu.default")
def _silu(low: Lowering, node: fx.Node, x: Value) -> Value:
    return low.apply("mul", x, low.stored(low.apply("sigmoid", x)))


@rule("elu.default")
def _elu(
    low: Lowering, node: fx.Node, x: Value, alpha: float = 1.0, scale: float = 1, inner: float = 1
) -> Value:
    negative = low.apply("where", low.apply("gt", x, 0), 0, x)
    negative = negative if inner == 1 else low.apply("mul", negative, inner)
    below = low.apply("mul", low.stored(low.apply("expm1", negative)), alpha * scale)
    return low.apply("where", low.apply("gt", x, 0), low.apply("mul", x, scale), below)


@rule(
    "clamp.default",
    "clamp_min.default",
    "clamp_max.default",
    "clamp_min.Tensor",
    "clamp_max.Tensor",
    "hardtanh.default",
)
def _clamp(
    low: Lowering, node: fx.Node, x: Value, low_end: Any = None, high_end: Any = None
) -> Value:
    if "clamp_max" in str(node.target):
        low_end, high_end = None, low_end
    closed = "hardtanh" in str(node.target)  # whose gradient is 0 at its ends
    below, above = ("le", "ge") if closed else ("lt", "gt")
    if low_end is not None:
        x = low.apply("where", low.apply(below, x, low_end), low_end, x)
    if high_end is not None:
        x = low.apply("where", low.apply(above, x, high_end), high_end, x)
    return x


@rule("lerp.Tensor", "lerp.Scalar")
def _lerp(low: Lowering, node: fx.Node, x: Value, y: Value, weight: Any) -> Value:
    return low.apply("add", x, low.apply("mul", weight, low.apply("sub", y, x)))


@rule("bernoulli.default")
def _bernoulli(low: Lowering, node: fx.Node, mean: Value) -> Value:
    if not isinstance(mean.expr, Const):
        raise CompileError("it draws random numbers with a computed mean")
    return low.noise(node, mean.expr.value)


# Constants.


@rule("new_zeros.default", "zeros.default", "zeros_like.default")
def _zeros(low: Lowering, node: fx.Node, *_: Any, **__: Any) -> Value:
    return Value(Const(0.0), low.dims(node.meta["val"].shape))


@rule("ones.default", "ones_like.default", "new_ones.default")
def _ones(low: Lowering, node: fx.Node, *_: Any, **__: Any) -> Value:
    return Value(Const(1.0), low.dims(node.meta["val"].shape))


@rule("full.default", "full_like.default", "new_full.default", "scalar_tensor.default")
def _full(low: Lowering, node: fx.Node, *args: Any, **_: Any) -> Value:
    fill = low.value(args[-1])
    expr = fill.expr if isinstance(fill, Value) else Const(float(fill))
    return Value(expr, low.dims(node.meta["val"].shape))


@rule("arange.default", "arange.start", "arange.start_step")
def _arange(low: Lowering, node: fx.Node, *args: Any, **_: Any) -> Value:
    ((size,),) = (node.meta["val"].shape,)
    start, step = (args[0] if len(args) > 1 else 0), (args[2] if len(args) > 2 else 1)
    if low.factors(size)[:2] == (False, False):
        return low.table([start + step * i for i in range(size)])
    if low.factors(size) != (False, True, 1):
        raise CompileError("the compiler supports aten.arange only over children")
    return Value(
        Op("add", (Op("mul", (Position(), Const(float(step)))), Const(float(start)))),
        ((CHILDREN,),),
    )
