"""From the operations of a trace to statements about one node and its children."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product as combinations
from math import prod
from typing import Any, Optional

import torch
from torch import Tensor, fx

from dgltrees.cells.compiled.compiler.expressions import (
    CHILDREN,
    NODES,
    Axis,
    Buffer,
    Const,
    Degree,
    Expr,
    Input,
    Load,
    Op,
    Product,
    Statement,
    Step,
    Value,
    aligned,
    as_number,
    by_edge,
    loads,
    operations,
    row_major,
)
from dgltrees.cells.compiled.compiler.operators import HEAVY, OPERATORS
from dgltrees.cells.compiled.compiler.reasons import CompileError
from dgltrees.cells.compiled.compiler.scalar import RULES
from dgltrees.cells.compiled.compiler.trace import Trace

__all__ = ["Lowering", "Program", "lower"]

Key = tuple[Any, ...]
_RAW = frozenset(["view.default", "_unsafe_view.default", "expand.default", "new_zeros.default"])
"""Operations whose arguments are sizes, which say nothing that the shape of the result does not."""
LONGEST = 16
"""The most operations that are computed again wherever their result is read."""


@dataclass
class Program:
    """What to compute for a node, and what to compute before by torch.

    Attributes:
        before: calls of torch whose results are inputs, in order: for each key the function and its
            arguments, which may be keys.
        inputs: the inputs by the keys of what they hold.
        states: the buffers of the states.
        buffers: all buffers.
        steps: what is done for leaves, for other nodes, and then for all (``"send"``).
    """

    before: dict[Key, tuple[Any, tuple[Any, ...], Mapping[str, Any]]] = field(default_factory=dict)
    inputs: dict[Key, Input] = field(default_factory=dict)
    states: dict[str, tuple[Buffer, tuple[int, ...]]] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    steps: dict[str, list[Step]] = field(
        default_factory=lambda: {"leaf": [], "inner": [], "send": []}
    )

    def buffer(self, rows: str, width: int) -> Buffer:
        """A new buffer."""
        self.buffers.append(Buffer(len(self.buffers), rows, width))
        return self.buffers[-1]

    def input(self, key: Key, rows: str, width: int) -> Input:
        """The input that holds the tensor of a key."""
        if key not in self.inputs:
            self.inputs[key] = Input(len(self.inputs), rows, width)
        return self.inputs[key]


def lower(leaf: Trace, inner: Trace, names: Mapping[int, Key]) -> Program:
    """The program of two traces.

    Arguments:
        leaf, inner: the traces.
        names: the keys of parameters and buffers, by the ids of the tensors.

    Raises:
        CompileError: there is no rule for an operation.
    """
    program = Program()
    for name, shape in leaf.shapes().items():
        program.states[name] = program.buffer("node", prod(shape)), shape
    for phase, trace in (("leaf", leaf), ("inner", inner)):
        Lowering(program, phase, trace, names).run()
    return program


class Lowering:
    """Turns one trace into statements."""

    def __init__(
        self, program: Program, phase: str, trace: Trace, names: Mapping[int, Key]
    ) -> None:
        self.program, self.phase, self.trace, self.names = program, phase, trace, names
        self.values: dict[fx.Node, Any] = {}
        self.nodes = list(trace.module.graph.nodes)
        dtypes = {t.dtype for n in self.nodes for t in _tensors(n) if t.is_floating_point()}
        if len(dtypes) > 1:
            raise CompileError(f"it computes with several dtypes: {sorted(map(str, dtypes))}")
        self.eager = self._hoisted()
        (results,) = self.nodes[-1].args
        self.results = dict(zip(trace.outputs, map(_behind_views, results)))

    def run(self) -> None:
        """Lower all nodes, and store the results as states."""
        for node in self.nodes[:-1]:
            if node.op == "call_function" and node not in self.eager and node.users:
                self._lower(node)
        for name, node in self.results.items():
            value = self.value(node)
            if value is not self._stored(name, node):
                self._store_state(name, value)

    def _stored(self, name: str, node: fx.Node) -> Any:
        return self.values[node] if self._target.get(node) == name else None

    # What torch computes before.

    def _hoisted(self) -> set[fx.Node]:
        """The nodes that torch computes for all nodes at once, before the traversal."""
        free: set[fx.Node] = set()  # of the states
        fixed: set[fx.Node] = set()  # of the inputs, too
        kinds = dict(zip([n for n in self.nodes if n.op == "placeholder"], self.trace.inputs))
        for node in self.nodes[:-1]:
            arguments = node.all_input_nodes
            if node.op == "get_attr":
                free.add(node)
                fixed.add(node)
            elif node.op == "placeholder":
                if kinds[node][0] == "node":
                    free.add(node)
                    self.values[node] = None
            elif all(n in free for n in arguments) and not self._counts(node, child=True):
                free.add(node)
                if all(n in fixed for n in arguments) and not self._counts(node, child=False):
                    fixed.add(node)
        calls = [n for n in self.nodes if n in free and n.op == "call_function"]
        easy = OPERATORS.keys() - HEAVY
        eager, stack = (
            set(fixed),
            [n for n in calls if _name(n) not in easy and n.target is not operator.getitem],
        )
        while stack:
            node = stack.pop()
            if node not in eager:
                eager.add(node)
                stack.extend(node.all_input_nodes)
        self.kinds = kinds
        self._target: dict[fx.Node, str] = {}
        return eager

    def _counts(self, node: fx.Node, child: bool) -> bool:
        """Whether a size of a result counts nodes, or children."""
        shapes = [t.shape for t in _tensors(node)]
        factors = [self.trace.sizes.factors(size) for shape in shapes for size in shape]
        return any(f is not None and f[1 if child else 0] for f in factors)

    def key(self, node: fx.Node) -> Key:
        """The key of what torch computes before."""
        if node.op == "placeholder":
            return ("field", self.kinds[node][1])
        if node.op == "get_attr":
            tensor = _attribute(self.trace.module, str(node.target))
            if id(tensor) not in self.names:
                raise CompileError(
                    "it reads a tensor that is no parameter or buffer of the cell", node
                )
            return self.names[id(tensor)]
        by_node = [self._counts(each, child=False) for each in node.all_input_nodes]
        if any(by_node) and not self._counts(node, child=False):
            raise CompileError("it computes something of all nodes together", node)
        args = tuple(self._argument(arg) for arg in node.args)
        kwargs = {name: self._argument(arg) for name, arg in node.kwargs.items()}
        key = ("call", str(node.target), repr(args), repr(sorted(kwargs.items())))
        self.program.before.setdefault(key, (node.target, args, kwargs))
        return key

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, fx.Node):
            return self.key(arg)
        if isinstance(arg, (list, tuple)):
            return [self._argument(each) for each in arg]
        factors = self.trace.sizes.factors(arg)
        if factors is not None and factors[0]:
            return ("rows", factors[2])
        return arg

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
        factors = self.trace.sizes.factors(number)
        if factors is not None and factors[0]:
            raise CompileError("it computes with the number of nodes")
        if factors is not None and factors[1]:
            return Value(_times(Degree(), factors[2]), ())
        return number

    def _source(self, node: fx.Node) -> Value:
        """The value of an input of the statements."""
        kind, name = self.kinds.get(node, ("node", ""))
        meta = node.meta["val"]
        if not isinstance(meta, Tensor):
            raise CompileError("it uses several results of an operation", node)
        dims = self.dims(meta.shape)
        axes = [a for dim in dims for a in dim if a.size > 0]
        strides, width = row_major(axes), prod(axis.size for axis in axes)
        if kind == "state":
            return Value(Load(self.program.states[name][0], "child", 0, strides), dims)
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
            rows = "node" if dims and dims[0] == (NODES,) else "none"
            if any(axis.size < 0 for dim in dims[rows == "node" :] for axis in dim):
                raise CompileError("it computes something of all nodes together", node)
            load = Load(self.program.input(self.key(node), rows, width), rows, 0, strides)
        if meta.dtype is torch.bool:
            return Value(Op("ne", (load, Const(0.0))), dims)
        return Value(load, dims)

    def dims(self, shape: Sequence[int]) -> tuple[tuple[Axis, ...], ...]:
        """New axes for a shape of the trace."""
        dims = []
        for size in shape:
            by_node, by_child, rest = self.factors(size)
            rows = (NODES,) * by_node + (CHILDREN,) * by_child
            dims.append(rows + ((Axis(rest),) if rest > 1 else ()))
        return tuple(dims)

    def factors(self, size: int) -> tuple[bool, bool, int]:
        """What a size counts."""
        factors = self.trace.sizes.factors(size)
        if factors is None:
            raise CompileError("it makes an empty tensor")
        return factors

    # Operations.

    def _lower(self, node: fx.Node) -> None:
        if node.target is operator.getitem:
            source, index = node.args
            self.values[node] = self.value(source)[index]
            return
        name = _name(node)
        rule = OPERATORS.get(name)
        if rule is None:
            raise CompileError(f"there is no rule for {name}", node)
        for tensor in _tensors(node):
            known = tensor.dtype in (torch.float32, torch.float64, torch.bool)
            if not known and name not in ("max.dim", "min.dim", "arange.start_step"):
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
        axes = value.axes
        target = Load(buffer, "node", 0, row_major(axes))
        self.emit(Statement(target, tuple(axes), as_number(value.expr)))
        return Value(target, value.dims)

    def emit(self, step: Step, phase: Optional[str] = None) -> None:
        """Append a step."""
        self.program.steps[phase or self.phase].append(step)

    def place(self, expr: Expr) -> tuple[str, str, Expr]:
        """Where to store an expression: phase, rows, and the expression there.

        What depends on one child alone is computed once, where the child is.
        """
        if not by_edge(expr):
            return self.phase, "node", expr
        if _of_child_alone(expr):
            return "send", "node", _at_child(expr)
        return self.phase, "edge", expr

    def stored(self, value: Value, axes: Optional[Sequence[Axis]] = None) -> Value:
        """A value that is stored, and read where it is used."""
        phase, rows, expr = self.place(value.expr)
        used = {axis for load in loads(expr) for axis, stride in load.strides if stride}
        kept = tuple(axes) if axes is not None else tuple(a for a in value.axes if a in used)
        target = self.new_target(rows, kept)
        self.emit(Statement(target, kept, as_number(expr)), phase)
        return Value(_seen(target, phase), value.dims)

    def new_target(self, rows: str, axes: Sequence[Axis]) -> Load:
        """A new buffer for these axes."""
        width = prod(axis.size for axis in axes)
        return Load(self.program.buffer(rows, width), rows, 0, row_major(axes))

    def apply(self, name: str, *operands: Any) -> Value:
        """An operation on values and numbers, broadcast together."""
        values = [o if isinstance(o, Value) else Value(Const(float(o)), ()) for o in operands]
        exprs, dims = aligned(values)
        if not (RULES[name].is_bool and name not in ("and", "or", "not")) and name != "number":
            first = name == "where"
            boolean = name in ("and", "or", "not")
            exprs = [
                e if boolean or (first and i == 0) else as_number(e) for i, e in enumerate(exprs)
            ]
        return Value(Op(name, tuple(exprs)), dims)

    def reduce(self, kind: str, value: Value, dims: Sequence[int], keepdim: bool) -> Value:
        """A sum, maximum or minimum over dimensions."""
        rank = len(value.dims)
        places = {dim % rank for dim in dims} if rank else set()
        over = [axis for place in places for axis in value.dims[place]]
        rest = [() if i in places else dim for i, dim in enumerate(value.dims)]
        out = tuple(rest) if keepdim else tuple(d for i, d in enumerate(rest) if i not in places)
        if NODES in over:
            raise CompileError("it computes something of all nodes of a level together")
        expr = as_number(value.expr)
        used = {axis for load in loads(expr) for axis, stride in load.strides if stride}
        children = CHILDREN in over
        count: Expr = Const(float(prod(a.size for a in over if a.size > 0 and a not in used)))
        inner = tuple(a for a in over if a.size > 0 and a in used)
        if children and not by_edge(expr):
            count, children = Op("mul", (count, Degree())), False
        if not children and not inner:
            same = expr if kind != "sum" or count == Const(1.0) else Op("mul", (expr, count))
            return Value(same, out)
        phase, rows, expr = self.place(expr) if not children else (self.phase, "node", expr)
        kept = tuple(a for dim in out for a in dim if a.size > 0 and a in used)
        target = self.new_target(rows, kept)
        self.emit(Statement(target, kept, expr, kind, inner, children), phase)
        result: Expr = _seen(target, phase)
        if kind == "sum" and count != Const(1.0):
            result = Op("mul", (result, count))
        return Value(result, out)

    def product(self, x: Value, weight: Value) -> Value:
        """``x W`` for a parameter W: the last dimension of x, the first of the weight."""
        source = weight.expr
        if not isinstance(source, Load) or not isinstance(source.source, Input):
            raise CompileError("it multiplies two matrices of the same node")
        k, m = (prod(axis.size for axis in dim) for dim in weight.dims)
        if source.offset or dict(source.strides) != dict(row_major(weight.axes)):
            raise CompileError("it multiplies by a part of a parameter")
        columns = list(x.dims[-1])
        extra = [a for dim in x.dims[:-1] for a in dim if a.size > 0]
        phase, rows, expr = self.place(x.expr)
        load = expr
        if not _is_matrix(load, columns):
            stored = self.stored(x, [*extra, *columns])
            load = stored.expr
            assert isinstance(load, Load)
            load = Load(load.source, rows, load.offset, load.strides)
        assert isinstance(load, Load)
        outputs = (Axis(m),) if m > 1 else ()
        used = [a for a in extra if dict(load.strides).get(a, 0)]
        target = self.new_target(rows, [*used, *outputs])
        parts = tuple(
            (
                sum(i * dict(load.strides)[a] for i, a in zip(index, used)),
                sum(i * dict(target.strides)[a] for i, a in zip(index, used)),
            )
            for index in combinations(*(range(a.size) for a in used))
        )
        at = Load(load.source, load.rows, load.offset, ())
        self.emit(Product(target, at, source.source, (k, m), parts), phase)
        return Value(_seen(target, phase), (*x.dims[:-1], outputs))


def _of_child_alone(expr: Expr) -> bool:
    if isinstance(expr, Op):
        return all(map(_of_child_alone, expr.args))
    return isinstance(expr, Const) or (isinstance(expr, Load) and expr.rows in ("child", "none"))


def _at_child(expr: Expr) -> Expr:
    if isinstance(expr, Op):
        return Op(expr.name, tuple(map(_at_child, expr.args)))
    if isinstance(expr, Load) and expr.rows == "child":
        return Load(expr.source, "node", expr.offset, expr.strides)
    return expr


def _seen(target: Load, phase: str) -> Load:
    """What is stored, as the parent sees it."""
    if phase != "send":
        return target
    return Load(target.source, "child", target.offset, target.strides)


def _is_matrix(expr: Expr, columns: Sequence[Axis]) -> bool:
    """Whether columns of a buffer are read as they stand."""
    if not isinstance(expr, Load) or not isinstance(expr.source, Buffer):
        return False
    strides = dict(expr.strides)
    return all(strides.get(axis) == stride for axis, stride in row_major(columns))


def _times(expr: Expr, factor: int) -> Expr:
    return expr if factor == 1 else Op("mul", (expr, Const(float(factor))))


def _behind_views(node: fx.Node) -> fx.Node:
    while _name(node) == "alias.default":
        (node,) = node.all_input_nodes
    return node


def _name(node: fx.Node) -> str:
    return str(node.target).partition(".")[2] if node.op == "call_function" else ""


def _tensors(node: fx.Node) -> list[Tensor]:
    value = node.meta.get("val")
    values = value if isinstance(value, (list, tuple)) else [value]
    return [each for each in values if isinstance(each, Tensor)]


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module
