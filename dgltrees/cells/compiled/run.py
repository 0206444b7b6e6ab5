"""A compiled cell: its program, its machine code, and the autograd function around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltrees.cells.compiled.derivative import derivative_of
from dgltrees.cells.compiled.graph import Noise, bernoulli
from dgltrees.cells.compiled.kernels import machine_code
from dgltrees.cells.compiled.loops import Input, Key, Program
from dgltrees.cells.compiled.plan import LevelPlan, level_plan
from dgltrees.cells.compiled.printing import printed_down, printed_up
from dgltrees.cells.compiled.schedule import layout_of, read_of
from dgltrees.cells.compiled.workspace import Workspace, as_arrays, refuse_second_derivative
from dgltrees.traversal.views import IndexedRows
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Ints

SMALLEST_SHARD = 64
"""The fewest nodes for which another thread pays."""
NARROWEST = 64
"""The fewest rows for which a level's matrix product is worth its call: it reads all weights."""
CACHE = 2**21
"""Bytes of a core's private cache."""
MOST, PIECE = 2**28, 2**26
"""Bytes of the tables of a batch from which on it is cut into pieces; of the tables of a piece."""
_SHARED = ("none", "type")
"""Inputs that threads add gradients to, each in a table of its own."""


@dataclass
class Machine:
    """A program that runs over batches.

    Arguments:
        program: what to compute.

    Attributes:
        checked: what it was compared with the three functions on: numbers of children, types, and
            fields with gradients.
    """

    program: Program

    def __post_init__(self) -> None:
        whole = derivative_of(self.program, set(self.program.inputs.values()))
        self.layout = layout_of(self.program, whole.reads, whole.derived)
        self.inputs = list(self.program.inputs.items())
        self.of_leaves = _of_leaves(self.program)
        self.up = printed_up(self.program, self.layout)
        self.checked: frozenset[Any] = frozenset()
        self._down: dict[frozenset[int], str] = {}

    def down(self, wanted: frozenset[int]) -> str:
        """Return the code for the gradients of the inputs ``wanted``."""
        if wanted not in self._down:
            inputs = {i for i in self.program.inputs.values() if i.number in wanted}
            derivative = derivative_of(self.program, inputs)
            self._down[wanted] = printed_down(self.program, derivative, self.layout)
        return self._down[wanted]

    def __call__(
        self,
        batch: TreeBatch,
        find: Callable[[Key], Tensor | IndexedRows],
        types: Ints | None = None,
        slots: Ints | None = None,
        noise: Noise = bernoulli,
    ) -> dict[str, Tensor]:
        """Compute the states of all nodes."""
        values, index = self._inputs(find, batch, noise)
        like = values[0]
        shards = self.shards(batch, like.itemsize)
        plans = level_plan(batch, shards, self.rows(batch, shards, like.itemsize), types, slots)
        threads = min(torch.get_num_threads(), shards)
        way: Any = _Compiled
        states = way.apply(_Run(self, plans, index, batch.num_nodes, threads), *values)
        shapes = self.program.states.items()
        return {
            name: state.view(len(state), *shape)
            for (name, (_, shape)), state in zip(shapes, states)
        }

    def _inputs(
        self, find: Callable[[Key], Tensor | IndexedRows], batch: TreeBatch, noise: Noise
    ) -> tuple[list[Tensor], Tensor | None]:
        """Return fields, parameters and results of :attr:`Program.before` for the kernels.

        If nodes share the rows of all their fields, also the row of each node.
        """
        known: dict[Key, Tensor] = {}
        index = None if self.program.before else _index(self.inputs, find)
        for key in self.of_leaves:  # what no inner node reads may be NaN, and 0 times NaN is NaN
            x = find(key)
            x = x if isinstance(x, Tensor) else x.dense()
            inner = torch.zeros(len(x), dtype=torch.bool).index_fill_(0, batch.dst.long(), True)
            known[key] = x.masked_fill(inner.view(-1, *[1] * (x.dim() - 1)), 0)

        def value(arg: Any) -> Any:
            if isinstance(arg, list):
                return [value(each) for each in arg]
            if not isinstance(arg, tuple):
                return arg
            if arg[0] == "rows":
                return batch.num_nodes * arg[1]
            if arg not in known:
                known[arg] = drawn(*arg[1:4]) if arg[0] == "noise" else field(find(arg))
            return known[arg]

        def field(found: Tensor | IndexedRows) -> Tensor:
            if isinstance(found, Tensor):
                return found
            return found.dense() if index is None else found.rows

        def drawn(mean: float, rows: str, width: int) -> Tensor:
            count = len(batch.src) if rows == "edge" else batch.num_nodes
            table = torch.empty(count, width, dtype=self.program.dtype)
            noise(table, mean)
            return table

        for key, (function, args, kwargs) in self.program.before.items():
            options = {name: value(arg) for name, arg in kwargs.items()}
            known[key] = function(*(value(arg) for arg in args), **options)
        tensors = [value(key) for (key, _), _ in self.inputs]
        dtype = self.program.dtype
        rows = [_rows(t.to(dtype), source) for t, (_, source) in zip(tensors, self.inputs)]
        return rows, index

    def shards(self, batch: TreeBatch, itemsize: int) -> int:
        """Return the number of shards of a batch, which fit a cache; equally many per thread."""
        nodes = batch.num_nodes
        by_cache = nodes * sum(self.layout.widths) * itemsize // CACHE + 1
        levels = int(batch.depth.max(initial=0)) + 1 if batch.depth is not None else nodes
        by_width = nodes // (levels * NARROWEST)
        threads = max(1, min(torch.get_num_threads(), nodes // SMALLEST_SHARD))
        return max(1, min(by_cache, by_width) // threads) * threads

    def rows(self, batch: TreeBatch, shards: int, itemsize: int) -> int | None:
        """Return the rows of a piece of a batch; None if all rows fit into memory."""
        width, edge_width, *gradients = self.layout.widths
        nodes, edges = batch.num_nodes, len(batch.src)
        share = min(shards, torch.get_num_threads()) / shards  # of the gradients, at a time
        size = width * nodes + edge_width * edges
        size += int(share * (gradients[0] * nodes + gradients[1] * edges))
        if size * itemsize <= MOST:
            return None
        return max(SMALLEST_SHARD, nodes * PIECE // (size * itemsize))


def _of_leaves(program: Program) -> set[Key]:
    """Return the fields that calls of torch before the traversal read only for leaves."""

    def fields(arg: Any) -> set[Key]:
        if isinstance(arg, list):
            return set[Key]().union(*map(fields, arg))
        if arg.__class__ is not tuple or arg[0] == "field":
            return {arg} if arg.__class__ is tuple else set()
        _, args, kwargs = program.before.get(arg, (None, (), {}))
        return fields([*args, *kwargs.values()])

    keys = {source: key for (key, _), source in program.inputs.items()}
    read: dict[bool, set[Key]] = {True: set(), False: set()}  # by leaves, by others
    for phase, steps in program.steps.items():
        found = {load.source for step in steps for load in read_of(step)}
        used = [keys[source] for source in found if isinstance(source, Input)]
        leaf = phase.rows == "leaf"
        read[leaf] |= fields([key for key in used if not leaf or key in program.before])
    return read[True] - read[False]


def _index(
    inputs: Sequence[tuple[tuple[Key, str], Input]], find: Callable[[Key], Tensor | IndexedRows]
) -> Tensor | None:
    """Return the row of each node, if all inputs of nodes are fields with shared rows."""
    keys = [key for (key, rows), _ in inputs if rows == "node"]
    if any(key[0] != "field" for key in keys):
        return None
    fields = [find(key) for key in keys]
    shared = [field.index for field in fields if isinstance(field, IndexedRows)]
    same = len(shared) == len(fields) > 0 and all(index is shared[0] for index in shared)
    return shared[0] if same else None


def _rows(tensor: Tensor, source: Input) -> Tensor:
    """Return an input as the kernels read it: ``(rows, width)``, or a parameter as one row."""
    if source.rows == "none":
        return tensor.reshape(-1)
    return tensor.reshape(tensor.numel() // source.width, source.width)


class _Run(NamedTuple):
    """The run of a machine over a batch, or over one piece after another.

    ``shared`` is the row of each node in the fields, if nodes share them.
    """

    machine: Machine
    plans: Sequence[LevelPlan]
    shared: Tensor | None
    nodes: int
    threads: int

    def up(self, plan: LevelPlan, inputs: Sequence[Tensor], states: Sequence[Tensor]) -> Workspace:
        """Compute the states of a plan's nodes, and the tables that the backward pass reads."""
        from dgltrees.cells.compiled.kernels.rows import run

        width, edge_width, *_ = self.machine.layout.widths
        space = Workspace(inputs[0], [(len(plan.order), width), (len(plan.child), edge_width)])
        up = machine_code(self.machine.up, "up", "plan, T, E, inputs, outputs", self.threads > 1)
        others = as_arrays(*inputs), as_arrays(*states)
        head = len(plan.bounds), (*plan, self.rows(plan))
        run(up, self.threads, (*head, *as_arrays(*space.tensors), *others))
        return space

    def down(
        self,
        plan: LevelPlan,
        space: Workspace,
        wanted: frozenset[int],
        inputs: Sequence[Tensor],
        outside: Sequence[Tensor],
        totals: Sequence[Tensor],
    ) -> None:
        """Add the gradients of a plan's nodes to the totals, those of given states to outside."""
        from dgltrees.cells.compiled.kernels.rows import run

        (nodes, edges), (*_, width, edge_width) = plan.largest, self.machine.layout.widths
        threads = self.threads
        memory = Workspace(inputs[0], [(threads, nodes, width), (threads, edges, edge_width)])
        arguments = "plan, T, E, G, H, inputs, outputs, totals"
        down = machine_code(self.machine.down(wanted), "down", arguments, threads > 1)
        tables = as_arrays(*space.tensors, *memory.tensors)
        others = as_arrays(*inputs), as_arrays(*outside), as_arrays(*totals)
        run(down, threads, (len(plan.bounds), (*plan, self.rows(plan)), *tables, *others))

    def rows(self, plan: LevelPlan) -> Ints:
        """Return the row of each of a plan's rows in the fields."""
        return plan.order if self.shared is None else self.shared.numpy()[plan.order]


class _Compiled(torch.autograd.Function):
    """The autograd function that runs all levels."""

    @staticmethod
    def forward(ctx: Any, run: _Run, *inputs: Tensor) -> tuple[Tensor, ...]:
        like, buffers = inputs[0], run.machine.program.states.values()
        states = tuple(like.new_empty(run.nodes, b.width) for b, _ in buffers)
        for plan in run.plans:  # the tables of one are those of the next, if there are several
            space = run.up(plan, inputs, states)
        several = len(run.plans) > 1
        kept = [state.clone() for state in states] if several else []  # others may change states
        ctx.save_for_backward(*inputs, *kept)
        ctx.run = run
        ctx.space = None if several else space  # lives as long as the autograd graph
        ctx.wanted = frozenset(i for i, need in enumerate(ctx.needs_input_grad[1:]) if need)
        ctx.set_materialize_grads(False)
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        refuse_second_derivative()
        run, machine, wanted = ctx.run, ctx.run.machine, ctx.wanted
        count, threads = len(machine.inputs), run.threads
        saved = ctx.saved_tensors  # once, as torch's checkpoints require
        inputs, states = saved[:count], saved[count:]
        copies = 1 if run.shared is None else threads
        totals = [
            _total(t, i, n in wanted, threads if i.rows in _SHARED else copies)
            for n, (t, (_, i)) in enumerate(zip(inputs, machine.inputs))
        ]
        if ctx.space is not None:
            none = [inputs[0].new_empty(0, b.width) for b, _ in machine.program.states.values()]
            outside = [n if g is None else g for n, g in zip(none, grads)]
            run.down(run.plans[0], ctx.space, wanted, inputs, outside, totals)
        else:  # the gradients of given states are added to those from outside
            outside = [
                torch.zeros_like(s) if g is None else g.clone(memory_format=torch.contiguous_format)
                for s, g in zip(states, grads)
            ]
            for plan in reversed(run.plans):
                space = run.up(plan, inputs, states)
                run.down(plan, space, wanted, inputs, outside, totals)
        results = [
            None if n not in wanted else t if i.rows == "edge" else _joined(t)
            for n, (t, (_, i)) in enumerate(zip(totals, machine.inputs))
        ]
        return (None, *results)


def _joined(totals: Tensor) -> Tensor:
    """Return the sum over the threads."""
    return totals[0] if len(totals) == 1 else totals.sum(0)


def _total(tensor: Tensor, source: Input, wanted: bool, copies: int) -> Tensor:
    """Return zeros for the gradient of an input, one table per thread if threads share rows."""
    if not wanted:
        return tensor.new_zeros((0, 0, 0) if source.rows in ("type", "node") else (0, 0))
    if source.rows == "edge":
        return torch.zeros_like(tensor)
    return tensor.new_zeros(copies, *tensor.shape)
