"""DGL's traversals of given frontiers, and its generators of frontiers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dgltrees._dgl import need_dgl
from dgltrees.errors import TreeError
from dgltrees.traversal.by_type import Functions, OfType, run_by_type
from dgltrees.traversal.frontiers import runs
from dgltrees.traversal.functions import Message, Reduce, message_function, reduce_function
from dgltrees.traversal.levels import Update
from dgltrees.traversal.order import levels_of
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Ints, ranges, starts

if TYPE_CHECKING:
    from dgl import DGLGraph

Frontiers = Iterable[Tensor | Sequence[int]]
Source = int | Tensor | Sequence[int]


def prop_nodes(
    graph: DGLGraph | TreeBatch,
    nodes_generator: Frontiers,
    message_func: Message | Any,
    reduce_func: Reduce | Any,
    apply_node_func: Update | None = None,
) -> None:
    """Send messages into one set of nodes after another and update ``graph.ndata`` in place.

    A drop-in replacement for ``dgl.prop_nodes``. The cost is linear in nodes and edges as long as
    no frontier has a node of an earlier one. Each frontier that has one starts a new traversal.

    Arguments:
        graph: a homogeneous ``DGLGraph`` or :class:`TreeBatch`, which may have cycles.
        nodes_generator: the frontiers, each with the ids of its nodes. Messages along all their
            incoming edges read the results of the frontiers before.
        message_func, reduce_func, apply_node_func: see :func:`prop_nodes_topo`. As in DGL, a node
            without messages has zeros in the reduced fields if other nodes of its frontier have
            messages (the built-in max and min: infinity), and no reduced fields otherwise.

    Raises:
        TreeError: a frontier has an unknown node, or the tensors are on several devices.

    Example:
        >>> import dgl, torch
        >>> from dgltrees import prop_nodes
        >>> graph = dgl.graph(([0, 1, 2, 3], [2, 3, 4, 4]))
        >>> graph.ndata["x"] = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> prop_nodes(graph, [[2, 3], [4]], dgl.function.copy_u("x", "m"),
        ...            dgl.function.sum("m", "x"))
        >>> graph.ndata["x"]
        tensor([1., 2., 1., 2., 3.])
    """
    batch = _batch(graph)
    nodes, dst = _ids(nodes_generator, batch.num_nodes, "node"), batch.dst.numpy()
    degree = np.bincount(dst, minlength=batch.num_nodes)
    first, by_node = starts(degree), np.argsort(dst, kind="stable")
    edges = [by_node[ranges(first[ids], degree[ids])] for ids in nodes]
    _propagate(graph, batch, nodes, edges, (message_func, reduce_func, apply_node_func))


def prop_nodes_bfs(
    graph: DGLGraph | TreeBatch,
    source: Source,
    message_func: Message | Any,
    reduce_func: Reduce | Any,
    reverse: bool = False,
    apply_node_func: Update | None = None,
) -> None:
    """Send messages in breadth-first order and update ``graph.ndata`` in place.

    A drop-in replacement for ``dgl.prop_nodes_bfs``.

    Arguments:
        graph, message_func, reduce_func, apply_node_func: see :func:`prop_nodes`.
        source, reverse: see :func:`bfs_nodes_generator`.

    Raises:
        TreeError: see :func:`prop_nodes`.
        ConfigError: DGL is not installed.

    Example:
        >>> import dgl, torch
        >>> from dgltrees import prop_nodes_bfs
        >>> graph = dgl.graph(([0, 0, 1], [1, 2, 3]))
        >>> graph.ndata["depth"] = torch.zeros(4)
        >>> prop_nodes_bfs(
        ...     graph,
        ...     0,
        ...     lambda edges: {"m": edges.src["depth"] + 1},
        ...     dgl.function.max("m", "depth"),
        ... )
        >>> graph.ndata["depth"]
        tensor([0., 1., 1., 2.])
    """
    frontiers = bfs_nodes_generator(graph, source, reverse)
    prop_nodes(graph, frontiers, message_func, reduce_func, apply_node_func)


def prop_edges(
    graph: DGLGraph | TreeBatch,
    edges_generator: Frontiers,
    message_func: Message | Any,
    reduce_func: Reduce | Any,
    apply_node_func: Update | None = None,
) -> None:
    """Send messages along one set of edges after another and update ``graph.ndata`` in place.

    A drop-in replacement for ``dgl.prop_edges``. The nodes that a frontier's edges enter are
    updated. The cost is that of :func:`prop_nodes`.

    Arguments:
        graph, message_func, reduce_func, apply_node_func: see :func:`prop_nodes`.
        edges_generator: the frontiers, each with the ids of its edges.

    Raises:
        TreeError: a frontier has an unknown edge, or the tensors are on several devices.

    Example:
        >>> import dgl, torch
        >>> from dgltrees import prop_edges
        >>> graph = dgl.graph(([0, 1, 2, 3], [2, 3, 4, 4]))
        >>> graph.ndata["x"] = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])
        >>> prop_edges(graph, [[0, 1], [2, 3]], dgl.function.copy_u("x", "m"),
        ...            dgl.function.sum("m", "x"))
        >>> graph.ndata["x"]
        tensor([1., 2., 1., 2., 3.])
    """
    batch = _batch(graph)
    edges, dst = _ids(edges_generator, len(batch.src), "edge"), batch.dst.numpy()
    nodes = [dst[ids] for ids in edges]
    _propagate(graph, batch, nodes, edges, (message_func, reduce_func, apply_node_func))


def prop_edges_dfs(
    graph: DGLGraph | TreeBatch,
    source: Source,
    message_func: Message | Any,
    reduce_func: Reduce | Any,
    reverse: bool = False,
    has_reverse_edge: bool = False,
    has_nontree_edge: bool = False,
    apply_node_func: Update | None = None,
) -> None:
    """Send messages in depth-first order and update ``graph.ndata`` in place.

    A drop-in replacement for ``dgl.prop_edges_dfs``.

    Arguments:
        graph, message_func, reduce_func, apply_node_func: see :func:`prop_nodes`.
        source, reverse: see :func:`dfs_edges_generator`.
        has_reverse_edge: also send along each edge of the search tree on the return.
        has_nontree_edge: also send along edges that are not in the search tree.

    Raises:
        TreeError: see :func:`prop_edges`.
        ConfigError: DGL is not installed.

    Example:
        >>> import dgl, torch
        >>> from dgltrees import prop_edges_dfs
        >>> graph = dgl.graph(([0, 0, 1], [1, 2, 3]))
        >>> graph.ndata["x"] = torch.tensor([1.0, 10.0, 20.0, 30.0])
        >>> prop_edges_dfs(graph, 0, dgl.function.u_add_v("x", "x", "m"),
        ...                dgl.function.sum("m", "x"))
        >>> graph.ndata["x"]
        tensor([ 1., 11., 21., 41.])
    """
    frontiers = need_dgl("prop_edges_dfs").traversal.dfs_labeled_edges_generator(
        *_from(graph, source), reverse, has_reverse_edge, has_nontree_edge, return_labels=False
    )
    prop_edges(graph, frontiers, message_func, reduce_func, apply_node_func)


def topological_nodes_generator(
    graph: DGLGraph | TreeBatch, reverse: bool = False
) -> tuple[Tensor, ...]:
    """Return the frontiers of a topological traversal.

    Arguments:
        graph: a homogeneous acyclic ``DGLGraph`` or :class:`TreeBatch`.
        reverse: follow the edges backwards.

    Returns:
        the nodes of each frontier. All edges into a frontier come from earlier ones.

    Raises:
        TreeError: the graph has a cycle; the error names its nodes.
        ConfigError: DGL is not installed.

    Example:
        >>> from dgltrees import Forest, topological_nodes_generator
        >>> list(topological_nodes_generator(Forest.build([-1, 0, 0, 2]).batch()))
        [tensor([1, 3]), tensor([2]), tensor([0])]
    """
    dgl = need_dgl("topological_nodes_generator")
    levels_of(_batch(graph))  # names a cycle
    frontiers: tuple[Tensor, ...] = dgl.topological_nodes_generator(_dgl(graph), reverse)
    return frontiers


def bfs_nodes_generator(
    graph: DGLGraph | TreeBatch, source: Source, reverse: bool = False
) -> tuple[Tensor, ...]:
    """Return the frontiers of a breadth-first traversal.

    Arguments:
        graph: a homogeneous ``DGLGraph`` or :class:`TreeBatch`.
        source: the nodes of the first frontier.
        reverse: follow the edges backwards.

    Returns:
        the nodes of each frontier.

    Raises:
        TreeError: ``source`` has an unknown node.
        ConfigError: DGL is not installed.

    Example:
        >>> from dgltrees import Forest, bfs_nodes_generator
        >>> list(bfs_nodes_generator(Forest.build([-1, 0, 0, 2]).batch(), 0, reverse=True))
        [tensor([0]), tensor([1, 2]), tensor([3])]
    """
    dgl = need_dgl("bfs_nodes_generator")
    frontiers: tuple[Tensor, ...] = dgl.bfs_nodes_generator(*_from(graph, source), reverse)
    return frontiers


def dfs_edges_generator(
    graph: DGLGraph | TreeBatch, source: Source, reverse: bool = False
) -> tuple[Tensor, ...]:
    """Return the frontiers of a depth-first traversal.

    Arguments:
        graph: a homogeneous ``DGLGraph`` or :class:`TreeBatch`.
        source: the first nodes, each in another connected component.
        reverse: follow the edges backwards.

    Returns:
        the edges of each frontier: at most one per component.

    Raises:
        TreeError: ``source`` has an unknown node.
        ConfigError: DGL is not installed.

    Example:
        >>> import dgl
        >>> from dgltrees import dfs_edges_generator
        >>> list(dfs_edges_generator(dgl.graph(([0, 0, 1], [1, 2, 3])), 0))
        [tensor([0]), tensor([2]), tensor([1])]
    """
    dgl = need_dgl("dfs_edges_generator")
    frontiers: tuple[Tensor, ...] = dgl.dfs_edges_generator(*_from(graph, source), reverse)
    return frontiers


def _propagate(
    graph: DGLGraph | TreeBatch,
    batch: TreeBatch,
    nodes: list[Ints],
    edges: list[Ints],
    functions: tuple[Message | Any, Reduce | Any, Update | None],
) -> None:
    """Run one traversal per run of frontiers and write the fields of the nodes into ``graph``."""
    message, reduce, update = functions
    name, ndata = ("_N", "_E", "_N"), dict(batch.ndata)
    of_type = OfType(name, message_function(message), reduce_function(reduce), batch.edata)
    src, dst, changed = batch.src.numpy(), batch.dst.numpy(), dict[str, Tensor]()
    for time, ids in runs(nodes, edges, batch.num_nodes):
        ends = src[ids], dst[ids], np.zeros_like(ids), ids
        changed.update(run_by_type(time, ends, ndata, Functions([of_type], [0], None, update)))
        ndata.update(changed)
    write(graph, changed)


def write(graph: DGLGraph | TreeBatch, states: Mapping[str, Tensor]) -> None:
    """Write fields of all nodes into a graph."""
    for name, column in states.items():
        graph.ndata[name] = column
    if isinstance(graph, TreeBatch):
        graph.refresh_graph()


def _batch(graph: DGLGraph | TreeBatch) -> TreeBatch:
    if isinstance(graph, TreeBatch):
        return graph
    if len(getattr(graph, "canonical_etypes", ())) > 1:
        raise TreeError(
            f"expected a homogeneous graph, got the edge types {', '.join(graph.etypes)}; use "
            "prop_nodes_topo with functions by edge type, or dgl.to_homogeneous(graph)"
        )
    return TreeBatch.from_graph(graph)


def _dgl(graph: DGLGraph | TreeBatch) -> Any:
    """Return the graph as DGL's generators read it: on the CPU."""
    return graph.graph if isinstance(graph, TreeBatch) else graph.cpu()


def _from(graph: DGLGraph | TreeBatch, source: Source) -> tuple[Any, Tensor]:
    """Return the graph and the source nodes for DGL's generators."""
    one = [source] if isinstance(source, int) else source
    (ids,) = _ids([one], _batch(graph).num_nodes, "node") or [np.zeros(0, np.int64)]
    on_cpu = _dgl(graph)
    return on_cpu, torch.from_numpy(ids).to(on_cpu.idtype)


def _ids(frontiers: Frontiers, count: int, kind: str) -> list[Ints]:
    """Return the frontiers that are not empty as arrays; TreeError for an unknown node or edge."""
    arrays = []
    for number, frontier in enumerate(frontiers):
        ids = torch.as_tensor(frontier).reshape(-1).cpu().numpy()
        wrong = (ids < 0) | (ids >= count)
        if ids.dtype.kind not in "iu" and len(ids):
            raise TreeError(
                f"expected integers, the ids of {kind}s, in frontier {number}, got {ids.dtype}"
            )
        if wrong.any():
            raise TreeError(
                f"expected {kind}s from 0 to {count - 1} in frontier {number}, got "
                f"{ids[np.argmax(wrong)]}"
            )
        if len(ids):
            arrays.append(ids.astype(np.int64))
    return arrays
