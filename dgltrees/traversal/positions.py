"""The positions of children, which are the slots of their messages in the mailboxes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.traversal.order import node_error
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Ints


def check_positions(batch: TreeBatch, slots: int, pos: Tensor | None) -> Ints:
    """Check the positions of all edges and return them."""
    if pos is None:
        raise no_positions(batch.edata)
    positions: Ints = batch.on_host(pos).numpy().astype(np.int64)
    wrong = wrong_position(batch.dst.numpy(), positions, slots)
    if wrong is not None:
        raise node_error(batch, *wrong)
    return positions


def no_positions(edata: Mapping[str, Tensor]) -> TreeError:
    """Return the error for a graph without the edge field ``pos``."""
    return TreeError(
        "expected edge data 'pos', the position of each child, for a cell with slots, got edge "
        f"data {sorted(edata)}; set edata['pos'], or read positions on nodes with from_dgl"
    )


def wrong_position(nodes: Ints, positions: Ints, slots: int) -> tuple[int, str] | None:
    """Return the first node whose children have wrong positions, with the message of the error."""
    wrong = (positions < 0) | (positions >= slots)
    if wrong.any():
        edge = int(np.argmax(wrong))
        return int(nodes[edge]), (
            f"expected child positions from 0 to {slots - 1} for this cell, got "
            f"{positions[edge]}; increase max_children of the cell, or remove children"
        )
    count = np.bincount(nodes * slots + positions, minlength=1)
    if count.max() > 1:
        node, position = divmod(int(np.argmax(count > 1)), slots)
        return node, f"expected each child position once, got {position} twice"
    return None
