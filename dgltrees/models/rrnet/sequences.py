"""The graph of the operations of sentences, from the states they begin in to those they end in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.models.rrnet.stepping import RRNetState
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.operations import Operation, match_splits, operation_graph
from dgltrees.trees.segments import lasts, owner, ranges, running_sum, starts, within

__all__ = ["final_state", "largest_stack", "start_fields", "step_sizes", "steps_of", "with_starts"]


def with_starts(
    batch: TreeBatch,
    operations: Tensor,
    from_data: Tensor,
    start: Optional[RRNetState] = None,
    *,
    complete: bool = False,
) -> TreeBatch:
    """The graph of the operations of sentences, with their node columns; -1 at START and OPEN.

    Arguments:
        batch: sentences with ``S`` tokens.
        operations: ``(S,)``, the operation at each token.
        from_data: ``(S,)`` bool, which operations come from the data; becomes a node field.
        start: the state in which the sentences begin; each has an OPEN per open sub-tree of it.
        complete: whether a sentence that leaves a split open is an error.
    """
    sizes = batch.sizes.numpy()
    heads = np.ones_like(sizes) if start is None else 1 + start.size.numpy()
    total = heads + sizes
    ops = np.full(int(total.sum()), int(Operation.OPEN))
    ops[starts(total)] = Operation.START
    nodes = ranges(starts(total) + heads, sizes)
    ops[nodes] = batch.on_host(operations).numpy()
    graph = operation_graph(ops, total, complete=complete)
    steps = torch.from_numpy(nodes).to(batch.device)
    for name, column in {**batch.ndata, "from_data": from_data.to(batch.device)}.items():
        if name != "op":
            fill = -1 if column.dtype != torch.bool else False
            wide = column.new_full((len(ops), *column.shape[1:]), fill)
            graph.ndata[name] = wide.index_copy_(0, steps, column)
    return graph.to(batch.device)


def largest_stack(batch: TreeBatch, operations: Tensor) -> int:
    """The largest number of open sub-trees in any sentence with the operations ``(S,)``."""
    ops, sizes = batch.on_host(operations).numpy(), batch.sizes.numpy()
    change = (ops == Operation.SPLIT).astype(np.int64) - (ops == Operation.MERGE)
    return int(running_sum(change, sizes).max(initial=0))


def steps_of(graph: TreeBatch) -> Tensor:
    """The nodes that are steps, ``(S,)``; cached with the graph."""
    return graph.cache.get(
        "steps",
        lambda: torch.from_numpy(np.flatnonzero(_is_step(graph))),
        device=graph.device,
    )


def step_sizes(graph: TreeBatch) -> Tensor:
    """The number of steps of each sequence, ``(T,)`` int64 on the CPU; cached with the graph."""
    return graph.cache.get("step_sizes", lambda: _count_steps(graph))


def _count_steps(graph: TreeBatch) -> Tensor:
    sequence = owner(graph.sizes.numpy())
    return torch.from_numpy(np.bincount(sequence[_is_step(graph)], minlength=graph.num_trees))


def start_fields(graph: TreeBatch, start: RRNetState) -> dict[str, Tensor]:
    """The node fields from which a cell reads the state in which sequences begin.

    OPEN nodes have h and c of their START, so that the node before a step has the state before it.
    """
    heads = np.flatnonzero(~_is_step(graph))
    sequence = owner(graph.sizes.numpy())[heads]
    rows = torch.from_numpy(sequence).to(start.h.device)
    level = within(graph.sizes.numpy())[heads] - 1  # on the stack, -1 at START
    is_open = level >= 0
    places = tuple(torch.from_numpy(a[is_open]).to(start.h.device) for a in (sequence, level))
    nodes, opens = (torch.from_numpy(a).to(start.h.device) for a in (heads, heads[is_open]))

    def spread(nodes: Tensor, values: Tensor) -> Tensor:
        return values.new_zeros(graph.num_nodes, values.shape[1]).index_copy(0, nodes, values)

    fields = {name: spread(nodes, getattr(start, name)[rows]) for name in ("h", "c")}
    fields["down"] = spread(opens, start.stack[places])
    if start.stack_c.shape[2]:
        fields["down_c"] = spread(opens, start.stack_c[places])
    return fields


def final_state(graph: TreeBatch, states: Mapping[str, Tensor], max_open: int) -> RRNetState:
    """The state in which sequences end, detached.

    Arguments:
        graph: the graph of the operations.
        states: the cell's state fields of all nodes.
        max_open: K, the most sub-trees that can be open at a time.
    """
    operations = graph.on_host(graph.ndata["op"]).numpy()
    matching = match_splits(operations, graph.sizes.numpy())
    sequence = owner(graph.sizes.numpy())[matching.open]
    size = np.bincount(sequence, minlength=graph.num_trees)
    level = within(size)
    h, c, down = (states[name].detach() for name in ("h", "c", "down"))
    places = tuple(torch.from_numpy(each).to(h.device) for each in (sequence, level))
    left = torch.from_numpy(matching.open).to(h.device)
    ends = lasts(graph.sizes).to(h.device)

    def stacked(pushed: Tensor) -> Tensor:
        stack = pushed.new_zeros(graph.num_trees, max_open, pushed.shape[1])
        return stack.index_put(places, pushed.index_select(0, left))

    memory = states["down_c"].detach() if "down_c" in states else down[:, :0]
    return RRNetState(
        h.index_select(0, ends),
        c.index_select(0, ends),
        stacked(down),
        stacked(memory),
        torch.from_numpy(size),
    )


def _is_step(graph: TreeBatch) -> NDArray[np.bool_]:
    operations = graph.on_host(graph.ndata["op"]).numpy()
    is_step: NDArray[np.bool_] = (operations != Operation.START) & (operations != Operation.OPEN)
    return is_step
