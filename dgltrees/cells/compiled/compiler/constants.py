"""Numbers that are known before anything runs, such as which slot a message is in."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from dgltrees.cells.compiled.compiler.expressions import Const, Expr, Load, Op

__all__ = ["Tables", "folded"]

Tables = Mapping[Any, tuple[float, ...]]
"""The numbers of inputs that are the same in every traversal."""

_COMPARED: dict[str, Callable[[float, float], bool]] = {
    name: getattr(operator, name) for name in ("gt", "ge", "lt", "le", "eq", "ne")
}


def folded(expr: Expr, tables: Tables) -> Expr:
    """An expression without conditions whose outcome is known."""
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
