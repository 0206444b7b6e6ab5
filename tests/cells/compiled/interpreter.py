"""The code that the compiler writes, run as Python: slow, but there at once."""

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from dgltrees.cells.compiled import kernels, run, way


def _sigmoid(x: Any) -> Any:
    return type(x)(1 / (1 + math.exp(min(-x, 700))))


def _multiply(A: Any, B: Any, C: Any, beta: float, space: Any) -> None:
    C[...] = A @ B + beta * C if beta else A @ B


def _of(function: Any) -> Any:
    return lambda x: type(x)(function(x))


_NAMES: dict[str, Any] = {
    "INNER": {},
    "np": np,
    "njit": lambda **_: lambda function: function,
    "scratch": lambda like: None,
    "multiply": _multiply,
    "multiply_by_transposed": lambda A, B, C, beta, space: _multiply(A, B.T, C, beta, space),
    "multiply_transposed": lambda A, B, C, space: _multiply(A.T, B, C, 1.0, space),
    "copy": lambda x, y: np.copyto(x, y),
    "add": lambda x, y: np.add(x, y, out=x),
    "outside_gradient": lambda x, y, node: np.copyto(x, y[node] if len(y) else 0),
    "sigmoid": _sigmoid,
    "larger": lambda x, y: x if x > y or x != x else y,
    "smaller": lambda x, y: x if x < y or x != x else y,
    "share": lambda x, y: type(x)(1 if x > y else 0.5 if x == y else 0),
    "sign": np.sign,
    **{
        name: _of(getattr(math, name))
        for name in ("exp", "expm1", "log", "log1p", "sqrt", "tanh", "erf", "sin", "cos")
    },
}


def interpreted(body: str, name: str, arguments: str, threaded: bool) -> Any:
    """Stands for :func:`dgltrees.cells.compiled.kernels.machine_code`."""
    names = dict(_NAMES)
    exec(compile(body, "cell", "exec"), names)

    def up(threads: int, shards: int, *arrays: Any) -> None:
        for shard in range(shards):
            names["up_shard"](shard, *arrays)

    def down(
        threads: int, shards: int, plan: Any, T: Any, E: Any, G: Any, H: Any, *rest: Any
    ) -> None:
        for shard in range(shards):
            names["down_shard"](shard, 0, plan, T, E, G[0], H[0], *rest)

    return up if name == "up" else down


@contextmanager
def compiling(interpret: bool = True) -> Iterator[None]:
    """Within this context cells are compiled over any batch, to Python or to machine code."""
    with ExitStack() as stack:
        stack.enter_context(patch.multiple(way, SMALLEST=1, ALONE=1))
        stack.enter_context(patch.object(way, "compiles", kernels.compiles))
        if interpret:
            stack.enter_context(patch.object(run, "machine_code", interpreted))
            call = "dgltrees.cells.compiled.kernels.rows.run"
            stack.enter_context(patch(call, lambda kernel, _, arrays: kernel(_, *arrays)))
        yield
