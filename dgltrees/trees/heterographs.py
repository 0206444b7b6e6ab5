"""DGL heterographs, whose edge types have names, from homogeneous graphs, and back.

All nodes have the type ``node``, so the edge type LEFT is ``("node", "LEFT", "node")``. An edge
type of a child position is ``child0``, ``child1``, ... DGL sorts edge types by name, and then
``child10`` is before ``child2``. Here edge types are in the order of their numbers, so the numbers
that ``dgl.to_homogeneous`` writes are those of ``edata["etype"]``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from dgltrees._dgl import need_dgl
from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.segments import Ints, cumcount, locate, offsets_of, owner

if TYPE_CHECKING:
    from dgl import DGLGraph


MAX_EDGE_TYPES = 1000
"""The largest number of edge types: DGL stores each type as a graph of its own."""

NODE = "node"
CHILD = "child"
_CHILD_NAME = re.compile(r"child(0|[1-9][0-9]*)")
_MAILBOX = "mailbox"  # edge data: places in the mailboxes, where positions do not give them


Types = Mapping[str, tuple[Tensor, Tensor, Mapping[str, Tensor]]]
"""The ends ``src`` and ``dst`` and the data of the edges of each type, by name."""

Ends = tuple[Tensor, Tensor, Tensor]
"""The ends ``src`` and ``dst`` of all edges, and the number of nodes of each tree."""


class Edges(NamedTuple):
    """The edges of all types together, each mailbox in its order, with numbers and names of types.

    Arguments:
        src: ``(E,)``.
        dst: ``(E,)``.
        edata: edge data, each ``(E, ...)``.
        names: the names of the numbers in ``edata["etype"]``; None if there is one type, without a
            name.
    """

    src: Tensor
    dst: Tensor
    edata: dict[str, Tensor]
    names: tuple[str, ...] | None


def child_names(count: int) -> tuple[str, ...]:
    """Return the names of ``count`` child positions: ``child0``, ``child1``, ...

    >>> child_names(2)
    ('child0', 'child1')
    """
    return tuple(f"{CHILD}{position}" for position in range(count))


def are_positions(names: Sequence[str] | None) -> bool:
    """Return whether edge types are child positions, whose numbers are ``edata["pos"]``."""
    return names is None or all(map(_CHILD_NAME.fullmatch, names))


def to_heterograph(graph: DGLGraph, names: Sequence[str] | None) -> DGLGraph:
    """Convert a homogeneous graph to a heterograph."""
    (src, dst), edata = graph.edges(), dict(graph.edata)
    if names is None:
        edata.setdefault("pos", torch.from_numpy(cumcount(dst.numpy())))
    numbers, names = _numbers_of_types((src, dst, graph.batch_num_nodes()), edata, names)
    if not np.array_equal(_by_mailbox(dst, edata, numbers), dst.numpy().argsort(kind="stable")):
        edata[_MAILBOX] = torch.from_numpy(cumcount(dst.numpy()))
    return _grouped(graph, edata, numbers, names)


def _numbers_of_types(
    graph: Ends, edata: Mapping[str, Tensor], names: Sequence[str] | None
) -> tuple[Tensor, tuple[str, ...]]:
    """Return the number of the type of each edge, ``(E,)``, and the names of the numbers."""
    numbers = edata["pos"] if names is None else edata.get("etype", edata.get("pos"))
    if numbers is None or numbers.dim() != 1 or numbers.is_floating_point():
        field = "pos" if names is None else "etype"
        got = "none" if numbers is None else f"{numbers.dtype} of shape {tuple(numbers.shape)}"
        raise TreeError(f"expected integers as edge types in edata[{field!r}], got {got}")
    if names is None:
        names = child_names(max(1, 1 + int(numbers.max())) if len(numbers) else 1)
    wrong = (numbers < 0) | (numbers >= min(len(names), MAX_EDGE_TYPES))
    if wrong.any():
        edge, few = int(wrong.int().argmax()), len(names) <= MAX_EDGE_TYPES
        expected = f"from 0 to {len(names) - 1}" if few else f"below {MAX_EDGE_TYPES:,}"
        number, cure = int(numbers[edge]), "" if few else "; batch().graph has one type"
        got = f"{number}, which has no name" if number < 0 else f"{number}{cure}"
        raise _edge_error(f"expected an edge type {expected}, got {got}", graph, edge)
    return numbers, tuple(names[:MAX_EDGE_TYPES])


def _by_mailbox(dst: Tensor, edata: Mapping[str, Tensor], numbers: Tensor) -> Ints:
    """Sort edges by the node that they enter, then by position, then by type: ``(E,)`` indices."""
    place = edata.get(_MAILBOX, edata.get("pos", numbers)).cpu()
    place = place if place.dim() == 1 else numbers
    return np.lexsort([numbers.numpy(), place.numpy(), dst.numpy()])


def _grouped(
    graph: DGLGraph, edata: Mapping[str, Tensor], numbers: Tensor, names: Sequence[str]
) -> DGLGraph:
    """Return the heterograph whose edge types are the numbers of the edges of a graph."""
    dgl = need_dgl("heterograph()")
    src, dst = graph.edges()
    order = numbers.argsort(stable=True)
    counts = torch.bincount(numbers, minlength=len(names)).tolist()
    ends = zip(names, zip(src[order].split(counts), dst[order].split(counts)))
    hetero = dgl.heterograph(
        {(NODE, name, NODE): pair for name, pair in ends}, {NODE: graph.num_nodes()}
    )
    if list(names) != hetero.etypes:  # DGL has sorted them
        hetero = dgl.edge_type_subgraph(hetero, list(names))
    trees, sizes = graph.batch_size, graph.batch_num_nodes()
    cells = owner(sizes)[dst] * len(names) + numbers
    by_tree = torch.bincount(cells, minlength=trees * len(names)).view(trees, len(names))
    hetero.set_batch_num_nodes(sizes)
    hetero.set_batch_num_edges(dict(zip(hetero.canonical_etypes, by_tree.unbind(1))))
    hetero.ndata.update(graph.ndata)
    for field, values in edata.items():
        for name, rows in zip(names, torch.split(values[order], counts)):
            hetero.edges[name].data[field] = rows
    return hetero


def from_heterograph(graph: DGLGraph, names: Sequence[str] | None = None) -> Edges:
    """Gather the edges of all types of a graph with one type of nodes."""
    if len(graph.ntypes) != 1:
        raise TreeError(
            f"expected one type of nodes, got {len(graph.ntypes)} ({', '.join(graph.ntypes)}); "
            "dgl.to_homogeneous(graph) makes one"
        )
    if not has_names(graph):
        src, dst = (end.long().cpu() for end in graph.edges())
        return Edges(src, dst, dict(graph.edata), None if names is None else tuple(names))
    return _join_types(types_of(graph), graph.batch_num_nodes(), names)


def types_of(graph: DGLGraph) -> Types:
    """Return the edges and the edge data of each type of a DGL graph."""
    return {
        name: (*graph.edges(etype=name, order="eid"), dict(graph.edges[name].data))
        for name in graph.etypes
    }


def _join_types(types: Types, sizes: Tensor, names: Sequence[str] | None) -> Edges:
    """Gather the edges of all types."""
    names = names_of_types([types]) if names is None else tuple(names)
    for unknown in (name for name in types if name not in names):
        raise ConfigError(
            f"expected edge types among etype_names, {', '.join(names)}, got {unknown!r}"
        )
    ordered = sorted(types, key=names.index)
    filled = [name for name in ordered if len(types[name][0])] or ordered[:1]
    ends = zip(*(types[name][:2] for name in filled))
    src, dst = (torch.cat(parts).long().cpu() for parts in ends)
    counts = torch.tensor([len(types[name][0]) for name in filled])
    numbers = torch.tensor([names.index(name) for name in filled]).repeat_interleave(counts)
    edata = {}
    for field in dict.fromkeys(f for name in filled for f in types[name][2]):
        for name in filled:
            if field not in types[name][2]:
                edge = int((numbers == names.index(name)).int().argmax())
                message = f"missing edge data {field!r} of an edge of type {name!r}"
                raise _edge_error(message, (src, dst, sizes), edge)
        edata[field] = torch.cat([types[name][2][field] for name in filled])
    for field in ("pos", "etype") if are_positions(names) else ("etype",):
        given = edata.get(field, numbers).cpu()
        given = given.flatten(1) if given.dim() > 1 else given[:, None]
        wrong = (given != numbers[:, None]).any(1)
        if wrong.any():
            edge = int(wrong.int().argmax())
            raise _edge_error(
                f"expected {field} {int(numbers[edge])} of an edge of type "
                f"{names[int(numbers[edge])]!r}, got {given[edge].squeeze(0).tolist()}; list the "
                "names in the order of their numbers, etype_names=[...]",
                (src, dst, sizes),
                edge,
            )
        edata[field] = numbers
    order = torch.from_numpy(_by_mailbox(dst, edata, numbers))
    edata.pop(_MAILBOX, None)
    return Edges(src[order], dst[order], {f: rows[order] for f, rows in edata.items()}, names)


def has_names(graph: DGLGraph) -> bool:
    """Return whether the edge types of a graph have names other than DGL's default."""
    return bool(graph.etypes != ["_E"])


def names_of_types(graphs: Sequence[Types]) -> tuple[str, ...]:
    """Return the names of the edge types of graphs, in the order of their numbers.

    The order is that of the child positions, of the numbers in ``edata["etype"]``, or else of the
    types of the first graph.
    """
    types = list(dict.fromkeys(name for graph in graphs for name in graph))
    if are_positions(types):
        count = 1 + max((int(name.removeprefix(CHILD)) for name in types), default=0)
        if count > MAX_EDGE_TYPES:
            raise TreeError(
                f"expected child positions below {MAX_EDGE_TYPES:,} as edge types, got "
                f"{CHILD}{count - 1}"
            )
        return child_names(count)
    numbers = {
        name: int(edata["etype"].flatten()[0])
        for graph in graphs
        for name, (src, _, edata) in graph.items()
        if len(src) and "etype" in edata
    }
    free = [number for number in range(len(types)) if number not in numbers.values()]
    for name in types:  # DGL may have sorted them, and a type without edges has no number
        if name not in numbers and free:
            numbers[name] = free.pop(0)
    if set(numbers.values()) != set(range(len(types))):
        return tuple(types)
    return tuple(sorted(types, key=numbers.__getitem__))


def _edge_error(message: str, graph: Ends, edge: int) -> TreeError:
    """Return the error for an edge of a graph."""
    src, dst, sizes = graph
    offsets = offsets_of(sizes.cpu())
    tree, node = locate(offsets, int(dst[edge]))
    up = int(src[edge]) - int(offsets[tree])
    return TreeError(f"{message} (edge from node {up})", tree=tree, node=node)
