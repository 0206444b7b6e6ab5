"""The ATen calls of a function, written down by running it on tensors without data."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import sep
from os.path import dirname
from typing import Any

import torch
from torch import Tensor, fx
from torch.overrides import TorchFunctionMode

from dgltrees.cells.compiled.compiler.noise import dropout
from dgltrees.cells.compiled.compiler.reasons import CompileError
from dgltrees.cells.compiled.compiler.zeros import without_products_of_zeros
from dgltrees.traversal.functions import traced

__all__ = ["graph_of"]

aten = torch.ops.aten
LONGEST = 5_000
"""The most calls of torch in a trace: a loop over nodes, which all have an index there, would take
minutes."""

DECOMPOSED = (
    "native_layer_norm gelu baddbmm logsumexp linalg_vector_norm glu _prelu_kernel mish hardswish "
    "hardsigmoid softplus log_sigmoid_forward celu selu std std_mean addmv hardshrink softshrink "
    "threshold logaddexp _scaled_dot_product_flash_attention_for_cpu"
)
"""Operations that torch itself writes as others, for which there are rules."""


def graph_of(
    function: Callable[..., Mapping[str, Tensor]],
    shapes: Mapping[tuple[str, str], tuple[int, ...]],
    like: Mapping[str, Tensor],
    n: int,
) -> tuple[fx.GraphModule, list[str]]:
    """The graph of a function of fields and the ids of n nodes, and the names of what it returns.

    Arguments:
        function: called with tensors by kind and name, and the ids.
        shapes: those of the tensors.
        like: tensors of the same dtypes, by name.
        n: the number of nodes.

    Raises:
        CompileError: it changes what it was given, draws random numbers, or calls torch too often.
    """
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
    return module, names


class _Places(TorchFunctionMode):
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
    own = dirname(__file__) == dirname(file)
    return own or f"{sep}torch{sep}" in file or "traversal" in file


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


def _bilinear(
    x: Tensor, weight: Tensor, y: Tensor, *dims: Sequence[int], unroll_dim: int = 1
) -> Tensor:
    """``nn.Bilinear`` by a product with its weight ``(o, k, m)``, as one matrix ``(k, o m)``."""
    if dims != ([1, 3], [0], [1, 2], [2, 3]):
        raise CompileError("there is no rule for _trilinear")
    o, k, m = weight.shape
    by_x = x @ weight.transpose(0, 1).reshape(k, o * m)
    return (by_x.view(len(x), o, m) * y.unsqueeze(1)).sum(2)
