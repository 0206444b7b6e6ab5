"""The derivative of a loop program, which is a loop program with the steps in reverse order.

The gradients of a nest are a nest of the same loops. The first term of a gradient is written and
the others are added, so only gradients without a first write have to be cleared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from math import prod

from dgltrees.cells.compiled.loops import (
    ALL,
    OPERATIONS,
    SLOT,
    Assign,
    Axis,
    Buffer,
    Expr,
    Gradient,
    Input,
    Load,
    Lookup,
    Name,
    Nest,
    Op,
    Phase,
    Product,
    Program,
    Step,
    WeightGradient,
)


@dataclass
class Derivative:
    """The steps that compute the gradients of a program.

    Attributes:
        steps: the steps for all nodes, then for inner nodes and for leaves.
        weights: the gradients of weights, after these.
        cleared: the buffers whose gradients must be zero before.
        derived: all buffers that have gradients.
    """

    steps: dict[Phase, list[Step]]
    weights: dict[Phase, list[WeightGradient]]
    cleared: set[Buffer]
    derived: set[Buffer]

    @property
    def reads(self) -> set[Buffer | Input | Gradient]:
        """Return the results of the program that the derivative reads."""
        nests = [step for some in self.steps.values() for step in some if isinstance(step, Nest)]
        read = {load.source for nest in nests for load in nest.reads}
        return read.union(w.product.x.source for some in self.weights.values() for w in some)


def derivative_of(program: Program, wanted: set[Input]) -> Derivative:
    """Derive a program with fused nests by its states."""
    inner = [step for phase in program.phases("inner") for step in program.steps[phase]]
    cleared = program.kept.union(
        load.source
        for step in inner
        if isinstance(step, Nest)
        for load in step.reads
        if load.rows == "child" and isinstance(load.source, Buffer)
    )
    phases = (ALL, *program.phases("inner"), *program.phases("leaf"))
    while True:  # until no other gradient has to be cleared
        gradients = _Gradients(wanted, set(cleared))
        steps = {phase: _backwards(program.steps[phase], gradients) for phase in phases}
        if gradients.cleared == cleared:
            break
        cleared = gradients.cleared
    weights = {
        phase: [
            WeightGradient(step, step.target.gradient)
            for step in program.steps[phase]
            if isinstance(step, Product) and step.weight in wanted
            if step.target.source in gradients
        ]
        for phase in phases
    }
    return Derivative(steps, weights, cleared, cleared.union(gradients.written))


def _backwards(steps: Sequence[Step], gradients: _Gradients) -> list[Step]:
    """Return the steps of a phase in reverse order."""
    result: list[Step] = []
    for step in reversed(steps):
        if isinstance(step, Nest):
            nest = _Backwards(step, gradients).nest()
            result += [] if nest is None else [nest]
        elif step.target.source in gradients:
            gradients.read(step.target.source)
            onto = gradients.adds(step.x, (Axis(step.shape[0]),))
            x, y = step.x.gradient, step.target.gradient
            result.append(replace(step, target=x, x=y, turned=True, onto=onto))
    return result


@dataclass
class _Gradients:
    """The gradients that exist so far.

    Arguments:
        wanted: the inputs whose gradients are computed.
        cleared: the buffers whose gradients are cleared before; more are added if need be, and then
            all has to be derived again.
    """

    wanted: set[Input]
    cleared: set[Buffer]
    written: dict[Buffer, list[tuple[int, int]]] = field(default_factory=dict)

    def __contains__(self, source: object) -> bool:
        """Return whether a source has a gradient so far."""
        return source in self.cleared or source in self.written

    def adds(self, load: Load, axes: Sequence[Axis] | None) -> bool:
        """Return whether the gradient of a load is added to an earlier one, or else written."""
        source = load.source
        if not isinstance(source, Buffer) or source in self.cleared:
            return True
        size = prod(axis.size for axis in axes or ())
        start, stop = load.offset, load.offset + size
        spans = self.written.setdefault(source, [])
        dense = axes is not None and (len(load.strides) == 0 or _dense(load, size))
        if dense and not any(start < b and a < stop for a, b in spans):
            spans.append((start, stop))
            return False
        if not dense or not any(a <= start and stop <= b for a, b in spans):
            self.cleared.add(source)
        return True

    def read(self, source: object) -> None:
        """Note that the gradient of a buffer is read, so that all of it must have been written."""
        if not isinstance(source, Buffer):
            return
        covered = sum(stop - start for start, stop in self.written.get(source, ()))
        if covered < source.width:
            self.cleared.add(source)


def _dense(load: Load, size: int) -> bool:
    """Return whether a load reads this many adjacent numbers, each once."""
    length = 1
    for stride, axis in sorted((stride, axis.size) for axis, stride in load.strides):
        if axis > 1 and stride != length:
            return False
        length *= axis
    return length == size


def nesting(load: Load, axes: Sequence[Axis]) -> int:
    """Return how many of some loops contain a load."""
    own = [axis.of if isinstance(axis, Lookup) else axis for axis in load.axes]
    return max((axes.index(axis) + 1 for axis in own if axis is not SLOT), default=0)


class _Backwards:
    """The derivative of a nest."""

    def __init__(self, nest: Nest, gradients: _Gradients) -> None:
        self.forward, self.gradients = nest, gradients
        self.body: list[Assign] = []
        self.numbers = count()
        plain = [a.target for a in nest.body if a.merge is None and isinstance(a.target, Load)]
        self.inside: dict[object, list[Expr]] = {load.key: [] for load in plain}
        self.outside: dict[object, tuple[Load, list[Expr]]] = {}

    def nest(self) -> Nest | None:
        """Return the gradients of the values that the nest reads; None if none is wanted."""
        for assign in reversed(self.forward.body):
            target = assign.target
            assert isinstance(target, Load)
            parts = self.inside.get(target.key, [])
            if target.source in self.gradients:
                self.gradients.read(target.source)
                parts.append(target.gradient)
            if parts and self.leads(assign.expr):
                y = target if assign.merge is None else assign.expr
                self.derive(assign.expr, self.total(parts), y)
        totals = [(load, self.total(parts)) for load, parts in self.outside.values()]
        for load, total in totals:  # after all that it loads
            self.store(load, total)
        axes = self.forward.axes
        return Nest(self.forward.edges, axes, tuple(self.body)) if self.outside else None

    def named(self, expr: Expr) -> Name:
        """Return a name for an expression that has none."""
        if isinstance(expr, Name):
            return expr
        name = Name(next(self.numbers))
        self.body.append(Assign(name, expr))
        return name

    def total(self, parts: Sequence[Expr]) -> Name:
        """Return the sum of the gradients of a number."""
        whole, *rest = parts
        for part in rest:
            whole += part
        return self.named(whole)

    def derive(self, expr: Expr, g: Expr, y: Expr) -> None:
        """Pass the gradient g of an expression, whose number is y, to what it loads."""
        if isinstance(expr, Load):
            if expr.key in self.inside and expr.rows != "child":
                self.inside[expr.key].append(g)
            else:
                self.outside.setdefault(expr.key, (expr, []))[1].append(g)
        elif isinstance(expr, Op):
            for rule, arg in zip(OPERATIONS[expr.name].derivatives, expr.args):
                if rule is not None and self.leads(arg):
                    self.derive(arg, self.named(rule(g, y, *expr.args)), arg)

    def leads(self, expr: Expr) -> bool:
        """Return whether an expression has a load whose gradient is wanted."""
        if isinstance(expr, Op):
            rules = OPERATIONS[expr.name].derivatives
            return any(d is not None and self.leads(a) for d, a in zip(rules, expr.args))
        if not isinstance(expr, Load):
            return False
        return not isinstance(expr.source, Input) or expr.source in self.gradients.wanted

    def store(self, load: Load, total: Name) -> None:
        """Add to the gradient of a number, or write it."""
        axes, own = self.forward.axes, load.rows == "edge"
        depth = nesting(load, axes)
        if load.rows == "node":
            own = not self.forward.edges
        once = own and load.axes.issuperset(axes[:depth])
        onto = self.gradients.adds(load, axes[:depth] if once else None)
        over = axes[depth:]
        merge = "sum" if onto or over else None
        self.body.append(Assign(load.gradient, total, merge, over, onto))
