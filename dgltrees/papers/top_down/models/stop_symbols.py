"""START and STOP: symbols after the last dependents, which generate a tree's shape."""

from __future__ import annotations

import numpy as np
import torch

from dgltrees.papers.top_down.graphs import EdgeType
from dgltrees.papers.top_down.graphs.batch import nearest_left, sources
from dgltrees.papers.top_down.models.edges import edge_decisions
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import inverse, owner

__all__ = ["with_stops"]


def with_stops(batch: TreeBatch, start: int) -> TreeBatch:
    """Add START after the last left dependent of each word and STOP after the last right one.

    Zhang, Lu and Lapata (2016), footnote 5, after Eisner (1996): the symbols are treated as
    words, so that P(S|T) of the new trees is the joint probability of the words and of the shape.
    Where a node could have another edge and has none, an edge to a symbol is added: each word has
    one START, after its last left dependent or in place of one, and one STOP; ROOT has a STOP after
    its dependents. That is 2 N + 1 symbols for N words. The LD LSTM reads START before the left
    dependents.

    Arguments:
        batch: the result of ``generation_batch``, with a node
            column ``word``.
        start: the id of START, which no word may have; that of STOP is the next.

    Returns:
        a generation batch in which the symbols follow the nodes of their tree; its node columns are
        ``word``, ``etype``, ``nearest_left``, and ``node``: the index of each node in ``batch``, or
        that of ROOT for a symbol.
    """
    etype, word = (batch.on_host(batch.ndata[name]).numpy() for name in ("etype", "word"))
    source = sources(batch)
    symbol_type, at = np.nonzero(edge_decisions(etype, source) == 0)
    is_left = np.isin(symbol_type, (EdgeType.LEFT, EdgeType.NX_LEFT))

    sizes = batch.sizes.numpy()
    tree = owner(sizes)
    tree = np.concatenate([tree, tree[at]])
    order = np.argsort(tree, kind="stable")
    new_index = inverse(order)
    root = np.flatnonzero(source < 0)[tree[len(word) :]]
    source = np.concatenate([source, at])[order]
    child = np.flatnonzero(source >= 0)
    columns = {
        "word": np.concatenate([word, np.where(is_left, start, start + 1)]),
        "etype": np.concatenate([etype, symbol_type]),
        "node": np.concatenate([np.arange(len(word)), root]),
    }
    ndata = {name: torch.from_numpy(column[order]) for name, column in columns.items()}
    result = TreeBatch(
        torch.from_numpy(child),
        torch.from_numpy(new_index[source[child]]),
        torch.from_numpy(np.bincount(tree, minlength=len(sizes))),
        ndata=ndata,
        edata={"etype": ndata["etype"][child]},
    ).reversed()
    result.ndata["nearest_left"] = nearest_left(result)
    return result.to(batch.device)
