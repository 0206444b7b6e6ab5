"""The graph of the operations of sentences, with their initial and final states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.papers.rrnet.graphs import match_splits, operation_graph, token_at
from dgltrees.papers.rrnet.models.policy import legal, legal_between_words
from dgltrees.papers.rrnet.models.stepping import Consume, RRNetState, Steps
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.kinds import Operation
from dgltrees.trees.segments import lasts, owner, ranges, running_sum, starts, within

OPERATION = "op"
"""The node column of operations in the data; 0 (START) where there is none."""


class Rollout(NamedTuple):
    """The operations at the tokens of ``T`` sentences.

    Attributes:
        graph: the graph of the operations: for each sentence START, then an OPEN for each subtree
            that is open at its beginning, then the tokens. Its node field ``from_data`` is True
            for operations from the data.
        x_mask, h_mask: ``(T, m)`` and ``(T, d)``, the dropout masks of the decisions.
        start: the state in which the sentences begin; None for zeros and an empty stack.
    """

    graph: TreeBatch
    x_mask: Tensor | None
    h_mask: Tensor | None
    start: RRNetState | None = None


def with_starts(
    batch: TreeBatch,
    operations: Tensor,
    from_data: Tensor,
    start: RRNetState | None = None,
    *,
    complete: bool = False,
) -> TreeBatch:
    """Build the graph of the operations of sentences, with node columns; -1 at START and OPEN."""
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
            wide = column.new_full((len(ops), *column.shape[1:]), _nothing(column))
            graph.ndata[name] = wide.index_copy_(0, steps, column)
    return graph.to(batch.device)


def with_tokens(batch: TreeBatch, steps: Steps) -> TreeBatch:
    """Build sentences whose nodes are steps, each with the columns of the next token."""
    operations, sizes = batch.on_host(steps.operations).numpy(), steps.sizes.numpy()
    token = torch.from_numpy(token_at(operations, sizes, batch.sizes.numpy())).to(batch.device)
    none = torch.empty(0, dtype=torch.long)
    columns = {}
    for name, column in batch.ndata.items():
        last = column.new_full((1, *column.shape[1:]), _nothing(column))
        columns[name] = torch.cat([column, last])[token]
    return TreeBatch(none, none, steps.sizes, ndata=columns)


def _nothing(column: Tensor) -> int:
    """Return the value of a column where there is no token."""
    return -1 if column.dtype != torch.bool and not column.is_floating_point() else 0


def largest_stack(steps: Steps, start: RRNetState | None = None) -> int:
    """Return the largest number of open subtrees in any sentence with these operations."""
    ops, sizes = steps.operations.cpu().numpy(), steps.sizes.numpy()
    change = (ops == Operation.SPLIT).astype(np.int64) - (ops == Operation.MERGE)
    opened = 0 if start is None else start.size.numpy().repeat(sizes)
    return int((running_sum(change, sizes) + opened).max(initial=0))


def steps_of(graph: TreeBatch) -> Tensor:
    """Return the nodes that are steps, ``(S,)``; cached with the graph."""

    def steps() -> Tensor:
        return torch.from_numpy(np.flatnonzero(_is_step(graph)))

    return graph.cache.get("steps", steps, device=graph.device)


def readers_of(graph: TreeBatch, consume: Consume) -> Tensor:
    """Return the index of each step that consumes a token, ``(S,)``; cached with the graph."""

    def readers() -> Tensor:
        recurs = _operations(graph)[_is_step(graph)] == Operation.RECUR
        return torch.from_numpy(np.flatnonzero(recurs | (consume == "step")))

    return graph.cache.get(f"readers {consume}", readers, device=graph.device)


def legal_steps(graph: TreeBatch, max_open: int, consume: Consume) -> Tensor:
    """Return a mask of the legal operations at each step, ``(L, 3)`` bool."""

    def tokens_left() -> Tensor:  # whether a RECUR comes at each step or after it
        recurs, sizes = _operations(graph) == Operation.RECUR, graph.sizes.numpy()
        so_far = running_sum(recurs, sizes)
        left = so_far[lasts(sizes)].repeat(sizes) - so_far + recurs
        return torch.from_numpy((left > 0)[_is_step(graph)])

    before = steps_of(graph) - 1
    open_trees = graph.ndata["open"].index_select(0, before)
    if consume == "step":
        return legal(open_trees, max_open)
    left = graph.cache.get("left", tokens_left, device=graph.device)
    last = graph.ndata["op"].index_select(0, before)
    return legal_between_words(open_trees, max_open, last, left)


def step_sizes(graph: TreeBatch) -> Tensor:
    """Return the number of steps of each sequence, ``(T,)`` int64 on the CPU; cached."""

    def sizes() -> Tensor:
        sequence = owner(graph.sizes.numpy())[_is_step(graph)]
        return torch.from_numpy(np.bincount(sequence, minlength=graph.num_trees))

    return graph.cache.get("step_sizes", sizes)


def start_fields(graph: TreeBatch, start: RRNetState) -> dict[str, Tensor]:
    """Return the node fields from which a cell reads the initial state of sequences.

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
    """Return the final state of sequences, detached."""
    matching = match_splits(_operations(graph), graph.sizes.numpy())
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


def _operations(graph: TreeBatch) -> NDArray[np.int64]:
    return np.asarray(graph.on_host(graph.ndata["op"]).numpy())


def _is_step(graph: TreeBatch) -> NDArray[np.bool_]:
    operations = _operations(graph)
    return np.asarray((operations != Operation.START) & (operations != Operation.OPEN))


_ODD = np.uint64(0x9E3779B97F4A7C15)


def supervised_tokens(batch: TreeBatch, column: str, fraction: float) -> Tensor:
    """Choose about this fraction of the sentences, and return a mask of their tokens, ``(S,)``.

    A sentence is chosen by a hash of its tokens, so that the choice is the same in every epoch.
    """
    ids, sizes = batch.on_host(batch.ndata[column]).numpy(), batch.sizes.numpy()
    place = within(sizes).astype(np.uint64)
    mixed = (ids.astype(np.uint64) + np.uint64(1)) * (place * _ODD + np.uint64(1)) ** np.uint64(3)
    hashed = np.add.reduceat(mixed, starts(sizes)) * _ODD if len(sizes) else mixed
    chosen = (hashed >> np.uint64(32)) < np.uint64(round(fraction * 2**32))
    return torch.from_numpy(np.repeat(chosen, sizes)).to(batch.device)
