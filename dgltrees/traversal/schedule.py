"""A schedule: nodes and edges in the order in which a traversal visits them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dgltrees.traversal.views import Groups


class Level(NamedTuple):
    """The counts of the nodes and edges of one level, on the host.

    The *rows* of a level are its leaves (nodes without incoming edges), then its receiving nodes.
    In a tree all edges of a level come from rows of the level before. In other graphs any earlier
    level may be a *producer* of rows that the level reads, and any later level a *consumer*.

    Attributes:
        nodes: the number of receiving nodes.
        edges: the number of edges into them.
        buckets: the number of nodes and of their edges for each call of the reduce function.
        groups: the groups of the nodes of each of these calls.
        producers: the levels whose rows the edges leave, ascending.
        in_order: whether the rows that the producers send are in the order of the edges.
        slots_full: whether every slot is filled, in the order of the edges.
        consumers: the later levels that need rows of this one.
        send_sizes: the number of rows for each consumer.
    """

    nodes: int
    edges: int
    buckets: list[tuple[int, int]]
    groups: list[Groups | None]
    producers: list[int]
    in_order: bool
    slots_full: bool
    consumers: list[int]
    send_sizes: list[int]


@dataclass(frozen=True)
class Schedule:
    """Nodes and edges in the order of their levels.

    Attributes:
        levels: the levels; level 0 has only leaves.
        leaves: ``(leaves,)``, the nodes without incoming edges, in the order of their update.
        leaf_groups: the groups of the leaves.
        leaf_rows: ``(leaves,)``, the index that sorts the leaves by their levels; None if they are
            already sorted.
        leaf_sizes: the number of leaves in each level.
        inner: ``(N - leaves,)`` the receiving nodes, level by level.
        edges: ``(E,)`` the edges, level by level.
        src, dst: ``(E,)`` the ends of these edges.
        back: ``(N,)`` the index of each node among the leaves by level, then the receiving nodes.
        gather: ``(E,)`` the index of each edge's source among the rows sent to its level.
        send: ``(rows sent,)`` the rows that the levels send; None if each level sends all its rows
            to the next.
        slots: ``(slots of all levels,)``, the edge in each slot, counted within the level; the
            number of edges of the level for an empty slot. None without slots.
        mask: ``(N - leaves, slots)`` bool, the slots that are filled, or None.
        initial: whether messages read the fields from before the traversal (``reverse=True``).
    """

    levels: list[Level]
    leaves: Tensor
    leaf_groups: Groups | None
    leaf_rows: Tensor | None
    leaf_sizes: list[int]
    inner: Tensor
    edges: Tensor
    src: Tensor
    dst: Tensor
    back: Tensor
    gather: Tensor
    send: Tensor | None
    slots: Tensor | None
    mask: Tensor | None
    initial: bool

    @property
    def groups(self) -> Groups | None:
        """Return the groups of the leaves, then of the receiving nodes; None without groups."""
        if self.leaf_groups is None:
            return None
        calls = (groups for level in self.levels for groups in level.groups)
        return [*self.leaf_groups, *(run for groups in calls for run in groups or ())]

    def to(self, device: str | torch.device) -> Schedule:
        """Return the same schedule with its tensors on ``device``."""
        moved: dict[str, Any] = {
            name: value.to(device, non_blocking=True)
            for name, value in vars(self).items()
            if isinstance(value, Tensor)
        }
        return replace(self, **moved)
