"""A compiled cell: its program, its machine code, and the autograd function around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.cells.compiled.compiler.expressions import Input
from dgltrees.cells.compiled.compiler.generate import down_code, up_code
from dgltrees.cells.compiled.compiler.loops import Layout
from dgltrees.cells.compiled.compiler.lower import Key, Program
from dgltrees.cells.compiled.compiler.machine import kernels
from dgltrees.cells.compiled.compiler.noise import Noise, bernoulli
from dgltrees.cells.compiled.compiler.plan import LevelPlan, level_plan
from dgltrees.cells.compiled.kernels import CACHE, NARROWEST, SMALLEST_SHARD
from dgltrees.cells.compiled.once import refuse_second_derivative
from dgltrees.cells.compiled.workspace import Workspace, as_arrays
from dgltrees.trees.batch import TreeBatch

__all__ = ["Machine"]

_SHARED = ("none", "type")
"""Inputs that threads add gradients to, each in a table of its own."""
Ints = NDArray[np.int64]


@dataclass
class Machine:
    """Runs a program over batches.

    Arguments:
        program: what to compute.

    Attributes:
        checked: the numbers of children with which it was compared with the three functions.
    """

    program: Program

    def __post_init__(self) -> None:
        self.layout = Layout.of(self.program)
        self.inputs = list(self.program.inputs.items())
        self.up = up_code(self.program)
        self.checked: frozenset[int] = frozenset()
        self._down: dict[frozenset[int], str] = {}

    def down(self, wanted: frozenset[int]) -> str:
        """The code for the gradients of the inputs ``wanted``."""
        if wanted not in self._down:
            inputs = {i for i in self.program.inputs.values() if i.number in wanted}
            self._down[wanted] = down_code(self.program, inputs)
        return self._down[wanted]

    def __call__(
        self,
        batch: TreeBatch,
        find: Callable[[Key], Tensor],
        types: Optional[Ints] = None,
        slots: Optional[Ints] = None,
        noise: Noise = bernoulli,
    ) -> dict[str, Tensor]:
        """The states of all nodes.

        Arguments:
            batch: the graph.
            find: the field or the parameter of a key.
            types: ``(N,)`` the type of each node, 0 at leaves unless their function reads it.
            slots: ``(E,)`` the slot of each edge, if there are slots.
            noise: draws random numbers.
        """

        values = self._inputs(find, batch, noise)
        like = values[0]
        plan = level_plan(batch, self.shards(batch, like.itemsize), types, slots)
        way: Any = _Compiled
        states = way.apply(self, plan, batch.num_nodes, *values)
        shapes = self.program.states.items()
        return {
            name: state.view(len(state), *shape)
            for (name, (_, shape)), state in zip(shapes, states)
        }

    def _inputs(
        self, find: Callable[[Key], Tensor], batch: TreeBatch, noise: Noise
    ) -> list[Tensor]:
        """Fields, parameters and results of :attr:`Program.before`, as the kernels read them."""
        known: dict[Key, Tensor] = {}

        def value(arg: Any) -> Any:
            if isinstance(arg, list):
                return [value(each) for each in arg]
            if not isinstance(arg, tuple):
                return arg
            if arg[0] == "rows":
                return batch.num_nodes * arg[1]
            if arg not in known:
                known[arg] = drawn(*arg[1:4]) if arg[0] == "noise" else find(arg)
            return known[arg]

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
        return [_rows(t.to(dtype), source) for t, (_, source) in zip(tensors, self.inputs)]

    def shards(self, batch: TreeBatch, itemsize: int) -> int:
        """How many shards to cut a batch into, so that each fits a cache and threads have some."""
        nodes = batch.num_nodes
        by_cache = nodes * 2 * self.layout.node_width * itemsize // CACHE + 1
        levels = int(batch.depth.max(initial=0)) + 1 if batch.depth is not None else nodes
        by_width = nodes // (levels * NARROWEST)
        threads = min(torch.get_num_threads(), nodes // SMALLEST_SHARD)
        return max(1, threads, min(by_cache, by_width))


def _rows(tensor: Tensor, source: Input) -> Tensor:
    """An input as the kernels read it: ``(rows, width)``, or a parameter as one row."""
    if source.rows == "none":
        return tensor.reshape(-1)
    return tensor.reshape(tensor.numel() // source.width, source.width)


class _Compiled(torch.autograd.Function):
    """Runs all levels."""

    @staticmethod
    def forward(
        ctx: Any, machine: Machine, plan: LevelPlan, nodes: int, *inputs: Tensor
    ) -> tuple[Tensor, ...]:
        from dgltrees.cells.compiled.kernels.rows import run

        like, layout = inputs[0], machine.layout
        space = Workspace(like, [(nodes, layout.node_width), (len(plan.child), layout.edge_width)])
        states = tuple(like.new_empty(nodes, b.width) for b, _ in machine.program.states.values())
        threads = _threads(plan)
        wanted = frozenset(i for i, need in enumerate(ctx.needs_input_grad[3:]) if need)
        up = kernels(machine.up, "up", "plan, T, E, inputs, outputs", threads > 1)
        arrays = as_arrays(*inputs)
        run(
            up,
            threads,
            (len(plan.bounds), tuple(plan), *as_arrays(*space.tensors), arrays, as_arrays(*states)),
        )
        ctx.save_for_backward(*inputs)
        ctx.machine, ctx.plan, ctx.wanted = machine, plan, wanted
        ctx.space = space  # lives as long as the autograd graph
        ctx.set_materialize_grads(False)
        return states

    @staticmethod
    def backward(ctx: Any, *grads: Optional[Tensor]) -> tuple[Optional[Tensor], ...]:
        from dgltrees.cells.compiled.kernels.rows import run

        refuse_second_derivative("a compiled cell")
        inputs, machine, plan = ctx.saved_tensors, ctx.machine, ctx.plan
        like, layout, threads = inputs[0], machine.layout, _threads(ctx.plan)
        nodes, edges = plan.largest
        memory = Workspace(
            like, [(threads, nodes, layout.node_width), (threads, edges, layout.edge_width)]
        )
        totals = [
            _total(t, i, n in ctx.wanted, threads)
            for n, (t, (_, i)) in enumerate(zip(inputs, machine.inputs))
        ]
        none = [like.new_empty(0, b.width) for b, _ in machine.program.states.values()]
        outside = [n if g is None else g for n, g in zip(none, grads)]
        down = kernels(
            machine.down(ctx.wanted),
            "down",
            "plan, T, E, G, H, inputs, outputs, totals",
            threads > 1,
        )
        run(
            down,
            threads,
            (
                len(plan.bounds),
                tuple(plan),
                *as_arrays(*ctx.space.tensors),
                *as_arrays(*memory.tensors),
                as_arrays(*inputs),
                as_arrays(*outside),
                as_arrays(*totals),
            ),
        )
        results = [
            None if n not in ctx.wanted else _joined(t) if i.rows in _SHARED else t
            for n, (t, (_, i)) in enumerate(zip(totals, machine.inputs))
        ]
        return (None, None, None, *results)


def _joined(totals: Tensor) -> Tensor:
    """The sum over the threads."""
    return totals[0] if len(totals) == 1 else totals.sum(0)


def _total(tensor: Tensor, source: Input, wanted: bool, threads: int) -> Tensor:
    """Zeros for the gradient of an input; of a parameter, for each thread."""
    if not wanted:
        return tensor.new_zeros((0, 0, 0) if source.rows == "type" else (0, 0))
    if source.rows in _SHARED:
        return tensor.new_zeros(threads, *tensor.shape)
    return torch.zeros_like(tensor)


def _threads(plan: LevelPlan) -> int:
    return max(1, min(torch.get_num_threads(), len(plan.bounds)))
