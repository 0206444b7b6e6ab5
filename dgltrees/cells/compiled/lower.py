"""From the operations of a trace to a loop program for one node and its children.

Operations that do not depend on the children are computed by torch, for all nodes at once, before
the traversal.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from math import prod
from operator import attrgetter
from typing import Any

import torch
from torch import Tensor, fx

from dgltrees.cells.compiled import rules_numbers, rules_shapes  # noqa: F401  (they register their rules)
from dgltrees.cells.compiled.emit import HEAVY, OPERATORS, Emitter
from dgltrees.cells.compiled.loops import (
    CHILDREN,
    NODES,
    OPERATIONS,
    SLOT,
    Axis,
    Buffer,
    CompileError,
    Const,
    Degree,
    Expr,
    Key,
    Load,
    Op,
    Phase,
    Program,
    by_edge,
    operations,
    row_major,
)
from dgltrees.cells.compiled.schedule import fused, without_unread
from dgltrees.cells.compiled.trace import Trace
from dgltrees.cells.compiled.values import Value

aten = torch.ops.aten
_OF_EDGES = frozenset(["state", "child", "edge", "mask"])
_BY_SIZES = (
    "view _unsafe_view reshape expand zeros ones full new_zeros new_ones new_full index_add "
    "split_with_sizes"
)
_RAW = frozenset(["slice.Tensor", *(f"{name}.default" for name in _BY_SIZES.split())])
"""Operations whose arguments are sizes, which say nothing that the shape of the result does not, or
indices."""
_OF_INTEGERS = frozenset(["max.dim", "min.dim", "arange.start_step", "sum.dim_IntList"])
"""Operations whose results, or some of them, may be integers."""
LONGEST = 16
"""The most operations that are computed again wherever their result is read."""


def lower(
    traces: Mapping[Phase, Trace], names: Mapping[int, Key], arity: int | None = None
) -> Program:
    """Lower traces to a program."""
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
    without_unread(program)
    program.steps = {phase: fused(steps) for phase, steps in program.steps.items()}
    return program


class Hoisted:
    """The operations of a trace that do not depend on the children.

    Operations only on parameters, and products with the inputs, are computed before the traversal.

    Arguments:
        program: the program that receives these calls.
        trace: the operations.
        names: the keys of parameters and buffers, by the ids of the tensors.
        all_nodes: whether the operations are those of all nodes; products with the inputs of only
            some nodes are not computed before.

    Attributes:
        kinds: the kind and the name of each placeholder.
        nodes: the nodes that torch computes.
    """

    def __init__(
        self, program: Program, trace: Trace, names: Mapping[int, Key], all_nodes: bool = True
    ) -> None:
        self.program, self.trace, self.names, self.all_nodes = program, trace, names, all_nodes
        places = [n for n in trace.module.graph.nodes if n.op == "placeholder"]
        self.kinds = dict(zip(places, trace.inputs))
        self.nodes = self._eager()

    def _eager(self) -> set[fx.Node]:
        """Return the nodes that torch computes for all nodes at once, before the traversal."""
        free: set[fx.Node] = set()  # of the states
        fixed: set[fx.Node] = set()  # of the inputs, too
        *nodes, _ = self.trace.module.graph.nodes
        for node in nodes:
            arguments = node.all_input_nodes
            if "by_type" in node.meta or node.target is aten.bernoulli.default:
                continue
            if node.op == "get_attr":
                free.add(node)
                fixed.add(node)
            elif node.op == "placeholder":
                if self.kinds[node][0] == "node" and self.all_nodes:
                    free.add(node)
            elif all(n in free for n in arguments) and not self.counts(node, child=True):
                free.add(node)
                if all(n in fixed for n in arguments) and not self.counts(node, child=False):
                    fixed.add(node)
        calls = [n for n in nodes if n in free and n.op == "call_function"]
        easy, eager = OPERATORS.keys() - HEAVY, set(fixed)
        stack = [n for n in calls if name_of(n) not in easy and n.target is not operator.getitem]
        while stack:
            node = stack.pop()
            if node not in eager:
                eager.add(node)
                stack.extend(node.all_input_nodes)
        return eager

    def counts(self, node: fx.Node, child: bool) -> bool:
        """Return whether a size of a result counts nodes, or children."""
        shapes = [t.shape for t in tensors_of(node)]
        factors = [self.trace.sizes.factors(size) for shape in shapes for size in shape]
        return any(f is not None and f[1 if child else 0] for f in factors)

    def key(self, node: fx.Node) -> Key:
        """Return the key of a result that torch computes before."""
        if node.op == "placeholder":
            return ("field", self.kinds[node][1])
        if node.op == "get_attr":
            tensor = attrgetter(str(node.target))(self.trace.module)
            if id(tensor) not in self.names:
                raise CompileError(
                    "it reads a tensor that is not a parameter or buffer of the cell", node
                )
            return self.names[id(tensor)]
        by_node = [self.counts(each, child=False) for each in node.all_input_nodes]
        if any(by_node) and not self.counts(node, child=False) and "new_" not in name_of(node):
            raise CompileError("it computes across nodes", node)
        args = tuple(self._argument(arg) for arg in node.args)
        kwargs = {name: self._argument(arg) for name, arg in node.kwargs.items()}
        return self.program.call(node.target, args, kwargs)

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, fx.Node):
            return self.key(arg)
        if isinstance(arg, (list, tuple)):
            return [self._argument(each) for each in arg]
        factors = self.trace.sizes.factors(arg)
        if factors is not None and factors[0]:
            return ("rows", factors[2])
        return arg


def name_of(node: fx.Node) -> str:
    """Return the name of an operation, such as ``"mm.default"``; empty for anything else."""
    return str(node.target).partition(".")[2] if node.op == "call_function" else ""


def tensors_of(node: fx.Node) -> list[Tensor]:
    """Return the results of an operation."""
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return [each for each in values if isinstance(each, Tensor)]


class Lowering(Emitter):
    """The lowering of one trace to statements."""

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
            if self._target.get(node) != name:
                self._store_state(name, self.value(node))

    # Values.

    def value(self, node: Any) -> Any:
        """Return the value of a node of the graph, or of a number."""
        if isinstance(node, (list, tuple)):
            return [self.value(each) for each in node]
        if not isinstance(node, fx.Node):
            return self.number(node)
        known = self.values.get(node)
        if known is None:
            known = self.values[node] = self._source(node)
        return known

    def number(self, number: Any) -> Any:
        """Return a number of the trace, which may be that of children."""
        factors = self.sizes.factors(number)
        if factors is not None and factors[0]:
            raise CompileError("it computes with the number of nodes")
        if factors is not None and factors[1]:
            return Value(_times(Degree(), factors[2]), ())
        return number

    def _source(self, node: fx.Node) -> Value:
        """Return the value of an input of the statements."""
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
        if kind == "ids":
            raise CompileError("it reads the numbers of nodes or edges", node)
        if meta.dtype not in (torch.float32, torch.float64, torch.bool):
            raise CompileError(f"it computes with a field of {meta.dtype}", node)
        load: Expr
        if kind == "mask":
            load = Const(1.0)
        elif kind == "state":
            load = Load(self.program.states[name][0], "child", 0, strides)
        elif kind == "edge":
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
                    raise CompileError("it computes across nodes", node)
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
        """Copy the messages of the children to the row of the node, by slot, zeros if empty."""
        own = [a for dim in dims for a in dim if a.size > 0]
        target = self.new_target("node", own)
        slot = (SLOT, prod(axis.size for axis in axes))
        at = Load(target.source, "node", 0, (slot, *row_major(axes)))
        if isinstance(expr, Load) and expr.source in self.program.empty:
            self.program.gathered.add(target.source)
        self.assign(at, axes, expr, merge="sum", children=True)
        return Value(target, dims)

    def _of_type(self, node: fx.Node) -> Value:
        """Return the parameter of the type of a node."""
        (base,) = node.all_input_nodes
        if base not in self.hoisted.nodes:
            raise CompileError("it selects by type from a tensor that is not a parameter", node)
        types, *shape = base.meta["val"].shape
        if self.program.types not in (0, types):
            raise CompileError(f"it has parameters of {self.program.types} and {types} types", node)
        self.program.types = types
        self.program.leaf_types |= self.phase.rows == "leaf"
        dims = self.dims(node.meta["val"].shape)
        source = self.program.input(self.hoisted.key(base), "type", prod(shape))
        return Value(Load(source, "type", 0, row_major([a for dim in dims for a in dim])), dims)

    def noise(self, node: fx.Node, mean: float) -> Value:
        """Return random numbers that are drawn before the traversal."""
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
            raise CompileError(f"the compiler does not support {name}", node)
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
        if not isinstance(expr, Op) or OPERATIONS[expr.name].is_bool:
            return value
        size = operations(expr)
        shared = size > 1 and sum(1 for user in node.users) > 1
        if OPERATIONS[expr.name].costly or shared or size > LONGEST:
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
        self.assign(target, axes, value.expr)
        return Value(target, value.dims)


def _times(expr: Expr, factor: int) -> Expr:
    return expr if factor == 1 else Op("mul", (expr, Const(float(factor))))


def _behind_views(node: fx.Node) -> fx.Node:
    while name_of(node) == "alias.default":
        (node,) = node.all_input_nodes
    return node
