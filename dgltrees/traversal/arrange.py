"""Groups and slots for functions that DGL itself calls.

A schedule of backend ``levels`` makes the nodes of a group adjacent and puts each message into its
slot. DGL has neither groups nor slots, so the nodes of each call are rearranged first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.traversal.positions import no_positions, wrong_position
from dgltrees.traversal.views import Fields, Mailbox, Nodes
from dgltrees.trees.segments import inverse

__all__ = ["call_arranged", "with_positions"]

POSITION = "_pos"
"""The message field that holds the position of each edge."""


def with_positions(messages: Mapping[str, Tensor], edges: Any) -> dict[str, Tensor]:
    """Add the position of each edge to its message, so that the message can be put into its slot.

    Raises:
        TreeError: the edges have no field ``pos``.
    """
    if "pos" not in edges.data:
        raise no_positions(edges.data)
    return {**messages, POSITION: edges.data["pos"]}


def call_arranged(
    function: Callable[[Nodes], Mapping[str, Tensor]],
    nodes: Any,
    group_by: str | None,
    slots: int | None,
) -> dict[str, Tensor]:
    """Call a reduce or update function with its nodes in groups and their messages in slots.

    Arguments:
        function: the function.
        nodes: the nodes of one call by DGL or by backend ``levels``, in any order.
        group_by: the node field whose equal values are made adjacent; None keeps the order.
        slots: the width of each mailbox, whose messages come from :func:`with_positions`; None
            keeps the mailboxes.

    Returns:
        what the function returns, in the order of ``nodes``.

    Raises:
        TreeError: a message has a position that is out of range, or that another message has too.
    """
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
    """Messages by slot, zeros in empty slots, and the mask of the filled slots."""
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
