"""A traversal to compile: it is traced, compiled, compared with its functions, and run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.cells.compiled.graph import Noise, WithoutNoise, bernoulli, expected, raised_at
from dgltrees.cells.compiled.loops import CompileError, Phase
from dgltrees.cells.compiled.lower import lower
from dgltrees.cells.compiled.reads import without_effects
from dgltrees.cells.compiled.run import Machine
from dgltrees.cells.compiled.trace import Functions, named, trace_cell
from dgltrees.errors import TreeError
from dgltrees.traversal import views
from dgltrees.traversal.functions import BuiltinReduce
from dgltrees.traversal.levels import run
from dgltrees.traversal.order import levels_of
from dgltrees.traversal.positions import check_positions
from dgltrees.traversal.topo import group_field, schedule_of
from dgltrees.traversal.views import IndexedRows
from dgltrees.traversal.ways import Traversal, dense
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Ints

MANY = 64
"""Numbers of children from which on there is no difference; each smaller one is compared."""
MOST = 8
"""The most versions of a cell that are traced, before its settings are said to change."""
MOST_TYPES = 8
"""The most types of leaves and of other nodes that are traced each by itself."""

LARGE = 2**12
"""The most nodes of a batch that is compared as a whole."""

Outcome = Machine | str
Fields = dict[str, Tensor]
Shared = Mapping[str, Tensor | IndexedRows]


def degrees_of(batch: TreeBatch) -> Ints:
    """Return the number of children of each node."""
    return batch.cache.get(
        "degrees", lambda: np.bincount(batch.dst.numpy(), minlength=batch.num_nodes)
    )


class Work(NamedTuple):
    """A traversal to compile."""

    traversal: Traversal
    batch: TreeBatch
    fields: Shared
    edata: Fields
    modules: Sequence[nn.Module]
    types: Ints | None

    @property
    def seen(self) -> frozenset[Any]:
        """Return the compared properties: numbers of children, repeated ones, types, gradients.

        The code depends on the fields whose gradients are computed.
        """
        degrees = degrees_of(self.batch)
        numbers = np.unique(np.minimum(degrees, MANY)).tolist()
        types = [] if self.types is None else np.unique(self.types[degrees > 0]).tolist()
        rows = {n: t.rows if isinstance(t, IndexedRows) else t for n, t in self.fields.items()}
        wanted = frozenset(name for name, tensor in rows.items() if tensor.requires_grad)
        gradients = [("gradients", wanted)] if torch.is_grad_enabled() else []
        return frozenset([*numbers, *(("type", kind) for kind in types), *gradients])

    @property
    def phases(self) -> frozenset[Phase]:
        """Return the types of leaves and of other nodes."""
        if self.types is None:
            return frozenset()
        inner = degrees_of(self.batch) > 0
        return frozenset(
            Phase(rows, kind)
            for rows, some in (("leaf", ~inner), ("inner", inner))
            for kind in np.unique(self.types[some]).tolist()
        )

    def known(self, machine: Machine) -> bool:
        """Return whether a machine agrees with the functions on batches like this one."""
        return machine.checked >= self.seen and self.has_steps(machine)

    def has_steps(self, machine: Machine) -> bool:
        """Return whether a machine has steps for all types."""
        steps = machine.program.steps
        return all(phase in steps or Phase(phase.rows) in steps for phase in self.phases)

    def check_graph(self) -> None:
        """Call the cells' checks of values, which traced functions cannot do."""
        for module in self.modules:
            check = getattr(module, "check_graph", None)
            if check is not None:
                # most checks read no field, and gathering all of them takes long
                check(self.batch, views.Fields(self.fields.keys(), self._dense))

    def _dense(self, name: str) -> Tensor:
        return dense({name: self.fields[name]})[name]

    def in_range(self, machine: Machine) -> bool:
        """Return whether there are parameters for all types; if not, the functions raise."""
        kinds, types = machine.program.types, self.types
        if not kinds or types is None:
            return True
        if not machine.program.leaf_types:
            types = types[degrees_of(self.batch) > 0]
        return len(types) == 0 or bool(types.min() >= 0 and types.max() < kinds)

    def checked(self, outcome: Outcome | None, arity: int | None, versions: int) -> Outcome:
        """Return a machine that agrees with the functions on this batch, or the reason for none."""
        try:
            if outcome is None:
                if versions >= MOST:
                    raise CompileError("its attributes change between traversals")
                outcome = self.machine(arity)
            elif isinstance(outcome, Machine) and not self.has_steps(outcome):
                outcome = self.machine(arity, outcome.program.steps)
            new = isinstance(outcome, Machine) and not outcome.checked >= self.seen
            if new and isinstance(outcome, Machine) and self.in_range(outcome):
                self.part().check(outcome)
                outcome.checked |= self.seen
        except CompileError as error:
            return str(error)
        except Exception as error:  # of torch, numba or the cell, which others may not meet
            if isinstance(error, TreeError) and isinstance(outcome, Machine):
                raise  # of the graph
            line = named((str(error).splitlines() or [""])[0])
            if type(error).__name__.startswith("DataDependent"):
                line = "Python reads the values of a tensor, as if, item and tolist do"
            return f"it cannot be traced: {type(error).__name__}: {line}{raised_at(error)}"
        return outcome

    def machine(self, arity: int | None, types: Iterable[Phase] = ()) -> Machine:
        """Compile the functions."""
        message, reduce, update, *_ = self.traversal
        if isinstance(reduce, BuiltinReduce):
            raise CompileError("its reduce function is a built-in")
        grouped, slotted = self.traversal.group_by is not None, self.traversal.slots is not None
        functions = Functions(message, reduce, update, arity, slotted, 2 if grouped else None)
        fields = dense(self.fields)
        for phases, changes in self.attempts(types):
            try:
                with without_effects(self.traversal[:3]):
                    traces = trace_cell(replace(functions, **changes), phases, fields, self.edata)
                return Machine(lower(traces, names_of(self.modules), arity))
            except Exception as error:
                reason = error
        raise reason

    def attempts(self, types: Iterable[Phase]) -> Iterator[tuple[Iterable[Phase], dict[str, Any]]]:
        """Yield phases to trace, and changes of the functions: for any, the only, or each type."""
        yield [Phase("leaf"), Phase("inner")], {}
        if self.types is None:
            return
        if not self.types.any(where=degrees_of(self.batch) > 0):
            yield [Phase("leaf"), Phase("inner", 0)], {"types": 1}
        phases = self.phases.union(phase for phase in types if phase.kind is not None)
        if len(phases) <= MOST_TYPES and all((phase.kind or 0) >= 0 for phase in phases):
            yield phases, {"types": None, "group_by": self.traversal.group_by}

    def run(
        self, machine: Machine, fields: Shared | None = None, noise: Noise = bernoulli
    ) -> Fields:
        """Compute the states of all nodes by compiled code."""
        source = self.fields if fields is None else fields

        def find(key: tuple[Any, ...]) -> Tensor | IndexedRows:
            if key[0] == "param":
                tensor: Tensor = attrgetter(key[2])(self.modules[key[1]])
                return tensor
            return (source if key[0] == "field" else self.edata)[key[1]]

        slots: Ints | None = None
        types: Ints | None = None
        if self.traversal.slots is not None:
            pos = self.edata.get("pos")
            slots = check_positions(self.batch, self.traversal.slots, pos)
        if machine.program.types:
            types = self.types
            if types is not None and not machine.program.leaf_types:
                types = types * (degrees_of(self.batch) > 0)
        return machine(self.batch, find, types, slots, noise)

    def generic(self, fields: Mapping[str, Tensor]) -> Fields:
        """Compute the states of all nodes by the three functions."""
        message, reduce, update, _, slots, group_by = self.traversal
        group = None if group_by is None else group_field(fields, group_by, reduce)
        schedule = schedule_of(self.batch, group, self.edata.get("pos"), slots)
        return run(schedule, fields, self.edata, message, reduce, update)

    def part(self) -> Work:
        """Return the lowest levels of a large batch, which suffice for the comparison."""
        if self.batch.num_nodes <= LARGE:
            return self
        level, src, dst = levels_of(self.batch), self.batch.src.numpy(), self.batch.dst.numpy()
        trees = np.repeat(np.arange(len(self.batch.sizes)), self.batch.sizes.numpy())
        levels, top = 16, int(level.max())
        while levels <= top:
            nodes, edges = np.flatnonzero(level < levels), np.flatnonzero(level[dst] < levels)
            rows, places = torch.from_numpy(nodes), np.cumsum(level < levels) - 1
            sizes = np.bincount(trees[nodes], minlength=len(self.batch.sizes))
            new_src, new_dst = (torch.from_numpy(places[each[edges]]) for each in (src, dst))
            part = self._replace(
                batch=TreeBatch(new_src, new_dst, torch.from_numpy(sizes)),
                fields={
                    name: IndexedRows(t.rows, t.index[rows])
                    if isinstance(t, IndexedRows)
                    else t[rows]
                    for name, t in self.fields.items()
                },
                edata={name: t[torch.from_numpy(edges)] for name, t in self.edata.items()},
                types=None if self.types is None else self.types[nodes],
            )
            if part.seen >= self.seen:
                return part
            levels *= 4
        return self

    def check(self, machine: Machine) -> None:
        """Raise CompileError if states or gradients differ from those of the functions."""
        gradients = torch.is_grad_enabled()
        with torch.inference_mode(False), torch.set_grad_enabled(gradients), WithoutNoise():
            leaves = {
                name: t.detach().clone().requires_grad_(gradients and t.requires_grad)
                for name, t in dense(self.fields).items()
            }
            own = [p for module in self.modules for p in module.parameters() if p.requires_grad]
            inputs = [*(t for t in leaves.values() if t.requires_grad), *dict.fromkeys(own)]
            one, two = self.run(machine, leaves, expected), self.generic(leaves)
            if one.keys() != two.keys():
                raise CompileError("its fields are not those of the three functions")
            two = {name: two[name] for name in one}
            _same(one.values(), two.values(), "states")
            if gradients:
                _same(_gradients(one, inputs), _gradients(two, inputs), "gradients")


def _gradients(states: Fields, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Compute the gradients of a sum over all states with alternating signs."""
    total = sum(
        (h * torch.arange(h.numel(), dtype=h.dtype).view(h.shape).cos()).sum()
        for h in states.values()
    )
    if not isinstance(total, Tensor) or not total.requires_grad:
        return []
    found = torch.autograd.grad(total, list(inputs), allow_unused=True)
    return [torch.zeros_like(t) if g is None else g for g, t in zip(found, inputs)]


def _same(ones: Iterable[Tensor], twos: Iterable[Tensor], what: str) -> None:
    """Raise CompileError if finite tensors differ by more than rounding."""
    for one, two in zip(ones, twos):
        limit = 1e-2 if one.dtype == torch.float32 else 1e-6
        near = (one - two).norm() <= limit * two.norm() + limit**2  # not where one is NaN
        if one.shape != two.shape or (not bool(near) and bool(two.isfinite().all())):
            raise CompileError(f"the {what} of its compiled code and of its functions differ")


def modules_of(functions: Sequence[Callable[..., Any]]) -> tuple[list[nn.Module], tuple[str, ...]]:
    """Return the modules that functions belong to or close over, each once, with their names.

    The names are those of the attributes of other objects that hold modules.
    """
    found: list[tuple[str, Any]] = []
    for held in (held for function in functions for held in _held(function)):
        plain = isinstance(held, (nn.Module, FunctionType, type))
        found += [("", held)] if plain else getattr(held, "__dict__", {}).items()
    found = [(name, value) for name, value in found if isinstance(value, nn.Module)]
    modules = {id(module): module for _, module in found}
    return list(modules.values()), tuple(name for name, _ in found)


def _held(function: Callable[..., Any]) -> Iterator[Any]:
    """Yield the object of a method, and the values that a function closes over."""
    if isinstance(function, MethodType):
        yield function.__self__
        function = function.__func__
    for cell in getattr(function, "__closure__", None) or ():
        try:
            held = cell.cell_contents
            yield held.__self__ if isinstance(held, MethodType) else held
        except ValueError:  # not assigned yet
            continue


def names_of(modules: Sequence[nn.Module]) -> dict[int, tuple[Any, ...]]:
    """Return the key of each parameter and buffer, by the id of the tensor."""
    names: dict[int, tuple[Any, ...]] = {}
    for number, module in enumerate(modules):
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            names.setdefault(id(tensor), ("param", number, name))
    return names
