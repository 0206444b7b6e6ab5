"""The levels of the nodes of a graph, and its frontiers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.order import cycle_error, depths
from dgltrees.trees.segments import Bools, Ints, locate, offsets_of, owner, ranges, starts

if TYPE_CHECKING:
    from dgl import DGLGraph


def levels_of(batch: TreeBatch) -> Ints:
    """Assign a level to every node, such that every edge leads from a lower to a higher level.

    If every node has at most one outgoing edge, the level is the depth of the deepest node of the
    batch minus the depth of the node. If every node has at most one incoming edge, the level is the
    depth. So every edge of a tree leads from one level to the next. In other graphs the level is
    the length of the longest path from a node without incoming edges.
    """
    src, dst, count = batch.src.numpy(), batch.dst.numpy(), batch.num_nodes
    if batch.depth is not None:
        return _levels_from_depths(batch.depth)
    for nodes, neighbours in ((src, dst), (dst, src)):
        if len(nodes) <= count and np.bincount(nodes, minlength=1).max() <= 1:
            only = np.full(count, -1, np.int64)  # the neighbour at the other end of a node's edge
            only[nodes] = neighbours
            depth = depths(only)
            _refuse_cycle(batch, depth < 0)
            return _levels_from_depths(depth) if nodes is src else depth.astype(np.int64)
    return topological_levels(batch)


def topological_levels(batch: TreeBatch) -> Ints:
    """Return the longest path to each node from one without incoming edges, ``(N,)`` int64."""
    frontiers = _frontiers_of(batch)
    level = np.zeros(batch.num_nodes, np.int64)
    if frontiers:
        level[np.concatenate(frontiers)] = owner(np.array(list(map(len, frontiers))))
    return level


def topological_nodes_generator(
    graph: DGLGraph | TreeBatch, reverse: bool = False
) -> tuple[Tensor, ...]:
    """Return the frontiers of a topological traversal.

    Arguments:
        graph: an acyclic ``DGLGraph`` with one type of nodes, or a :class:`TreeBatch`.
        reverse: follow the edges backwards.

    Returns:
        the nodes of each frontier, in DGL's order. All edges into a frontier come from earlier
        ones.

    Raises:
        TreeError: the graph has a cycle; the error names its nodes.

    Example:
        >>> from dgltrees import Forest, topological_nodes_generator
        >>> list(topological_nodes_generator(Forest.build([-1, 0, 0, 2]).batch()))
        [tensor([1, 3]), tensor([2]), tensor([0])]
    """
    batch = graph if isinstance(graph, TreeBatch) else TreeBatch.from_graph(graph)
    dtype = getattr(graph, "idtype", torch.int64)
    return tuple(torch.from_numpy(each).to(dtype) for each in _frontiers_of(batch, reverse))


def _frontiers_of(batch: TreeBatch, reverse: bool = False) -> list[Ints]:
    """Return the nodes of each frontier; raise TreeError for a cycle."""
    from dgltrees._dgl import dgl  # no tree needs it

    src, dst = (batch.dst, batch.src) if reverse else (batch.src, batch.dst)
    if dgl is not None:  # several times faster
        graph = dgl.graph((src, dst), num_nodes=batch.num_nodes)
        with suppress(dgl.DGLError):  # a cycle
            return [each.numpy() for each in dgl.topological_nodes_generator(graph)]
    frontiers = by_frontiers(src.numpy(), dst.numpy(), batch.num_nodes)
    broken = np.ones(batch.num_nodes, np.bool_)
    for frontier in frontiers:
        broken[frontier] = False
    _refuse_cycle(batch, broken)
    return frontiers


def node_error(batch: TreeBatch, node: int, message: str) -> TreeError:
    """Return a TreeError about a node of a batch that names the tree and the node within it."""
    tree, place = locate(offsets_of(batch.sizes), node)
    return TreeError(message, tree=tree, node=place)


@contextmanager
def tree_in_errors(batch: TreeBatch) -> Iterator[None]:
    """Make errors about a node of ``batch`` name the tree and the node within it."""
    try:
        yield
    except TreeError as error:
        if error.node is None or error.tree is not None:
            raise
        raise node_error(batch, error.node, error.message) from error


def _levels_from_depths(depth: NDArray[np.int32]) -> Ints:
    return int(depth.max(initial=0)) - depth.astype(np.int64)


def by_frontiers(src: Ints, dst: Ints, num_nodes: int) -> list[Ints]:
    """Return the frontiers of a graph in DGL's order; nodes on and after a cycle are in none."""
    ends = dst[np.argsort(src, kind="stable")]  # edge after edge of the node that they leave
    out, waits = (np.bincount(each, minlength=num_nodes) for each in (src, dst))
    first = starts(out)
    place = np.empty(num_nodes, np.int64)
    frontiers, frontier = [], np.flatnonzero(waits == 0)
    while len(frontier):
        frontiers.append(frontier)
        entered = ends[ranges(first[frontier], out[frontier])]
        np.subtract.at(waits, entered, 1)
        free = entered[waits[entered] == 0]
        place[free] = np.arange(len(free))  # for a node that occurs twice, the last
        frontier = free[place[free] == np.arange(len(free))]
    return frontiers


def _refuse_cycle(batch: TreeBatch, broken: Bools) -> None:
    if broken.any():
        src, dst = batch.src.numpy(), batch.dst.numpy()
        inside = broken[src] & broken[dst]
        raise cycle_error(src[inside], dst[inside], offsets_of(batch.sizes))
