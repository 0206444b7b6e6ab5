"""The ATen calls of a function, written down by running it on tensors without data."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import sep
from os.path import dirname
from typing import Any

import torch
from torch import Tensor, fx
from torch.overrides import TorchFunctionMode

from dgltrees.cells.compiled.loops import CompileError
from dgltrees.traversal.functions import traced

aten = torch.ops.aten
LONGEST = 5_000
"""The most calls of torch in a trace: a loop over nodes, which all have an index there, would take
minutes."""

DECOMPOSED = (
    "native_layer_norm gelu baddbmm logsumexp glu _prelu_kernel mish hardswish "
    "hardsigmoid softplus log_sigmoid_forward celu selu addmv hardshrink softshrink "
    "threshold logaddexp _scaled_dot_product_flash_attention_for_cpu leaky_relu addcmul addcdiv "
    "rsub masked_fill"
)
"""Operations that torch itself writes as others, for which there are rules."""
_READS_VALUES = frozenset(
    ["item", "tolist", "numpy", "equal", "allclose", "is_nonzero"]
    + [f"__{name}__" for name in ("array", "bool", "contains", "float", "index", "int")]
)
"""Functions of torch from a tensor to a value of Python, which a trace would keep."""


def graph_of(
    function: Callable[..., Mapping[str, Tensor]],
    shapes: Mapping[tuple[str, str], tuple[int, ...]],
    like: Mapping[str, Tensor],
    n: int,
) -> tuple[fx.GraphModule, list[str]]:
    """Trace a function of fields and node ids: return its graph, and the names of its results."""
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
        ids = torch.empty(n, dtype=torch.int64)
    names: list[str] = []

    def call(ids: Tensor, *tensors: Tensor) -> list[Tensor]:
        results = function(dict(zip(shapes, tensors)), ids)
        names[:] = list(results)
        return [torch.ops.aten.alias(results[name]) for name in names]

    known = [getattr(aten, name) for name in DECOMPOSED.split() if hasattr(aten, name)]
    table = get_decompositions(known)
    table[aten._trilinear.default] = _bilinear
    options: dict[str, Any] = {"decomposition_table": table, "_allow_non_fake_inputs": True}
    places = _Places()
    with mode, torch.no_grad(), torch.random.fork_rng(devices=[]), _quiet(), places, traced():
        module = make_fx(call, **options)(ids, *tensors)
        if any(map(_writes, module.graph.nodes)):
            module = make_fx(torch.func.functionalize(call), **options)(ids, *tensors)
    _without_writes(module.graph)
    module.graph.eliminate_dead_code()
    without_products_of_zeros(module.graph)
    for node in module.graph.nodes:
        node.meta["place"] = places.of(node)
        if _writes(node):
            raise CompileError("it changes one of its arguments in place", node)
        random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
        if random and node.target is not aten.bernoulli.default:
            raise CompileError("it draws random numbers other than those of dropout", node)
    return module, names


class _Places(TorchFunctionMode):
    """A mode that counts calls of torch and records the line of the cell that makes them."""

    def __init__(self) -> None:
        super().__init__()
        self.by_name: dict[str, str] = {}
        self.calls = 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call the function, or :func:`dropout`."""
        from torch._subclasses.fake_tensor import FakeTensor

        name, kwargs = getattr(func, "__name__", ""), kwargs or {}
        self.calls += _parts(name, args, kwargs)
        if self.calls > LONGEST:
            raise CompileError(f"it calls torch more than {LONGEST:,} times; a loop over nodes?")
        frame: Any = sys._getframe(1)
        while frame is not None and _inside(frame.f_code.co_filename):
            frame = frame.f_back
        line = ""
        if frame is not None:
            line = f"{frame.f_code.co_filename}, line {frame.f_lineno}"
            self.by_name[name.strip("_")] = line
        if name in _READS_VALUES and not isinstance(args[0], FakeTensor):
            raise CompileError(f"Python reads the values of a tensor ({line})")
        return (dropout if name == "dropout" else func)(*args, **kwargs)

    def of(self, node: fx.Node) -> str:
        """Return the line that created a node of the graph, if it is known."""
        schema = getattr(node.target, "_schema", None)
        name = "" if schema is None else schema.name.rpartition("::")[2].strip("_")
        return self.by_name.get(name.replace("native_", ""), "")


def _parts(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> int:
    """Return the number of tensors that a call makes, which may be one per node."""
    if name not in ("__iter__", "unbind", "split") or not args:
        return 1
    x, *rest = args
    size = kwargs.get("split_size", rest.pop(0) if rest else 1) if name == "split" else 1
    dim = kwargs.get("dim", rest[0] if rest else 0)
    return x.shape[dim] // size if isinstance(size, int) else 1


def _inside(file: str) -> bool:
    """Return whether a file is one of torch or of the traversal."""
    own = dirname(__file__) == dirname(file)
    return own or f"{sep}torch{sep}" in file or "traversal" in file


def raised_at(error: BaseException) -> str:
    """Return the line of a cell's functions that raised an error, in brackets; empty if unknown."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not _inside(f.filename) and f.filename.endswith(".py")]
    return f" ({own[-1].filename}, line {own[-1].lineno})" if own else ""


def _writes(node: fx.Node) -> bool:
    """Return whether a call changes one of its arguments."""
    schema = getattr(node.target, "_schema", None)
    return node.op == "call_function" and schema is not None and bool(schema.is_mutable)


def _without_writes(graph: fx.Graph) -> None:
    """Replace in-place calls by other calls if their argument has no later use.

    Other in-place calls are kept. The parts of ``unsafe_split`` are not views, so the whole must
    not be read.
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
    """Suppress torch's log of calls that fail; the error has the same text."""
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    was, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = was


def _bilinear(
    x: Tensor, weight: Tensor, y: Tensor, *dims: Sequence[int], unroll_dim: int = 1
) -> Tensor:
    """Compute ``nn.Bilinear`` by one product with its weight as a matrix ``(k, o m)``."""
    if dims != ([1, 3], [0], [1, 2], [2, 3]):
        raise CompileError("the compiler does not support _trilinear")
    o, k, m = weight.shape
    by_x = x @ weight.transpose(0, 1).reshape(k, o * m)
    return (by_x.view(len(x), o, m) * y.unsqueeze(1)).sum(2)


# Products with zeros, as those of leaves with a state that is zero, are left out.

_MADE = {aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default}
_FILLED = {aten.full.default, aten.full_like.default, aten.new_full.default}
_SAME = {
    *(aten.view.default, aten._unsafe_view.default, aten.reshape.default, aten.expand.default),
    *(aten.alias.default, aten.clone.default, aten.detach.default, aten.t.default),
    *(aten.transpose.int, aten.permute.default, aten.unsqueeze.default, aten.squeeze.dim),
    *(aten.slice.Tensor, aten.select.int),
}
_PRODUCTS = {aten.mm.default: 0, aten.bmm.default: 0, aten.addmm.default: 1}
"""Products, and the place of their first factor."""


def without_products_of_zeros(graph: fx.Graph) -> None:
    """Replace ``0 W`` by 0 and ``b + 0 W`` by b, in place; W is assumed to be finite."""
    zeros: set[fx.Node] = set()
    for node in list(graph.nodes):
        if _is_zero(node, zeros):
            zeros.add(node)
        first = _PRODUCTS.get(node.target)
        if first is None or node.args[first] not in zeros or node.kwargs:
            continue
        shape = list(node.meta["val"].shape)
        with graph.inserting_before(node):
            if first == 0:
                new = graph.call_function(aten.zeros.default, (shape,))
                zeros.add(new)
            else:
                new = graph.call_function(aten.expand.default, (node.args[0], shape))
        new.meta = dict(node.meta)
        node.replace_all_uses_with(new)
        graph.erase_node(node)


def _is_zero(node: fx.Node, zeros: set[fx.Node]) -> bool:
    """Return whether all numbers of a node are known to be zero."""
    first: Any = node.args[0] if node.args else None
    if node.target in _FILLED:
        fill = node.args[2 if node.target is aten.new_full.default else 1]
        return isinstance(fill, (int, float)) and fill == 0
    return node.target in _MADE or (node.target in _SAME and first in zeros)


# Random numbers of a cell, as dropout draws them: tables that are drawn before a traversal.

Noise = Callable[[Tensor, float], None]
"""Fills a table with numbers of this mean."""


def bernoulli(table: Tensor, mean: float) -> None:
    """Draw ones with probability ``mean``, and zeros."""
    table.bernoulli_(mean)


def expected(table: Tensor, mean: float) -> None:
    """Return the mean everywhere, so that two runs can be compared: :class:`WithoutNoise`."""
    table.fill_(mean)


def dropout(x: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Do the same as ``torch.dropout``, with random numbers that can be drawn in advance."""
    if not training or p == 0:
        return x
    keep = 1.0 - p
    noise = torch.bernoulli(torch.full_like(x, keep)) / keep
    return x.mul_(noise) if inplace else x * noise


class WithoutNoise(TorchFunctionMode):
    """A mode in which :func:`dropout` and ``bernoulli`` have the mean of their random numbers."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call the function."""
        if getattr(func, "__name__", "") in ("dropout", "bernoulli"):
            return args[0] if args else (kwargs or {})["input"]
        return func(*args, **(kwargs or {}))
