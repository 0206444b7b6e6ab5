"""Forests of networkx graphs, and back; trees in the language of Graphviz."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dgltrees.errors import TreeError
from dgltrees.trees.builders.objects import records
from dgltrees.trees.builders.values import typed_columns
from dgltrees.trees.builders.walk import NodeLists
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx


def from_networkx(
    *graphs: networkx.DiGraph,
    names: str | None = None,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """A forest with one tree per directed graph, whose edges go from parent to child.

    That is the convention of networkx for rooted trees; the edges of a batch go the other way.

    The nodes are in the order of ``graph.nodes``. The position of a child is the edge attribute
    ``pos``; if no edge of a graph has it, children are in the order of ``graph.successors``. Every
    node attribute is a column, and every other edge attribute, such as the length of a branch, is a
    column of the child; what values become is told at
    :func:`~dgltrees.trees.builders.objects.from_objects`. Attributes of a graph as a whole are not
    read.

    Arguments:
        graphs: ``networkx.DiGraph`` objects.
        names: the name of a column of the graph's nodes themselves, such as strings; by default
            there is none.
        vocabs: vocabularies to use, by attribute.

    Raises:
        TreeError: with tree and node: a graph is not directed or has parallel edges, a node has two
            parents, there is not exactly one root, there is a cycle, a position occurs twice, is
            missing or out of range; two attributes have one name, or one has no text as its name;
            the values of an attribute are of several kinds, or neither texts, numbers nor vectors.
        ConfigError: there is a vocabulary for an attribute that is no text.
    """
    lists = NodeLists()
    for tree, graph in enumerate(graphs):
        _add_graph(lists, graph, tree, names)
        lists.offsets.append(len(lists.objects))
    lists.check_any()
    rows = lists.objects
    keys = dict.fromkeys([*(key for row in rows for key in row), *(vocabs or {})])
    values = {key: [row.get(key) for row in rows] for key in keys}
    columns, vocabularies = typed_columns(values, lists.error, vocabs)
    return Forest.build(
        lists.parent,
        pos=lists.pos,
        offsets=lists.offsets,
        columns=columns,
        vocabs=vocabularies,
    )


def _add_graph(lists: NodeLists, graph: Any, tree: int, names: str | None) -> None:
    """Append the nodes of a graph, the ``tree``-th one, with the attributes of each as objects."""
    if not graph.is_directed() or graph.is_multigraph():
        raise TreeError(
            f"expected a networkx.DiGraph with edges from parent to child, "
            f"got a {type(graph).__name__}",
            tree=tree,
        )
    index = {node: i for i, node in enumerate(graph)}
    rows: list[dict[str, Any]] = [{} if names is None else {names: node} for node in graph]

    def add(node: int, attributes: Mapping[Any, Any]) -> None:
        for key, value in attributes.items():
            if not isinstance(key, str) or key in rows[node]:
                expected = "one attribute of a name" if isinstance(key, str) else "text as name"
                raise TreeError(
                    f"expected {expected} at a node and the edge to it, got {key!r}",
                    tree=tree,
                    node=node,
                )
            rows[node][key] = value

    for node, attributes in graph.nodes(data=True):
        add(index[node], attributes)
    has_pos = any("pos" in data for _, _, data in graph.edges(data=True))
    parent, pos = [-1] * len(index), [0] * len(index)
    for up, row in graph.adjacency():
        for place, (node, data) in enumerate(row.items()):
            child, attributes = index[node], dict(data)
            if parent[child] >= 0:
                raise TreeError(
                    f"expected one parent, got two for the node {node!r}", tree=tree, node=child
                )
            parent[child] = index[up]
            if has_pos:
                place = attributes.pop("pos", None)
                if isinstance(place, bool) or not isinstance(place, (int, np.integer)):
                    raise TreeError(
                        f"expected an integer 'pos' on every edge, got {place!r} "
                        f"on the edge to {node!r}",
                        tree=tree,
                        node=child,
                    )
            pos[child] = int(place)
            add(child, attributes)
    lists.parent += parent
    lists.pos += pos
    lists.objects += rows


def to_networkx(forest: Forest, tree: int = 0) -> networkx.DiGraph:
    """One tree as a directed graph of nodes 0, 1, ... with edges from parent to child.

    Columns are node attributes, ids as their names (without the attribute where the id is -1),
    vectors as lists, and positions are the edge attribute ``pos``. :func:`from_networkx` is the
    inverse.

    Arguments:
        forest: the trees.
        tree: the index of the tree.
    """
    import networkx

    chosen = forest[tree]
    graph = networkx.DiGraph()
    graph.add_nodes_from(enumerate(records(chosen)))
    pairs = enumerate(zip(chosen.parent.tolist(), chosen.pos.tolist()))
    graph.add_edges_from((up, node, {"pos": pos}) for node, (up, pos) in pairs if up >= 0)
    return graph


def to_dot(forest: Forest, tree: int = 0) -> str:
    """One tree in the language of Graphviz, for ``dot -Tsvg`` and other programs that read it.

    The text of a node is its columns, one per line; an edge has the position of its child as text
    where a child is missing before another.

    Arguments:
        forest: the trees.
        tree: the index of the tree.
    """
    chosen = forest[tree]
    lines = ["digraph {", "  node [shape=box];"]
    for node, row in enumerate(records(chosen)):
        text = "\n".join(f"{name}: {value}" for name, value in row.items())
        lines.append(f"  {node} [label={_quoted(text or node)}];")
    with_gaps = set(chosen.parent[chosen.pos >= chosen.degree[chosen.parent]].tolist())
    for node in chosen.pos.argsort(kind="stable").tolist():
        up = int(chosen.parent[node])
        if up >= 0:
            label = f" [label={_quoted(chosen.pos[node])}]" if up in with_gaps else ""
            lines.append(f"  {up} -> {node}{label};")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: Any) -> str:
    return json.dumps(str(text), ensure_ascii=False)
