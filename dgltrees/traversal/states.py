"""What nodes were, and what they have become so far in a traversal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from copy import copy
from typing import Optional

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from dgltrees.errors import TreeError
from dgltrees.traversal.schedule import Schedule
from dgltrees.traversal.views import Fields

__all__ = ["Columns", "Data", "Pieces", "Prepare", "States", "gathered"]

Data = Mapping[str, Tensor]
Prepare = Callable[[Data], Data]


def _once() -> AbstractContextManager[None]:
    """What is computed here for all levels is no part of the segment that asks for it first.

    A segment that is recomputed keeps nothing for the backward pass and finds again what it asked
    for; so what it finds must keep for itself what its own backward pass needs.
    """
    return saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)


def gathered(data: Data, index: Tensor) -> Fields:
    """The rows ``index`` of all columns, each gathered when it is first read."""

    def gather(name: str) -> Tensor:
        with _once():
            return data[name].index_select(0, index)

    return Fields(data.keys(), gather)


class Pieces:
    """Columns cut into ``sizes``, each when a piece of it is first read."""

    def __init__(self, data: Data, sizes: list[int]) -> None:
        self.data, self.sizes = data, sizes
        self._cut: dict[str, tuple[Tensor, ...]] = {}

    def get(self, name: str, piece: int) -> Tensor:
        """A column's piece."""
        cut = self._cut.get(name)
        if cut is None:
            with _once():
                cut = self._cut[name] = self.data[name].split_with_sizes(self.sizes)
        return cut[piece]

    def fields(self, piece: int, known: Optional[dict[str, Tensor]] = None) -> Fields:
        """All columns of a piece, with ``known`` laid over them."""
        return Fields(self.data.keys(), lambda name: self.get(name, piece), known)


class Columns:
    """What some nodes were before the traversal.

    Arguments:
        given: their fields.
        whole: the fields of all nodes, of which those are rows.
        prepare: what the cell makes of their fields beforehand, laid over them.
    """

    def __init__(self, given: Fields, whole: Data, prepare: Optional[Prepare]) -> None:
        self.prepared: dict[str, Tensor] = {}
        if prepare is not None:
            try:
                self.prepared.update(prepare(given))
            except TreeError:
                prepare(whole)  # raises too, and counts nodes as the batch does
                raise
        self.fields = Fields(given.keys(), given.__getitem__, self.prepared)
        self._whole = whole

    def kept(self, made: Data) -> dict[str, Tensor]:
        """``made`` in the dtypes of the columns that it replaces."""
        kept = {}
        for name, tensor in made.items():
            before = self.prepared.get(name, self._whole.get(name))
            if before is not None:
                check_shape(name, before, tensor)
            kept[name] = tensor if before is None else tensor.to(before.dtype)
        return kept


def check_shape(name: str, before: Tensor, after: Tensor) -> None:
    """Raise ValueError where a field has another shape, its rows aside."""
    if before.shape[1:] != after.shape[1:]:
        raise ValueError(
            f"expected field {name!r} to keep its shape {tuple(before.shape[1:])} a node, "
            f"got {tuple(after.shape[1:])}; return it under another name"
        )


class States:
    """What nodes have become so far, handed from level to level.

    Arguments:
        schedule: the order.
        before: what leaves were; read where other nodes make a field and leaves do not.
    """

    def __init__(self, schedule: Schedule, before: Callable[[], Data]) -> None:
        self.schedule, self.before = schedule, before
        self.leaves: dict[str, Tensor] = {}
        self.levels: list[dict[str, Tensor]] = [{}]
        sizes = [level.edges for level in schedule.levels]
        self._take = schedule.take.split_with_sizes(sizes)
        self._give: Optional[tuple[Tensor, ...]] = None
        if schedule.give is not None:
            self._give = schedule.give.split_with_sizes(
                [sum(level.give_sizes) for level in schedule.levels]
            )
        self._leaf_rows: dict[str, tuple[Tensor, ...]] = {}
        self._handed: dict[tuple[int, str], dict[int, Tensor]] = {}

    def part(self, start: int, stop: int) -> States:
        """What there is before level ``start``, as far as the levels up to ``stop`` need it.

        What is added to it stays in it.
        """
        part = copy(self)
        taken = {giver for level in self.schedule.levels[start:stop] for giver in level.givers}
        part.levels = [
            made if at in taken or at == 1 else {} for at, made in enumerate(self.levels[:start])
        ]
        part._handed = {}
        return part

    @property
    def names(self) -> list[str]:
        """The fields that some node has made."""
        inner = self.levels[1] if len(self.levels) > 1 else {}
        return list(dict.fromkeys([*self.leaves, *inner]))

    def add(self, made: dict[str, Tensor]) -> None:
        """Take in what the receiving nodes of the next level made."""
        if len(self.levels) > 1 and made.keys() != self.levels[1].keys():
            raise ValueError(
                f"expected every level to make the fields {sorted(self.levels[1])}, got "
                f"{sorted(made)} at level {len(self.levels)}; return the same keys every time"
            )
        for name, tensor in made.items():
            if name in self.leaves:
                check_shape(name, self.leaves[name], tensor)
        self.levels.append(made)

    def _leaves(self, name: str) -> Tensor:
        """``(leaves,...)`` a field of the leaves, level after level."""
        schedule = self.schedule
        made = self.leaves.get(name)
        if made is None:
            made = self.before().get(name)
        if made is None:
            like = self.levels[1][name]
            return like.new_zeros((len(schedule.leaves), *like.shape[1:]))
        return made if schedule.leaf_rows is None else made.index_select(0, schedule.leaf_rows)

    def _rows(self, level: int, name: str) -> Tensor:
        """A field of the rows of a level: leaves, then receiving nodes."""
        cut = self._leaf_rows.get(name)
        if cut is None:
            with _once():
                cut = self._leaf_rows[name] = self._leaves(name).split_with_sizes(
                    self.schedule.leaf_sizes
                )
        nodes = self.schedule.levels[level].nodes
        if not nodes:
            return cut[level]
        inner = self._inner(level, name)
        return inner if not self.schedule.leaf_sizes[level] else torch.cat([cut[level], inner])

    def _inner(self, level: int, name: str) -> Tensor:
        """A field of the receiving nodes of a level, zeros where only leaves made it."""
        made = self.levels[level].get(name)
        if made is not None:
            return made
        like = self.leaves[name]
        return like.new_zeros((self.schedule.levels[level].nodes, *like.shape[1:]))

    def handed(self, giver: int, taker: int, name: str) -> Tensor:
        """The rows of ``giver`` that ``taker`` needs."""
        pieces = self._handed.get((giver, name))
        if pieces is None:
            rows, level = self._rows(giver, name), self.schedule.levels[giver]
            if self._give is None:
                pieces = {taker: rows}
            else:
                given = rows.index_select(0, self._give[giver]).split_with_sizes(level.give_sizes)
                pieces = dict(zip(level.takers, given))
            self._handed[giver, name] = pieces
        return pieces.pop(taker)

    def sources(self, taker: int, name: str) -> Tensor:
        """``(edges, ...)`` a field of the sources of a level's edges, in their order."""
        level = self.schedule.levels[taker]
        pieces = [self.handed(giver, taker, name) for giver in level.givers]
        rows = pieces[0] if len(pieces) == 1 else torch.cat(pieces)
        return rows if level.in_order else rows.index_select(0, self._take[taker])

    def all(self, name: str) -> Tensor:
        """``(N, ...)`` a field of all nodes, in the order of the nodes."""
        inner = [self._inner(level, name) for level in range(1, len(self.levels))]
        return torch.cat([self._leaves(name), *inner]).index_select(0, self.schedule.back)
