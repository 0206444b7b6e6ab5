"""Backend ``"dgl"``: the reference, in which DGL's own traversal runs the same functions.

DGL has no groups and no slots, so the nodes of each call are rearranged first
(:mod:`dgltrees.traversal.arrange`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from dgltrees._dgl import need_dgl
from dgltrees.errors import TreeError
from dgltrees.traversal.arrange import call_arranged, with_positions
from dgltrees.traversal.builtin import Message, Reduce, is_builtin, message_function
from dgltrees.traversal.levels import Update
from dgltrees.traversal.order import levels_of
from dgltrees.traversal.positions import check_positions
from dgltrees.trees.batch import TreeBatch

__all__ = ["run_dgl"]


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
    """Traverse a graph with DGL; see :func:`dgltrees.traversal.levels.run` for the arguments.

    Raises:
        TreeError: there is a cycle, the position of a message is out of range, or the tensors are
            not on the CPU.
        ConfigError: DGL is not installed.
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
        check_positions(batch, slots, edata.get("pos"))  # names the tree where one is wrong
    states: dict[str, torch.dtype] = {}
    wrapped = _Wrapped(group_by, slots, {k: v.dtype for k, v in ndata.items()}, states)
    with warnings.catch_warnings():
        # DGL warns of every frontier without edges, which here is every set of leaves.
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
            levels_of(batch)  # raises too, and says where
            raise
    out = getattr(reduce, "out_field", None)
    names = [*states, out] if update is None and out is not None else list(states)
    return {name: graph.ndata[name] for name in names}


class _Wrapped:
    """Wraps a cell's functions for DGL, and records the names of the fields they return."""

    def __init__(
        self,
        group_by: str | None,
        slots: int | None,
        dtypes: dict[str, torch.dtype],
        states: dict[str, torch.dtype],
    ) -> None:
        self.group_by, self.slots, self.dtypes, self.states = group_by, slots, dtypes, states

    def message(self, function: Message) -> Callable[[Any], dict[str, Tensor]]:
        """Wrap a message function; without edges it is not called, as no node has a state yet."""

        def message(edges: Any) -> dict[str, Tensor]:
            if not edges.batch_size():
                return {}
            messages = function(edges)
            return dict(messages if self.slots is None else with_positions(messages, edges))

        return message

    def reduce(self, function: Reduce | Any, *, stores: bool) -> Any:
        if is_builtin(function):
            return function

        def reduce(nodes: Any) -> dict[str, Tensor]:
            fields = call_arranged(function, nodes, self.group_by, self.slots)
            return self._stored(fields) if stores else fields

        return reduce

    def update(self, function: Update) -> Callable[[Any], dict[str, Tensor]]:
        def update(nodes: Any) -> dict[str, Tensor]:
            return self._stored(call_arranged(function, nodes, self.group_by, None))

        return update

    def _stored(self, fields: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Cast fields to the dtypes of the columns that they replace."""
        for name, tensor in fields.items():
            self.states.setdefault(name, self.dtypes.get(name, tensor.dtype))
        return {name: tensor.to(self.states[name]) for name, tensor in fields.items()}
