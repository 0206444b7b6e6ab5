"""Backend ``"dgl"``: DGL's own traversal runs the same functions. It is the reference.

DGL knows no groups and no slots, so the functions are wrapped: nodes are brought into the order of
their groups and messages into their slots before a function sees them, and back afterwards.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, Optional, Union

import torch
from torch import Tensor

from dgltrees._dgl import need_dgl
from dgltrees.errors import TreeError
from dgltrees.traversal.builtin import Message, Reduce, is_builtin, message_function
from dgltrees.traversal.levels import Update
from dgltrees.traversal.order import levels_of
from dgltrees.traversal.plan import check_positions
from dgltrees.traversal.views import Fields, Groups, Nodes
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import inverse

__all__ = ["run_dgl"]

_POS = "_pos"


def run_dgl(
    batch: TreeBatch,
    ndata: Mapping[str, Tensor],
    edata: Mapping[str, Tensor],
    message: Union[Message, Any],
    reduce: Union[Reduce, Any],
    update: Optional[Update],
    *,
    reverse: bool = False,
    group_by: Optional[str] = None,
    slots: Optional[int] = None,
) -> dict[str, Tensor]:
    """Traverse a graph with DGL; arguments and result as :func:`dgltrees.traversal.levels.run`.

    Raises:
        TreeError: there is a cycle, or a message that no slot can take, or the tensors are not on
            the CPU.
        ConfigError: there is no DGL.
    """
    dgl = need_dgl("backend 'dgl'")
    for name, tensor in ndata.items():
        if tensor.device.type != "cpu":
            raise TreeError(
                f"expected tensors on the CPU for backend 'dgl', got {name!r} on {tensor.device}; "
                "DGL's wheels are for the CPU: use backend 'levels' on other devices"
            )
    graph = batch.graph.local_var()
    for column in [*graph.ndata]:
        graph.ndata.pop(column)
    for column in [*graph.edata]:
        graph.edata.pop(column)
    graph.ndata.update(ndata)
    graph.edata.update(edata)
    if slots is not None:
        graph.edata[_POS] = torch.from_numpy(check_positions(batch, slots, edata.get("pos")))
    made: dict[str, torch.dtype] = {}
    wrapped = _Wrapped(group_by, slots, {k: v.dtype for k, v in ndata.items()}, made)
    with warnings.catch_warnings():
        # DGL warns of every frontier without edges, which here is every set of leaves.
        warnings.simplefilter("ignore", dgl.base.DGLWarning)
        try:
            dgl.prop_nodes_topo(
                graph,
                message if is_builtin(reduce) else wrapped.message(message_function(message)),
                wrapped.reduce(reduce, keeps=update is None),
                reverse,
                None if update is None else wrapped.update(update),
            )
        except dgl.DGLError as error:
            if "loop" not in str(error) and "cycle" not in str(error).lower():
                raise
            levels_of(batch)  # raises too, and says where
            raise
    out = getattr(reduce, "out_field", None)
    names = [*made, out] if update is None and out is not None else list(made)
    return {name: graph.ndata[name] for name in names}


class _Wrapped:
    """Turns a cell's functions into functions that DGL calls, and notes what they make."""

    def __init__(
        self,
        group_by: Optional[str],
        slots: Optional[int],
        dtypes: dict[str, torch.dtype],
        made: dict[str, torch.dtype],
    ) -> None:
        self.group_by, self.slots, self.dtypes, self.made = group_by, slots, dtypes, made

    def message(self, function: Message) -> Callable[[Any], dict[str, Tensor]]:
        """The function, not called for no edges: then no node has made its state yet."""

        def message(edges: Any) -> dict[str, Tensor]:
            if not edges.batch_size():
                return {}
            place = {} if self.slots is None else {_POS: edges.data[_POS]}
            return {**function(edges), **place}

        return message

    def reduce(self, function: Union[Reduce, Any], *, keeps: bool) -> Any:
        if is_builtin(function):
            return function

        def reduce(nodes: Any) -> dict[str, Tensor]:
            mailbox, present = dict(nodes.mailbox), None
            if self.slots is not None:
                mailbox, present = _in_slots(mailbox, self.slots)
            made = self._in_groups(function, nodes, mailbox, present)
            return self._kept(made) if keeps else made

        return reduce

    def update(self, function: Update) -> Callable[[Any], dict[str, Tensor]]:
        return lambda nodes: self._kept(self._in_groups(function, nodes, {}, None))

    def _in_groups(
        self, function: Any, nodes: Any, mailbox: dict[str, Tensor], present: Optional[Tensor]
    ) -> dict[str, Tensor]:
        """Call ``function`` with nodes of a group adjacent; the result is in DGL's order again."""
        if self.group_by is None:
            return dict(function(Nodes(nodes.nodes(), nodes.data, mailbox, None, present)))
        values = nodes.data[self.group_by]
        order = torch.argsort(values, stable=True)
        found, counts = torch.unique_consecutive(values[order], return_counts=True)
        groups: Groups = list(zip(found.tolist(), counts.tolist()))
        sorted_nodes = Nodes(
            nodes.nodes()[order],
            Fields(nodes.data.keys(), lambda name: nodes.data[name][order]),
            {name: messages[order] for name, messages in mailbox.items()},
            groups,
            None if present is None else present[order],
        )
        back = inverse(order)
        return {name: tensor[back] for name, tensor in function(sorted_nodes).items()}

    def _kept(self, made: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Results keep the dtype of the column that they replace."""
        for name, tensor in made.items():
            self.made.setdefault(name, self.dtypes.get(name, tensor.dtype))
        return {name: tensor.to(self.made[name]) for name, tensor in made.items()}


def _in_slots(mailbox: dict[str, Tensor], slots: int) -> tuple[dict[str, Tensor], Tensor]:
    """Messages by slot, zeros where there is none, and which slots are filled."""
    pos = mailbox.pop(_POS)  # (n, degree)
    rows = torch.arange(len(pos))[:, None].expand_as(pos)
    present = torch.zeros(len(pos), slots, dtype=torch.bool)
    present[rows, pos] = True
    placed = {
        name: m.new_zeros(len(pos), slots, *m.shape[2:]).index_put((rows, pos), m)
        for name, m in mailbox.items()
    }
    return placed, present
