"""The graph of some operations, from the state that earlier ones have led to, and to the next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.models.rrnet.stepping import ReaderState
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.operations import Operation, match_splits, operation_graph
from dgltrees.trees.segments import lasts, owner, ranges, running_sum, starts, within

__all__ = ["given_fields", "most_open", "state_after", "step_sizes", "steps_of", "with_starts"]


def with_starts(
    batch: TreeBatch,
    operations: Tensor,
    given: Tensor,
    start: Optional[ReaderState] = None,
    *,
    complete: bool = False,
) -> TreeBatch:
    """The graph of the operations of sentences; START and OPEN have -1 in the columns of tokens.

    Arguments:
        batch: ``S`` tokens.
        operations: ``(S,)``.
        given: ``(S,)`` bool.
        start: the state in which the sentences begin, with an OPEN for each open sub-tree.
        complete: refuse sentences that leave a split open.
    """
    sizes = batch.sizes.numpy()
    heads = np.ones_like(sizes) if start is None else 1 + start.size.numpy()
    total = heads + sizes
    made = np.full(int(total.sum()), int(Operation.OPEN))
    made[starts(total)] = Operation.START
    places = ranges(starts(total) + heads, sizes)
    made[places] = batch.on_host(operations).numpy()
    graph = operation_graph(made, total, complete=complete)
    steps = torch.from_numpy(places).to(batch.device)
    for name, column in {**batch.ndata, "given": given.to(batch.device)}.items():
        if name != "op":
            fill = -1 if column.dtype != torch.bool else False
            wide = column.new_full((len(made), *column.shape[1:]), fill)
            graph.ndata[name] = wide.index_copy_(0, steps, column)
    return graph.to(batch.device)


def most_open(batch: TreeBatch, operations: Tensor) -> int:
    """The largest number of sub-trees that operations ``(S,)`` have open in a sentence."""
    done, sizes = batch.on_host(operations).numpy(), batch.sizes.numpy()
    change = (done == Operation.SPLIT).astype(np.int64) - (done == Operation.MERGE)
    return int(running_sum(change, sizes).max(initial=0))


def steps_of(graph: TreeBatch) -> Tensor:
    """``(S,)`` the nodes that are steps; found at the first call and kept with the graph."""
    return graph.cache.get(
        "steps",
        lambda: torch.from_numpy(np.flatnonzero(_is_step(graph))),
        device=graph.device,
    )


def step_sizes(graph: TreeBatch) -> Tensor:
    """``(T,)`` int64 on the CPU, the steps of each sequence; kept with the graph as well."""
    return graph.cache.get("step_sizes", lambda: _count_steps(graph))


def _count_steps(graph: TreeBatch) -> Tensor:
    sequence = owner(graph.sizes.numpy())
    return torch.from_numpy(np.bincount(sequence[_is_step(graph)], minlength=graph.num_trees))


def given_fields(graph: TreeBatch, start: ReaderState) -> dict[str, Tensor]:
    """The node fields that tell a cell in which state sequences begin.

    OPEN nodes have h and c of their START, so that the node before a step has the state before it.
    """
    heads = np.flatnonzero(~_is_step(graph))
    sequence = owner(graph.sizes.numpy())[heads]
    rows = torch.from_numpy(sequence).to(start.h.device)
    level = within(graph.sizes.numpy())[heads] - 1  # on the stack, -1 at START
    is_open = level >= 0
    places = tuple(torch.from_numpy(a[is_open]).to(start.h.device) for a in (sequence, level))
    nodes, opens = (torch.from_numpy(a).to(start.h.device) for a in (heads, heads[is_open]))

    def spread(where: Tensor, values: Tensor) -> Tensor:
        return values.new_zeros(graph.num_nodes, values.shape[1]).index_copy(0, where, values)

    fields = {name: spread(nodes, getattr(start, name)[rows]) for name in ("h", "c")}
    fields["down"] = spread(opens, start.stack[places])
    if start.stack_c.shape[2]:
        fields["down_c"] = spread(opens, start.stack_c[places])
    return fields


def state_after(graph: TreeBatch, states: Mapping[str, Tensor], limit: int) -> ReaderState:
    """The state in which sequences end, without a way back into them.

    Arguments:
        graph: the operations.
        states: what the cell made of every node.
        limit: K, how many sub-trees can be open at a time.
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
        stack = pushed.new_zeros(graph.num_trees, limit, pushed.shape[1])
        return stack.index_put(places, pushed.index_select(0, left))

    memory = states["down_c"].detach() if "down_c" in states else down[:, :0]
    return ReaderState(
        h.index_select(0, ends),
        c.index_select(0, ends),
        stacked(down),
        stacked(memory),
        torch.from_numpy(size),
    )


def _is_step(graph: TreeBatch) -> NDArray[np.bool_]:
    operations = graph.on_host(graph.ndata["op"]).numpy()
    found: NDArray[np.bool_] = (operations != Operation.START) & (operations != Operation.OPEN)
    return found
