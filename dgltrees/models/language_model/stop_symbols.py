"""START and STOP: symbols at the ends of dependents, by which a tree's shape is generated too."""

from __future__ import annotations

import numpy as np
import torch

from dgltrees.models.language_model.possible_edges import deciding, outgoing
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.dependencies import EdgeType
from dgltrees.trees.dependencies.batch import nearest_left
from dgltrees.trees.segments import inverse, owner

__all__ = ["with_stops"]


def with_stops(batch: TreeBatch, start: int) -> TreeBatch:
    """The batch with START after each last left dependent and STOP after each right one.

    Zhang, Lu and Lapata (2016), footnote 5, after Eisner (1996): with these symbols, words like
    others, P(S|T) of the new trees is the joint probability of the words and of the shape. Where a
    node could have another edge and has none, the edge leads to a symbol: each word has one START,
    at the end of its left dependents or in their place, and one STOP; ROOT has a STOP after its
    dependents. That is 2 N + 1 symbols for N words. The LD LSTM reads START before the left
    dependents.

    Arguments:
        batch: as :func:`~dgltrees.trees.dependencies.generation_batch` makes it, with a node column
            ``word``.
        start: the id of START, which no word has; STOP's is the next.

    Returns:
        such a batch, where the symbols stand behind the nodes of their tree; of the node columns
        it has ``word``, ``etype``, ``nearest_left``, and ``node``: which node of ``batch`` each
        is, for a symbol ROOT.
    """
    etype, word = (batch.on_host(batch.ndata[name]).numpy() for name in ("etype", "word"))
    source = np.full(batch.num_nodes, -1)
    source[batch.dst.numpy()] = batch.src.numpy()
    is_root = source < 0
    kind, at = np.nonzero(deciding(etype, is_root) & ~outgoing(etype, source))
    is_left = np.isin(kind, (EdgeType.LEFT, EdgeType.NX_LEFT))

    sizes = batch.sizes.numpy()
    tree = owner(sizes)
    tree = np.concatenate([tree, tree[at]])
    order = np.argsort(tree, kind="stable")
    place = inverse(order)  # where each node stands now
    source = np.concatenate([source, at])[order]
    child = np.flatnonzero(source >= 0)
    root = np.flatnonzero(is_root)[tree[len(word) :]]
    columns = {
        "word": np.concatenate([word, np.where(is_left, start, start + 1)]),
        "etype": np.concatenate([etype, kind]),
        "node": np.concatenate([np.arange(len(word)), root]),
    }
    ndata = {name: torch.from_numpy(column[order]) for name, column in columns.items()}
    made = TreeBatch(
        torch.from_numpy(child),
        torch.from_numpy(place[source[child]]),
        torch.from_numpy(np.bincount(tree, minlength=len(sizes))),
        ndata=ndata,
        edata={"etype": ndata["etype"][child]},
    ).reversed()
    made.ndata["nearest_left"] = nearest_left(made)
    return made.to(batch.device)
