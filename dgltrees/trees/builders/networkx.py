"""Forests from networkx graphs, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dgltrees.errors import TreeError
from dgltrees.trees.builders.objects import records
from dgltrees.trees.builders.walk import NodeLists, listed_graphs
from dgltrees.trees.columns_of import columns_of_values
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import cumcount
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    import networkx


def from_networkx(
    *graphs: networkx.DiGraph | Sequence[networkx.DiGraph],
    names: str | None = None,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest from directed graphs: one tree each, with edges from parent to child.

    This is the convention of networkx for rooted trees; the edges of a batch go from child to
    parent. The nodes are in the order of ``graph.nodes``. The position of a child is the edge
    attribute ``pos``; if no edge of a graph has it, the integer node attribute ``pos`` of all
    children; and without it, children are in the order of ``graph.successors``. Gaps are allowed.
    Other node attributes become columns. Other edge attributes, such as the length
    of a branch or a dependency relation, become columns of the child. Types are converted as in
    :func:`~dgltrees.trees.builders.objects.from_objects`. Graph attributes, and the keys of a
    ``MultiDiGraph``, are ignored.

    Arguments:
        graphs: ``networkx.DiGraph`` or ``MultiDiGraph`` objects, or a list of them.
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
    for tree, graph in enumerate(listed_graphs(graphs, "adjacency", "a networkx.DiGraph")):
        _add_graph(lists, graph, tree, names)
        lists.offsets.append(len(lists.objects))
    lists.check_any()
    rows = lists.objects
    keys = dict.fromkeys([*(key for row in rows for key in row), *(vocabs or {})])
    values = {key: [row.get(key) for row in rows] for key in keys}
    columns, vocabularies = columns_of_values(
        values, lists.error, vocabs, cure="convert its values to strings"
    )
    return Forest.build(
        lists.parent, pos=lists.pos, offsets=lists.offsets, columns=columns, vocabs=vocabularies
    )


def _add_graph(lists: NodeLists, graph: Any, tree: int, names: str | None) -> None:
    """Append the nodes of the ``tree``-th graph, with the attributes of each as objects."""

    def error(message: str, node: int | None = None) -> TreeError:
        return TreeError(message, tree=tree, node=node)

    def add(node: int, attributes: Mapping[Any, Any]) -> None:
        for key, value in attributes.items():
            if not isinstance(key, str) or key in rows[node]:
                expected = "one attribute of a name" if isinstance(key, str) else "text as name"
                raise error(f"expected {expected} at a node and the edge to it, got {key!r}", node)
            rows[node][key] = value

    if not graph.is_directed():
        raise error(
            "expected a networkx.DiGraph with edges from parent to child, got a "
            f"{type(graph).__name__}"
        )
    index = {node: i for i, node in enumerate(graph)}
    rows: list[dict[str, Any]] = [{} if names is None else {names: node} for node in graph]
    edges = list(graph.edges(data=True))
    has_pos = any("pos" in attributes for *_, attributes in edges)
    nodes = {node: dict(attributes) for node, attributes in graph.nodes(data=True)}
    if edges and not has_pos and all(_is_integer(nodes[node].get("pos")) for _, node, *_ in edges):
        of_node, has_pos = {node: each.pop("pos", 0) for node, each in nodes.items()}, True
        edges = [(up, node, {**data, "pos": of_node[node]}) for up, node, data in edges]
    for node, attributes in nodes.items():
        add(index[node], attributes)
    places = cumcount(np.array([index[up] for up, *_ in edges], np.int64)).tolist()
    parent, pos = [-1] * len(index), [0] * len(index)
    for place, (up, node, data) in zip(places, edges):
        child, attributes = index[node], dict(data)
        if up == node:
            raise error(
                f"expected an edge to another node, got one from the node itself to {node!r}", child
            )
        if parent[child] >= 0:
            raise error(f"expected one edge to a node, got two to {node!r}", child)
        parent[child] = index[up]
        if has_pos:
            place = attributes.pop("pos", None)
            if not _is_integer(place):
                raise error(
                    f"expected an integer 'pos' of every edge, got {place!r} from {up!r} to "
                    f"{node!r}",
                    child,
                )
        pos[child] = int(place)
        add(child, attributes)
    lists.parent += parent
    lists.pos += pos
    lists.objects += rows


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def to_networkx(forest: Forest, tree: int = 0, *, etype: str | None = None) -> networkx.DiGraph:
    """Convert a tree to a directed graph with edges from parent to child.

    The nodes are 0, 1, ... Columns become node attributes: ids become names (a missing name has no
    attribute), and vectors become lists. Positions are the edge attribute ``pos``.

    Arguments:
        forest: the trees.
        tree: the index of the tree.
        etype: a column that becomes an attribute of the edge to each node, such as ``"deprel"``; at
            the root it is an attribute of the node.

    Returns:
        the graph; :func:`from_networkx` converts back.

    Raises:
        IndexError: the tree does not exist.
        TreeError: there is no column ``etype``.

    Example:
        >>> from dgltrees.trees import Forest
        >>> to_networkx(Forest.build([-1, 0, 0], columns={"cost": [3, 1, 2]})).nodes(data=True)
        NodeDataView({0: {'cost': 3}, 1: {'cost': 1}, 2: {'cost': 2}})
    """
    import networkx

    if etype is not None and etype not in forest.columns:
        raise TreeError(
            f"expected etype to be a column, one of {list(forest.columns)}, got {etype!r}"
        )
    chosen = forest[tree]
    graph = networkx.DiGraph()
    rows = list(records(chosen))
    graph.add_nodes_from(range(len(rows)))
    for node, (up, pos, row) in enumerate(zip(chosen.parent.tolist(), chosen.pos.tolist(), rows)):
        if up < 0:
            continue
        attributes = {"pos": pos}
        if etype in row:
            attributes[etype] = row.pop(etype)
        graph.add_edge(up, node, **attributes)
    graph.add_nodes_from(enumerate(rows))
    return graph
