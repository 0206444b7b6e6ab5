"""The fields of nodes before a traversal, and their states in it, level by level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from dgltrees.errors import TreeError
from dgltrees.traversal.functions import call
from dgltrees.traversal.plan import Schedule
from dgltrees.traversal.views import Fields, Groups

Data = Mapping[str, Tensor]
Prepare = Callable[[Data], Data]


def outside_checkpoints() -> AbstractContextManager[None]:
    """Return a context in which tensors are saved for backward even within a checkpoint.

    A checkpointed segment saves no tensors and is recomputed. Tensors that several levels share are
    computed once, by the first segment that needs them, and must not be recomputed with it.
    """
    if getattr(torch._C, "_are_functorch_transforms_active", bool)():  # they have no such hooks
        return nullcontext()
    return saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)


def gathered(data: Data, index: Tensor, groups: Groups | None = None) -> Fields:
    """Select the rows ``index`` of all columns; a column is gathered when it is first read."""

    def gather(name: str) -> Tensor:
        with outside_checkpoints():
            return data[name].index_select(0, index)

    return Fields(data.keys(), gather, groups=groups)


class Pieces:
    """Columns split into ``sizes``; a column is split when a piece of it is first read."""

    def __init__(self, data: Data, sizes: list[int]) -> None:
        self.data, self.sizes = data, sizes
        self._split: dict[str, tuple[Tensor, ...]] = {}

    def get(self, name: str, piece: int) -> Tensor:
        """Return a copy of a piece of a column."""
        split = self._split.get(name)
        if split is None:
            with outside_checkpoints():
                split = self._split[name] = self.data[name].split_with_sizes(self.sizes)
        return split[piece].clone()  # a function may change it in place, as with DGL

    def fields(self, piece: int, overlay: dict[str, Tensor] | None = None) -> Fields:
        """Return a piece of all columns; fields of ``overlay`` take precedence."""
        return Fields(self.data.keys(), lambda name: self.get(name, piece), overlay)


class Columns:
    """The fields of some nodes before the traversal, where prepared fields take precedence.

    Arguments:
        fields: the fields of these nodes.
        ndata: the fields of all nodes.
        prepare: the cell's ``prepare`` function.
        rows: the number of these nodes.
    """

    def __init__(self, fields: Fields, ndata: Data, prepare: Prepare | None, rows: int) -> None:
        self.prepared: dict[str, Tensor] = {}
        if prepare is not None:
            try:
                self.prepared.update(call(prepare, fields, rows))
            except TreeError:
                prepare(ndata)  # raises too, with the node's number in the batch
                raise
        self.fields = Fields(fields.keys(), fields.__getitem__, self.prepared)
        self._ndata = ndata

    def in_dtypes(self, states: Data) -> dict[str, Tensor]:
        """Cast states to the dtypes of the columns that they replace."""
        converted = {}
        for name, tensor in states.items():
            before = self.prepared.get(name, self._ndata.get(name))
            if before is not None:
                check_shape(name, before, tensor)
            converted[name] = tensor if before is None else tensor.to(before.dtype)
        return converted


def check_shape(name: str, before: Tensor, after: Tensor) -> None:
    """Raise ValueError if a field has another shape than before, apart from its rows."""
    if before.shape[1:] != after.shape[1:]:
        raise ValueError(
            f"expected the field {name!r} to keep its shape {tuple(before.shape[1:])} per node, "
            f"got {tuple(after.shape[1:])}; return it under another name"
        )


class States:
    """The states of the levels so far, and the rows that levels send to later ones.

    Arguments:
        schedule: the order of nodes and edges.
        before: returns the fields of the receiving nodes of a level before the traversal, and those
            of the leaves for 0. They are used for fields that only other nodes return.
    """

    def __init__(self, schedule: Schedule, before: Callable[[int], Data]) -> None:
        self.schedule, self.before = schedule, before
        self.leaves: dict[str, Tensor] = {}
        self.levels: list[dict[str, Tensor]] = [{}]
        self.inner: dict[str, Tensor] = {}  # the first rows of each field of the receiving nodes
        sizes = [level.edges for level in schedule.levels]
        self._gather = schedule.gather.split_with_sizes(sizes)
        self._send: tuple[Tensor, ...] | None = None
        if schedule.send is not None:
            self._send = schedule.send.split_with_sizes(
                [sum(level.send_sizes) for level in schedule.levels]
            )
        self._leaf_rows: dict[str, tuple[Tensor, ...]] = {}
        self._sent: dict[tuple[int, str], dict[int, Tensor]] = {}

    def part(self, start: int, stop: int) -> States:
        """Copy the states before level ``start`` that the levels up to ``stop`` need."""
        part = copy(self)
        levels = self.schedule.levels[start:stop]
        needed = {producer for level in levels for producer in level.producers}
        part.levels = [
            states if level in needed else {} for level, states in enumerate(self.levels[:start])
        ]
        part._sent, part.inner = {}, dict(self.inner)
        return part

    @property
    def names(self) -> list[str]:
        """Return the names of the fields that any node has returned."""
        return list(dict.fromkeys([*self.leaves, *self.inner]))

    def add(self, states: dict[str, Tensor]) -> None:
        """Append the states of the receiving nodes of the next level."""
        for name, tensor in states.items():
            check_shape(name, self.leaves.get(name, self.inner.setdefault(name, tensor)), tensor)
        self.levels.append(states)

    def _leaves(self, name: str) -> Tensor:
        """Return a field of the leaves, ``(leaves, ...)``, level by level."""
        schedule = self.schedule
        state = self.leaves.get(name)
        if state is None:
            state = self.before(0).get(name)
        if state is None:
            like = self.inner[name]
            return like.new_zeros((len(schedule.leaves), *like.shape[1:]))
        return state if schedule.leaf_rows is None else state.index_select(0, schedule.leaf_rows)

    def _rows(self, level: int, name: str) -> Tensor:
        """Return a field of the rows of a level: leaves, then receiving nodes."""
        leaves = self._leaf_rows.get(name)
        if leaves is None:
            with outside_checkpoints():
                leaves = self._leaf_rows[name] = self._leaves(name).split_with_sizes(
                    self.schedule.leaf_sizes
                )
        if not self.schedule.levels[level].nodes:
            return leaves[level]
        inner = self._inner(level, name)
        return inner if not self.schedule.leaf_sizes[level] else torch.cat([leaves[level], inner])

    def _inner(self, level: int, name: str) -> Tensor:
        """Return a field of the receiving nodes of a level, or their field from before."""
        state = self.levels[level].get(name)
        if state is None:
            state = self.before(level).get(name)
        if state is not None:
            return state
        like = self.leaves[name] if name in self.leaves else self.inner[name]
        return like.new_zeros((self.schedule.levels[level].nodes, *like.shape[1:]))

    def _received(self, producer: int, consumer: int, name: str) -> Tensor:
        """Return the rows that the level ``producer`` sends to the level ``consumer``."""
        by_consumer = self._sent.get((producer, name))
        if by_consumer is None:
            rows, level = self._rows(producer, name), self.schedule.levels[producer]
            if self._send is None:
                by_consumer = {consumer: rows}
            else:
                sent = rows.index_select(0, self._send[producer])
                by_consumer = dict(zip(level.consumers, sent.split_with_sizes(level.send_sizes)))
            self._sent[producer, name] = by_consumer
        return by_consumer.pop(consumer)

    def sources(self, index: int, name: str) -> Tensor:
        """Return a field of the sources of a level's edges, ``(edges, ...)``, in their order."""
        level = self.schedule.levels[index]
        pieces = [self._received(producer, index, name) for producer in level.producers]
        rows = pieces[0] if len(pieces) == 1 else torch.cat(pieces)
        if not level.in_order:
            return rows.index_select(0, self._gather[index])
        return rows.clone() if len(pieces) == 1 else rows  # a function may change its mailbox

    def all(self, name: str) -> Tensor:
        """Return a field of all nodes, ``(N, ...)``, in the order of the nodes."""
        inner = [self._inner(level, name) for level in range(1, len(self.levels))]
        return torch.cat([self._leaves(name), *inner]).index_select(0, self.schedule.back)
