"""Small worlds for the tests: forests and acyclic graphs that hypothesis draws, and shapes."""

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from dgltrees import Forest


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


def shared_forest(rng: np.random.Generator, trees: int, nodes: int, max_children: int) -> Forest:
    """Random trees in which most of the leaves stand for another node, if no cycle closes."""
    forest = random_forest(rng, trees, nodes, max_children)
    shared = np.full(forest.num_nodes, -1)
    for tree in range(len(forest)):
        first, stop = forest.offsets[tree : tree + 2].tolist()
        graph = nx.DiGraph((int(forest.global_parent[v]), v) for v in range(first, stop))
        for leaf in rng.permutation(np.arange(first, stop)).tolist():
            other = int(rng.integers(first, stop))
            up = int(forest.global_parent[leaf])
            if forest.degree[leaf] or up < 0 or shared[other] >= 0 or rng.random() < 0.2:
                continue
            if (shared == leaf - first)[first:stop].any() or leaf == other:
                continue  # others stand for this leaf
            if not nx.has_path(graph, other, up):
                graph.remove_node(leaf)
                graph.add_edge(up, other)
                shared[leaf] = other - first
    return Forest.build(
        forest.parent, pos=forest.pos, offsets=forest.offsets, columns={"shared_with": shared}
    )


def written_out(forest: Forest) -> tuple[Forest, np.ndarray]:
    """The trees with every shared child written out, and the node of the batch of each node."""
    below: list[list[tuple[int, int]]] = [[] for _ in range(forest.num_nodes)]
    shared = forest.columns["shared_with"]
    for v in np.flatnonzero(forest.parent >= 0).tolist():
        child = v if shared[v] < 0 else int(shared[v] + forest.offsets[forest.tree_of_node[v]])
        below[forest.global_parent[v]].append((child, int(forest.pos[v])))
    parent, pos, offsets, nodes = [], [], [0], []
    for root in forest.roots.tolist():
        stack = [(root, -1, 0)]
        while stack:
            v, up, place = stack.pop()
            stack += [(child, len(nodes) - offsets[-1], at) for child, at in below[v]]
            parent.append(up)
            pos.append(place)
            nodes.append(v)
        offsets.append(len(nodes))
    row = np.cumsum(shared < 0) - 1
    return Forest.build(parent, pos=pos, offsets=offsets), row[nodes]


@st.composite
def acyclic_graphs(draw: st.DrawFn, max_nodes: int = 10) -> tuple[int, np.ndarray, np.ndarray]:
    """``(nodes, src, dst)`` of a graph without cycles, with parallel edges, nodes shuffled."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    nodes = draw(st.integers(1, max_nodes))
    ends = rng.integers(0, nodes, (draw(st.integers(0, 2 * max_nodes)), 2))
    ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
    name = rng.permutation(nodes)
    return nodes, name[ends[:, 0]], name[ends[:, 1]]
