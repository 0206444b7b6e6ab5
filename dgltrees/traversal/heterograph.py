"""``prop_nodes_topo`` with functions per edge type."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from dgltrees import _shortcuts
from dgltrees._dgl import need_dgl
from dgltrees.errors import ConfigError, TreeError
from dgltrees.traversal.by_type import CROSS_REDUCERS, Functions, OfType, no_messages, run_by_type
from dgltrees.traversal.functions import is_builtin, message_function, reduce_function
from dgltrees.traversal.levels import Update
from dgltrees.traversal.order import topological_levels, tree_in_errors
from dgltrees.traversal.reference import Wrapped
from dgltrees.traversal.states import check_shape
from dgltrees.traversal.views import Name, Nodes
from dgltrees.traversal.ways import Traversal
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import Ints, owner, within

if TYPE_CHECKING:
    from dgl import DGLGraph


def run_heterograph(
    graph: DGLGraph,
    functions: Mapping[str | Name, tuple[Any, Any]],
    cross_reducer: Any,
    update: Update | None,
    backend: str,
    compile: bool,
    activation_checkpointing: bool,
) -> dict[str, Tensor]:
    """Traverse a graph with one node type in topological order, with functions by edge type.

    Returns:
        the fields of all nodes that the functions return, each ``(N, ...)``.

    Raises:
        TreeError: the graph has several types of nodes, a cycle, or tensors on several devices.
        ConfigError: a type is unknown or has no functions, or the cross reducer is unknown.
    """
    if len(getattr(graph, "ntypes", ())) != 1:
        got = getattr(graph, "ntypes", type(graph).__name__)
        raise TreeError(
            f"expected a DGLGraph with one node type for functions by edge type, got {got}; use "
            "one node type, and a node field for the kind of a node"
        )
    if not (callable(cross_reducer) or cross_reducer in CROSS_REDUCERS):
        raise ConfigError(
            f"expected one of {', '.join(CROSS_REDUCERS)} or a function of a list of tensors as "
            f"cross reducer, after the functions by edge type, got {cross_reducer!r}"
        )
    names = list(graph.canonical_etypes)
    pairs = _by_number(names, functions)
    ends = [[end.long().cpu() for end in graph.edges(etype=name)] for name in names]
    src, dst = (torch.cat(each) for each in zip(*ends))
    batch = TreeBatch(src, dst, graph.batch_num_nodes().long().cpu())
    with tree_in_errors(batch):
        time = 1 + topological_levels(batch)
    if backend == "dgl":
        try:
            return _run_dgl(graph, time, pairs, cross_reducer, update)
        except (KeyError, RuntimeError):  # which backend "levels" explains
            run_heterograph(graph, functions, cross_reducer, update, "levels", False, False)
            raise
    if compile and not activation_checkpointing:
        states = _compiled(batch, graph, list(pairs.values()), cross_reducer, update)
        if states is not None:
            return states
    sizes = np.array([len(ids) for ids, _ in ends])
    edges = src.numpy(), dst.numpy(), owner(sizes), within(sizes)
    types = [
        OfType(name, message_function(m), reduce_function(r), dict(graph.edges[name].data))
        for name, (m, r) in ((name, pairs[number]) for number, name in enumerate(names))
    ]
    by_type = Functions(types, list(pairs), cross_reducer, update)
    with tree_in_errors(batch):
        return run_by_type(time, edges, dict(graph.ndata), by_type, activation_checkpointing)


def _compiled(
    batch: TreeBatch,
    graph: DGLGraph,
    pairs: list[tuple[Any, Any]],
    cross_reducer: Any,
    update: Update | None,
) -> dict[str, Tensor] | None:
    """Run types with the same message and a sum as one type in compiled code, if possible."""
    (message, reduce), *others = pairs
    same = all(_same(m, message) and _same(r, reduce) for m, r in others)
    columns = [dict(graph.edges[name].data) for name in graph.canonical_etypes]
    same = same and all(each.keys() == columns[0].keys() for each in columns)
    sums = is_builtin(reduce) and reduce.name == cross_reducer == "sum"
    if update is None or not (same and sums):
        return None
    mail, out, send = reduce.msg_field, reduce.out_field, message_function(message)
    edata = {name: torch.cat([each[name] for each in columns]) for name in columns[0]}
    reads: list[Name] = []  # of the name of a type, by the message

    def name() -> Name:
        reads.append(graph.canonical_etypes[0])
        return reads[0]

    of_type = OfType(name, send, reduce_function(reduce), edata)
    like, fields = no_messages(of_type, dict(graph.ndata))[mail], dict(graph.ndata)
    if reads:  # it may depend on the type
        return None
    # a field of its own, since a message may read the one of the user's name
    summed = f"sum of {out}"
    fields[summed] = like.new_zeros(batch.num_nodes, *like.shape[1:])  # of nodes without messages

    def total(nodes: Nodes) -> dict[str, Tensor]:
        return {summed: nodes.mailbox[mail].sum(1)}

    def both(nodes: Nodes) -> dict[str, Tensor]:
        data: Any = nodes.data
        data[out] = data[summed]
        return {out: data[out], **update(nodes)}

    traversal = Traversal(send, total, both, prepare=None, slots=None, group_by=None)
    return _shortcuts.compiled_traversal(traversal, batch, fields, edata)


def _same(first: Any, second: Any) -> bool:
    """Return whether two functions are equal; built-in ones by their arguments."""
    return bool(first == second) or (is_builtin(first) and vars(first) == vars(second))


def _by_number(
    names: list[Name], functions: Mapping[str | Name, tuple[Any, Any]]
) -> dict[int, tuple[Any, Any]]:
    """Return the functions by the number of their type, in the order of the user."""
    known = {key: number for number, name in enumerate(names) for key in (name[1], name)}
    pairs: dict[int, tuple[Any, Any]] = {}
    for key, pair in functions.items():
        number = known.get(key)
        if number is None:
            known_names = ", ".join(name[1] for name in names)
            raise ConfigError(f"unknown edge type {key!r}; the edge types are {known_names}")
        if number in pairs:
            raise ConfigError(f"expected the functions of edge type {key!r} once, got them twice")
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ConfigError(
                f"expected (message, reduce) for edge type {key!r}, got {pair!r}; the function of "
                "the nodes is apply_node_func"
            )
        pairs[number] = (pair[0], pair[1])
    missing = [name[1] for number, name in enumerate(names) if number not in pairs]
    if missing:
        raise ConfigError(
            f"missing functions for the edge types {', '.join(missing)}; add "
            f"{{{missing[0]!r}: (message, reduce)}}, or leave out their edges with "
            "dgl.edge_type_subgraph"
        )
    return pairs


def _run_dgl(
    graph: DGLGraph,
    time: Ints,
    pairs: Mapping[int, tuple[Any, Any]],
    cross_reducer: Any,
    update: Update | None,
) -> dict[str, Tensor]:
    """Run ``multi_update_all`` on the edges into each frontier, and keep the frontier's rows."""
    dgl, work = need_dgl("backend 'dgl'"), graph.local_var()
    wrapped = Wrapped(graph.ndata)
    built_in = [reduce.out_field for _, reduce in pairs.values() if is_builtin(reduce)]
    functions = {}
    for number, (message, reduce) in pairs.items():
        plain = message if is_builtin(reduce) else wrapped.message(message_function(message))
        functions[graph.canonical_etypes[number]] = plain, wrapped.reduce(reduce, stores=True)
    apply = None if update is None else wrapped.update(update)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dgl.base.DGLWarning)  # of frontiers without edges
        for number in range(1, int(time.max(initial=0)) + 1):
            nodes = torch.from_numpy(np.flatnonzero(time == number))
            part = dgl.in_subgraph(work, nodes.to(work.idtype))
            part.multi_update_all(functions, cross_reducer, apply)
            for name in dict.fromkeys([*wrapped.states, *built_in]):
                if name in part.ndata:
                    new = part.ndata[name]
                    before = work.ndata.get(name, torch.zeros_like(new))
                    check_shape(name, before, new)
                    rows = new[nodes].to(before.dtype)
                    work.ndata[name] = before.index_copy(0, nodes, rows)
    names = [*wrapped.states, *built_in]
    return {name: work.ndata[name] for name in names if name in work.ndata}
