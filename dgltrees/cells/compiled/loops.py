"""The loop program: what compiled code does for the nodes of a level, as data.

An expression is one number, computed from loads of tables. An :class:`Assign` stores an expression
at an index; a :class:`Nest` is a list of these in loops over nodes, or edges, and over axes; a
:class:`Product` is a matrix product over all rows of a level. A :class:`Program` has a list of
nests and products for leaves, one for other nodes, and one for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import torch


class CompileError(Exception):
    """The error for a cell whose functions the compiler does not support.

    Arguments:
        reason: what it is, as the end of a sentence.
        node: the node of the traced graph, which knows its line in the cell.
    """

    def __init__(self, reason: str, node: Any | None = None) -> None:
        self.reason = reason
        self.place: str = getattr(node, "meta", {}).get("place") or ""
        super().__init__(f"{reason} ({self.place})" if self.place else reason)


# Where numbers are.


@dataclass(frozen=True, eq=False)
class Axis:
    """An index that runs from 0 to ``size`` - 1."""

    size: int


NODES, CHILDREN, SLOT = Axis(-1), Axis(-2), Axis(-3)
"""The axes of the nodes of a level, and of the children of each; and in a loop over children the
slot of the child, as an index into a row of its parent."""


@dataclass(frozen=True, eq=False)
class Input:
    """An input tensor with a row per ``"node"``, ``"edge"`` or ``"type"``; ``"none"``: one row."""

    number: int
    rows: str
    width: int


@dataclass(frozen=True, eq=False)
class Lookup(Axis):
    """An index that is read from a table of numbers, at the index ``of``; only for sums."""

    table: Input
    of: Axis


@dataclass(frozen=True, eq=False)
class Buffer:
    """Columns of the table of all nodes, or (``"edge"``) of that of all edges."""

    number: int
    rows: str
    width: int


class Gradient(NamedTuple):
    """The gradients of the numbers of a buffer or an input."""

    of: Buffer | Input


# Numbers.


class Expr:
    """A number; sums, differences, products and quotients of these are expressions too."""

    def __add__(self, other: Expr) -> Op:
        return Op("add", (self, other))

    def __sub__(self, other: Expr) -> Op:
        return Op("sub", (self, other))

    def __mul__(self, other: Expr) -> Op:
        return Op("mul", (self, other))

    def __truediv__(self, other: Expr) -> Op:
        return Op("div", (self, other))

    def __neg__(self) -> Op:
        return Op("neg", (self,))


Index = tuple[int, tuple[tuple[Axis, int], ...]]
"""A number and multiples of axes, whose sum is an index."""


@dataclass(frozen=True)
class Load(Expr):
    """A number of a buffer, an input or a gradient, at ``offset`` + the sum of strides times axes.

    Attributes:
        source: the table.
        rows: its row: that of the ``"node"``, ``"child"``, ``"edge"`` or ``"type"``, or ``"none"``.
    """

    source: Buffer | Input | Gradient
    rows: str
    offset: int
    strides: tuple[tuple[Axis, int], ...]

    @property
    def gradient(self) -> Load:
        """Return the gradient of the number."""
        assert not isinstance(self.source, Gradient)
        return replace(self, source=Gradient(self.source))

    @property
    def key(self) -> tuple[Any, ...]:
        """Return a key that is equal for loads of the same number."""
        strides = frozenset((axis, stride) for axis, stride in self.strides if stride)
        return self.source, self.rows, self.offset, strides

    @property
    def axes(self) -> set[Axis]:
        """Return the axes that the index depends on."""
        return {axis for axis, stride in self.strides if stride}


@dataclass(frozen=True)
class Const(Expr):
    """A number that is known."""

    value: float


@dataclass(frozen=True)
class Degree(Expr):
    """The number of children of the node."""


@dataclass(frozen=True)
class Position(Expr):
    """The number of the child among the children of the node."""


@dataclass(frozen=True, eq=False)
class Name(Expr):
    """A number that an assignment of the same nest has given a name."""

    number: int


@dataclass(frozen=True)
class Op(Expr):
    """An operation on numbers, of :data:`OPERATIONS`."""

    name: str
    args: tuple[Expr, ...]


# What is done.


class Phase(NamedTuple):
    """Rows with the same steps: ``"leaf"``, ``"inner"``, or all, ``"send"``.

    If types have separate steps, the rows of one type.
    """

    rows: str
    kind: int | None = None

    @property
    def name(self) -> str:
        """Return the phase as part of the name of a function."""
        return self.rows if self.kind is None else f"{self.rows}_{self.kind}"


ALL = Phase("send")


@dataclass(frozen=True, eq=False)
class Assign:
    """``target = expr``, or a sum, maximum or minimum of ``expr`` over axes.

    Attributes:
        target: the place in a table; or a name, for the assignments after it.
        expr: the number to store.
        merge: ``"sum"``, ``"max"`` or ``"min"``; or none.
        over: the last axes of the nest, if they are those to merge over.
        onto: whether the result is merged with the number in its place, as over children.
    """

    target: Load | Name
    expr: Expr
    merge: str | None = None
    over: tuple[Axis, ...] = ()
    onto: bool = False


@dataclass(frozen=True, eq=False)
class Nest:
    """Assignments in loops: over nodes, or the edges of each node, and then over axes.

    Attributes:
        edges: whether it is a loop over edges.
        axes: the axes, from the outermost loop to the innermost.
        body: the assignments, in order.
    """

    edges: bool
    axes: tuple[Axis, ...]
    body: tuple[Assign, ...]

    def __str__(self) -> str:
        names = {axis: f"j{number}" for number, axis in enumerate(self.axes)}
        loops = [f"{names[axis]} < {axis.size}" for axis in self.axes]
        lines = [f"for each {', '.join(['edge' if self.edges else 'node', *loops])}:"]
        for assign in self.body:
            expr = text_of(assign.expr, names)
            if assign.over:
                expr = f"{assign.merge} over {', '.join(names[a] for a in assign.over)} of {expr}"
            sign = "=" if not assign.onto else {"sum": "+="}.get(assign.merge or "", "max=")
            lines.append(f"    {text_of(assign.target, names)} {sign} {expr}")
        return "\n".join(lines)

    @property
    def reads(self) -> Iterator[Load]:
        """Return the loads."""
        return (load for assign in self.body for load in loads(assign.expr))

    @property
    def writes(self) -> Iterator[Load]:
        """Return the targets."""
        return (a.target for a in self.body if isinstance(a.target, Load))


@dataclass(frozen=True, eq=False)
class Product:
    """A matrix product over all rows of a level: ``target = x W``, or (``turned``) ``x W'``.

    Attributes:
        target, x: the loads of the first columns.
        weight: the input that W, of ``shape``, is a part of, from the number ``first`` on.
        turned: whether the transposed W is multiplied with.
        onto: whether the product is added to the target.
        above: whether x, or else the gradient of x, is zero on the lowest level of inner nodes.
    """

    target: Load
    x: Load
    weight: Input
    first: int
    shape: tuple[int, int]
    turned: bool = False
    onto: bool = False
    above: bool = False

    def __str__(self) -> str:
        (k, m), sign = self.shape, "+=" if self.onto else "="
        columns = (m, k) if self.turned else (k, m)
        x, target = (_columns(*pair) for pair in zip((self.x, self.target), columns))
        weight = f"i{self.weight.number}[{self.first}:{self.first + k * m}]"
        return f"{target} {sign} {x} @ {weight}{'.T' if self.turned else ''}"


Step = Nest | Product


@dataclass(frozen=True, eq=False)
class WeightGradient:
    """The gradient of a product's weight, ``W += x' y``, over the rows of all levels."""

    product: Product
    y: Load

    def __str__(self) -> str:
        p, (k, m) = self.product, self.product.shape
        weight = f"d i{p.weight.number}[{p.first}:{p.first + k * m}]"
        return f"{weight} += {_columns(p.x, k)}.T @ {_columns(self.y, m)}"


@dataclass
class Program:
    """The computations for a node, and the earlier ones by torch.

    Attributes:
        arity: the width of each mailbox, if it is the same everywhere.
        before: calls of torch whose results are inputs, in order: for each key the function and its
            arguments, which may be keys.
        keys: the keys of these calls.
        inputs: the inputs by the keys of what they hold, and the kind of their rows.
        tables: the numbers of inputs that are the same in every traversal.
        states: the buffers of the states, and their shapes.
        buffers: all buffers.
        dtype: that of all numbers.
        types: the number of types that select parameters or have separate steps; 0 if none does.
        leaf_types: whether the types of leaves do.
        empty: the states that are zero at leaves.
        gathered: what inner nodes gather of them, which is zero on their lowest level.
        steps: what is done for leaves, for other nodes, and then for all.
    """

    arity: int | None = None
    before: dict[Key, tuple[Any, tuple[Any, ...], Mapping[str, Any]]] = field(default_factory=dict)
    keys: dict[tuple[str, ...], Key] = field(default_factory=dict)
    inputs: dict[tuple[Key, str], Input] = field(default_factory=dict)
    tables: dict[Input, tuple[float, ...]] = field(default_factory=dict)
    states: dict[str, tuple[Buffer, tuple[int, ...]]] = field(default_factory=dict)
    buffers: list[Buffer] = field(default_factory=list)
    dtype: torch.dtype = torch.float32
    types: int = 0
    leaf_types: bool = False
    empty: set[Any] = field(default_factory=set)
    gathered: set[Any] = field(default_factory=set)
    steps: dict[Phase, list[Step]] = field(default_factory=lambda: {ALL: []})

    @property
    def kept(self) -> set[Buffer]:
        """Return the buffers of the states."""
        return {buffer for buffer, _ in self.states.values()}

    def phases(self, rows: str) -> list[Phase]:
        """Return the phases of leaves, or of other nodes."""
        return [phase for phase in self.steps if phase.rows == rows]

    def call(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Key:
        """Return the key of the result of a call before the traversal; equal calls share it."""
        call = str(function), repr(args), repr(sorted(kwargs.items()))
        key = self.keys.setdefault(call, ("call", len(self.keys)))
        self.before.setdefault(key, (function, args, kwargs))
        return key

    def buffer(self, rows: str, width: int) -> Buffer:
        """Return a new buffer."""
        self.buffers.append(Buffer(len(self.buffers), rows, width))
        return self.buffers[-1]

    def input(self, key: Key, rows: str, width: int) -> Input:
        """Return the input that holds the tensor of a key."""
        return self.inputs.setdefault((key, rows), Input(len(self.inputs), rows, width))


Key = tuple[Any, ...]


# Questions about expressions.


def text_of(expr: Expr, names: Mapping[Axis, str]) -> str:
    """Format an expression: ``b`` are buffers, ``i`` inputs, and ``d`` their gradients."""
    if isinstance(expr, Op):
        args = [text_of(arg, names) for arg in expr.args]
        return OPERATIONS[expr.name].code.format(*args).replace("number", "")
    if isinstance(expr, Load):
        terms = [str(expr.offset)] if expr.offset else []
        for axis, stride in expr.strides:
            name = "slot" if axis is SLOT else names.get(axis, "lookup")
            terms += [name if stride == 1 else f"{stride} * {name}"] if stride else []
        return f"{_table(expr)}[{' + '.join(terms) or '0'}]"
    if isinstance(expr, Const):
        return f"{expr.value:g}"
    return f"x{expr.number}" if isinstance(expr, Name) else type(expr).__name__.lower()


def _table(load: Load) -> str:
    """Format the table of a load, with its row if that is the child's."""
    gradient = isinstance(load.source, Gradient)
    source = load.source.of if isinstance(load.source, Gradient) else load.source
    letter = "i" if isinstance(source, Input) else "b"
    child = "child." if load.rows == "child" else ""
    return f"{'d ' if gradient else ''}{child}{letter}{source.number}"


def _columns(load: Load, width: int) -> str:
    return f"{_table(load)}[{load.offset}:{load.offset + width}]"


def leaves(expr: Expr) -> Iterator[Expr]:
    """Return the operands of an expression, without operations."""
    if isinstance(expr, Op):
        for arg in expr.args:
            yield from leaves(arg)
    else:
        yield expr


def loads(expr: Expr) -> Iterator[Load]:
    """Return the loads of an expression."""
    return (leaf for leaf in leaves(expr) if isinstance(leaf, Load))


def operations(expr: Expr) -> int:
    """Return the number of operations of an expression."""
    return 1 + sum(map(operations, expr.args)) if isinstance(expr, Op) else 0


def by_edge(expr: Expr) -> bool:
    """Return whether the children of a node have different values."""
    return any(
        isinstance(leaf, Position) or (isinstance(leaf, Load) and leaf.rows in ("child", "edge"))
        for leaf in leaves(expr)
    )


def with_loads(expr: Expr, change: Callable[[Load], Expr]) -> Expr:
    """Replace the loads of an expression."""
    if isinstance(expr, Op):
        return Op(expr.name, tuple(with_loads(arg, change) for arg in expr.args))
    return change(expr) if isinstance(expr, Load) else expr


def replaced(expr: Expr, axes: Mapping[Axis, Index]) -> Expr:
    """Replace axes of an expression by sums of others."""
    return with_loads(expr, lambda load: moved(load, axes))


def moved(load: Load, axes: Mapping[Axis, Index]) -> Load:
    """Replace axes of a load by sums of others."""
    offset, strides = load.offset, dict[Axis, int]()
    for axis, stride in load.strides:
        more, terms = axes.get(axis, (0, ((axis, 1),)))
        if isinstance(axis, Lookup) and axis.of in axes:
            _, ((of, _),) = axes[axis.of]
            terms = ((Lookup(axis.size, axis.table, of), 1),)
        offset += stride * more
        for term, times in terms:
            strides[term] = strides.get(term, 0) + stride * times
    return replace(load, offset=offset, strides=tuple(strides.items()))


def row_major(axes: Sequence[Axis]) -> tuple[tuple[Axis, int], ...]:
    """Return the strides of axes that are stored in row-major order."""
    strides, size = [], 1
    for axis in reversed(axes):
        strides.append((axis, size))
        size *= axis.size
    return tuple(reversed(strides))


# Operations.

Derivative = Callable[..., Expr]


class Operation(NamedTuple):
    """An operation on numbers.

    Attributes:
        code: how it is written in Python, for arguments ``{0}``, ``{1}``, ...
        derivatives: the gradient of each argument, from that of the result g, the result y and the
            arguments; None where there is none.
        costly: whether the result is stored rather than computed again.
        is_bool: whether the result is a truth value.
    """

    code: str
    derivatives: tuple[Derivative | None, ...]
    costly: bool = False
    is_bool: bool = False


ZERO, ONE = Const(0.0), Const(1.0)
ERF_SLOPE = Const(1.1283791670955126)


def _function(name: str, derivative: Derivative | None) -> Operation:
    return Operation(name + "({0})", (derivative,), costly=True)


def _compared(sign: str) -> Operation:
    return Operation("({0} " + sign + " {1})", (None, None), is_bool=True)


def _where(condition: Expr, x: Expr, y: Expr) -> Op:
    return Op("where", (condition, x, y))


def _share(a: Expr, b: Expr) -> Op:
    return Op("share", (a, b))


OPERATIONS: dict[str, Operation] = {
    "add": Operation("({0} + {1})", (lambda g, y, a, b: g, lambda g, y, a, b: g)),
    "sub": Operation("({0} - {1})", (lambda g, y, a, b: g, lambda g, y, a, b: -g)),
    "mul": Operation("({0} * {1})", (lambda g, y, a, b: g * b, lambda g, y, a, b: g * a)),
    "div": Operation("({0} / {1})", (lambda g, y, a, b: g / b, lambda g, y, a, b: -g * y / b)),
    "neg": Operation("(-{0})", (lambda g, y, a: -g,)),
    "abs": Operation("abs({0})", (lambda g, y, a: g * Op("sign", (a,)),)),
    "sign": Operation("sign({0})", (None,)),
    "exp": _function("exp", lambda g, y, a: g * y),
    "expm1": _function("expm1", lambda g, y, a: g * (y + ONE)),
    "log": _function("log", lambda g, y, a: g / a),
    "log1p": _function("log1p", lambda g, y, a: g / (ONE + a)),
    "sqrt": _function("sqrt", lambda g, y, a: g / (y + y)),
    "root": Operation(
        "sqrt({0})",
        (lambda g, y, a: _where(Op("gt", (y, ZERO)), g / (y + y), ZERO),),
        costly=True,
    ),
    "rsqrt": Operation(
        "(number(1) / sqrt({0}))", (lambda g, y, a: Const(-0.5) * g * y * y * y,), costly=True
    ),
    "sigmoid": _function("sigmoid", lambda g, y, a: g * (y - y * y)),
    "tanh": _function("tanh", lambda g, y, a: g * (ONE - y * y)),
    "erf": _function("erf", lambda g, y, a: g * ERF_SLOPE * Op("exp", (-a * a,))),
    "sin": _function("sin", lambda g, y, a: g * Op("cos", (a,))),
    "cos": _function("cos", lambda g, y, a: -g * Op("sin", (a,))),
    "reciprocal": Operation("(number(1) / {0})", (lambda g, y, a: -g * y * y,)),
    "maximum": Operation(
        "larger({0}, {1})",
        (lambda g, y, a, b: g * _share(a, b), lambda g, y, a, b: g * _share(b, a)),
    ),
    "minimum": Operation(
        "smaller({0}, {1})",
        (lambda g, y, a, b: g * _share(b, a), lambda g, y, a, b: g * _share(a, b)),
    ),
    "share": Operation("share({0}, {1})", (None, None)),
    "relu": Operation(
        "larger({0}, number(0))", (lambda g, y, a: _where(Op("gt", (a, ZERO)), g, ZERO),)
    ),
    "where": Operation(
        "({1} if {0} else {2})",
        (None, lambda g, y, c, a, b: _where(c, g, ZERO), lambda g, y, c, a, b: _where(c, ZERO, g)),
    ),
    "gt": _compared(">"),
    "ge": _compared(">="),
    "lt": _compared("<"),
    "le": _compared("<="),
    "eq": _compared("=="),
    "ne": _compared("!="),
    "and": Operation("({0} & {1})", (None, None), is_bool=True),
    "or": Operation("({0} | {1})", (None, None), is_bool=True),
    "not": Operation("(not {0})", (None,), is_bool=True),
    "number": Operation("(number(1) if {0} else number(0))", (None,)),
    "stop": Operation("{0}", (None,)),
    "instead": Operation("{0}", (None, lambda g, y, a, b: g)),
}
