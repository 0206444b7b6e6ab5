"""Backend ``"levels"``: one pass over the levels of a schedule, on plain tensors.

There is no table of all nodes that each level writes into. Inputs are ordered, transformed and
split once. A level reads the rows that earlier levels send to it. Results are concatenated once, at
the end. So forward and backward pass are linear in nodes and edges, whatever the depth.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint as recomputed

from dgltrees.traversal.functions import BuiltinReduce, Message, Reduce, call
from dgltrees.traversal.plan import Level, Schedule
from dgltrees.traversal.states import Columns, Data, Pieces, Prepare, States, gathered
from dgltrees.traversal.views import Edges, Fields, Mailbox, Nodes
from dgltrees.trees.segments import inverse

NO_MAIL = (
    "; reduce is not called for nodes without children: test for its fields with `in nodes.data`, "
    "or return them for all nodes from prepare"
)
"""The end of the error of an update function that expects messages at the leaves."""

Update = Callable[[Nodes], Mapping[str, Tensor]]


def run(
    schedule: Schedule,
    ndata: Data,
    edata: Data,
    message: Message,
    reduce: Reduce,
    update: Update | None = None,
    prepare: Prepare | None = None,
    outputs: Sequence[str] | None = None,
    activation_checkpointing: bool = False,
) -> dict[str, Tensor]:
    """Traverse a graph and return the states of its nodes.

    Arguments:
        schedule: the order of nodes and edges, on the device of the tensors.
        ndata, edata: fields of nodes ``(N, ...)`` and edges ``(E, ...)``.
        message, reduce, update: as in :func:`dgltrees.prop_nodes_topo`.
        prepare: see :class:`dgltrees.traversal.topo.Cell`.
        outputs: the names of the fields to return; by default all fields of the functions.
        activation_checkpointing: save for the backward pass only the states that segments of levels
            send to each other, and recompute each segment (Chen et al., "Training Deep Nets with
            Sublinear Memory Cost", 2016, with about √levels segments).

    Returns:
        the fields of all nodes, each ``(N, ...)``, in the order of the nodes. If update returns a
        field for some nodes only, the others have its value in ``ndata``, or zeros. A field of
        ``ndata`` keeps its dtype.

    Raises:
        ValueError: a level returned other fields than the level before, or a field with another
            shape.
    """
    work = Work(schedule, ndata, edata, (message, reduce, update), prepare)
    in_segments = activation_checkpointing and torch.is_grad_enabled()
    states = (_run_segments if in_segments else _run_whole)(work)
    names = states.names
    return {name: states.all(name) for name in names if outputs is None or name in outputs}


def _run_whole(work: Work) -> States:
    """Prepare all nodes at once, update the leaves, then run one level after another."""
    schedule, stop = work.schedule, len(work.schedule.levels)
    rows = len(schedule.leaves)
    columns = Columns(work.ordered, work.ndata, work.prepare, len(work.order))
    sources = gathered(columns.fields, work.places(schedule.src))
    part = Part(schedule, columns, sources, 1, stop, skip=rows)
    states = States(schedule, part.levels.fields)
    states.leaves = work.leaves(columns, part.levels.fields(0))
    for index in range(1, stop):
        states.add(work.level(index, states, part))
    return states


def _run_segments(work: Work) -> States:
    """Do the same as :func:`_run_whole`, with a checkpoint for each segment of levels."""
    schedule, ndata, prepare = work.schedule, work.ndata, work.prepare
    cuts = segments([level.nodes for level in schedule.levels])
    parts = [schedule.levels[start:stop] for start, stop in cuts]
    nodes = [sum(level.nodes for level in part) for part in parts]
    rows = [len(schedule.leaves), *nodes]
    fields = Pieces(work.ordered, rows)
    edges = [sum(level.edges for level in part) for part in parts]
    source_fields = Pieces(gathered(ndata, schedule.src), edges)

    def columns(piece: int) -> Columns:
        return Columns(fields.fields(piece), ndata, prepare, rows[piece])

    # From the first tensor torch infers the device whose random state it saves.
    def leaves(_: Tensor) -> dict[str, Tensor]:
        leaf_columns = columns(0)
        return work.leaves(leaf_columns, leaf_columns.fields)

    def segment(_: Tensor, number: int, before: States) -> list[dict[str, Tensor]]:
        start, stop = cuts[number]
        states, inner = before.part(start, stop), columns(number + 1)

        def source(name: str) -> Tensor:
            sources = source_fields.fields(number)
            if name in inner.prepared:
                sources = Columns(sources, ndata, prepare, edges[number]).fields
            return sources[name]

        part = Part(schedule, inner, Fields(inner.fields.keys(), source), start, stop)
        for index in range(start, stop):
            states.add(work.level(index, states, part))
        return states.levels[start:]

    def fields_before(level: int) -> Data:
        return gathered(ndata, work.level_ids[level]) if level else columns(0).fields

    states = States(schedule, fields_before)
    states.leaves = recomputed(leaves, schedule.inner, use_reentrant=False)
    for number, ends in enumerate(cuts):
        before = states.part(*ends)
        for level in recomputed(segment, schedule.inner, number, before, use_reentrant=False):
            states.add(level)
    return states


def segments(nodes: list[int]) -> list[tuple[int, int]]:
    """Cut levels 1, 2, ... into at most 2 √levels segments with about as many nodes each.

    A level that is wider than that is a segment by itself.
    """
    nodes_per_segment = sum(nodes[1:]) / max(1.0, (len(nodes) - 1) ** 0.5)
    cuts, total = [1], 0
    for level, count in enumerate(nodes[1:], 1):
        if total and total + count > nodes_per_segment:
            cuts.append(level)
            total = 0
        total += count
    return list(zip(cuts, [*cuts[1:], len(nodes)])) if len(nodes) > 1 else []


class Part:
    """The fields of the nodes and edges of levels ``start`` to ``stop`` before the traversal.

    Arguments:
        schedule: the order of nodes and edges.
        columns: the fields of the receiving nodes, after ``skip`` other rows.
        sources: the fields of the source nodes of the edges.
        start, stop: the levels.
        skip: the number of rows before those of the receiving nodes.
    """

    def __init__(
        self,
        schedule: Schedule,
        columns: Columns,
        sources: Fields,
        start: int,
        stop: int,
        skip: int = 0,
    ) -> None:
        self.columns, self.start, levels = columns, start, schedule.levels[start:stop]
        self.levels = self.calls = Pieces(columns.fields, [skip, *(lv.nodes for lv in levels)])
        if any(len(level.buckets) > 1 for level in levels):
            calls = [count for level in levels for count, _ in level.buckets]
            self.calls = Pieces(columns.fields, [skip, *calls])
        edges = [level.edges for level in levels]
        earlier = schedule.levels[:start]
        first = sum(level.edges for level in earlier)
        first_row = sum(level.nodes for level in earlier)
        rows = schedule.back.index_select(0, schedule.dst[first : first + sum(edges)])
        rows = rows - (len(schedule.leaves) + first_row - skip)
        self.dst = Pieces(gathered(columns.fields, rows), edges)
        self.src = Pieces(sources, edges)


class Work:
    """The calls of a cell's functions, level by level; a level can be computed repeatedly."""

    def __init__(
        self,
        schedule: Schedule,
        ndata: Data,
        edata: Data,
        functions: tuple[Message, Reduce, Update | None],
        prepare: Prepare | None,
    ) -> None:
        self.schedule, self.ndata, self.functions = schedule, ndata, functions
        self.prepare = prepare
        self.order = torch.cat([schedule.leaves, schedule.inner])
        self.ordered = gathered(ndata, self.order, schedule.groups)
        levels = schedule.levels
        edges = [level.edges for level in levels]
        self.edata = Pieces(gathered(edata, schedule.edges), edges)
        ids = schedule.src, schedule.dst, schedule.edges
        self.ends = tuple(zip(*(each.split_with_sizes(edges) for each in ids)))
        self.calls = [0, *accumulate(len(level.buckets) for level in levels)]
        nodes = [count for level in levels for count, _ in level.buckets]
        self.call_ids = schedule.inner.split_with_sizes(nodes)
        self.level_ids = schedule.inner.split_with_sizes([level.nodes for level in levels])
        self.slots, self.mask = None, None
        if schedule.slots is not None and schedule.mask is not None:
            width = schedule.mask.shape[1]
            self.slots = schedule.slots.split_with_sizes([level.nodes * width for level in levels])
            self.mask = schedule.mask.split_with_sizes([level.nodes for level in levels])

    def places(self, nodes: Tensor) -> Tensor:
        """Return the rows of ``nodes`` in :attr:`ordered`."""
        return inverse(self.order).index_select(0, nodes)

    def leaves(self, columns: Columns, fields: Fields) -> dict[str, Tensor]:
        """Update the leaves of all levels at once; ``fields`` are their rows of ``columns``."""
        (message, reduce, update), schedule = self.functions, self.schedule
        states: dict[str, Tensor] = {}
        if isinstance(reduce, BuiltinReduce):
            none = schedule.src[:0]
            nodes = Fields(fields.keys(), lambda name: fields[name][:0])
            edges = Fields(self.edata.data.keys(), lambda name: self.edata.data[name][:0])
            messages = message(Edges(nodes, nodes, edges, (none, none, none)))
            states = reduce.without_messages(messages, len(schedule.leaves))
        if update is not None:
            data = Fields(fields.keys(), fields.__getitem__, states)
            leaves = Nodes(schedule.leaves, data, Mailbox(), schedule.leaf_groups)
            states = call(update, leaves, len(schedule.leaves), NO_MAIL)
        return columns.in_dtypes(states)

    def level(self, index: int, states: States, part: Part) -> dict[str, Tensor]:
        """Send the messages of a level, reduce each bucket, and update all nodes at once.

        With ``group_by`` each bucket is updated separately, since groups are adjacent within it.
        """
        (message, reduce, update), level = self.functions, self.schedule.levels[index]
        messages = call(message, self.edges(index, states, part), level.edges)
        mask = None if self.mask is None else self.mask[index]
        before = self.calls[part.start]
        by_bucket: list[dict[str, Tensor]] = []
        for number, mailbox in enumerate(self._mailboxes(index, level, messages)):
            at, groups = self.calls[index] + number, level.groups[number]
            ids, piece = self.call_ids[at], at - before + 1
            rows = level.buckets[number][0]
            new = call(reduce, Nodes(ids, part.calls.fields(piece), mailbox, groups, mask), rows)
            if update is not None and groups is not None:
                fields = part.calls.fields(piece, new)
                new = call(update, Nodes(ids, fields, Mailbox(), groups), rows)
            by_bucket.append(new)
        new, piece = joined(by_bucket), index - part.start + 1
        if update is not None and level.groups[0] is None:
            fields = part.levels.fields(piece, new)
            new = call(update, Nodes(self.level_ids[index], fields, Mailbox()), level.nodes)
        for name in states.leaves:  # fields that only leaves return
            if name not in new and name in part.levels.data:
                new[name] = part.levels.get(name, piece)
        if states.inner and new.keys() != states.inner.keys():
            raise ValueError(
                f"expected every level to return the fields {sorted(states.inner)}, got "
                f"{sorted(new)} at level {index}; return the same keys every time"
            )
        return part.columns.in_dtypes(new)

    def edges(self, index: int, states: States, part: Part) -> Edges:
        """Return the edges into a level."""
        names: set[str] = set() if self.schedule.initial else set(states.names)
        piece = index - part.start

        def source(name: str) -> Tensor:
            return states.sources(index, name) if name in names else part.src.get(name, piece)

        return Edges(
            Fields({*part.src.data, *names}, source),
            part.dst.fields(piece),
            self.edata.fields(index),
            self.ends[index],
            self.slots is not None,
        )

    def _mailboxes(
        self, index: int, level: Level, messages: dict[str, Tensor]
    ) -> list[dict[str, Tensor]]:
        """Return the messages of a level by receiving node, one mailbox per call of reduce."""
        if self.slots is not None:
            slots = self.slots[index]
            return [Mailbox({name: _in_slots(m, level, slots) for name, m in messages.items()})]
        sizes = [edges for _, edges in level.buckets]
        # copies, since autograd does not allow a function to change one of several views
        split = {
            name: [part.clone() for part in m.split_with_sizes(sizes)] if len(sizes) > 1 else [m]
            for name, m in messages.items()
        }
        return [
            Mailbox(
                {
                    name: parts[i].reshape(nodes, edges // nodes, *parts[i].shape[1:])
                    for name, parts in split.items()
                }
            )
            for i, (nodes, edges) in enumerate(level.buckets)
        ]


def _in_slots(message: Tensor, level: Level, slots: Tensor) -> Tensor:
    """Return the messages by slot, ``(nodes, slots, ...)``, with zeros in empty slots."""
    if not level.slots_full:
        padded = torch.cat([message, message.new_zeros((1, *message.shape[1:]))])
        message = padded.index_select(0, slots)
    return message.reshape(level.nodes, -1, *message.shape[1:])


def joined(parts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Concatenate the fields of the buckets of a level."""
    if len(parts) == 1:
        return parts[0]
    for part in parts:
        if part.keys() != parts[0].keys():
            raise ValueError(
                f"expected every call of a level to return the fields {sorted(parts[0])}, got "
                f"{sorted(part)}; return the same keys every time"
            )
        for name, rows in part.items():
            if rows.shape[1:] != parts[0][name].shape[1:]:
                raise ValueError(
                    f"expected the field {name!r} to have the same shape for any number of "
                    f"children, {tuple(parts[0][name].shape[1:])} per node, got "
                    f"{tuple(rows.shape[1:])}; sum over the children, or use another reduction"
                )
    return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
