"""Backend ``"dgl"``: the reference. DGL's own traversal runs the same functions.

Backend ``"levels"`` makes the nodes of a group adjacent and puts each message into its slot. DGL
has neither groups nor slots, so the nodes of each call are rearranged first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from dgltrees._dgl import need_dgl
from dgltrees.errors import TreeError
from dgltrees.traversal.functions import Message, Reduce, is_builtin, message_function
from dgltrees.traversal.levels import Update
from dgltrees.traversal.order import levels_of
from dgltrees.traversal.positions import check_positions, no_positions, wrong_position
from dgltrees.traversal.views import Fields, Mailbox, Nodes
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import inverse

POSITION = "_pos"
"""The message field that holds the position of each edge."""


def with_positions(messages: Mapping[str, Tensor], edges: Any) -> dict[str, Tensor]:
    """Add the position of each edge to its message; raise TreeError without a field ``pos``."""
    if "pos" not in edges.data:
        raise no_positions(edges.data)
    return {**messages, POSITION: edges.data["pos"]}


def call_arranged(
    function: Callable[[Nodes], Mapping[str, Tensor]],
    nodes: Any,
    group_by: str | None,
    slots: int | None,
) -> dict[str, Tensor]:
    """Call a reduce or update function with its nodes in groups and their messages in slots."""
    mailbox: dict[str, Tensor] = Mailbox(nodes.mailbox or {})  # DGL has None in an update function
    groups, mask = getattr(nodes, "groups", None), getattr(nodes, "mask", None)
    if slots is not None and mask is None and mailbox:
        mailbox, mask = _in_slots(nodes, mailbox, slots)
    if group_by is None or groups is not None:
        return dict(function(Nodes(nodes.nodes(), nodes.data, mailbox, groups, mask)))
    values, order = nodes.data[group_by].sort(stable=True)
    run_values, counts = torch.unique_consecutive(values, return_counts=True)
    sorted_nodes = Nodes(
        nodes.nodes()[order],
        Fields(nodes.data.keys(), lambda name: nodes.data[name][order]),
        {name: messages[order] for name, messages in mailbox.items()},
        list(zip(run_values.tolist(), counts.tolist())),
        None if mask is None else mask[order],
    )
    back = inverse(order)
    return {name: tensor[back] for name, tensor in function(sorted_nodes).items()}


def _in_slots(
    nodes: Any, mailbox: dict[str, Tensor], slots: int
) -> tuple[dict[str, Tensor], Tensor]:
    """Return the messages by slot, with zeros in empty slots, and the mask of the filled slots."""
    pos = mailbox.pop(POSITION).long()  # (n, degree)
    rows = torch.arange(len(pos), device=pos.device)[:, None].expand_as(pos)
    wrong = wrong_position(rows.flatten().cpu().numpy(), pos.flatten().cpu().numpy(), slots)
    if wrong is not None:
        row, message = wrong
        raise TreeError(message, node=int(nodes.nodes()[row]))
    mask = torch.zeros(len(pos), slots, dtype=torch.bool, device=pos.device)
    mask[rows, pos] = True
    by_slot = {
        name: m.new_zeros(len(pos), slots, *m.shape[2:]).index_put((rows, pos), m)
        for name, m in mailbox.items()
    }
    return by_slot, mask


def run_dgl(
    batch: TreeBatch,
    ndata: Mapping[str, Tensor],
    edata: Mapping[str, Tensor],
    message: Message | Any,
    reduce: Reduce | Any,
    update: Update | None,
    *,
    reverse: bool = False,
    group_by: str | None = None,
    slots: int | None = None,
) -> dict[str, Tensor]:
    """Traverse a graph with DGL; see :func:`dgltrees.traversal.levels.run` for the arguments."""
    dgl = need_dgl("backend 'dgl'")
    for name, tensor in ndata.items():
        if tensor.device.type != "cpu":
            raise TreeError(
                f"expected tensors on the CPU for backend 'dgl', got {name!r} on {tensor.device}; "
                "DGL's wheels are for the CPU: use backend 'levels' on other devices"
            )
    graph = batch.graph.local_var()
    for data, fields in ((graph.ndata, ndata), (graph.edata, edata)):
        for column in [*data]:
            data.pop(column)
        data.update(fields)
    if slots is not None:
        check_positions(batch, slots, edata.get("pos"))  # names the tree where one is wrong
    wrapped = Wrapped(ndata, group_by, slots)
    with warnings.catch_warnings():
        # DGL warns of every frontier without edges; here this is every set of leaves.
        warnings.simplefilter("ignore", dgl.base.DGLWarning)
        try:
            dgl.prop_nodes_topo(
                graph,
                message if is_builtin(reduce) else wrapped.message(message_function(message)),
                wrapped.reduce(reduce, stores=update is None),
                reverse,
                None if update is None else wrapped.update(update),
            )
        except dgl.DGLError as error:
            if "loop" not in str(error) and "cycle" not in str(error).lower():
                raise
            levels_of(batch)  # raises too, and names the node
            raise
    out = getattr(reduce, "out_field", None)
    names = [*wrapped.states, out] if update is None and out is not None else wrapped.states
    return {name: graph.ndata[name] for name in names}


class Wrapped:
    """A cell's functions, wrapped for DGL, and the dtypes of the fields that they return."""

    def __init__(
        self, ndata: Mapping[str, Tensor], group_by: str | None = None, slots: int | None = None
    ) -> None:
        self.group_by, self.slots = group_by, slots
        self.dtypes = {name: field.dtype for name, field in ndata.items()}
        self.states: dict[str, torch.dtype] = {}

    def message(self, function: Message) -> Callable[[Any], dict[str, Tensor]]:
        """Wrap a message function; it is not called without edges, since no state exists yet."""

        def message(edges: Any) -> dict[str, Tensor]:
            if not edges.batch_size():
                return {}
            messages = function(edges)
            return dict(messages if self.slots is None else with_positions(messages, edges))

        return message

    def reduce(self, function: Reduce | Any, *, stores: bool) -> Any:
        """Wrap a reduce function, whose fields are stored if ``stores``."""
        if is_builtin(function):
            return function

        def reduce(nodes: Any) -> dict[str, Tensor]:
            fields = call_arranged(function, nodes, self.group_by, self.slots)
            return self._stored(fields) if stores else fields

        return reduce

    def update(self, function: Update) -> Callable[[Any], dict[str, Tensor]]:
        """Wrap an update function."""

        def update(nodes: Any) -> dict[str, Tensor]:
            return self._stored(call_arranged(function, nodes, self.group_by, None))

        return update

    def _stored(self, fields: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cast fields to the dtypes of the columns that they replace."""
        for name, tensor in fields.items():
            self.states.setdefault(name, self.dtypes.get(name, tensor.dtype))
        return {name: tensor.to(self.states[name]) for name, tensor in fields.items()}
