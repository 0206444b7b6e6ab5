"""From the operations of a trace to statements about one node and its children."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor, fx

from dgltrees.cells.compiled.compiler.emit import Emitter
from dgltrees.cells.compiled.compiler.expressions import (
    CHILDREN,
    NODES,
    SLOT,
    Axis,
    Buffer,
    Const,
    Degree,
    Expr,
    Load,
    Op,
    Value,
    as_number,
    by_edge,
    loads,
    operations,
    row_major,
)
from dgltrees.cells.compiled.compiler.hoisting import Hoisted, name_of, tensors_of
from dgltrees.cells.compiled.compiler.operators import OPERATORS
from dgltrees.cells.compiled.compiler.reasons import CompileError
from dgltrees.cells.compiled.compiler.scalar import RULES
from dgltrees.cells.compiled.compiler.statements import (
    Key,
    Phase,
    Product,
    Program,
    Statement,
    Step,
)
from dgltrees.cells.compiled.compiler.trace import Trace

__all__ = ["Lowering", "lower"]

aten = torch.ops.aten
_OF_EDGES = frozenset(["state", "child", "edge", "mask"])
_RAW = frozenset(
    [
        "slice.Tensor",
        *(
            f"{name}.default"
            for name in (
                *("view", "_unsafe_view", "reshape", "expand", "zeros", "ones", "full"),
                *("new_zeros", "new_ones", "new_full", "index_add", "split_with_sizes"),
            )
        ),
    ]
)
"""Operations whose arguments are sizes, which say nothing that the shape of the result does not, or
indices."""
_OF_INTEGERS = frozenset(["max.dim", "min.dim", "arange.start_step", "sum.dim_IntList"])
"""Operations whose results, or some of them, may be integers."""
LONGEST = 16
"""The most operations that are computed again wherever their result is read."""


def lower(
    traces: Mapping[Phase, Trace], names: Mapping[int, Key], arity: int | None = None
) -> Program:
    """The program of some traces.

    Arguments:
        traces: those of leaves, then those of other nodes.
        names: the keys of parameters and buffers, by the ids of the tensors.
        arity: the width of each mailbox, if it is the same everywhere.

    Raises:
        CompileError: there is no rule for an operation.
    """
    program = Program(arity)
    first, *_ = traces.values()
    for name, shape in first.shapes().items():
        program.states[name] = program.buffer("node", prod(shape)), shape
    program.empty = {buffer for buffer, _ in program.states.values()}
    for phase, trace in traces.items():
        program.steps[phase] = []
        lowering = Lowering(program, phase, trace, names)
        lowering.run()
        if phase.rows == "leaf":
            program.empty &= lowering.empty
        if phase.kind is not None:
            program.types = max(program.types, phase.kind + 1)
            program.leaf_types |= phase.rows == "leaf"
    _leave_out(program)
    return program


def _leave_out(program: Program) -> None:
    """Leave out steps whose results nobody reads."""
    states = {buffer for buffer, _ in program.states.values()}
    while True:
        steps = [step for some in program.steps.values() for step in some]
        read = states.union(*(map(_source_of, _read(step)) for step in steps))
        if all(step.target.source in read for step in steps):
            return
        for some in program.steps.values():
            some[:] = [step for step in some if step.target.source in read]


def _source_of(load: Load) -> Any:
    return load.source


def _read(step: Step) -> list[Load]:
    return [step.x] if isinstance(step, Product) else list(loads(step.expr))


class Lowering(Emitter):
    """Turns one trace into statements."""

    def __init__(
        self, program: Program, phase: Phase, trace: Trace, names: Mapping[int, Key]
    ) -> None:
        super().__init__(program, phase, trace.sizes)
        self.trace, self.names, self.arity, self.draws = trace, names, program.arity, 0
        self.empty: set[Buffer] = set()  # the states that are zero
        self.values: dict[fx.Node, Any] = {}
        self.nodes = list(trace.module.graph.nodes)
        dtypes = {t.dtype for n in self.nodes for t in tensors_of(n) if t.is_floating_point()}
        if len(dtypes) > 1:
            raise CompileError(f"it computes with several dtypes: {sorted(map(str, dtypes))}")
        program.dtype = dtypes.pop() if dtypes else program.dtype
        self.hoisted = Hoisted(program, trace, names, phase.kind is None)
        self._target: dict[fx.Node, str] = {}
        (results,) = self.nodes[-1].args
        self.results = dict(zip(trace.outputs, map(_behind_views, results)))

    def run(self) -> None:
        """Lower all nodes, and store the results as states."""
        for node in self.nodes[:-1]:
            if node.op == "call_function" and node not in self.hoisted.nodes and node.users:
                self._lower(node)
        for name, node in self.results.items():
            value = self.value(node)
            if value is not self._stored(name, node):
                self._store_state(name, value)

    def _stored(self, name: str, node: fx.Node) -> Any:
        return self.values[node] if self._target.get(node) == name else None

    # Values.

    def value(self, node: Any) -> Any:
        """The value of a node of the graph, or of a number."""
        if isinstance(node, (list, tuple)):
            return [self.value(each) for each in node]
        if not isinstance(node, fx.Node):
            return self.number(node)
        known = self.values.get(node)
        if known is None:
            known = self.values[node] = self._source(node)
        return known

    def number(self, number: Any) -> Any:
        """A number of the trace, which may be that of children."""
        factors = self.sizes.factors(number)
        if factors is not None and factors[0]:
            raise CompileError("it computes with the number of nodes")
        if factors is not None and factors[1]:
            return Value(_times(Degree(), factors[2]), ())
        return number

    def _source(self, node: fx.Node) -> Value:
        """The value of an input of the statements."""
        kind, name = self.hoisted.kinds.get(node, ("node", ""))
        meta = node.meta["val"]
        if not isinstance(meta, Tensor):
            raise CompileError("it uses several results of an operation", node)
        dims = self.dims(meta.shape)
        axes = [a for dim in dims for a in dim if a.size > 0]
        strides, width = row_major(axes), prod(axis.size for axis in axes)
        slots = self.arity or 0 if kind in _OF_EDGES else 0
        if slots:  # from the row of each child, or edge, to the row of the node
            width //= slots
            own = axes[slots > 1 :]
            strides = row_major(own)
        if kind == "mask":
            value = self._gathered(Const(1.0), (), dims)
            return Value(Op("ne", (value.expr, Const(0.0))), dims)
        if kind == "state":
            load = Load(self.program.states[name][0], "child", 0, strides)
            return self._gathered(load, own, dims) if slots else Value(load, dims)
        if kind == "ids":
            raise CompileError("it reads the numbers of nodes or edges", node)
        if meta.dtype not in (torch.float32, torch.float64, torch.bool):
            raise CompileError(f"it computes with a field of {meta.dtype}", node)
        if kind == "edge":
            load = Load(self.program.input(("edge", name), "edge", width), "edge", 0, strides)
        elif kind == "child":
            key = ("field", name)
            load = Load(self.program.input(key, "node", width), "child", 0, strides)
        else:
            key, rows = self.hoisted.key(node), "none"
            counted = [i for i, dim in enumerate(dims) if NODES in dim]
            if counted:
                (place,), rows = counted, "node"
                if dims[place][0] is not NODES:
                    raise CompileError("it computes something of all nodes together", node)
                if any(dims[:place]):
                    order = [place, *(i for i in range(len(dims)) if i != place)]
                    key = self.program.call(aten.permute.default, (key, order), {})
                    moved = [a for i in order for a in dims[i] if a.size > 0]
                    strides = row_major(moved)
            load = Load(self.program.input(key, rows, width), rows, 0, strides)
        value = self._gathered(load, own, dims) if slots else Value(load, dims)
        if meta.dtype is torch.bool:
            return Value(Op("ne", (value.expr, Const(0.0))), dims)
        return value

    def _gathered(
        self, expr: Expr, axes: Sequence[Axis], dims: tuple[tuple[Axis, ...], ...]
    ) -> Value:
        """What each child sends, in the row of the node: by slot, zeros where there is no child."""
        own = [a for dim in dims for a in dim if a.size > 0]
        target = self.new_target("node", own)
        slot = (SLOT, prod(axis.size for axis in axes))
        at = Load(target.source, "node", 0, (slot, *row_major(axes)))
        if isinstance(expr, Load) and expr.source in self.program.empty:
            self.program.gathered.add(target.source)
        self.emit(Statement(at, tuple(axes), expr, "sum", (), True))
        return Value(target, dims)

    def _of_type(self, node: fx.Node) -> Value:
        """The parameter of the type of a node."""
        (base,) = node.all_input_nodes
        if base not in self.hoisted.nodes:
            raise CompileError("it picks by the type from what is no parameter", node)
        types, *shape = base.meta["val"].shape
        if self.program.types not in (0, types):
            raise CompileError(f"it has parameters of {self.program.types} and {types} types", node)
        self.program.types = types
        self.program.leaf_types |= self.phase.rows == "leaf"
        dims = self.dims(node.meta["val"].shape)
        source = self.program.input(self.hoisted.key(base), "type", prod(shape))
        return Value(Load(source, "type", 0, row_major([a for dim in dims for a in dim])), dims)

    def noise(self, node: fx.Node, mean: float) -> Value:
        """Random numbers that are drawn before the traversal."""
        dims = self.dims(node.meta["val"].shape)
        counted = {axis for dim in dims for axis in dim if axis.size < 0}
        if NODES not in counted:
            raise CompileError("it draws the same random numbers for several nodes", node)
        axes = [a for dim in dims for a in dim if a.size > 0]
        rows, width = "edge" if CHILDREN in counted else "node", prod(a.size for a in axes)
        key = ("noise", mean, rows, width, self.draws)
        self.draws += 1
        return Value(Load(self.program.input(key, rows, width), rows, 0, row_major(axes)), dims)

    # Operations.

    def _lower(self, node: fx.Node) -> None:
        if node.target is operator.getitem:
            source, index = node.args
            self.values[node] = self.value(source)[index]
            return
        if "by_type" in node.meta:
            self.values[node] = self._of_type(node)
            return
        name = name_of(node)
        rule = OPERATORS.get(name)
        if rule is None:
            raise CompileError(f"there is no rule for {name}", node)
        for tensor in tensors_of(node):
            known = tensor.dtype in (torch.float32, torch.float64, torch.bool)
            if not known and name not in _OF_INTEGERS:
                raise CompileError(f"it computes with {tensor.dtype}", node)
        try:
            args = [self.value(arg) for arg in node.args] if name not in _RAW else list(node.args)
            value = rule(self, node, *args, **node.kwargs)
        except CompileError as error:
            raise error if error.place else CompileError(error.reason, node) from None
        self.values[node] = self._finished(node, value)

    def _finished(self, node: fx.Node, value: Any) -> Any:
        if not isinstance(value, Value):
            return value
        for name, result in self.results.items():
            if result is node and node not in self._target and isinstance(value.expr, Op):
                self._target[node] = name
                return self._store_state(name, value)
        expr = value.expr
        if not isinstance(expr, Op) or RULES[expr.name].is_bool:
            return value
        size = operations(expr)
        shared = size > 1 and sum(1 for user in node.users) > 1
        if RULES[expr.name].costly or shared or size > LONGEST:
            return self.stored(value)
        return value

    def _store_state(self, name: str, value: Value) -> Value:
        buffer, _ = self.program.states[name]
        if not value.dims or value.dims[0] != (NODES,) or by_edge(value.expr):
            raise CompileError(f"its state {name!r} is not a row for each node")
        if value.expr == Const(0.0):
            self.empty.add(buffer)
        axes = value.axes
        target = Load(buffer, "node", 0, row_major(axes))
        self.emit(Statement(target, tuple(axes), as_number(value.expr)))
        return Value(target, value.dims)


def _times(expr: Expr, factor: int) -> Expr:
    return expr if factor == 1 else Op("mul", (expr, Const(float(factor))))


def _behind_views(node: fx.Node) -> fx.Node:
    while name_of(node) == "alias.default":
        (node,) = node.all_input_nodes
    return node
