"""Forests from networkx graphs, and back; trees in the DOT language of Graphviz."""

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
    """Build a forest from directed graphs: one tree each, with edges from parent to child.

    This is the convention of networkx for rooted trees; the edges of a batch go from child to
    parent. The nodes are in the order of ``graph.nodes``. The position of a child is the edge
    attribute ``pos``; if no edge of a graph has it, children are in the order of
    ``graph.successors``. Node attributes become columns. Other edge attributes, such as the length
    of a branch, become columns of the child. Types are converted as in
    :func:`~dgltrees.trees.builders.objects.from_objects`. Graph attributes are ignored.

    Arguments:
        graphs: ``networkx.DiGraph`` objects.
        names: the name of a column for the node objects themselves, such as strings; default: no
            such column.
        vocabs: vocabularies to use, by attribute.

    Returns:
        the forest.

    Raises:
        TreeError: a graph is not directed, has parallel edges, a cycle, a node with two parents, or
            not exactly one root; a position occurs twice, is missing or out of range; two
            attributes have the same name, or a name is not a string; or the values of an attribute
            have several types or an unsupported type.
        ConfigError: there is a vocabulary for an attribute whose values are not strings.

    Example:
        >>> import networkx
        >>> graph = networkx.DiGraph([("join", "scan"), ("join", "sort")])
        >>> forest = from_networkx(graph, names="op")
        >>> forest.vocabs["op"].names
        ['join', 'scan', 'sort']
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
    """Append the nodes of the ``tree``-th graph, with the attributes of each as objects."""
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
    """Convert a tree to a directed graph with edges from parent to child.

    The nodes are 0, 1, ... Columns become node attributes: ids become names (a missing name has no
    attribute), and vectors become lists. Positions are the edge attribute ``pos``.

    Arguments:
        forest: the trees.
        tree: the index of the tree.

    Returns:
        the graph.

    Raises:
        IndexError: the tree does not exist.

    Example:
        >>> from dgltrees.trees import Forest
        >>> to_networkx(Forest.build([-1, 0, 0], columns={"cost": [3, 1, 2]})).nodes(data=True)
        NodeDataView({0: {'cost': 3}, 1: {'cost': 1}, 2: {'cost': 2}})
    """
    import networkx

    chosen = forest[tree]
    graph = networkx.DiGraph()
    graph.add_nodes_from(enumerate(records(chosen)))
    pairs = enumerate(zip(chosen.parent.tolist(), chosen.pos.tolist()))
    graph.add_edges_from((up, node, {"pos": pos}) for node, (up, pos) in pairs if up >= 0)
    return graph


def to_dot(forest: Forest, tree: int = 0) -> str:
    """Convert a tree to the DOT language of Graphviz, for ``dot -Tsvg`` and other programs.

    The label of a node lists its columns, one per line. An edge is labelled with the position of
    its child if an earlier child is missing.

    Arguments:
        forest: the trees.
        tree: the index of the tree.

    Returns:
        the text of a DOT file.

    Raises:
        IndexError: the tree does not exist.
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
