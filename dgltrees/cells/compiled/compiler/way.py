"""The compiled way of cells that have none by hand.

A traversal of enough nodes traces, compiles and checks a cell once; where something does not hold,
it goes the generic way, and :func:`explain_compile` says why.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Optional, Union
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.cells.casts import autocasts
from dgltrees.cells.compiled.compiler.lower import lower
from dgltrees.cells.compiled.compiler.machine import folder
from dgltrees.cells.compiled.compiler.noise import Noise, WithoutNoise, bernoulli, expected
from dgltrees.cells.compiled.compiler.owner import (
    fingerprint,
    hooked,
    modules_of,
    names_of,
    parameter,
)
from dgltrees.cells.compiled.compiler.program import Machine
from dgltrees.cells.compiled.compiler.reasons import CompileError
from dgltrees.cells.compiled.compiler.statements import Phase
from dgltrees.cells.compiled.compiler.trace import (
    Functions,
    Trace,
    named,
    trace_cell,
    trace_types,
)
from dgltrees.cells.compiled.kernels import compiles
from dgltrees.errors import ConfigError, TreeError
from dgltrees.traversal.builtin import BuiltinReduce
from dgltrees.traversal.calls import prepared
from dgltrees.traversal.positions import check_positions
from dgltrees.traversal.views import IndexedRows
from dgltrees.traversal.ways import Traversal, dense, general_way, goes_second, way_of
from dgltrees.trees.batch import TreeBatch

__all__ = ["SMALLEST", "compiled_traversal", "explain_compile"]

SMALLEST, PATIENCE = 32, 2**14
"""The fewest nodes of a batch for which a cell is compiled; without gradients a smaller one uses
what there is, until together they have so many nodes. In training the batch alone decides: dropout
and rounding after a resume are those of a run that was never stopped."""
MANY = 4
"""Numbers of children from which on there is no difference."""
WIDEST = 16
"""The most children for which a cell is compiled where all nodes have as many."""
MOST = 8
"""The most versions of a cell that are traced, before its settings are said to change."""
MOST_TYPES = 8
"""The most types of leaves and of other nodes that are traced each by itself."""

Ints = NDArray[np.int64]
Outcome = Union[Machine, str]
Fields = dict[str, Tensor]
Shared = Mapping[str, Union[Tensor, IndexedRows]]
_versions: WeakKeyDictionary[nn.Module, dict[Any, Outcome]] = WeakKeyDictionary()
_nodes: WeakKeyDictionary[nn.Module, int] = WeakKeyDictionary()
_of_functions: dict[Any, dict[Any, Outcome]] = {}
_lock = threading.RLock()


@general_way
def compiled_traversal(
    traversal: Traversal, batch: TreeBatch, ndata: Shared, edata: Fields
) -> Optional[Fields]:
    """The states of all nodes by compiled code; None where the generic way has to go."""
    rows = {name: t.rows if isinstance(t, IndexedRows) else t for name, t in ndata.items()}
    floats = [t for t in rows.values() if t.is_floating_point()]
    if not floats or not len(batch.src) or not compiles(floats[0]) or autocasts("cpu"):
        return None
    if _watched() or any(type(t) not in (Tensor, nn.Parameter) for t in rows.values()):
        return None
    small = batch.num_nodes < SMALLEST
    if small and torch.is_grad_enabled():
        return None
    three = traversal.message, traversal.reduce, traversal.update
    try:
        modules = modules_of(three)
        versions = _versions_of(modules, three)
        enough = not small or _adds_up(modules, batch)
        if not versions and not enough:  # before the fingerprint, which takes long
            return None
        key = fingerprint(three), _signature(rows), _signature(edata), traversal.group_by
    except (CompileError, TypeError):
        return None
    work: Optional[_Work] = None
    for arity in _arities(traversal, batch):
        outcome = versions.get((*key, arity))
        if isinstance(outcome, str) or (outcome is None and not enough):
            continue
        if work is None:
            fields: Shared = {n: t for n, t in ndata.items() if not isinstance(t, IndexedRows)}
            if traversal.prepare is not None:
                fields = {**fields, **prepared(traversal.prepare, ndata, batch.num_nodes)}
            work = _Work(traversal, batch, fields, edata, modules, _types(traversal, batch, fields))
            work.check_graph()
        if not isinstance(outcome, Machine) or not work.known(outcome):
            with _lock:
                outcome = work.checked(versions.get((*key, arity)), arity, len(versions))
                if len(versions) <= MOST:
                    versions[(*key, arity)] = outcome
        if isinstance(outcome, Machine):
            return work.run(outcome) if work.in_range(outcome) and not hooked(modules) else None
    return None


def explain_compile(cell: nn.Module) -> str:
    """Whether the functions of a cell run as machine code, and if not, why.

    A cell is compiled when backend ``levels`` first runs it over a batch of at least 32 nodes, or
    without gradients has run it over 16,384 nodes in smaller ones, on a processor, in single or
    double precision, with numba installed.

    Arguments:
        cell: a cell, or the module whose methods are passed to :func:`dgltrees.prop_nodes_topo`.

    Returns:
        a sentence; several lines if it depends on the settings and fields that the cell ran with.

    Raises:
        ConfigError: it is no module.
    """
    name = type(cell).__name__
    if not isinstance(cell, nn.Module):
        raise ConfigError(f"expected a cell, or a module whose methods are passed, got {name}")
    versions = _versions.get(cell, {})
    if not versions and way_of(cell) is not None and not goes_second(cell):
        return f"{name} has a compiled way of its own"
    by_settings: dict[Any, list[tuple[Optional[int], Outcome]]] = {}
    for (*key, arity), outcome in versions.items():
        by_settings.setdefault(tuple(key), []).append((arity, outcome))
    lines = [_explained(name, outcomes) for outcomes in by_settings.values()]
    if len(set(lines)) > 1:
        for number, line in enumerate(lines):
            lines[number] = f"with its {_ordinal(number)} settings or fields, {line}"
    return "\n".join(dict.fromkeys(lines)) or (
        f"{name} is not compiled: it has not run over a batch of {SMALLEST} nodes or more yet"
    )


def _explained(name: str, outcomes: Sequence[tuple[Optional[int], Outcome]]) -> str:
    """What became of a cell with some settings: for any number of children, or else for some."""
    alone = [arity or 0 for arity, outcome in outcomes[1:] if isinstance(outcome, Machine)]
    (_, first), *_ = outcomes
    if isinstance(first, Machine):
        return f"{name} is compiled"
    if alone:
        numbers = " or ".join(map(str, sorted(alone)))
        return f"{name} is compiled where all nodes have as many children, {numbers}; else {first}"
    return f"{name} is not compiled: {first}"


def _ordinal(number: int) -> str:
    return ("first", "second", "third")[number] if number < 3 else f"{number + 1}th"


def _arities(traversal: Traversal, batch: TreeBatch) -> list[Optional[int]]:
    """Widths of mailboxes to compile for: that of the slots; or any, or else that of all nodes."""
    if traversal.slots is not None:
        return [traversal.slots]
    degrees = _degrees(batch)
    inner = degrees[degrees > 0]
    same = len(inner) > 0 and inner.min() == inner.max() <= WIDEST
    return [None, int(inner[0])] if same else [None]


def _watched() -> bool:
    """Whether a transform of torch.func or a mode looks at every call, and would miss these."""
    private = ("_are_functorch_transforms_active", "_len_torch_dispatch_stack")
    return any(bool(getattr(torch._C, name, bool)()) for name in private)


def _signature(fields: Mapping[str, Tensor]) -> tuple[Any, ...]:
    return tuple((name, tuple(t.shape[1:]), t.dtype) for name, t in fields.items())


def _adds_up(modules: Sequence[nn.Module], batch: TreeBatch) -> bool:
    """Whether the small batches of a cell have had many nodes together."""
    if not modules:
        return False
    _nodes[modules[0]] = total = _nodes.get(modules[0], 0) + batch.num_nodes
    return total >= PATIENCE


def _versions_of(modules: Sequence[nn.Module], functions: Sequence[Any]) -> dict[Any, Outcome]:
    """The versions of some functions: with their first module, or by their code."""
    if modules:
        return _versions.setdefault(modules[0], {})
    codes = tuple(getattr(function, "__code__", None) for function in functions)
    return _of_functions.setdefault(codes, {})


def _types(traversal: Traversal, batch: TreeBatch, fields: Shared) -> Optional[Ints]:
    """The type of each node that has children, 0 at others; None without types."""
    field = None if traversal.group_by is None else fields.get(traversal.group_by)
    if not isinstance(field, Tensor) or field.is_floating_point():
        return None
    types: Ints = batch.on_host(field).numpy().astype(np.int64)
    return types


def _degrees(batch: TreeBatch) -> NDArray[np.int64]:
    """The number of children of each node."""
    degrees: Ints = batch.cache.get(
        "degrees", lambda: np.bincount(batch.dst.numpy(), minlength=batch.num_nodes)
    )
    return degrees


class _Work(NamedTuple):
    """A traversal to compile."""

    traversal: Traversal
    batch: TreeBatch
    fields: Shared
    edata: Fields
    modules: Sequence[nn.Module]
    types: Optional[Ints]

    @property
    def seen(self) -> frozenset[Any]:
        """What is compared: numbers of children, many of which are the same, types, gradients."""
        degrees = _degrees(self.batch)
        numbers = np.unique(np.minimum(degrees, MANY)).tolist()
        types = [] if self.types is None else np.unique(self.types[degrees > 0]).tolist()
        gradients = ["gradients"] if torch.is_grad_enabled() else []
        return frozenset([*numbers, *(("type", kind) for kind in types), *gradients])

    @property
    def phases(self) -> frozenset[Phase]:
        """The types of leaves and of other nodes."""
        if self.types is None:
            return frozenset()
        inner = _degrees(self.batch) > 0
        return frozenset(
            Phase(rows, kind)
            for rows, some in (("leaf", ~inner), ("inner", inner))
            for kind in np.unique(self.types[some]).tolist()
        )

    def known(self, machine: Machine) -> bool:
        """Whether a machine has been compared with the functions on batches like this one."""
        return machine.checked >= self.seen and self.has_steps(machine)

    def has_steps(self, machine: Machine) -> bool:
        """Whether a machine has steps for all types."""
        steps = machine.program.steps
        return all(phase in steps or Phase(phase.rows) in steps for phase in self.phases)

    def check_graph(self) -> None:
        """Let the cells check what their functions, which are called once, cannot check."""
        for module in self.modules:
            check = getattr(module, "check_graph", None)
            if check is not None:
                check(self.batch, dense(self.fields))

    def in_range(self, machine: Machine) -> bool:
        """Whether there are parameters for all types; if not, the generic way says so."""
        kinds, types = machine.program.types, self.types
        if not kinds or types is None:
            return True
        if not machine.program.leaf_types:
            types = types[_degrees(self.batch) > 0]
        return len(types) == 0 or bool(types.min() >= 0 and types.max() < kinds)

    def checked(self, outcome: Optional[Outcome], arity: Optional[int], versions: int) -> Outcome:
        """A machine that agrees with the three functions on this batch, or what is in the way."""
        try:
            if outcome is None:
                if versions >= MOST:
                    raise CompileError("its attributes change between traversals")
                outcome = self.machine(arity)
            elif isinstance(outcome, Machine) and not self.has_steps(outcome):
                outcome = self.machine(arity, outcome.program.steps)
            new = isinstance(outcome, Machine) and not outcome.checked >= self.seen
            if new and isinstance(outcome, Machine) and self.in_range(outcome):
                self.check(outcome)
                outcome.checked |= self.seen
        except CompileError as error:
            return str(error)
        except Exception as error:  # of torch, numba or the cell, which others may not meet
            if isinstance(error, TreeError) and isinstance(outcome, Machine):
                raise  # of the graph
            line = named((str(error).splitlines() or [""])[0])
            if type(error).__name__.startswith("DataDependent"):
                line = "Python reads the values of a tensor, as if, item and tolist do"
            return f"it cannot be traced: {type(error).__name__}: {line}"
        return outcome

    def machine(self, arity: Optional[int], types: Iterable[Phase] = ()) -> Machine:
        """The functions, compiled.

        Arguments:
            arity: the width of all mailboxes, if it is the same.
            types: types that have steps of their own, besides those of this batch.

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
        grouped, slotted = self.traversal.group_by is not None, self.traversal.slots is not None
        functions = Functions(message, reduce, update, arity, slotted, 2 if grouped else None)
        for attempt in self.attempts(functions, types):
            try:
                return Machine(lower(attempt(), names_of(self.modules), arity))
            except Exception as error:
                reason = error
        raise reason

    def attempts(
        self, functions: Functions, types: Iterable[Phase]
    ) -> Iterator[Callable[[], Mapping[Phase, Trace]]]:
        """Ways to trace: for any type; for one, if there may be no other; each type by itself."""
        fields = dense(self.fields)

        def trace(types: Optional[int], kind: Optional[int] = None) -> dict[Phase, Trace]:
            leaf, inner = trace_cell(replace(functions, types=types), fields, self.edata)
            return {Phase("leaf"): leaf, Phase("inner", kind): inner}

        yield lambda: trace(functions.types)
        if self.types is None:
            return
        if not self.types.any(where=_degrees(self.batch) > 0):
            yield lambda: trace(1, 0)
        phases = self.phases.union(phase for phase in types if phase.kind is not None)
        if len(phases) <= MOST_TYPES and all((phase.kind or 0) >= 0 for phase in phases):
            field = self.traversal.group_by or ""
            yield lambda: trace_types(functions, field, phases, fields, self.edata)

    def run(
        self, machine: Machine, fields: Optional[Shared] = None, noise: Noise = bernoulli
    ) -> Fields:
        """The states of all nodes by compiled code."""
        source = self.fields if fields is None else fields

        def find(key: tuple[Any, ...]) -> Union[Tensor, IndexedRows]:
            if key[0] == "param":
                return parameter(self.modules, key)
            return (source if key[0] == "field" else self.edata)[key[1]]

        slots: Optional[Ints] = None
        types: Optional[Ints] = None
        if self.traversal.slots is not None:
            pos = self.edata.get("pos")
            slots = check_positions(self.batch, self.traversal.slots, pos)
        if machine.program.types:
            types = self.types
            if types is not None and not machine.program.leaf_types:
                types = types * (_degrees(self.batch) > 0)
        return machine(self.batch, find, types, slots, noise)

    def check(self, machine: Machine) -> None:
        """Compare states and gradients with those of the three functions.

        Raises:
            CompileError: they differ by more than rounding.
        """
        gradients = torch.is_grad_enabled()
        with torch.inference_mode(False), torch.set_grad_enabled(gradients), WithoutNoise():
            leaves = {
                name: t.detach().clone().requires_grad_(gradients and t.is_floating_point())
                for name, t in dense(self.fields).items()
            }
            own = [p for module in self.modules for p in module.parameters() if p.requires_grad]
            inputs = [*(t for t in leaves.values() if t.requires_grad), *dict.fromkeys(own)]
            one, two = self.run(machine, leaves, expected), self.traversal.generic(leaves)
            if one.keys() != two.keys():
                raise CompileError("its fields are not those of the three functions")
            two = {name: two[name] for name in one}
            _same(one.values(), two.values(), "states")
            if gradients:
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
        near = (one - two).norm() <= limit * two.norm() + limit**2  # not where one is NaN
        if one.shape != two.shape or (not bool(near) and bool(two.isfinite().all())):
            raise CompileError(f"the {what} of its compiled code would differ from its functions'")
