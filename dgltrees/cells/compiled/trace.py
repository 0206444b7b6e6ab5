"""Traces of a cell's functions, with sizes from which follows what they count.

The number of nodes n and the number of children d are primes, and no other size is a multiple of
them. So the factors of a size show what it counts: ``n * d`` is the number of edges, ``3 * n`` has
three rows per node. A second trace with other primes shows whether a number was computed from them.
With slots, the number of children is that of the slots. With groups, all nodes have one type, in
the second trace another one: a slice of a parameter that differs is selected by the type. If the
functions do other operations for other types, each type is traced separately.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._pytree import tree_leaves

from dgltrees.cells.compiled.graph import graph_of
from dgltrees.cells.compiled.loops import CompileError, Phase
from dgltrees.traversal.views import Edges, Fields, Groups, Nodes

aten = torch.ops.aten


@dataclass(frozen=True)
class Sizes:
    """The sizes that represent the numbers of nodes and children in a trace, and their type."""

    n: int
    d: int
    type: int = 0

    def factors(self, size: Any) -> tuple[bool, bool, int] | None:
        """Return whether a size counts nodes and whether children, and the remaining factor."""
        if isinstance(size, float) and size.is_integer():  # float(h.shape[1])
            size = int(size)
        if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
            return None
        by_node, by_child = size % self.n == 0, size % self.d == 0
        return by_node, by_child, size // (self.n**by_node) // (self.d**by_child)


@dataclass(frozen=True)
class Trace:
    """A graph of ATen calls, and what its placeholders and results are.

    Attributes:
        module: the graph.
        outputs: the names of the results.
        sizes: the sizes that represent the numbers of nodes and children.
        inputs: the kind and the name of each placeholder: a field of the nodes, a state or a field
            of the children, a field of the edges, or ids.
    """

    module: fx.GraphModule
    outputs: list[str]
    sizes: Sizes
    inputs: list[tuple[str, str]]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each result, without its rows."""
        (results,) = next(n for n in self.module.graph.nodes if n.op == "output").args
        return {k: tuple(r.meta["val"].shape[1:]) for k, r in zip(self.outputs, results)}


FIRST, SECOND = Sizes(100_003, 1_009), Sizes(100_019, 1_013)
FEW = (2, 5)
"""Numbers of children for which a cell must do the same operations."""


@dataclass(frozen=True)
class Functions:
    """The functions of a cell, and how they are called.

    Attributes:
        message, reduce, update: the functions.
        arity: the width of each mailbox, if it is the same everywhere.
        slotted: whether some of it may be empty.
        types: how many types are distinguished, 1 or 2; None: no groups.
        group_by: the field of the types, if all nodes have the same one, ``kind``; ``types`` is
            then None.
    """

    message: Callable[[Any], Mapping[str, Tensor]]
    reduce: Callable[[Any], Mapping[str, Tensor]]
    update: Callable[[Any], Mapping[str, Tensor]]
    arity: int | None = None
    slotted: bool = False
    types: int | None = None
    group_by: str | None = None
    kind: int = 0

    @property
    def second(self) -> Sizes:
        """Return the sizes of the second trace."""
        return replace(SECOND, type=(self.types or 1) - 1)

    def groups(self, sizes: Sizes) -> Groups | None:
        """Return the groups of the nodes of a trace, which is one group."""
        if self.group_by is not None:
            return [(self.kind, sizes.n)]
        return None if self.types is None else [(sizes.type, sizes.n)]

    def typed(self, fields: Mapping[str, Tensor], n: int) -> dict[str, Tensor]:
        """Return the fields of n nodes; if all have one type, with that type."""
        if self.group_by is None:
            return dict(fields)
        like = next(field for field in fields.values() if field.is_floating_point())
        return {**fields, self.group_by: like.new_full((n,), float(self.kind))}


Like = Mapping[str, Tensor]
"""Tensors whose shapes but for the rows, and whose dtypes are those of some fields."""


def trace_cell(
    functions: Functions, phases: Iterable[Phase], ndata: Like, edata: Like
) -> dict[Phase, Trace]:
    """Trace the update of leaves, and message, reduce and update of all other nodes."""
    traces: dict[Phase, Trace] = {}
    states: dict[str, tuple[int, ...]] = {}
    for phase in sorted(phases, key=lambda each: (each.rows != "leaf", each.kind)):
        own = replace(functions, kind=phase.kind or 0)
        leaf = phase.rows == "leaf"
        trace = _leaf(own, ndata) if leaf else _inner(own, ndata, edata, states)
        states = states or trace.shapes()
        if trace.shapes() != states:
            raise CompileError("its update function returns other fields, or shapes, by type")
        traces[phase] = trace
    return traces


def _leaf(functions: Functions, ndata: Like) -> Trace:
    """Trace the update of leaves, and check that it is the same for other sizes."""
    leaf = _trace_leaf(functions, ndata, FIRST)
    _compare(leaf, _trace_leaf(functions, ndata, functions.second))
    if not leaf.outputs:
        raise CompileError("its update function returns nothing for a leaf")
    return leaf


def _inner(functions: Functions, ndata: Like, edata: Like, states: Mapping[str, Any]) -> Trace:
    """Trace message, reduce and update of other nodes, and check them for other sizes."""
    if functions.arity is None:  # first, since a loop over as many children as in FIRST takes long
        few = [_trace_inner(functions, ndata, edata, states, Sizes(FIRST.n, d)) for d in FEW]
        if _targets(few[0]) != _targets(few[1]):
            raise CompileError(
                f"it does other operations for {FEW[1]} children than for {FEW[0]}, as a loop over "
                "them does"
            )
    inner = _trace_inner(functions, ndata, edata, states, FIRST)
    other = _trace_inner(functions, ndata, edata, states, functions.second)
    _compare(inner, other)
    if functions.arity is None:
        if _targets(few[0]) != _targets(inner):
            raise CompileError(f"it does other operations where a node has {FEW[0]} children")
        _check_constants(few, inner, other)
    if inner.shapes() != states:
        raise CompileError("its update function returns other fields, or shapes, for leaves")
    return inner


def _targets(trace: Trace) -> list[Any]:
    return [node.target for node in trace.module.graph.nodes if node.op == "call_function"]


def _compare(one: Trace, two: Trace) -> None:
    """Mark selections by type, and reject numbers computed from those of nodes or children."""
    if _targets(one) != _targets(two):
        raise CompileError("what it does depends on the number of nodes or children, or the type")
    for a, b in zip(one.module.graph.nodes, two.module.graph.nodes):
        if _picks(a, one.sizes.type) and _picks(b, two.sizes.type) and a.args[1:] != b.args[1:]:
            a.meta["by_type"] = True
            continue
        flat_a, flat_b = (tree_leaves((n.args, n.kwargs)) for n in (a, b))
        is_range = "arange" in str(a.target)
        for x, y in zip(flat_a, flat_b):
            if isinstance(x, fx.Node) or x == y:
                continue
            if is_range and isinstance(x, int) and x - one.sizes.d == y - two.sizes.d:
                continue
            if one.sizes.factors(x) is None or one.sizes.factors(x) != two.sizes.factors(y):
                raise CompileError("it computes with the number of nodes or children", a)


def _check_constants(few: Sequence[Trace], one: Trace, two: Trace) -> None:
    """Reject numbers that are equal for many children only, such as ``min(children, 8)``."""
    traces = (one, two, *few)
    for nodes in zip(*(trace.module.graph.nodes for trace in traces)):
        for x, y, *others in zip(*(tree_leaves((n.args, n.kwargs)) for n in nodes)):
            if not isinstance(x, fx.Node) and x == y and any(x != each for each in others):
                raise CompileError("what it does depends on the number of children", nodes[0])


def _picks(node: fx.Node, kind: int) -> bool:
    """Return whether an operation selects the entry of one type from the first dimension."""
    name, args = str(node.target), node.args[1:]
    if name == "aten.slice.Tensor":
        return args == (0, kind, kind + 1)
    return name == "aten.select.int" and args == (0, kind)


def _trace_leaf(functions: Functions, ndata: Like, sizes: Sizes) -> Trace:
    def leaf(fields: dict[tuple[str, str], Tensor], ids: Tensor) -> Mapping[str, Tensor]:
        data = functions.typed({name: t for (_, name), t in fields.items()}, sizes.n)
        return functions.update(Nodes(ids, _fields(data), {}, functions.groups(sizes)))

    shapes = {("node", k): (sizes.n, *v.shape[1:]) for k, v in ndata.items()}
    return Trace(*graph_of(leaf, shapes, ndata, sizes.n), sizes, [("ids", ""), *shapes])


def _trace_inner(
    functions: Functions, ndata: Like, edata: Like, states: Mapping[str, Any], sizes: Sizes
) -> Trace:
    n, d, groups = sizes.n, functions.arity or sizes.d, functions.groups(sizes)
    like = next(v for v in ndata.values() if v.is_floating_point())

    def inner(fields: dict[tuple[str, str], Tensor], ids: Tensor) -> Mapping[str, Tensor]:
        by_kind: dict[str, dict[str, Tensor]] = {
            kind: {} for kind in ("node", "child", "state", "edge", "mask")
        }
        for (kind, name), tensor in fields.items():
            by_kind[kind][name] = tensor
        source, mask = {**by_kind["child"], **by_kind["state"]}, by_kind["mask"].get("")
        by_kind["node"] = functions.typed(by_kind["node"], n)
        if functions.slotted and "pos" in by_kind["edge"]:  # which slot it is
            by_kind["edge"]["pos"] = torch.arange(d, dtype=like.dtype).expand(n, d)
        edges = Edges(
            Fields(source.keys(), lambda k: source[k].flatten(0, 1)),
            Fields(ndata.keys(), lambda k: _repeated(by_kind["node"][k], d)),
            Fields(edata.keys(), lambda k: by_kind["edge"][k].flatten(0, 1)),
            (ids.new_zeros(n * d),) * 3,
            mask is not None,
        )
        mailbox = {
            k: _in_slots(m.reshape(n, d, *m.shape[1:]), mask, m is edges.src.get(k))
            for k, m in functions.message(edges).items()
        }
        nodes = Nodes(ids, _fields(by_kind["node"]), mailbox, groups, mask)
        data = {**by_kind["node"], **functions.reduce(nodes)}
        return functions.update(Nodes(ids, _fields(data), {}, groups))

    shapes = {("node", k): (n, *v.shape[1:]) for k, v in ndata.items()}
    shapes.update({("child", k): (n, d, *v.shape[1:]) for k, v in ndata.items()})
    shapes.update({("state", k): (n, d, *shape) for k, shape in states.items()})
    shapes.update({("edge", k): (n, d, *v.shape[1:]) for k, v in edata.items()})
    dtypes = {**ndata, **dict.fromkeys(states, like)}
    if functions.slotted:
        shapes[("mask", "")] = (n, d)
        dtypes[""] = torch.empty(0, dtype=torch.bool)
    like_all = {**edata, **dtypes}
    return Trace(*graph_of(inner, shapes, like_all, sizes.n), sizes, [("ids", ""), *shapes])


def _in_slots(message: Tensor, mask: Tensor | None, is_source: bool) -> Tensor:
    """Return a message with zeros in empty slots; a field of the sources has them already."""
    if mask is None or is_source:
        return message
    return torch.where(mask.view(*mask.shape, *(1,) * (message.dim() - 2)), message, 0)


def named(message: str) -> str:
    """Rewrite a message about shapes with n and d for the numbers of nodes and of children."""

    def name(match: re.Match[str]) -> str:
        for sizes in (FIRST, SECOND):
            by_node, by_child, rest = sizes.factors(int(match[0])) or (False, False, 0)
            if by_node or by_child:
                parts = [str(rest)] * (rest > 1) + ["n"] * by_node + ["d"] * by_child
                return " ".join(parts)
        return match[0]

    return re.sub(r"(?<![\w.])\d+(?=x\d|\b)|(?<=\dx)\d+", name, message)


def _fields(data: Mapping[str, Tensor]) -> Fields:
    return Fields(data.keys(), data.__getitem__)


def _repeated(field: Tensor, d: int) -> Tensor:
    """Return the field of each edge's destination, ``(n d, ...)``."""
    wide = field.unsqueeze(1).expand(len(field), d, *field.shape[1:])
    return wide.reshape(-1, *field.shape[1:])
