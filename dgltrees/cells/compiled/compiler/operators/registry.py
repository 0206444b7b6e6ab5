"""The table of rules: what each operation of ATen does to values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["HEAVY", "OPERATORS", "Rule", "rule"]

Rule = Callable[..., Any]
OPERATORS: dict[str, Rule] = {}
HEAVY = {"mm.default", "addmm.default", "bmm.default", "embedding.default"}
"""Operations that torch does for all nodes at once where they do not depend on the children."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of some operations: ``rule(lowering, node, *args, **kwargs)``."""

    def register(function: Rule) -> Rule:
        OPERATORS.update(dict.fromkeys(names, function))
        return function

    return register
