"""A schedule: nodes and edges in the order in which a traversal visits them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple, Optional, Union

import torch
from torch import Tensor

from dgltrees.traversal.views import Groups

__all__ = ["Level", "Schedule"]


class Level(NamedTuple):
    """The receiving nodes of one level, in numbers that stay on the host.

    A level's *rows* are its leaves (nodes without edges in), then its receiving nodes. In a tree
    the edges of a level leave rows of the level before. In another graph each level hands over the
    rows that a later level needs, and the later level puts together what it was handed.

    Attributes:
        nodes, edges: receiving nodes, and the edges into them.
        buckets: for each call of the reduce function its nodes and their edges.
        groups: for each of those calls the groups of its nodes.
        givers: the levels whose rows the edges leave, ascending.
        in_order: whether the rows that the givers hand over stand in the order of the edges.
        slots_full: whether every slot is filled, in the order of the edges.
        takers, give_sizes: the later levels that need rows of this one, and how many.
    """

    nodes: int
    edges: int
    buckets: list[tuple[int, int]]
    groups: list[Optional[Groups]]
    givers: list[int]
    in_order: bool
    slots_full: bool
    takers: list[int]
    give_sizes: list[int]


@dataclass(frozen=True)
class Schedule:
    """Nodes and edges in the order of their levels.

    Attributes:
        levels: level 0 has leaves alone.
        leaves: ``(leaves,)`` the nodes without edges in, in the order in which they are applied.
        leaf_groups: their groups.
        leaf_rows: ``(leaves,)`` brings them into the order of their levels; None if they stand so.
        leaf_sizes: how many there are in each level.
        inner: ``(N - leaves,)`` the receiving nodes, level after level.
        edges, src, dst: ``(E,)`` the edges, level after level, and their ends.
        back: ``(N,)`` where each node stands among the leaves by level, then the receiving nodes.
        take: ``(E,)`` where the source of each edge stands among the rows handed to its level.
        give: ``(rows handed over,)`` the rows that the levels hand over; None if each hands all its
            rows to the next.
        slots: ``(slots of all levels,)`` the edge, counted within the level, that fills each slot,
            the number of edges where none does; None without slots.
        mask: ``(N - leaves, slots)`` bool, or None.
        initial: whether messages read what nodes were before the traversal (``reverse=True``).
    """

    levels: list[Level]
    leaves: Tensor
    leaf_groups: Optional[Groups]
    leaf_rows: Optional[Tensor]
    leaf_sizes: list[int]
    inner: Tensor
    edges: Tensor
    src: Tensor
    dst: Tensor
    back: Tensor
    take: Tensor
    give: Optional[Tensor]
    slots: Optional[Tensor]
    mask: Optional[Tensor]
    initial: bool

    def to(self, device: Union[str, torch.device]) -> Schedule:
        """The same schedule with its tensors on ``device``."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        moved: dict[str, Any] = {
            name: value.to(device, non_blocking=True)
            for name, value in values.items()
            if isinstance(value, Tensor)
        }
        return dataclasses.replace(self, **moved)
