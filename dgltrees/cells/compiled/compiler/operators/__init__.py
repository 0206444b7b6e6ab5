"""What each operation of ATen does to values: one file for each kind."""

from dgltrees.cells.compiled.compiler.operators import numbers, reductions, views  # noqa: F401  (they register their rules)
from dgltrees.cells.compiled.compiler.operators.registry import HEAVY, OPERATORS

__all__ = ["HEAVY", "OPERATORS"]
