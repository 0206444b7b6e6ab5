"""Forests of networkx graphs, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from dgltrees.errors import TreeError
from dgltrees.trees.builders.vocabs import vocabs_for
from dgltrees.trees.builders.walk import NodeLists
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import locate
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx

__all__ = ["from_networkx", "to_networkx"]


def from_networkx(
    *graphs: networkx.DiGraph,
    vocabs: Optional[Mapping[str, Vocabulary]] = None,
    max_children: Optional[int] = None,
) -> Forest:
    """A forest with one tree per directed graph, whose edges go from parent to child.

    That is the convention of networkx for rooted trees; the edges of a batch go the other way.

    The nodes are in the order of ``graph.nodes``. The position of a child is the edge attribute
    ``pos``; if no edge of a graph has it, children are in the order of ``graph.successors``. Every
    node attribute is a column: a string as an id with a vocabulary, -1 at nodes without the
    attribute; a number, which every node must have, as it is.

    Arguments:
        graphs: ``networkx.DiGraph`` objects.
        vocabs: vocabularies to use, by attribute.
        max_children: the largest number of child positions of a node; None for any.

    Raises:
        TreeError: with tree and node: a graph is not directed or has parallel edges, a node has two
            parents, there is not exactly one root, there is a cycle, a position occurs twice, is
            missing or out of range, or an attribute is neither a string nor a number.
    """
    lists = NodeLists()
    data: list[Mapping[str, Any]] = []
    for tree, graph in enumerate(graphs):
        _add_graph(lists, graph, tree)
        data.extend(graph.nodes[node] for node in graph)
        lists.offsets.append(len(data))
    attributes = list(dict.fromkeys(key for row in data for key in row))
    names: dict[str, list[Optional[str]]] = {}
    columns: dict[str, np.ndarray[Any, Any]] = {}
    for key in attributes:
        values = [row.get(key) for row in data]
        if all(value is None or isinstance(value, str) for value in values):
            names[key] = values
        else:
            columns[key] = _numbers(key, values, lists.offsets)
    vocabularies = vocabs_for(vocabs, *names)
    return lists.forest(names, vocabularies, columns=columns, max_children=max_children)


def _add_graph(lists: NodeLists, graph: Any, tree: int) -> None:
    """Append the nodes of a graph, the ``tree``-th one."""
    if not graph.is_directed() or graph.is_multigraph():
        raise TreeError(
            f"expected a networkx.DiGraph with edges from parent to child, "
            f"got a {type(graph).__name__}",
            tree=tree,
        )
    index = {node: i for i, node in enumerate(graph)}
    has_pos = any("pos" in data for _, _, data in graph.edges(data=True))
    parent, pos = [-1] * len(index), [0] * len(index)
    for up, row in graph.adjacency():
        for place, (node, data) in enumerate(row.items()):
            child = index[node]
            if parent[child] >= 0:
                raise TreeError(
                    f"expected one parent, got two for the node {node!r}", tree=tree, node=child
                )
            parent[child] = index[up]
            if has_pos:
                place = data.get("pos")
                if isinstance(place, bool) or not isinstance(place, (int, np.integer)):
                    raise TreeError(
                        f"expected an integer 'pos' on every edge, got {place!r} "
                        f"on the edge to {node!r}",
                        tree=tree,
                        node=child,
                    )
            pos[child] = int(place)
    lists.parent += parent
    lists.pos += pos


def _numbers(key: str, values: list[Any], offsets: list[int]) -> np.ndarray[Any, Any]:
    """The numbers of the attribute ``key``, ``(N,)``."""
    for node, value in enumerate(values):
        if not isinstance(value, (int, float, np.number)):
            tree, place = locate(offsets, node)
            raise TreeError(
                f"expected strings alone or a number at every node as the attribute {key!r}, "
                f"got {value!r}",
                tree=tree,
                node=place,
            )
    return np.array(values)


def to_networkx(forest: Forest, tree: int = 0) -> networkx.DiGraph:
    """One tree as a directed graph of nodes 0, 1, ... with edges from parent to child.

    Columns are node attributes, ids as their names (without the attribute where the id is -1), and
    positions are the edge attribute ``pos``. :func:`from_networkx` is the inverse.

    Arguments:
        forest: the trees.
        tree: the index of the tree.
    """
    import networkx

    chosen = forest.tree(tree)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(chosen.num_nodes))
    for key, column in chosen.columns.items():
        vocab = chosen.vocabs.get(key)
        for node, value in enumerate(column.tolist()):
            if vocab is None:
                graph.nodes[node][key] = value
            elif value >= 0:
                graph.nodes[node][key] = vocab.names[value]
    pairs = enumerate(zip(chosen.parent.tolist(), chosen.pos.tolist()))
    graph.add_edges_from((up, node, {"pos": pos}) for node, (up, pos) in pairs if up >= 0)
    return graph
