"""Forests from graphs of DGL and PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.builders.tables import forest_of_rows, roots_of_rows
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import cumcount, locate, offsets_of
from dgltrees.trees.vocabulary import Vocabulary

if TYPE_CHECKING:
    from dgl import DGLGraph
    from torch_geometric.data import Data


def from_dgl(
    *graphs: DGLGraph | TreeBatch | Sequence[DGLGraph | TreeBatch],
    down: bool | None = None,
    edge_columns: bool = True,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest from homogeneous DGL graphs, batched or not, with one or several trees each.

    Every root becomes a tree. Node data become columns. Edge data become columns of the child, with
    NaN at roots, so integers become floats. Edge data ``pos`` are the positions of the children; by
    default children are in the order of the edges. ``forest.batch().graph`` converts back.

    Arguments:
        graphs: the graphs, or batches; or a list of them.
        down: whether edges go from parent to child. Default: True if a node has several outgoing
            edges and none has several incoming ones. Graphs of only chains then go from child to
            parent, as in this package.
        edge_columns: whether edge data become columns.
        vocabs: vocabularies of columns of ids.

    Returns:
        the forest.

    Raises:
        TreeError: a graph has no nodes, a node with two parents, a cycle, or other data than
            another graph; node and edge data have the same name; an argument is not a graph; or
            see :meth:`Forest.build <dgltrees.trees.forest.Forest.build>`.

    Example:
        >>> import dgl
        >>> forest = from_dgl(dgl.graph(([1, 2], [0, 0])))  # edges from child to parent
        >>> forest.parent
        array([-1,  0,  0], dtype=int32)
    """
    listed = _listed(graphs, "edges", "a DGLGraph")
    batches = [g if isinstance(g, TreeBatch) else TreeBatch.from_graph(g) for g in listed]
    for number, batch in enumerate(batches):
        if len(batch.sizes) == 0 or int(batch.sizes.min()) == 0:
            raise TreeError("expected nodes in every graph, got none", tree=number)
    if down is None and batches:
        # A chain is a tree in both directions: there a batch's own roots decide.
        leaving = [np.bincount(b.src.numpy(), minlength=b.num_nodes) for b in batches]
        decided = [(n[b.roots.cpu()] > 0).any() for n, b in zip(leaving, batches)]
        down = _goes_down(batches) or any(decided)
    return _forest_of_edges(batches, bool(down), vocabs, edge_columns)


def _listed(graphs: Sequence[Any], method: str, kind: str) -> list[Any]:
    """Flatten lists of graphs and check that each element has the method."""
    listed = [g for each in graphs for g in (each if isinstance(each, (list, tuple)) else [each])]
    for number, graph in enumerate(listed):
        if not (isinstance(graph, TreeBatch) or hasattr(graph, method)):
            raise TreeError(f"expected {kind}, got {type(graph).__name__}", tree=number)
    return listed


def from_pyg(
    *graphs: Data | Sequence[Data],
    down: bool | None = None,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build a forest from graphs of PyTorch Geometric, with one or several trees each.

    This works as :func:`from_dgl`. Node attributes, such as ``x``, become columns, and edge
    attributes, such as ``edge_attr``, become columns of the child. Attributes of a whole graph,
    such as a target ``y``, are ignored.

    Arguments:
        graphs: ``Data`` or ``Batch`` objects; or a list of them.
        down: whether edges go from parent to child, see :func:`from_dgl`.
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
    listed = _listed(graphs, "is_node_attr", "a Data object")
    single: list[Data] = [
        data for graph in listed for data in (graph.to_data_list() if "ptr" in graph else [graph])
    ]
    names = {k for g in single for k, v in g.to_dict().items() if isinstance(v, Tensor)}
    names.discard("edge_index")
    # A value of one row may be of the node or of the graph, where a graph has one node.
    nodes = {k for k in names if all(g.is_node_attr(k) for g in single if k in g)}
    edges = {k for k in names if all(g.is_edge_attr(k) for g in single if k in g)}
    batches = []
    for number, graph in enumerate(single):
        if not graph.num_nodes:
            raise TreeError("expected nodes in every graph, got none", tree=number)
        src, dst = graph.edge_index.long().cpu()
        ndata, edata = ({k: graph[k] for k in graph.to_dict() if k in c} for c in (nodes, edges))
        sizes = torch.tensor([graph.num_nodes])
        batches.append(TreeBatch(src, dst, sizes, ndata=ndata, edata=edata))
    return _forest_of_edges(batches, _goes_down(batches) if down is None else down, vocabs)


def _goes_down(graphs: Sequence[TreeBatch]) -> bool:
    """Return whether edges go from parent to child, judged by the numbers of edges of the nodes."""

    def branches(ends: Iterable[Tensor]) -> bool:
        return any(bool(np.bincount(end.numpy()).max(initial=0) > 1) for end in ends)

    return branches(g.src for g in graphs) and not branches(g.dst for g in graphs)


def _forest_of_edges(
    graphs: Sequence[TreeBatch],
    down: bool,
    vocabs: Mapping[str, Vocabulary] | None,
    edge_columns: bool = True,
) -> Forest:
    """Build the forest of several graphs."""
    if not graphs:
        raise TreeError("expected at least one graph, got none")
    offsets = offsets_of([graph.num_nodes for graph in graphs])

    def error(message: str, row: int) -> TreeError:
        graph, node = locate(offsets, row)
        return TreeError(message, tree=graph, node=node)

    src = np.concatenate([graph.src.numpy() + first for graph, first in zip(graphs, offsets)])
    dst = np.concatenate([graph.dst.numpy() + first for graph, first in zip(graphs, offsets)])
    child, up = (dst, src) if down else (src, dst)
    parents = np.bincount(child, minlength=int(offsets[-1]))
    if (parents > 1).any():
        row = int(np.argmax(parents > 1))
        raise error(
            f"expected a tree, in which a node has at most one parent, got {parents[row]}; are the "
            f"edges from {'parent to child' if down else 'child to parent'}?",
            row,
        )
    parent = np.full(len(parents), -1)
    parent[child] = up
    columns = _stacked([graph.ndata for graph in graphs], "node")
    edges = _stacked([graph.edata for graph in graphs], "edge")
    positions = edges.pop("pos", None)
    pos = np.zeros(len(parent), np.int64)
    pos[child] = cumcount(up) if positions is None else positions
    for name, values in edges.items() if edge_columns else ():
        if name in columns:
            raise TreeError(f"expected one name for node or edge data, got {name!r} for both")
        dtype = np.result_type(values, np.float16)
        floats = np.full((len(parent), *values.shape[1:]), np.nan, dtype)
        floats[child] = values
        columns[name] = floats
    root = roots_of_rows(parent, error)
    return forest_of_rows(parent, root, pos, columns=columns, vocabs=vocabs)


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
