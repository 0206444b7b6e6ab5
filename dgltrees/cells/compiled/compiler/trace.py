"""The operations of a cell's functions, written down by running them on tensors without data.

The number of nodes n and the number of children d are primes that no other size is a multiple of,
so that a size of the trace says what it counts: ``n * d`` is the number of edges, ``3 * n`` has
three rows per node. A second trace with other primes tells whether a number was computed from them.
With slots, the number of children is that of the slots. With groups, all nodes are of one type,
in the second trace of another: a slice of a parameter that differs is the one that the type picks.
Where that does not hold, since the functions do other operations for other types, each type has
traces of its own.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import sep
from typing import Any, Optional

import torch
from torch import Tensor, fx
from torch.overrides import TorchFunctionMode

from dgltrees.cells.compiled.compiler.noise import dropout
from dgltrees.cells.compiled.compiler.reasons import CompileError
from dgltrees.cells.compiled.compiler.statements import Phase
from dgltrees.cells.compiled.compiler.zeros import without_products_of_zeros
from dgltrees.traversal.calls import traced
from dgltrees.traversal.views import Edges, Fields, Groups, Nodes

__all__ = ["Functions", "Sizes", "Trace", "named", "trace_cell", "trace_types"]

aten = torch.ops.aten


@dataclass(frozen=True)
class Sizes:
    """What stands for the number of nodes and of children in a trace, and for their type."""

    n: int
    d: int
    type: int = 0

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
LONGEST = 5_000
"""The most calls of torch in a trace: a loop over nodes, which all have an index there, would take
minutes."""

DECOMPOSED = (
    "native_layer_norm gelu baddbmm logsumexp linalg_vector_norm glu _prelu_kernel mish hardswish "
    "hardsigmoid softplus log_sigmoid_forward celu selu std std_mean addmv hardshrink softshrink "
    "threshold logaddexp _scaled_dot_product_flash_attention_for_cpu"
)
"""Operations that torch itself writes as others, for which there are rules."""


@dataclass(frozen=True)
class Functions:
    """The functions of a cell, and how they are called.

    Attributes:
        message, reduce, update: the functions.
        arity: the width of each mailbox, if it is the same everywhere.
        slotted: whether some of it may be empty.
        types: how many types there are to tell apart, 1 or 2; None: no groups.
        group_by: the field of the types, if all nodes have the same one, ``kind``.
    """

    message: Callable[[Any], Mapping[str, Tensor]]
    reduce: Callable[[Any], Mapping[str, Tensor]]
    update: Callable[[Any], Mapping[str, Tensor]]
    arity: Optional[int] = None
    slotted: bool = False
    types: Optional[int] = None
    group_by: Optional[str] = None
    kind: int = 0

    @property
    def second(self) -> Sizes:
        """The sizes of the second trace."""
        return replace(SECOND, type=(self.types or 1) - 1)

    def groups(self, sizes: Sizes) -> Optional[Groups]:
        """The groups of the nodes of a trace: one."""
        if self.group_by is not None:
            return [(self.kind, sizes.n)]
        return None if self.types is None else [(sizes.type, sizes.n)]

    def typed(self, fields: Mapping[str, Tensor], n: int) -> dict[str, Tensor]:
        """The fields of n nodes; if all have one type, with that in place of theirs."""
        if self.group_by is None:
            return dict(fields)
        like = next(field for field in fields.values() if field.is_floating_point())
        return {**fields, self.group_by: like.new_full((n,), float(self.kind))}


Like = Mapping[str, Tensor]
"""Tensors whose shapes but for the rows, and whose dtypes are those of some fields."""


def trace_cell(functions: Functions, ndata: Like, edata: Like) -> tuple[Trace, Trace]:
    """Trace the update of leaves, and message, reduce and update of all other nodes.

    Raises:
        CompileError: the functions cannot be traced, or do other things for other sizes.
    """
    leaf = _leaf(functions, ndata)
    return leaf, _inner(functions, ndata, edata, leaf.shapes())


def trace_types(
    functions: Functions, group_by: str, phases: Iterable[Phase], ndata: Like, edata: Like
) -> dict[Phase, Trace]:
    """:func:`trace_cell` for each type by itself.

    Arguments:
        functions: the functions.
        group_by: the field of the types.
        phases: the types of leaves and of other nodes.
        ndata, edata: the fields.
    """
    traces: dict[Phase, Trace] = {}
    states: dict[str, tuple[int, ...]] = {}
    for phase in sorted(phases, key=lambda each: (each.rows != "leaf", each.kind)):
        typed = replace(functions, types=None, group_by=group_by, kind=phase.kind or 0)
        leaf = phase.rows == "leaf"
        trace = _leaf(typed, ndata) if leaf else _inner(typed, ndata, edata, states)
        states = states or trace.shapes()
        if trace.shapes() != states:
            raise CompileError("its update function returns other fields, or shapes, by type")
        traces[phase] = trace
    return traces


def _leaf(functions: Functions, ndata: Like) -> Trace:
    """The update of leaves, which is the same for other sizes."""
    leaf = _trace_leaf(functions, ndata, FIRST)
    _compare(leaf, _trace_leaf(functions, ndata, functions.second))
    if not leaf.outputs:
        raise CompileError("its update function returns nothing for a leaf")
    return leaf


def _inner(functions: Functions, ndata: Like, edata: Like, states: Mapping[str, Any]) -> Trace:
    """Message, reduce and update of other nodes, which are the same for other sizes."""
    if functions.arity is None:  # first, since a loop over as many children as in FIRST takes long
        few = [_trace_inner(functions, ndata, edata, states, Sizes(FIRST.n, d)) for d in FEW]
        if _targets(few[0]) != _targets(few[1]):
            raise CompileError(
                f"it does other operations for {FEW[1]} children than for {FEW[0]}, as a loop over "
                "them does"
            )
    inner = _trace_inner(functions, ndata, edata, states, FIRST)
    _compare(inner, _trace_inner(functions, ndata, edata, states, functions.second))
    if functions.arity is None and _targets(few[0]) != _targets(inner):
        raise CompileError(f"it does other operations where a node has {FEW[0]} children")
    if inner.shapes() != states:
        raise CompileError("its update function returns other fields, or shapes, for leaves")
    return inner


def _targets(trace: Trace) -> list[Any]:
    return [node.target for node in trace.module.graph.nodes if node.op == "call_function"]


def _compare(one: Trace, two: Trace) -> None:
    """Mark what the type picks, and refuse numbers computed from those of nodes or children."""
    if _targets(one) != _targets(two):
        raise CompileError("what it does depends on the number of nodes or children, or the type")
    for a, b in zip(one.module.graph.nodes, two.module.graph.nodes):
        if _picks(a, one.sizes.type) and _picks(b, two.sizes.type) and a.args[1:] != b.args[1:]:
            a.meta["by_type"] = True
            continue
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


def _picks(node: fx.Node, kind: int) -> bool:
    """Whether an operation picks the entry of one type from the first dimension."""
    name, args = str(node.target), node.args[1:]
    if name == "aten.slice.Tensor":
        return args == (0, kind, kind + 1)
    return name == "aten.select.int" and args == (0, kind)


def _trace_leaf(functions: Functions, ndata: Like, sizes: Sizes) -> Trace:
    def leaf(fields: dict[tuple[str, str], Tensor], ids: Tensor) -> Mapping[str, Tensor]:
        data = functions.typed({name: t for (_, name), t in fields.items()}, sizes.n)
        return functions.update(Nodes(ids, _fields(data), {}, functions.groups(sizes)))

    shapes = {("node", k): (sizes.n, *v.shape[1:]) for k, v in ndata.items()}
    return _trace(leaf, shapes, ndata, sizes)


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
    return _trace(inner, shapes, {**edata, **dtypes}, sizes)


def _in_slots(message: Tensor, mask: Optional[Tensor], is_source: bool) -> Tensor:
    """A message with zeros in empty slots; a field of the sources has them already."""
    if mask is None or is_source:
        return message
    return torch.where(mask.view(*mask.shape, *(1,) * (message.dim() - 2)), message, 0)


def named(message: str) -> str:
    """A message about shapes, with what stands for the numbers of nodes and of children as n, d."""

    def name(match: re.Match[str]) -> str:
        for sizes in (FIRST, SECOND):
            by_node, by_child, rest = sizes.factors(int(match[0])) or (False, False, 0)
            if by_node or by_child:
                parts = [str(rest)] * (rest > 1) + ["n"] * by_node + ["d"] * by_child
                return " ".join(parts)
        return match[0]

    return re.sub(r"(?<![\w.])\d+(?=x\d|\b)|(?<=\dx)\d+", name, message)


class Places(TorchFunctionMode):
    """Remembers the line of the cell that called each function of torch last, and counts calls."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name: dict[str, str] = {}
        self.calls = 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call the function, or our own for dropout."""
        self.calls += _parts(getattr(func, "__name__", ""), args, kwargs or {})
        if self.calls > LONGEST:
            raise CompileError(f"it calls torch more than {LONGEST:,} times; a loop over nodes?")
        frame: Any = sys._getframe(1)
        while frame is not None and _inside(frame.f_code.co_filename):
            frame = frame.f_back
        if frame is not None:
            line = f"{frame.f_code.co_filename}, line {frame.f_lineno}"
            self.by_name[getattr(func, "__name__", "").strip("_")] = line
        if getattr(func, "__name__", "") == "dropout":
            return dropout(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))

    def of(self, node: fx.Node) -> str:
        """The line that made a node of the graph, as far as it can be told."""
        schema = getattr(node.target, "_schema", None)
        name = "" if schema is None else schema.name.rpartition("::")[2].strip("_")
        return self.by_name.get(name.replace("native_", ""), "")


def _parts(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """How many tensors a call makes, where it may be one for each node."""
    if name not in ("__iter__", "unbind", "split") or not args:
        return 1
    x, *rest = args
    size = kwargs.get("split_size", rest.pop(0) if rest else 1) if name == "split" else 1
    dim = kwargs.get("dim", rest[0] if rest else 0)
    return x.shape[dim] // size if isinstance(size, int) else 1


def _inside(file: str) -> bool:
    """Whether a file is one of torch or of the traversal."""
    return f"{sep}torch{sep}" in file or __file__ == file or "traversal" in file


def _writes(node: fx.Node) -> bool:
    """Whether a call changes one of its arguments."""
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and schema is not None and bool(schema.is_mutable)


def _without_writes(graph: fx.Graph) -> None:
    """Replace calls that change what nobody reads afterwards by calls that do not.

    Others are left. The parts of ``unsafe_split`` are no views: nobody may read the whole.
    """
    nodes = list(graph.nodes)
    number, whole = {node: i for i, node in enumerate(nodes)}, dict[fx.Node, fx.Node]()
    for node in nodes:
        writes, first = _writes(node), next(iter(node.all_input_nodes), None)
        schema = getattr(node.target, "_schema", None)
        alias = schema is not None and any(a.alias_info is not None for a in schema.arguments)
        whole[node] = whole[first] if first is not None and alias else node
        if not writes or first is None or whole[first].op != "call_function":
            continue
        others = [n for n in nodes if n is not node and whole.get(n) is whole[first]]
        reads = [user for n in others for user in n.users if number[user] > number[node]]
        packet, _, overload = str(node.target).rpartition(".")
        plain = getattr(aten, packet.rpartition(".")[2].rstrip("_"), None)
        if not reads and hasattr(plain, overload):
            node.target, whole[node] = getattr(plain, overload), node


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


def _bilinear(
    x: Tensor, weight: Tensor, y: Tensor, *dims: Sequence[int], unroll_dim: int = 1
) -> Tensor:
    """``nn.Bilinear`` by a product with its weight ``(o, k, m)``, as one matrix ``(k, o m)``."""
    if dims != ([1, 3], [0], [1, 2], [2, 3]):
        raise CompileError("there is no rule for _trilinear")
    o, k, m = weight.shape
    by_x = x @ weight.transpose(0, 1).reshape(k, o * m)
    return (by_x.view(len(x), o, m) * y.unsqueeze(1)).sum(2)


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

    # In builds for CUDA, fake tensors make torch count a device more. Autograd starts a thread per
    # device at its first step, and then no forked process could train: so it begins before.
    with torch.inference_mode(False), torch.enable_grad():
        torch.autograd.backward(torch.ones((), device="cpu", requires_grad=True))
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

    known = [getattr(aten, name) for name in DECOMPOSED.split() if hasattr(aten, name)]
    table = get_decompositions(known)
    table[aten._trilinear.default] = _bilinear
    options: dict[str, Any] = {"decomposition_table": table, "_allow_non_fake_inputs": True}
    places = Places()
    with torch.no_grad(), torch.random.fork_rng(devices=[]), _quiet(), places, traced():
        module = make_fx(call, **options)(ids, *tensors)
        if any(map(_writes, module.graph.nodes)):
            module = make_fx(torch.func.functionalize(call), **options)(ids, *tensors)
    _without_writes(module.graph)
    module.graph.eliminate_dead_code()
    without_products_of_zeros(module.graph)
    for node in module.graph.nodes:
        node.meta["place"] = places.of(node)
        if _writes(node):
            raise CompileError("it changes a tensor that it was given", node)
        random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        if random and node.target is not aten.bernoulli.default:
            raise CompileError("it draws random numbers other than by dropout", node)
    return Trace(module, sizes, [("ids", ""), *shapes], list(names))
