"""Fast implementations of whole traversals, for the cells and settings that have one.

Those of sums run where cells are not compiled: on other devices, without numba, in small batches.
Each returns None where it does not apply, and the traversal then calls the three functions of the
cell. A test compares every one with these functions: values, gradients and errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.cells.aggregators import SharedSum, Sum
from dgltrees.cells.attentive import Score
from dgltrees.cells.base import autocasts
from dgltrees.cells.child_sum import ChildSumTreeLSTM
from dgltrees.cells.compiled.compiler import way as _general  # noqa: F401  (registers itself)
from dgltrees.cells.compiled.fused_lstm import drops, fused_lstm
from dgltrees.cells.compiled.fused_scores import FusedScores
from dgltrees.cells.grouped import check_types, to_device
from dgltrees.cells.tree_cell import TreeCell
from dgltrees.cells.tree_cells import TreeLSTM
from dgltrees.traversal.functions import prepared
from dgltrees.traversal.positions import check_positions
from dgltrees.traversal.views import IndexedRows
from dgltrees.traversal.ways import compiled_way, dense
from dgltrees.trees.batch import TreeBatch

__all__: list[str] = []

Ints = NDArray[np.int64]
Fields = Mapping[str, Tensor]
States = dict[str, Tensor] | None


@compiled_way(ChildSumTreeLSTM, accepts_indexed=True, second=True)
def child_sum(
    cell: ChildSumTreeLSTM, batch: TreeBatch, ndata: Mapping[str, Tensor | IndexedRows]
) -> States:
    """Run a child-sum Tree-LSTM without dropout and layer normalisation over trees."""
    if not isinstance(cell.norm, nn.Identity) or drops(cell.dropout):
        return None
    label = dense(prepared(cell.prepare, ndata, batch.num_nodes))
    return fused_lstm(batch, label["wx"], label["wx_f"], cell.U[None], cell.U_f[None])


@compiled_way(TreeLSTM, second=True)
def tree_lstm(cell: TreeLSTM, batch: TreeBatch, ndata: Fields) -> States:
    """Run a Tree-LSTM with a sum, without dropout and layer normalisation, over trees."""
    if cell.activation is not torch.tanh or cell.layer_norm or drops(cell.dropout):
        return None
    if not isinstance(cell.f, (Sum, SharedSum)):
        return None
    return _tree_lstm_sum(cell, cell.f, batch, ndata)


def _tree_lstm_sum(cell: TreeLSTM, f: Sum | SharedSum, batch: TreeBatch, ndata: Fields) -> States:
    gate, size = cell.child_gate, cell.hidden_size
    label, types, wx_f = cell.prepare(ndata), _edge_types(cell, batch, ndata), None
    if cell.leaf is None:
        wx, wx_f = label["label_0"] + f.b[0], label["label_child"]
    else:
        x, op = ndata["x"], ndata["op"].long().clamp(0, cell.operators - 1)
        leaves = np.flatnonzero(np.bincount(batch.dst.numpy(), minlength=len(op)) == 0)
        rows = to_device(leaves, x.device)
        wx = f.b[:, 0].index_select(0, op)  # the op of a leaf does not matter
        wx = wx.index_copy(0, rows, cell.leaf(x.index_select(0, rows)).to(wx.dtype))
    U, U_f = f.U.view(-1, size, 3 * size), gate.U.view(-1, size, size)
    return fused_lstm(batch, wx, wx_f, U, U_f, gate.b.view(-1, size), types)


def _edge_types(cell: TreeCell, batch: TreeBatch, ndata: Fields) -> Ints:
    """The index of each edge's matrix in the stack over operators and positions, ``(E,)``.

    Raises:
        TreeError: a child has a position, or a node with children an operator, out of range.
    """
    pos = check_positions(batch, cell.max_children, batch.edata.get("pos"))
    types = pos if cell.ordered else np.zeros_like(pos)
    if not cell.operators:
        return types
    dst = batch.dst.numpy()
    op = batch.on_host(ndata["op"]).numpy().astype(np.int64)[dst]
    check_types(op, cell.operators, lambda edge: int(dst[edge]))
    return np.asarray(op * (cell.max_children if cell.ordered else 1) + types)


@compiled_way(Score)
def scores(score: Score, keys: Tensor, queries: Tensor) -> Tensor | None:
    """Score all keys for all queries by an MLP: ``(T, M, k)``, ``(T, Q, k)`` to ``(T, Q, M)``."""
    if autocasts(keys.device.type) or queries.shape[1] < 2:  # one table is as large as the keys
        return None
    way: Any = FusedScores.apply
    m: Tensor = way(keys, queries, score.w)
    return m
