"""What can be drawn, as a forest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional, Union

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import cumcount, offsets_of
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgl import DGLGraph

__all__ = ["Drawable", "as_forest", "as_rows"]

Drawable = Union[Forest, TreeBatch, "DGLGraph"]


def as_forest(trees: Drawable, vocabs: Optional[Mapping[str, Vocabulary]] = None) -> Forest:
    """The trees as a forest, with ``vocabs`` laid over its own vocabularies.

    Raises:
        TreeError: a batch or graph whose edges do not make trees.
    """
    if not isinstance(trees, Forest):
        batch = trees if isinstance(trees, TreeBatch) else TreeBatch.from_graph(trees)
        trees = _from_batch(batch)
    return Forest(
        trees.parent,
        trees.pos,
        trees.offsets,
        trees.columns,
        {**trees.vocabs, **(vocabs or {})},
    )


def as_rows(given: Any) -> NDArray[Any]:
    """A tensor on any device, an array or a sequence as a numpy array."""
    if isinstance(given, Tensor):
        given = given.detach().cpu()
        given = given.float() if given.is_floating_point() else given
    return np.asarray(given)


def _from_batch(batch: TreeBatch) -> Forest:
    """The forest of a batch whose edges go from child to parent, or all from parent to child."""
    child, parent = batch.src.numpy(), batch.dst.numpy()
    up, down = (np.bincount(ends, minlength=batch.num_nodes) for ends in (child, parent))
    # A chain is a tree in both directions: there the batch's own roots decide.
    turned = up.max(initial=0) > 1 or (up[batch.roots.cpu()] > 0).any()
    if turned and down.max(initial=0) <= 1:
        child, parent = parent, child
    elif up.max(initial=0) > 1:
        raise TreeError(
            "expected a tree to draw, in which a node has at most one parent, got a graph in "
            f"which node {up.argmax()} has edges to {up.max()} nodes"
        )
    offsets = offsets_of(batch.sizes)
    parents = np.full(batch.num_nodes, -1)
    parents[child] = parent - np.repeat(offsets[:-1], batch.sizes.numpy())[child]
    pos = np.zeros(batch.num_nodes, dtype=np.int64)
    pos[child] = as_rows(batch.edata["pos"]) if "pos" in batch.edata else cumcount(parent)
    columns = {name: as_rows(tensor) for name, tensor in batch.ndata.items()}
    return Forest.build(parents, pos=pos, offsets=offsets, columns=columns)
