"""Forests from graphs of DGL and PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.builders.tables import forest_of_rows, roots_of_rows
from dgltrees.trees.builders.walk import listed_graphs
from dgltrees.trees.forest import Forest
from dgltrees.trees.heterographs import are_positions, has_names, names_of_types, types_of
from dgltrees.trees.order import cycle_error, depths
from dgltrees.trees.segments import Ints, cumcount, locate, offsets_of
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgl import DGLGraph
    from torch_geometric.data import Data


def from_dgl(
    *graphs: DGLGraph | TreeBatch | Sequence[DGLGraph | TreeBatch],
    down: bool | None = None,
    pos: str | None = "pos",
    edge_columns: bool = True,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest from DGL graphs, batched or not, with one or several trees each.

    Graphs have one type of nodes. Every root becomes a tree. Node data become columns. Edge data
    become columns of the child, with NaN at roots, so integers become floats. Edge types
    ``child0``, ``child1``, ... are the positions of children; other edge types become the column
    ``etype``, with their names as vocabulary. ``forest.batch().graph`` and ``forest.heterograph()``
    convert back.

    Arguments:
        graphs: the graphs, or batches; or a list of them.
        down: whether edges go from parent to child. Default: inferred, if a node of one of the
            graphs has several children. Chains are trees in both directions, so ``down`` is
            required for graphs that are only chains. The direction of a ``TreeBatch`` is known.
        pos: the name of the positions of children, in edge data or in the node data of the
            children; without such data, and for None, children are in the order of their edges.
            There may be gaps: with positions from 1, position 0 of every node is empty.
        edge_columns: whether edge data become columns, in addition to the names of edge types.
        vocabs: vocabularies of columns of ids.

    Returns:
        the forest.

    Raises:
        TreeError: a graph has no nodes, several types of nodes, a node with two parents, a cycle,
            or other data or edge types than another graph; ``down`` is missing; node and edge data
            have the same name; positions are not integers, or in node and edge data of a
            ``DGLGraph``; an argument is not a graph; or see :meth:`Forest.build
            <dgltrees.trees.forest.Forest.build>`.

    Example:
        >>> import dgl
        >>> forest = from_dgl(dgl.graph(([1, 2], [0, 0])))  # edges from child to parent
        >>> forest.parent
        array([-1,  0,  0], dtype=int32)
    """
    listed = listed_graphs(graphs, "edata", "a DGLGraph")
    named = [graph for graph in listed if not isinstance(graph, TreeBatch) and has_names(graph)]
    same = len({frozenset(graph.etypes) for graph in named}) == 1
    names = names_of_types(list(map(types_of, named))) if same else None  # DGL may have sorted them
    batches = [
        each
        if isinstance(each, TreeBatch)
        else TreeBatch.from_graph(each, names if has_names(each) else None)
        for each in listed
    ]
    for number, (graph, batch) in enumerate(zip(listed, batches)):
        if graph is not batch and pos in batch.ndata and pos in batch.edata:
            raise TreeError(
                f"expected positions in node or edge data, got {pos!r} in both; rename one of them",
                tree=number,
            )
        if len(batch.sizes) == 0 or int(batch.sizes.min()) == 0:
            raise TreeError("expected nodes in every graph, got none", tree=number)
    return _forest_of_edges(batches, down, vocabs, "from_dgl", edge_columns, pos)


def from_pyg(
    *graphs: Data | Sequence[Data],
    down: bool | None = None,
    pos: str | None = "pos",
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest from graphs of PyTorch Geometric, with one or several trees each.

    This works as :func:`from_dgl`. Node attributes, such as ``x``, become columns, and edge
    attributes, such as ``edge_attr``, become columns of the child. Attributes of a whole graph,
    such as a target ``y``, are ignored.

    Arguments:
        graphs: ``Data`` or ``Batch`` objects; or a list of them.
        down: whether edges go from parent to child, see :func:`from_dgl`.
        pos: the name of the positions of children, see :func:`from_dgl`; coordinates ``(N, 3)`` of
            this name are a column.
        vocabs: vocabularies of columns of ids.

    Returns:
        the forest.

    Raises:
        TreeError: see :func:`from_dgl`.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> edges = torch.tensor([[1, 2], [0, 0]])  # from child to parent
        >>> from_pyg(Data(x=torch.ones(3, 2), edge_index=edges))
        Forest(1 tree, 3 nodes, columns: x (float32 x 2))
    """
    listed = listed_graphs(graphs, "edge_index", "a Data object")
    single: list[Any] = [
        data
        for graph in listed
        for data in (graph.to_data_list() if hasattr(graph, "to_data_list") else [graph])
    ]
    for number, graph in enumerate(single):
        if not graph.num_nodes:
            raise TreeError("expected nodes in every graph, got none", tree=number)
        if graph.edge_index is None:
            raise TreeError("expected edge_index in every Data object, got none", tree=number)
    batches = _of_data(single)
    if any(b.ndata[pos].dim() > 1 for b in batches if pos in b.ndata):
        pos = None
    return _forest_of_edges(batches, down, vocabs, "from_pyg", pos=pos)


def _of_data(graphs: Sequence[Data]) -> list[TreeBatch]:
    names = {k for g in graphs for k, v in g.to_dict().items() if isinstance(v, Tensor)}
    names.discard("edge_index")
    # A value of one row may be of the node or of the graph, where a graph has one node.
    nodes = {k for k in names if all(g.is_node_attr(k) for g in graphs if k in g)}
    edges = {k for k in names if all(g.is_edge_attr(k) for g in graphs if k in g)}
    batches = []
    for graph in graphs:
        src, dst = graph.edge_index.long().cpu()
        ndata, edata = ({k: graph[k] for k in graph.to_dict() if k in c} for c in (nodes, edges))
        sizes = torch.tensor([graph.num_nodes])
        batches.append(TreeBatch(src, dst, sizes, ndata=ndata, edata=edata))
    return batches


def to_pyg(forest: Forest, tree: int = 0) -> Data:
    """Convert a tree to a graph of PyTorch Geometric with edges from child to parent.

    Columns become node attributes. Positions are the edge attribute ``pos``.

    Arguments:
        forest: the trees.
        tree: the index of the tree.

    Returns:
        the graph, a ``Data`` object.

    Raises:
        IndexError: the tree does not exist.
        TreeError: a column holds strings, or its name is ``pos``.

    Example:
        >>> to_pyg(Forest.build([-1, 0, 0])).edge_index.tolist()
        [[1, 2], [0, 0]]
    """
    from torch_geometric.data import Data

    batch = forest.batch([tree])
    if "pos" in batch.ndata:
        raise TreeError("expected no node column 'pos', the name of positions; rename it")
    data = Data(num_nodes=batch.num_nodes, **batch.ndata)
    data.edge_index, data.pos = torch.stack([batch.src, batch.dst]), batch.edata["pos"]
    return data


def _goes_down(graphs: Sequence[TreeBatch], function: str) -> bool:
    """Return whether edges go from parent to child, judged by nodes with several children."""
    if any(np.bincount(graph.dst.numpy()).max(initial=0) > 1 for graph in graphs):
        return False
    if any(np.bincount(graph.src.numpy()).max(initial=0) > 1 for graph in graphs):
        return True
    edges = [graph for graph in graphs if len(graph.src)]
    known = [g for g in edges if g.depth is not None or "roots" in g.__dict__]
    if edges and not known:
        raise TreeError(
            "missing the direction of the edges: every graph is a chain, which is a tree in both "
            f"directions; call {function}(..., down=True) for edges from parent to child, "
            "down=False for edges from child to parent"
        )
    return any(bool(torch.isin(g.src, g.roots.cpu()).any()) for g in known)


def _forest_of_edges(
    graphs: Sequence[TreeBatch],
    down: bool | None,
    vocabs: Mapping[str, Vocabulary] | None,
    function: str,
    edge_columns: bool = True,
    pos: str | None = "pos",
) -> Forest:
    if not graphs:
        raise TreeError("expected at least one graph, got none")
    if down is None:
        down = _goes_down(graphs, function)
    offsets = offsets_of([graph.num_nodes for graph in graphs])

    def error(message: str, row: int) -> TreeError:
        graph, node = locate(offsets, row)
        return TreeError(message, tree=graph, node=node)

    src = np.concatenate([graph.src.numpy() + first for graph, first in zip(graphs, offsets)])
    dst = np.concatenate([graph.dst.numpy() + first for graph, first in zip(graphs, offsets)])
    child, up = (dst, src) if down else (src, dst)
    columns = _stacked([graph.ndata for graph in graphs], "node")
    edges = _stacked([graph.edata for graph in graphs], "edge")
    parents = np.bincount(child, minlength=offsets[-1])
    if (parents > 1).any():
        row = int(np.argmax(parents > 1))
        raise error(
            f"expected a tree, in which a node has at most one parent, got {parents[row]}; "
            f"are the edges from {'parent to child' if down else 'child to parent'}? "
            "TreeBatch.from_graph reads any acyclic graph",
            row,
        )
    parent = np.full(len(parents), -1)
    parent[child] = up
    if (depths(parent) < 0).any():
        raise cycle_error(src, dst, offsets)
    names = _names_of_types(graphs, edges)
    positions = np.zeros(len(parent), np.int64)
    positions[child] = _positions(pos, columns, edges, child, up, error)
    for name, values in edges.items():
        types = names if name == "etype" else None
        if types is None and not edge_columns:
            continue
        if name in columns and (types is None or not np.array_equal(columns[name][child], values)):
            raise TreeError(f"expected one name for node or edge data, got {name!r} for both")
        if types is not None:
            vocab = (vocabs or {}).get(name, Vocabulary(types, frozen=True))
            vocabs = {**(vocabs or {}), name: vocab}
            ids = columns.setdefault(name, np.full(len(parent), -1))
            ids[child] = values
            columns[name] = np.where(ids < 0, -1, vocab.encode(types)[ids])
            continue
        dtype = np.result_type(values, np.float16)
        floats = np.full((len(parent), *values.shape[1:]), np.nan, dtype)
        floats[child] = values
        columns[name] = floats
    root = roots_of_rows(parent, error)
    return forest_of_rows(parent, root, positions, columns=columns, vocabs=vocabs)


def _names_of_types(
    graphs: Sequence[TreeBatch], edges: dict[str, NDArray[Any]]
) -> tuple[str, ...] | None:
    """Return the names of ``edges["etype"]``; None for child positions, which are removed there."""
    names = [graph.etype_names for graph in graphs]
    if all(map(are_positions, names)):
        if any(name is not None for name in names):
            edges.pop("etype")
        return None
    for number, other in enumerate(names):
        if other != names[0]:
            first, got = (", ".join(each or ["child0"]) for each in (names[0], other))
            raise TreeError(
                f"expected the edge types of the first graph, {first}, got {got}", tree=number
            )
    return names[0]


def _positions(
    pos: str | None,
    columns: dict[str, NDArray[Any]],
    edges: dict[str, NDArray[Any]],
    child: Ints,
    up: Ints,
    error: Callable[[str, int], TreeError],
) -> Ints:
    """Return the position of the child of each edge, ``(E,)``, and remove it from the data."""
    if pos is None or (pos not in edges and pos not in columns):
        if pos not in (None, "pos"):
            raise TreeError(
                f"expected positions in node or edge data {pos!r}, got the node data "
                f"{list(columns)} and the edge data {list(edges)}"
            )
        return cumcount(up)
    values = edges.pop(pos) if pos in edges else columns.pop(pos)[child]
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise TreeError(
            f"expected an integer as {pos!r} of each child, got {values.dtype} of shape "
            f"{values.shape}; for data that are no positions pass pos=None"
        )
    for wrong in np.flatnonzero((values != np.floor(values)) | (values < 0))[:1]:
        raise error(
            f"expected a position from 0 as {pos!r} of each child, got {values[wrong]:g}",
            int(child[wrong]),
        )
    return values.astype(np.int64)


def _stacked(data: Sequence[Mapping[str, Tensor]], what: str) -> dict[str, NDArray[Any]]:
    """Concatenate the rows of all graphs."""
    names = list(data[0])
    for number, tensors in enumerate(data):
        if set(tensors) != set(names):
            raise TreeError(
                f"expected the {what} data of the first graph, {', '.join(names) or 'none'}, "
                f"got {', '.join(tensors) or 'none'}",
                tree=number,
            )
    return {name: np.concatenate([_array(tensors[name]) for tensors in data]) for name in names}


def _array(tensor: Tensor) -> NDArray[Any]:
    tensor = tensor.detach().cpu()
    return np.asarray(tensor.float() if tensor.dtype == torch.bfloat16 else tensor)
