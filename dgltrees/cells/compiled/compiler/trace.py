"""The operations of a cell's functions, written down by running them on tensors without data.

The number of nodes n and the number of children d are primes that no other size is a multiple of,
so that a size of the trace says what it counts: ``n * d`` is the number of edges, ``3 * n`` has
three rows per node. A second trace with other primes tells whether a number was computed from them.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import sep
from typing import Any, Optional

import torch
from torch import Tensor, fx
from torch.overrides import TorchFunctionMode

from dgltrees.cells.compiled.compiler.reasons import CompileError
from dgltrees.traversal.views import Edges, Fields, Nodes

__all__ = ["Functions", "Sizes", "Trace", "trace_cell"]

aten = torch.ops.aten


@dataclass(frozen=True)
class Sizes:
    """What stands for the number of nodes and of children in a trace."""

    n: int
    d: int

    def factors(self, size: Any) -> Optional[tuple[bool, bool, int]]:
        """Whether a size counts nodes, whether it counts children, and the rest of it."""
        if not isinstance(size, int) or isinstance(size, bool) or size <= 0:
            return None
        by_node, by_child = size % self.n == 0, size % self.d == 0
        return by_node, by_child, size // (self.n**by_node) // (self.d**by_child)


@dataclass(frozen=True)
class Trace:
    """A graph of ATen calls, and what its placeholders and results are.

    Attributes:
        module: the graph.
        sizes: the sizes that stand for numbers of nodes and children.
        inputs: the kind and the name of each placeholder: a field of the nodes, a state or a field
            of the children, a field of the edges, or ids.
        outputs: the names of the results.
    """

    module: fx.GraphModule
    sizes: Sizes
    inputs: list[tuple[str, str]]
    outputs: list[str]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each result, without its rows."""
        (results,) = next(n for n in self.module.graph.nodes if n.op == "output").args
        return {k: tuple(r.meta["val"].shape[1:]) for k, r in zip(self.outputs, results)}


FIRST, SECOND = Sizes(100_003, 1_009), Sizes(100_019, 1_013)
FEW = (2, 5)
"""Numbers of children for which a cell must do the same operations."""


@dataclass(frozen=True)
class Functions:
    """The functions of a cell."""

    message: Callable[[Any], Mapping[str, Tensor]]
    reduce: Callable[[Any], Mapping[str, Tensor]]
    update: Callable[[Any], Mapping[str, Tensor]]


Like = Mapping[str, Tensor]
"""Tensors whose shapes but for the rows, and whose dtypes are those of some fields."""


def trace_cell(functions: Functions, ndata: Like, edata: Like) -> tuple[Trace, Trace]:
    """Trace the update of leaves, and message, reduce and update of all other nodes.

    Raises:
        CompileError: the functions cannot be traced, or do other things for other sizes.
    """
    leaf = _trace_leaf(functions, ndata, FIRST)
    _compare(leaf, _trace_leaf(functions, ndata, SECOND))
    states = leaf.shapes()
    if not states:
        raise CompileError("its update function returns nothing for a leaf")
    inner = _trace_inner(functions, ndata, edata, states, FIRST)
    _compare(inner, _trace_inner(functions, ndata, edata, states, SECOND))
    for few in FEW:
        other = _trace_inner(functions, ndata, edata, states, Sizes(FIRST.n, few))
        if _targets(other) != _targets(inner):
            raise CompileError(f"it does other operations where a node has {few} children")
    if inner.shapes() != states:
        raise CompileError("its update function returns other fields, or shapes, for leaves")
    return leaf, inner


def _targets(trace: Trace) -> list[Any]:
    return [node.target for node in trace.module.graph.nodes if node.op == "call_function"]


def _compare(one: Trace, two: Trace) -> None:
    """Refuse numbers that were computed from the number of nodes or of children."""
    if _targets(one) != _targets(two):
        raise CompileError("what it does depends on the number of nodes or children")
    for a, b in zip(one.module.graph.nodes, two.module.graph.nodes):
        flat_a, flat_b = (torch.utils._pytree.tree_leaves((n.args, n.kwargs)) for n in (a, b))
        for x, y in zip(flat_a, flat_b):
            if isinstance(x, fx.Node) or x == y:
                continue
            if (
                "arange" in str(a.target)
                and isinstance(x, int)
                and x - one.sizes.d == y - two.sizes.d
            ):
                continue
            if one.sizes.factors(x) is None or one.sizes.factors(x) != two.sizes.factors(y):
                raise CompileError("it computes with the number of nodes or children", a)


def _trace_leaf(functions: Functions, ndata: Like, sizes: Sizes) -> Trace:
    def leaf(fields: dict[tuple[str, str], Tensor], ids: Tensor) -> Mapping[str, Tensor]:
        data = {name: tensor for (_, name), tensor in fields.items()}
        return functions.update(Nodes(ids, _fields(data), {}))

    shapes = {("node", k): (sizes.n, *v.shape[1:]) for k, v in ndata.items()}
    return _trace(leaf, shapes, ndata, sizes)


def _trace_inner(
    functions: Functions, ndata: Like, edata: Like, states: Mapping[str, Any], sizes: Sizes
) -> Trace:
    n, d = sizes.n, sizes.d

    def inner(fields: dict[tuple[str, str], Tensor], ids: Tensor) -> Mapping[str, Tensor]:
        by_kind: dict[str, dict[str, Tensor]] = {"node": {}, "child": {}, "state": {}, "edge": {}}
        for (kind, name), tensor in fields.items():
            by_kind[kind][name] = tensor
        source = {**by_kind["child"], **by_kind["state"]}
        edges = Edges(
            Fields(source.keys(), lambda k: source[k].flatten(0, 1)),
            Fields(ndata.keys(), lambda k: _repeated(by_kind["node"][k], d)),
            Fields(edata.keys(), lambda k: by_kind["edge"][k].flatten(0, 1)),
            (ids.new_zeros(n * d),) * 3,
        )
        messages = functions.message(edges)
        mailbox = {k: m.reshape(n, d, *m.shape[1:]) for k, m in messages.items()}
        reduced = functions.reduce(Nodes(ids, _fields(by_kind["node"]), mailbox))
        return functions.update(Nodes(ids, _fields({**by_kind["node"], **reduced}), {}))

    like = next(v for v in ndata.values() if v.is_floating_point())
    shapes = {("node", k): (n, *v.shape[1:]) for k, v in ndata.items()}
    shapes.update({("child", k): (n, d, *v.shape[1:]) for k, v in ndata.items()})
    shapes.update({("state", k): (n, d, *shape) for k, shape in states.items()})
    shapes.update({("edge", k): (n, d, *v.shape[1:]) for k, v in edata.items()})
    dtypes = {**ndata, **dict.fromkeys(states, like)}
    return _trace(inner, shapes, {**edata, **dtypes}, sizes)


class Places(TorchFunctionMode):
    """Remembers the line of the cell that called each function of torch last."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name: dict[str, str] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call the function, unless it draws random numbers."""
        frame: Any = sys._getframe(1)
        while frame is not None and _inside(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            line = f"{frame.f_code.co_filename}, line {frame.f_lineno}"
            self.by_name[getattr(func, "__name__", "").strip("_")] = line
        if "dropout" in getattr(func, "__name__", "") and _drops(*args[1:3], **(kwargs or {})):
            raise CompileError("it draws random numbers, as dropout does in training")
        return func(*args, **(kwargs or {}))

    def of(self, node: fx.Node) -> str:
        """The line that made a node of the graph, as far as it can be told."""
        schema = getattr(node.target, "_schema", None)
        name = "" if schema is None else schema.name.rpartition("::")[2].strip("_")
        return self.by_name.get(name.replace("native_", ""), "")


def _drops(p: float = 0.5, training: bool = True, **_: Any) -> bool:
    """Whether a call of dropout with these arguments draws random numbers."""
    return training and p > 0


def _inside(file: str) -> bool:
    """Whether a file is one of torch or of the traversal."""
    return f"{sep}torch{sep}" in file or __file__ == file or "traversal" in file


def _writes(node: fx.Node) -> bool:
    """Whether a call changes one of its arguments."""
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and schema is not None and bool(schema.is_mutable)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch logs of calls that fail: the error says it, and to the generic way."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    was, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was


def _fields(data: Mapping[str, Tensor]) -> Fields:
    return Fields(data.keys(), data.__getitem__)


def _repeated(field: Tensor, d: int) -> Tensor:
    """The field of each edge's destination, ``(n d, ...)``."""
    wide = field.unsqueeze(1).expand(len(field), d, *field.shape[1:])
    return wide.reshape(-1, *field.shape[1:])


def _trace(
    function: Callable[..., Mapping[str, Tensor]],
    shapes: Mapping[tuple[str, str], tuple[int, ...]],
    like: Like,
    sizes: Sizes,
) -> Trace:
    """The graph of a function of fields, and the names of what it returns."""
    from torch._decomp import get_decompositions
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    mode = FakeTensorMode(allow_non_fake_inputs=True, allow_fallback_kernels=False)
    with mode:
        tensors = [
            torch.empty(shape, dtype=like[name].dtype) for (_, name), shape in shapes.items()
        ]
        ids = torch.empty(sizes.n, dtype=torch.int64)
    names: list[str] = []

    def call(ids: Tensor, *tensors: Tensor) -> list[Tensor]:
        results = function(dict(zip(shapes, tensors)), ids)
        names[:] = list(results)
        return [torch.ops.aten.alias(results[name]) for name in names]

    table = get_decompositions([aten.native_layer_norm, aten.gelu, aten.baddbmm])
    options: dict[str, Any] = {"decomposition_table": table, "_allow_non_fake_inputs": True}
    places = Places()
    with torch.no_grad(), torch.random.fork_rng(devices=[]), _quiet(), places:
        module = make_fx(call, **options)(ids, *tensors)
        if any(map(_writes, module.graph.nodes)):
            module = make_fx(torch.func.functionalize(call), **options)(ids, *tensors)
    for node in module.graph.nodes:
        node.meta["place"] = places.of(node)
        if _writes(node):
            raise CompileError("it changes a tensor that it was given", node)
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            raise CompileError("it draws random numbers, as dropout does in training", node)
    return Trace(module, sizes, [("ids", ""), *shapes], list(names))
