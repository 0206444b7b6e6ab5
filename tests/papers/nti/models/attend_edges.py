"""Global attention as message passing along ATTEND edges, from each tree node to each query.

This is the reference for ``GlobalAttention``, which computes
the same by batched products.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltrees.papers.nti.models.attention import GlobalAttention
from dgltrees.papers.nti.models.encoder import NTIEncoding
from dgltrees.traversal import Edges, Nodes, run_cell
from dgltrees.trees.batch import TreeBatch


def attend_along_edges(
    attention: GlobalAttention, queries: Tensor, encoding: NTIEncoding, *, backend: str = "dgl"
) -> Tensor:
    """The attention vectors ``(T, Q, c)`` of ``(T, Q, c)`` queries to T trees.

    Arguments:
        attention: the global attention module.
        queries: ``(T, Q, c)``, Q queries per tree.
        encoding: the encoding of T trees.
        backend: ``"dgl"`` or ``"levels"``.
    """
    trees, number, size = queries.shape
    batch = _attend_edges(encoding.batch, number)
    nodes = encoding.batch.num_nodes
    rows = queries.reshape(-1, size)
    ndata = {
        "s": torch.cat([encoding.states, torch.zeros_like(rows)]),
        "q": torch.cat([rows.new_zeros(nodes, size), rows]),
        "pad": torch.cat([encoding.pad.to(rows.dtype), rows.new_zeros(len(rows))]),
    }
    states = run_cell(_Attend(attention), batch, ndata, backend=backend, outputs=["out"])
    return states["out"][nodes:].view(trees, number, size)


def _attend_edges(trees: TreeBatch, queries: int) -> TreeBatch:
    """A graph of all tree nodes, followed by the queries of each tree."""
    sizes = trees.sizes.numpy()
    tree, node = trees.tree_of_node.cpu().numpy(), np.arange(trees.num_nodes)
    src = np.tile(node, (queries, 1)).T.ravel()
    dst = trees.num_nodes + (tree[:, None] * queries + np.arange(queries)).ravel()
    num_nodes = trees.num_nodes + len(sizes) * queries
    edges = np.lexsort((src, dst))
    return TreeBatch(
        torch.from_numpy(src[edges]), torch.from_numpy(dst[edges]), torch.tensor([num_nodes])
    )


class _Attend:
    """DGL's three functions around the formulas of the attention."""

    def __init__(self, attention: GlobalAttention) -> None:
        self.attention = attention

    def message(self, edges: Edges) -> dict[str, Tensor]:
        return {"s": edges.src["s"], "pad": edges.src["pad"]}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        S, score = nodes.mailbox["s"], self.attention.score  # (n, M, c)
        m = score.pairs(score.keys(S), score.queries(nodes.data["q"]).unsqueeze(1))
        if self.attention.mask_pads:
            m = m.masked_fill(nodes.mailbox["pad"] > 0, -torch.inf)
        return {"z": (torch.softmax(m, 1).unsqueeze(2) * S).sum(1)}

    def update(self, nodes: Any) -> dict[str, Tensor]:
        q = nodes.data["q"]
        return {"out": self.attention.blend(nodes.data["z"], q) if "z" in nodes.data else q}
