"""The derivatives of a loop, and where gradients are written rather than added."""

from __future__ import annotations

from math import prod
from typing import Any

from dgltrees.cells.compiled.compiler.expressions import (
    Axis,
    Buffer,
    Expr,
    Input,
    Load,
    Op,
)
from dgltrees.cells.compiled.compiler.loops import Group, Layout, Loop, key_of
from dgltrees.cells.compiled.compiler.scalar import RULES

__all__ = ["Backward", "Gradients"]


class Gradients:
    """Which gradients there are so far, while the steps are derived from the last to the first.

    What comes first to a number is written, and the rest is added, so that only the gradients
    ``cleared`` have to be zero before.

    Arguments:
        wanted: the inputs whose gradients are computed.
        cleared: the buffers whose gradients are cleared before; more are added if need be, and then
            all has to be derived again.
    """

    def __init__(self, wanted: set[Input], cleared: set[Buffer]) -> None:
        self.wanted, self.cleared = wanted, cleared
        self.written: dict[Buffer, list[tuple[int, int]]] = {}
        self.stable = True

    def __contains__(self, source: Any) -> bool:
        """Whether a source has had a gradient so far."""
        return source in self.cleared or source in self.written

    def sign(self, load: Load, sizes: list[int] | None) -> str:
        """How a gradient is stored: ``=`` or ``+=``.

        Arguments:
            load: the numbers whose gradient it is.
            sizes: the sizes of the axes of the loop; None if it comes several times.
        """
        source = load.source
        if isinstance(source, Input) or source in self.cleared:
            return "+="
        size = 1 if sizes is None else prod(sizes)
        span = (load.offset, load.offset + size)
        before = self.written.setdefault(source, [])
        if sizes is not None and _dense(load, sizes) and not _overlap(span, before):
            before.append(span)
            return "="
        if (
            sizes is None
            or not any(a <= span[0] and span[1] <= b for a, b in before)
            or not _dense(load, sizes)
        ):
            self.clear(source)
        return "+="

    def sign_of_columns(self, load: Load, width: int) -> str:
        """How the gradient of adjacent columns is stored."""
        axis = Axis(width)
        return self.sign(Load(load.source, load.rows, load.offset, ((axis, 1),)), [width])

    def read(self, source: Any) -> None:
        """The gradient of a buffer is read, so all of it must have been written."""
        if isinstance(source, Buffer) and source not in self.cleared:
            covered = sum(b - a for a, b in self.written.get(source, []))
            if covered < source.width:
                self.clear(source)

    def clear(self, source: Buffer) -> None:
        """The gradient of a buffer has to be cleared before."""
        self.cleared.add(source)
        self.stable = False


def _dense(load: Load, sizes: list[int]) -> bool:
    """Whether a load reads numbers one after another, each once."""
    strides = sorted((stride, axis.size) for axis, stride in load.strides if axis.size > 1)
    size = 1
    for stride, length in strides:
        if stride != size:
            return False
        size *= length
    return size == prod(sizes)


def _overlap(span: tuple[int, int], others: list[tuple[int, int]]) -> bool:
    return any(span[0] < b and a < span[1] for a, b in others)


class Backward:
    """The loop of a group, backwards."""

    def __init__(self, group: Group, layout: Layout, gradients: Gradients) -> None:
        self.group, self.known = group, gradients
        self.loop = Loop(group, layout)
        self.local: dict[Any, list[str]] = {}
        self.total: dict[Any, tuple[Load, list[str]]] = {}

    def run(self) -> None:
        """Derive all statements, from the last to the first."""
        loop = self.loop
        targets = {key_of(s.target) for s in self.group.statements if s.reduction is None}
        for s in self.group.statements:
            loop.load(s.target) if s.reduction is None else None
        for s in reversed(self.group.statements):
            key = key_of(s.target)
            parts = list(self.local.pop(key, []))
            if s.target.source in self.known:
                self.known.read(s.target.source)
                depth = loop.depth(s.target)
                parts.append(loop.define(loop.at(s.target, True), depth))
            if not parts:
                continue
            g = parts[0] if len(parts) == 1 else loop.define(" + ".join(parts), len(loop.axes))
            result = loop.load(s.target) if s.reduction is None else None
            self._derive(s.expr, g, targets, result)
        for load, parts in self.total.values():
            self._add(load, parts)

    def _derive(self, expr: Expr, g: str, targets: set[Any], result: str | None) -> None:
        loop = self.loop
        if isinstance(expr, Load):
            key = key_of(expr)
            if isinstance(expr.source, Input) and expr.source not in self.known.wanted:
                return
            if key in targets and expr.rows != "child":
                self.local.setdefault(key, []).append(g)
            else:
                self.total.setdefault(key, (expr, []))[1].append(g)
            return
        if not isinstance(expr, Op):
            return
        rule = RULES[expr.name]
        useful = [d is not None and self._leads(a) for d, a in zip(rule.derivatives, expr.args)]
        if not any(useful):
            return
        args = [loop.compute(arg)[0] for arg in expr.args]
        y = result
        if y is None and any(d and "{y}" in d for d in rule.derivatives):
            y = loop.compute(expr)[0]
        for derivative, arg, use in zip(rule.derivatives, expr.args, useful):
            if use and derivative is not None:
                code = derivative.format(*args, g=g, y=y)
                more = g if code == g else loop.define(code, len(loop.axes))
                self._derive(arg, more, targets, None)

    def _leads(self, expr: Expr) -> bool:
        """Whether an expression has a load whose gradient is wanted."""
        if isinstance(expr, Op):
            rule = RULES[expr.name]
            return any(
                d is not None and self._leads(a) for d, a in zip(rule.derivatives, expr.args)
            )
        if not isinstance(expr, Load):
            return False
        return not isinstance(expr.source, Input) or expr.source in self.known.wanted

    def _add(self, load: Load, parts: list[str]) -> None:
        """Add to the gradient of a number."""
        loop, depth, whole = self.loop, self.loop.depth(load), " + ".join(parts)
        at = loop.at(load, True)
        own = load.rows == "edge" or (load.rows == "node" and not self.group.edges)
        sizes = [axis.size for axis in loop.axes[:depth]]
        inner = [a for a in loop.axes[:depth] if not dict(load.strides).get(a)]
        sign = self.known.sign(load, sizes if own and not inner else None)
        if depth == len(loop.axes):
            loop.after[-1].append(f"{at} {sign} {whole}")
            return
        total = next(loop.fresh)
        loop.before[depth].append(f"{total} = zero")
        loop.after[-1].append(f"{total} += {whole}")
        loop.after[depth].append(f"{at} {sign} {total}")

    @property
    def gradients(self) -> list[Load]:
        """The loads whose gradients are read or written."""
        read = [s.target for s in self.group.statements if s.target.source in self.known]
        return read + [load for load, _ in self.total.values()]
