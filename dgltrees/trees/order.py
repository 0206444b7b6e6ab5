"""Parents, depths, preorder and subtrees of all nodes at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.segments import Ints, locate, run_offsets, running_sum

if TYPE_CHECKING:
    from dgltrees.trees.forest import Forest


def depths(parent: Ints) -> NDArray[np.int32]:
    """Count the edges between each node and its root.

    Pointer doubling: after round k every node has the index of its ancestor 2^k edges above, or of
    its root, and the number of edges between them. There are log2(depth) rounds.
    """
    is_root = parent < 0
    depth = (~is_root).astype(np.int32)
    above = np.where(is_root, np.arange(len(parent)), parent)
    for _ in range(max(1, len(parent)).bit_length() + 1):
        remaining = depth[above]
        if not remaining.any():
            return depth
        depth += remaining
        above = above[above]
    return np.where(is_root[above], depth, -1).astype(np.int32)


def cycle_of(src: Ints, dst: Ints) -> list[int]:
    """Return the nodes of a cycle of a graph that has one, from the smallest, along the edges."""
    import networkx  # only for errors

    graph = networkx.DiGraph(zip(src.tolist(), dst.tolist()))
    nodes = [edge[0] for edge in networkx.find_cycle(graph)]
    first = nodes.index(min(nodes))
    return [*nodes[first:], *nodes[:first]]


def cycle_error(src: Ints, dst: Ints, offsets: Ints) -> TreeError:
    """Return the error for a graph with a cycle, which names the nodes of the cycle."""
    cycle = cycle_of(src, dst)
    tree, node = locate(offsets, cycle[0])
    shown = [str(each - int(offsets[tree])) for each in cycle[:8]]
    more = [f"({len(cycle) - 8} more)"] if len(cycle) > 8 else []
    got = f"the cycle {' -> '.join([*shown, *more, shown[0]])}; remove one of its edges"
    if len(cycle) == 1:
        got = "an edge from this node to itself; remove it, as with dgl.remove_self_loop(graph)"
    return TreeError(f"expected a graph without cycles, got {got}", tree=tree, node=node)


def parents_of_depths(depth: Ints, starts: Ints, error: Callable[[str, int], TreeError]) -> Ints:
    """Find the parent of each row: the last row before it that is less deep."""
    below = depth - depth[starts].repeat(np.diff(np.append(starts, len(depth))))
    deeper = np.append(0, below[1:] - below[:-1])
    deeper[starts] = 0
    for wrong, what in (
        (deeper > 1, "at most one more than that of the row before"),
        (below < 0, "not less than that of the first row of the tree"),
    ):
        if wrong.any():
            row = int(wrong.argmax())
            raise error(f"expected rows in preorder, of a depth {what}, got {depth[row]}", row)
    keys = below * len(below) + np.arange(len(below))
    order = keys.argsort()
    last = keys[order].searchsorted(keys - len(below)) - 1
    return np.where(below == 0, -1, order[last])


def preorder(forest: Forest) -> tuple[Ints, Ints]:
    """Rank the nodes in preorder and count the nodes of their subtrees."""
    up, depth = forest.global_parent, forest.depth
    order = np.lexsort((forest.pos, up, depth))
    bounds = np.flatnonzero(np.diff(depth[order])) + 1
    levels = np.split(order, bounds)[1:]  # all but the roots
    sizes = np.ones(forest.num_nodes, np.int64)
    for rows in reversed(levels):
        np.add.at(sizes, up[rows], sizes[rows])
    ranks = np.zeros(forest.num_nodes, np.int64)
    ranks[forest.roots] = forest.offsets[:-1]
    siblings = np.diff(run_offsets(up[order]))
    elder = np.empty_like(sizes)  # the nodes of the subtrees of a node's elder siblings
    elder[order] = running_sum(sizes[order], siblings) - sizes[order]
    for rows in levels:
        ranks[rows] = ranks[up[rows]] + 1 + elder[rows]
    return ranks, sizes


def over_subtrees(ufunc: np.ufunc, values: NDArray[Any], parent: Ints) -> NDArray[Any]:
    """Reduce the values in the subtree of each node, such as to their sum or minimum.

    Pointer doubling: after round k the result of a node covers its descendants less than 2^k edges
    below; each descendant exactly 2^k edges below has the results of the next 2^k.
    """
    result: NDArray[Any] = values.copy()
    nodes = np.flatnonzero(parent >= 0)
    ancestor = parent.copy()  # 2^k edges up, -1 above the root
    while len(nodes):
        ufunc.at(result, ancestor[nodes], result[nodes].copy())
        ancestor[nodes] = ancestor[ancestor[nodes]]
        nodes = nodes[ancestor[nodes] >= 0]
    return result
