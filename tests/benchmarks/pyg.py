"""Cells in torch_geometric: a message passing layer, run once a level on the edges of that level.

Levels are depths, so children are all in the level below their parents, and no call touches the
states of all nodes. Leaves are computed at once, as are inputs.
"""

from collections.abc import Mapping
from functools import lru_cache
from inspect import unwrap
from types import SimpleNamespace

import numpy as np
import torch
from torch import Tensor
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax

from dgltrees import TreeBatch
from dgltrees.cells import BaseCell, ChildSumTreeLSTM
from dgltrees.traversal.order import levels_of
from dgltrees.trees.segments import inverse, starts
from tests.cells.compiled.user_cells import GRU, Attention, Gated, Largest

Fields = dict[str, Tensor]


class Layer(MessagePassing):
    """From the states of children, ``h_j`` and others, to what ``update`` of the cell reads."""

    aggregation: object = "sum"

    def __init__(self, cell: BaseCell) -> None:
        super().__init__(aggr=self.aggregation)
        self.cell = cell

    def message(self, h_j: Tensor) -> Tensor:
        return h_j

    def forward(self, edges: Tensor, below: Fields, nodes: Fields) -> Fields:
        """The fields of ``nodes`` and of their children, ``below``, joined by ``edges``."""
        data = {name: (rows, None) for name, rows in below.items()}
        data.update({name: (None, rows) for name, rows in nodes.items()})
        size = (len(next(iter(below.values()))), len(next(iter(nodes.values()))))
        return {**nodes, **self.read(self.propagate(edges, size=size, **data), nodes)}

    def read(self, received: Tensor, nodes: Fields) -> Fields:
        return {"uh": self.cell.U(received)}


class OfChildSum(Layer):
    def message(self, h_j: Tensor, c_j: Tensor, wx_f_i: Tensor) -> Tensor:
        return torch.cat([h_j, torch.sigmoid(wx_f_i + h_j @ self.cell.U_f) * c_j], 1)

    def read(self, received: Tensor, nodes: Fields) -> Fields:
        h, k = received.chunk(2, 1)
        return {"a": torch.addmm(nodes["wx"], h, self.cell.U), "k": k}


class OfLargest(Layer):
    aggregation = ("max", "mean")

    def read(self, received: Tensor, nodes: Fields) -> Fields:
        largest, mean = received.chunk(2, 1)
        return super().read(0.75 * largest + 0.25 * mean, nodes)


class OfAttention(Layer):
    def message(self, h_j: Tensor, wx_i: Tensor, index: Tensor, size_i: int) -> Tensor:
        return softmax((h_j * wx_i).sum(-1, keepdim=True), index, num_nodes=size_i) * h_j


class OfGated(Layer):
    def message(self, h_j: Tensor, wx_i: Tensor) -> Tensor:
        return torch.sigmoid(self.cell.gate(torch.cat([h_j, wx_i], 1))) * h_j

    def read(self, received: Tensor, nodes: Fields) -> Fields:
        return super().read(self.cell.norm(received), nodes)


class OfGRU(Layer):
    def read(self, received: Tensor, nodes: Fields) -> Fields:
        return {"before": received}


LAYERS: dict[type, type[Layer]] = {
    ChildSumTreeLSTM: OfChildSum,
    Largest: OfLargest,
    Attention: OfAttention,
    Gated: OfGated,
    GRU: OfGRU,
}


@lru_cache(maxsize=1)
def layer_of(cell: BaseCell) -> Layer:
    """Making one takes milliseconds."""
    return LAYERS[type(cell)](cell)


def run_cell(cell: BaseCell, batch: TreeBatch, ndata: Mapping[str, Tensor]) -> Fields:
    """The states of all nodes."""
    layer, fields = layer_of(cell), cell.prepare(ndata)
    level, src, dst = levels_of(batch), batch.src.numpy(), batch.dst.numpy()
    leaf = np.bincount(dst, minlength=batch.num_nodes) == 0
    order = np.argsort(2 * level + leaf, kind="stable")  # leaves behind the others of a level
    sizes = np.bincount(level)
    place = inverse(order) - starts(sizes)[level]
    edges = torch.as_tensor(np.stack([place[src], place[dst]])[:, np.argsort(level[src])])
    edges_of = edges.split(np.bincount(level[src], minlength=len(sizes)).tolist(), 1)

    def rows(part: np.ndarray, table: Fields) -> list[Fields]:
        """The fields of some nodes, a dictionary a level."""
        counts = np.bincount(level[part], minlength=len(sizes)).tolist()
        split = {name: each.split(counts) for name, each in table.items()}
        return [{name: each[at] for name, each in split.items()} for at in range(len(sizes))]

    def update(data: Fields) -> Fields:
        return dict(unwrap(type(cell).update)(cell, SimpleNamespace(data=data)))

    def take(part: np.ndarray) -> Fields:
        return {name: each[torch.as_tensor(part)] for name, each in fields.items()}

    leaves, inner = order[leaf[order]], order[~leaf[order]]
    below: Fields = {}
    found: list[Fields] = []
    ends = rows(leaves, update(take(leaves)))
    for at, (end, nodes) in enumerate(zip(ends, rows(inner, take(inner)))):
        if len(next(iter(nodes.values()))):
            new = update(layer(edges_of[at - 1], below, nodes))
            below = {name: torch.cat([new[name], end[name]]) for name in new}
        else:
            below = end
        found.append(below)
    back = torch.as_tensor(inverse(order))
    return {name: torch.cat([each[name] for each in found])[back] for name in below}
