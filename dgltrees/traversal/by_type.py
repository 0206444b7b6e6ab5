"""Functions per edge type over given frontiers, and the results of the types reduced together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from dgltrees.errors import ConfigError
from dgltrees.traversal.frontiers import Ints, TypeCall, frontier_schedule
from dgltrees.traversal.functions import (
    BuiltinReduce,
    Message,
    Reduce,
    call,
    check_device,
    check_fields,
)
from dgltrees.traversal.levels import NO_MAIL, Part, Update, Work, joined, run_work
from dgltrees.traversal.plan import Schedule
from dgltrees.traversal.states import Columns, Data, Pieces, States, gathered
from dgltrees.traversal.views import Edges, Fields, Mailbox, Name, Nodes

Cross = Callable[[list[Tensor]], Tensor]

CROSS_REDUCERS: dict[str, Cross] = {
    "sum": lambda fields: torch.stack(fields).sum(0),
    "max": lambda fields: torch.stack(fields).max(0).values,
    "min": lambda fields: torch.stack(fields).min(0).values,
    "mean": lambda fields: torch.stack(fields).mean(0),
    "stack": lambda fields: torch.stack(fields, 1),
}


class OfType(NamedTuple):
    """The name of an edge type, or what returns it, its functions, and the fields of its edges."""

    name: Name | Callable[[], Name]
    message: Message
    reduce: Reduce
    edata: Data


@dataclass(frozen=True)
class Functions:
    """The functions of a traversal by edge type.

    Attributes:
        types: the functions by the number of the type.
        order: the numbers of the types in the order of the user.
        cross: a key of :data:`CROSS_REDUCERS` or a function of a list of tensors; None for one
            type, whose reduced fields are stored only without ``update``, as ``dgl.pull`` does.
        update: the function of the nodes, or None.
    """

    types: Sequence[OfType]
    order: Sequence[int]
    cross: str | Cross | None
    update: Update | None


def run_by_type(
    time: Ints,
    edges: tuple[Ints, Ints, Ints, Ints],
    ndata: Mapping[str, Tensor],
    functions: Functions,
    activation_checkpointing: bool = False,
) -> dict[str, Tensor]:
    """Run functions over frontiers and return the fields of all nodes.

    Arguments:
        time, edges: see :func:`~dgltrees.traversal.frontiers.frontier_schedule`.
        ndata: the fields of the nodes.
        functions: the functions.
        activation_checkpointing: see :func:`~dgltrees.traversal.levels.run`.

    Returns:
        the fields that the functions return, each ``(N, ...)``.

    Raises:
        TreeError: a field has another number of rows, or the tensors are on several devices.
    """
    check_fields("node", ndata, len(time))
    device = check_device(ndata, *(each.edata for each in functions.types))
    schedule, calls = frontier_schedule(time, *edges)
    work = _Work(schedule.to(device), calls, ndata, functions)
    return run_work(work, activation_checkpointing=activation_checkpointing)


class _Work(Work):
    """The calls of functions by edge type.

    As in DGL, a node without messages of a type has zeros in the fields of its reduce function, if
    other nodes of its frontier have such messages. Otherwise the function is not called; a built-in
    returns zeros.
    """

    def __init__(
        self, schedule: Schedule, calls: list[list[TypeCall]], ndata: Data, functions: Functions
    ) -> None:
        first = functions.types[0]
        super().__init__(schedule, ndata, {}, (first.message, first.reduce, functions.update), None)
        self.by_type, self.type_calls = functions, calls
        ids: list[list[Tensor]] = [[schedule.edges[:0]] for _ in functions.types]
        for (_, _, edges), here in zip(self.ends, calls):
            for one, part in zip(here, edges.split_with_sizes([one.edges for one in here])):
                ids[one.type].append(part)
        self.type_edata = [
            Pieces(gathered(each.edata, torch.cat(parts)), [len(part) for part in parts[1:]])
            for each, parts in zip(functions.types, ids)
        ]
        self.empty: dict[int, dict[str, Tensor]] = {}

    def leaves(self, columns: Columns, fields: Fields) -> dict[str, Tensor]:
        """Return nothing: level 0 is not updated."""
        return {}

    def level(self, index: int, states: States, part: Part) -> dict[str, Tensor]:
        """Send and reduce the messages of each type, reduce over types, and update the nodes."""
        functions, ids = self.by_type, self.level_ids[index]
        before = _with_zeros(part.levels.fields(index - part.start + 1), states.inner, len(ids))
        frames = self._frames(index, self.edges(index, states, part), before, states.inner)
        new = reduced = merged(frames, functions)
        if functions.cross == "stack":
            _check_stacks(states.inner, reduced)
        if functions.update is not None:
            nodes = Nodes(ids, Fields(before.keys(), before.__getitem__, reduced), Mailbox())
            new = call(functions.update, nodes, len(ids), "" if reduced else NO_MAIL)
            new = new if functions.cross is None else {**reduced, **new}
        return part.columns.in_dtypes(new)

    def _frames(
        self, index: int, edges: Edges, before: Fields, like: Data
    ) -> list[dict[str, Tensor]]:
        """Return the reduced fields of each type, in the order of the user."""
        calls, nodes = self.type_calls[index], self.schedule.levels[index].nodes
        sizes = [one.edges for one in calls]
        src, dst = Pieces(edges.src, sizes), Pieces(edges.dst, sizes)
        ends = list(zip(*(each.split_with_sizes(sizes) for each in edges.edges())))
        frames: dict[int, dict[str, Tensor]] = {}
        for number, one in enumerate(calls):
            name, message, reduce, _ = self.by_type.types[one.type]
            data = self.type_edata[one.type].fields(one.number)
            view = Edges(src.fields(number), dst.fields(number), data, ends[number], name=name)
            messages = call(message, view, one.edges)
            ids = self.level_ids[index]
            if one.rows is None:
                frames[one.type] = _reduced(reduce, one, messages, before, ids)
                continue
            rows = one.rows.to(ids.device)
            here = gathered(before, rows), ids.index_select(0, rows)
            empty = reduce.empty if isinstance(reduce, BuiltinReduce) else 0.0
            frames[one.type] = {
                field: x.new_full((nodes, *x.shape[1:]), empty).index_copy(0, rows, x)
                for field, x in _reduced(reduce, one, messages, *here).items()
            }
        for kind, of_type in enumerate(self.by_type.types):
            if kind not in frames and isinstance(of_type.reduce, BuiltinReduce):
                if kind not in self.empty:
                    self.empty[kind] = no_messages(of_type, {**self.ndata, **like})
                frames[kind] = of_type.reduce.without_messages(self.empty[kind], nodes)
        return [frames.get(kind, {}) for kind in self.by_type.order]


def _with_zeros(fields: Fields, like: Data, rows: int) -> Fields:
    """Add fields that only earlier frontiers returned, as zeros."""

    def fetch(name: str) -> Tensor:
        return fields[name] if name in fields else like[name].new_zeros(rows, *like[name].shape[1:])

    return Fields({*fields, *like}, fetch)


def _reduced(
    reduce: Reduce, one: TypeCall, messages: dict[str, Tensor], before: Fields, ids: Tensor
) -> dict[str, Tensor]:
    """Reduce the messages of one type, bucket by bucket of equal numbers of messages."""
    nodes, edges = ([bucket[i] for bucket in one.buckets] for i in (0, 1))
    mail, data, here = Pieces(messages, edges), Pieces(before, nodes), ids.split_with_sizes(nodes)
    parts = []
    for number, count in enumerate(nodes):
        mailbox = Mailbox()
        for name, message in messages.items():
            mailbox[name] = mail.get(name, number).reshape(count, -1, *message.shape[1:])
        parts.append(call(reduce, Nodes(here[number], data.fields(number), mailbox), count))
    return joined(parts)


_NO_FIELD = (
    "; the first frontier has no messages, whose shape comes from this field: set it in "
    "graph.ndata before, for example to zeros"
)


def no_messages(functions: OfType, ndata: Data) -> dict[str, Tensor]:
    """Return the messages of no edges, for the shape of a message."""
    nodes, edges = (
        {name: field[:0].detach() for name, field in data.items()}
        for data in (ndata, functions.edata)
    )
    none = torch.zeros(0, dtype=torch.long)
    with torch.no_grad():
        ends, data = (Fields((), each.__getitem__, each) for each in (nodes, edges))
        view = Edges(ends, ends, data, (none, none, none), name=functions.name)
        return call(functions.message, view, 0, _NO_FIELD)


def merged(frames: list[dict[str, Tensor]], functions: Functions) -> dict[str, Tensor]:
    """Reduce the fields of several types as ``DGLGraph.multi_update_all`` does."""
    cross = functions.cross
    if cross is None or (len(frames) == 1 and cross != "stack"):
        return frames[0]
    if cross == "stack":  # in the order of the types, not of the user
        frames = [frame for _, frame in sorted(zip(functions.order, frames), key=lambda x: x[0])]
    merger = CROSS_REDUCERS[cross] if isinstance(cross, str) else cross
    fields = {}
    for name in dict.fromkeys(name for frame in frames for name in frame):
        parts = [frame[name] for frame in frames if name in frame]
        shapes = [tuple(part.shape[1:]) for part in parts]
        if isinstance(cross, str) and len(set(shapes)) > 1:
            raise ConfigError(
                f"expected the field {name!r} to have the same shape for all edge types, got "
                f"{' and '.join(map(str, dict.fromkeys(shapes)))}; the cross reducer {cross!r} "
                "combines them: name them differently, or write a function of a list of tensors"
            )
        fields[name] = merger(parts)
    last = functions.types[functions.order[-1]].reduce
    if isinstance(last, BuiltinReduce) and last.empty:
        fields = {name: x.masked_fill(x.isinf(), 0) for name, x in fields.items()}
    return fields


def _check_stacks(before: Data, after: Data) -> None:
    """Raise ValueError if a field is stacked from fewer or more types than before."""
    for name in before.keys() & after.keys():
        first, second = before[name].shape[1], after[name].shape[1]
        if first != second:
            raise ValueError(
                f"expected the field {name!r} of as many edge types in every frontier to stack, "
                f"got {first} and {second}; a user-defined reduce function returns nothing for a "
                "frontier without messages of its type: use a built-in such as fn.sum"
            )
