"""Small worlds for the tests: forests and acyclic graphs that hypothesis draws, and shapes."""

import numpy as np
import torch
from hypothesis import strategies as st

from dgltrees import Forest, TreeBatch


def chain(nodes: int) -> Forest:
    """Every node has one child."""
    return Forest.build(np.arange(-1, nodes - 1))


def star(leaves: int) -> Forest:
    """One root, ``leaves`` children."""
    return Forest.build(np.r_[-1, np.zeros(leaves, int)])


def random_forest(rng: np.random.Generator, trees: int, nodes: int, max_children: int) -> Forest:
    """Trees of 1 to ``nodes`` nodes in random node order, with gaps between children."""
    parents, places, offsets = [], [], [0]
    for _ in range(trees):
        n = int(rng.integers(1, nodes + 1))
        free = [(0, p) for p in range(max_children)]  # places where a child can go
        parent, pos = [-1], [0]
        for node in range(1, n):
            at, place = free.pop(int(rng.integers(len(free))))
            parent.append(at)
            pos.append(place)
            free.extend((node, p) for p in range(max_children))
        name = rng.permutation(n)  # the new number of each node
        renamed, moved = np.empty(n, int), np.empty(n, int)
        renamed[name] = [-1 if p < 0 else name[p] for p in parent]
        moved[name] = pos
        parents.append(renamed)
        places.append(moved)
        offsets.append(offsets[-1] + n)
    return Forest.build(np.concatenate(parents), pos=np.concatenate(places), offsets=offsets)


@st.composite
def forests(
    draw: st.DrawFn, max_trees: int = 4, max_nodes: int = 12, max_children: int = 3
) -> Forest:
    """Forests of unlike shapes, single nodes and missing children among them."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    trees = draw(st.integers(1, max_trees))
    return random_forest(rng, trees, draw(st.integers(1, max_nodes)), max_children)


def shared_children(
    rng: np.random.Generator, trees: int, nodes: int, max_children: int
) -> TreeBatch:
    """Random graphs with one root each, in which about half of the nodes have two parents."""
    below: list[list[int]] = [[] for _ in range(trees * nodes)]
    for v in range(trees * nodes):
        above = [u for u in range(v - v % nodes, v) if len(below[u]) < max_children]
        for up in rng.permutation(above)[: rng.integers(1, 3)].tolist():
            below[up].append(v)
    return batch_of(below, [nodes] * trees)


def batch_of(below: list[list[int]], sizes: list[int]) -> TreeBatch:
    """The graph in which each node has the given children."""
    edges = [(v, up, pos) for up, each in enumerate(below) for pos, v in enumerate(each)]
    src, dst, pos = torch.tensor(edges).unbind(1)
    return TreeBatch(src, dst, torch.tensor(sizes), edata={"pos": pos})


def written_out(batch: TreeBatch) -> tuple[Forest, np.ndarray]:
    """The trees with every shared child written out, and the node of the batch of each node."""
    below: list[list[tuple[int, int]]] = [[] for _ in range(batch.num_nodes)]
    for child, up, at in zip(*(e.tolist() for e in (batch.src, batch.dst, batch.edata["pos"]))):
        below[up].append((child, at))
    parent, pos, offsets, nodes = [], [], [0], []
    for root in batch.roots.tolist():
        stack = [(root, -1, 0)]
        while stack:
            v, up, place = stack.pop()
            stack += [(child, len(nodes) - offsets[-1], at) for child, at in below[v]]
            parent.append(up)
            pos.append(place)
            nodes.append(v)
        offsets.append(len(nodes))
    return Forest.build(parent, pos=pos, offsets=offsets), np.array(nodes)


@st.composite
def acyclic_graphs(draw: st.DrawFn, max_nodes: int = 10) -> tuple[int, np.ndarray, np.ndarray]:
    """``(nodes, src, dst)`` of a graph without cycles, with parallel edges, nodes shuffled."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    nodes = draw(st.integers(1, max_nodes))
    ends = rng.integers(0, nodes, (draw(st.integers(0, 2 * max_nodes)), 2))
    ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
    name = rng.permutation(nodes)
    return nodes, name[ends[:, 0]], name[ends[:, 1]]
