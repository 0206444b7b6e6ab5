"""The compiled way of cells that have none by hand.

A traversal of enough nodes traces, compiles and checks a cell once; where something does not hold,
it goes the generic way, and :func:`explain_compile` says why.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.cells.compiled.compiler.lower import lower
from dgltrees.cells.compiled.compiler.machine import folder
from dgltrees.cells.compiled.compiler.owner import (
    fingerprint,
    hooked,
    modules_of,
    names_of,
    parameter,
)
from dgltrees.cells.compiled.compiler.program import Machine
from dgltrees.cells.compiled.compiler.reasons import CompileError
from dgltrees.cells.compiled.compiler.trace import Functions, trace_cell
from dgltrees.cells.compiled.fused_lstm import autocasts
from dgltrees.cells.compiled.kernels import compiles
from dgltrees.traversal.builtin import BuiltinReduce
from dgltrees.traversal.calls import call
from dgltrees.traversal.ways import Traversal, general_way, way_of
from dgltrees.trees.batch import TreeBatch

__all__ = ["SMALLEST", "compiled_traversal", "explain_compile"]

SMALLEST = 256
"""The fewest nodes of a batch for which a cell is compiled; a smaller one uses what there is."""
MANY = 4
"""Numbers of children from which on there is no difference."""
MOST = 8
"""The most versions of a cell that are traced, before its settings are said to change."""

Outcome = Union[Machine, str]
Fields = dict[str, Tensor]
_outcomes: WeakKeyDictionary[nn.Module, dict[Any, Outcome]] = WeakKeyDictionary()
_of_functions: dict[Any, dict[Any, Outcome]] = {}
_lock = threading.RLock()


@general_way
def compiled_traversal(
    traversal: Traversal, batch: TreeBatch, ndata: Fields, edata: Fields
) -> Optional[Fields]:
    """The states of all nodes by compiled code; None where the generic way has to go."""
    floats = [t for t in ndata.values() if t.is_floating_point()]
    if not floats or not len(batch.src) or not compiles(floats[0]) or autocasts("cpu"):
        return None
    if _watched() or any(type(t) not in (Tensor, nn.Parameter) for t in ndata.values()):
        return None
    three = traversal.message, traversal.reduce, traversal.update
    try:
        modules = modules_of(three)
        outcomes = _outcomes_of(modules, three)
        if not outcomes and batch.num_nodes < SMALLEST:  # before the fingerprint, which takes long
            return None
        key = fingerprint(three), _signature(ndata), _signature(edata)
        outcome = outcomes.get(key)
    except (CompileError, TypeError):
        return None
    if isinstance(outcome, str) or (outcome is None and batch.num_nodes < SMALLEST):
        return None
    prepare = traversal.prepare
    fields = ndata
    if prepare is not None:
        fields = {**ndata, **call(prepare, ndata, batch.num_nodes)}
    work = _Work(traversal, batch, fields, edata, modules)
    if not isinstance(outcome, Machine) or not outcome.checked >= _degrees(batch):
        with _lock:
            outcome = work.checked(outcomes.get(key), len(outcomes))
            if len(outcomes) <= MOST:
                outcomes[key] = outcome
    if isinstance(outcome, str) or hooked(modules):
        return None
    return work.run(outcome, fields)


def explain_compile(cell: Any) -> str:
    """Whether the functions of a cell run as machine code, and if not, why.

    A cell is compiled when backend ``levels`` first runs it over a batch of at least 256 nodes on a
    processor, in single or double precision, with numba installed.

    Arguments:
        cell: a cell, or the module whose methods are passed to :func:`dgltrees.prop_nodes_topo`.

    Returns:
        a sentence; several lines if the cell ran with several settings or fields.
    """
    name = type(cell).__name__
    outcomes = list(_outcomes.get(cell, {}).values()) if isinstance(cell, nn.Module) else []
    lines = [
        f"{name} is compiled" if isinstance(each, Machine) else f"{name} is not compiled: {each}"
        for each in outcomes
    ]
    if not lines and way_of(cell) is not None:
        return f"{name} has a compiled way of its own"
    return "\n".join(dict.fromkeys(lines)) or (
        f"{name} is not compiled: it has not run over a batch of {SMALLEST} nodes or more yet"
    )


def _watched() -> bool:
    """Whether a transform of torch.func or a mode looks at every call, and would miss these."""
    private = ("_are_functorch_transforms_active", "_len_torch_dispatch_stack")
    return any(bool(getattr(torch._C, name, bool)()) for name in private)


def _signature(fields: Mapping[str, Tensor]) -> tuple[Any, ...]:
    return tuple((name, tuple(t.shape[1:]), t.dtype) for name, t in fields.items())


def _outcomes_of(modules: Sequence[nn.Module], functions: Sequence[Any]) -> dict[Any, Outcome]:
    """The versions of some functions: with their first module, or by their code."""
    if modules:
        return _outcomes.setdefault(modules[0], {})
    codes = tuple(getattr(function, "__code__", None) for function in functions)
    return _of_functions.setdefault(codes, {})


def _degrees(batch: TreeBatch) -> frozenset[int]:
    """The numbers of children in a batch; many are all the same."""
    degrees: frozenset[int] = batch.cache.get(
        "degrees", lambda: frozenset(np.minimum(np.bincount(batch.dst.numpy()), MANY).tolist())
    )
    return degrees


class _Work(NamedTuple):
    """A traversal to compile."""

    traversal: Traversal
    batch: TreeBatch
    fields: Fields
    edata: Fields
    modules: Sequence[nn.Module]

    def checked(self, outcome: Optional[Outcome], versions: int) -> Outcome:
        """A machine that agrees with the three functions on this batch, or what is in the way."""
        try:
            if outcome is None:
                if versions >= MOST:
                    raise CompileError("its attributes change between traversals")
                outcome = self.machine()
            if isinstance(outcome, Machine) and not outcome.checked >= _degrees(self.batch):
                self.check(outcome)
                outcome.checked |= _degrees(self.batch)
        except CompileError as error:
            return str(error)
        except (
            Exception
        ) as error:  # of torch, numba or the cell, which the generic way may not meet
            line = (str(error).splitlines() or [""])[0]
            if type(error).__name__.startswith("DataDependent"):
                line = "Python reads the values of a tensor, as if, item and tolist do"
            return f"it cannot be traced: {type(error).__name__}: {line}"
        return outcome

    def machine(self) -> Machine:
        """The functions, compiled.

        Raises:
            CompileError: something is in the way.
        """
        if hooked(self.modules):
            raise CompileError("one of its modules has hooks")
        if folder() is None:
            raise CompileError("there is no folder for its code; set NUMBA_CACHE_DIR")
        message, reduce, update, *_ = self.traversal
        if isinstance(reduce, BuiltinReduce):
            raise CompileError("its reduce function is a built-in")
        traces = trace_cell(Functions(message, reduce, update), self.fields, self.edata)
        return Machine(lower(*traces, names_of(self.modules)))

    def run(self, machine: Machine, fields: Fields) -> Fields:
        """The states of all nodes by compiled code."""

        def find(key: tuple[Any, ...]) -> Tensor:
            if key[0] == "param":
                return parameter(self.modules, key)
            return (fields if key[0] == "field" else self.edata)[key[1]]

        return machine(self.batch, find)

    def check(self, machine: Machine) -> None:
        """Compare states and gradients with those of the three functions.

        Raises:
            CompileError: they differ by more than rounding.
        """
        with torch.inference_mode(False), torch.enable_grad():
            leaves = {
                name: t.detach().clone().requires_grad_(t.is_floating_point())
                for name, t in self.fields.items()
            }
            own = [p for module in self.modules for p in module.parameters() if p.requires_grad]
            inputs = [*(t for t in leaves.values() if t.requires_grad), *dict.fromkeys(own)]
            one, two = self.run(machine, leaves), self.traversal.generic(leaves)
            if one.keys() != two.keys():
                raise CompileError("its fields are not those of the three functions")
            two = {name: two[name] for name in one}
            _same(one.values(), two.values(), "states")
            _same(_gradients(one, inputs), _gradients(two, inputs), "gradients")


def _gradients(states: Fields, inputs: Sequence[Tensor]) -> list[Tensor]:
    """The gradients of a sum over all states with changing signs."""
    total = sum(
        (h * torch.arange(h.numel(), dtype=h.dtype).view(h.shape).cos()).sum()
        for h in states.values()
    )
    if not isinstance(total, Tensor) or not total.requires_grad:
        return []
    found = torch.autograd.grad(total, list(inputs), allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for g, t in zip(found, inputs)]


def _same(ones: Iterable[Tensor], twos: Iterable[Tensor], what: str) -> None:
    """Raise CompileError if tensors differ by more than rounding, unless there is no comparing."""
    for one, two in zip(ones, twos):
        limit = 1e-2 if one.dtype == torch.float32 else 1e-6
        far = (one - two).norm() > limit * two.norm() + limit**2
        if one.shape != two.shape or (bool(far) and bool(two.isfinite().all())):
            raise CompileError(f"the {what} of its compiled code would differ from its functions'")
