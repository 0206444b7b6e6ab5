"""The contenders of the benchmarks: training steps of a model with different backends."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from dgltrees._dgl import dgl
from dgltrees.cells import ChildSumTreeLSTM
from dgltrees.cells.compiled.kernels import compiled
from dgltrees.traversal import prop_nodes_topo, run_cell
from dgltrees.traversal.views import Edges, IndexedRows, Nodes
from dgltrees.trees import Forest, TreeBatch

VOCABULARY, CLASSES = 500, 5


class Model(nn.Module):
    """A classifier: embedding, cell, linear layer on the root.

    Arguments:
        hidden: size of embedding and state.
        cell: constructs the cell from the sizes of its input and its state.
    """

    def __init__(self, hidden: int, cell: Callable[[int, int], Any] = ChildSumTreeLSTM) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(VOCABULARY, hidden)
        self.cell = cell(hidden, hidden)
        self.out = nn.Linear(hidden, CLASSES)


States = Callable[[Model, TreeBatch], Tensor]


@dataclass(frozen=True)
class Contender:
    """A method to run the model.

    Arguments:
        name: the name of its column in the table.
        states: computes the states of the roots of a batch, ``(T, c)``.
    """

    name: str
    states: States

    def step(self, model: Model, forest: Forest) -> float:
        """Run one training step, from batching the trees to the update (SGD); return the loss.

        The loss is a Python number, for which all work on the device of the model is waited for.
        """
        device = model.out.weight.device
        batch = forest.batch().to(device)
        target = torch.arange(batch.num_trees, device=device) % CLASSES
        loss = nn.functional.cross_entropy(model.out(self.states(model, batch)), target)
        loss.backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.sub_(parameter.grad, alpha=0.1)
                    parameter.grad = None
        return loss.item()


def root_states(
    model: Model, batch: TreeBatch, ndata: Mapping[str, Tensor | IndexedRows], **options: Any
) -> Tensor:
    """Run backend levels on node data; return the states of the roots, ``(T, c)``."""
    h = run_cell(model.cell, batch, ndata, outputs=["h"], **options)["h"]
    return h.index_select(0, batch.roots)


def fused_way(model: Model, batch: TreeBatch) -> Tensor:
    """Run backend levels with compiled code."""
    return root_states(model, batch, {"x": IndexedRows(model.embed.weight, batch.ndata["token"])})


def dense_way(model: Model, batch: TreeBatch) -> Tensor:
    """Run backend levels with compiled code and, as with DGL, a separate input per node."""
    return root_states(model, batch, {"x": model.embed(batch.ndata["token"])})


def eager_way(model: Model, batch: TreeBatch) -> Tensor:
    """Run backend levels with the fast implementation in torch calls, as without numba."""
    with compiled(False):
        return fused_way(model, batch)


def levels_way(model: Model, batch: TreeBatch) -> Tensor:
    """Run backend levels with the three functions of the cell, uncompiled."""
    return root_states(model, batch, {"x": model.embed(batch.ndata["token"])}, compile=False)


class TutorialCell:
    """The child-sum cell as in a DGL tutorial, with the parameters of ``model``."""

    def __init__(self, model: Model) -> None:
        self.cell = model.cell

    def message(self, edges: Edges) -> Mapping[str, Tensor]:
        """Send the states of the children."""
        return {"h": edges.src["h"], "c": edges.src["c"]}

    def reduce(self, nodes: Nodes) -> Mapping[str, Tensor]:
        """Compute the inputs of the gates, and the sum of the memories times forget gates."""
        h = nodes.mailbox["h"]
        f = torch.sigmoid(nodes.data["wx_f"].unsqueeze(1) + h @ self.cell.U_f)
        return {
            "wx": nodes.data["wx"] + h.sum(1) @ self.cell.U,
            "c": (f * nodes.mailbox["c"]).sum(1),
        }

    def apply(self, nodes: Nodes) -> Mapping[str, Tensor]:
        """Compute the state and the memory of the nodes."""
        i, o, u = nodes.data["wx"].chunk(3, 1)
        c = torch.sigmoid(i) * torch.tanh(u) + nodes.data["c"]
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


def _tutorial(propagate: Callable[..., None]) -> States:
    def states(model: Model, batch: TreeBatch) -> Tensor:
        cell: Any = TutorialCell(model)
        graph: Any = batch if dgl is None else batch.graph
        graph.ndata.update(model.cell.prepare({"x": model.embed(batch.ndata["token"])}))
        empty = torch.zeros(batch.num_nodes, model.cell.hidden_size)
        graph.ndata["h"], graph.ndata["c"] = empty, empty
        functions = cell.message, cell.reduce
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # DGL warns of every frontier without edges
            propagate(graph, *functions, apply_node_func=cell.apply)
        h: Tensor = graph.ndata["h"]
        return h.index_select(0, batch.roots)

    return states


dgl_way: Any = None if dgl is None else _tutorial(dgl.prop_nodes_topo)


CONTENDERS = {
    each.name: each
    for each in (
        *([] if dgl is None else [Contender("dgl", dgl_way)]),
        Contender("levels, DGL cell", _tutorial(prop_nodes_topo)),
        Contender("levels, compile=False", levels_way),
        Contender("levels, no numba", eager_way),
        Contender("levels, own inputs", dense_way),
        Contender("levels", fused_way),
    )
}
