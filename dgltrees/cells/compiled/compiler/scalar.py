"""The operations on numbers: how each is written in Python, and its derivatives.

In a rule ``{0}``, ``{1}``, ... are the arguments and ``{y}`` is the result. A derivative is a
factor of the gradient of the result, or, with ``{g}`` in it, the gradient of the argument.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["RULES", "Rule"]


class Rule(NamedTuple):
    """How an operation is written, and its derivative by each argument, None where there is none.

    Attributes:
        code: the expression.
        derivatives: by each argument.
        costly: whether the result is stored rather than computed again.
        is_bool: whether the result is a truth value.
    """

    code: str
    derivatives: tuple[str | None, ...]
    costly: bool = False
    is_bool: bool = False


def _comparison(sign: str) -> Rule:
    return Rule("({0} " + sign + " {1})", (None, None), is_bool=True)


RULES: dict[str, Rule] = {
    "add": Rule("({0} + {1})", ("{g}", "{g}")),
    "sub": Rule("({0} - {1})", ("{g}", "-{g}")),
    "mul": Rule("({0} * {1})", ("{g} * {1}", "{g} * {0}")),
    "div": Rule("({0} / {1})", ("{g} / {1}", "-{g} * {y} / {1}")),
    "neg": Rule("(-{0})", ("-{g}",)),
    "abs": Rule("abs({0})", ("{g} * sign({0})",)),
    "sign": Rule("sign({0})", (None,)),
    "exp": Rule("exp({0})", ("{g} * {y}",), costly=True),
    "expm1": Rule("expm1({0})", ("{g} * ({y} + one)",), costly=True),
    "log": Rule("log({0})", ("{g} / {0}",), costly=True),
    "log1p": Rule("log1p({0})", ("{g} / (one + {0})",), costly=True),
    "sqrt": Rule("sqrt({0})", ("{g} / ({y} + {y})",), costly=True),
    "rsqrt": Rule("(one / sqrt({0}))", ("-half * {g} * {y} * {y} * {y}",), costly=True),
    "sigmoid": Rule("sigmoid({0})", ("{g} * ({y} - {y} * {y})",), costly=True),
    "tanh": Rule("tanh({0})", ("{g} * (one - {y} * {y})",), costly=True),
    "erf": Rule("erf({0})", ("{g} * erf_slope * exp(-{0} * {0})",), costly=True),
    "sin": Rule("sin({0})", ("{g} * cos({0})",), costly=True),
    "cos": Rule("cos({0})", ("-{g} * sin({0})",), costly=True),
    "reciprocal": Rule("(one / {0})", ("-{g} * {y} * {y}",)),
    "maximum": Rule(
        "larger({0}, {1})",
        ("{g} * share({0}, {1})", "{g} * share({1}, {0})"),
    ),
    "minimum": Rule(
        "smaller({0}, {1})",
        ("{g} * share({1}, {0})", "{g} * share({0}, {1})"),
    ),
    "relu": Rule("larger({0}, zero)", ("({g} if {0} > zero else zero)",)),
    "where": Rule(
        "({1} if {0} else {2})",
        (None, "({g} if {0} else zero)", "(zero if {0} else {g})"),
    ),
    "gt": _comparison(">"),
    "ge": _comparison(">="),
    "lt": _comparison("<"),
    "le": _comparison("<="),
    "eq": _comparison("=="),
    "ne": _comparison("!="),
    "and": Rule("({0} & {1})", (None, None), is_bool=True),
    "or": Rule("({0} | {1})", (None, None), is_bool=True),
    "not": Rule("(not {0})", (None,), is_bool=True),
    "number": Rule("(one if {0} else zero)", (None,)),
    "stop": Rule("{0}", (None,)),
}
