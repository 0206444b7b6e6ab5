"""The topological traversal: ``prop_nodes_topo`` for functions, ``run_cell`` for cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Union, cast

import torch
from torch import Tensor

from dgltrees import _shortcuts
from dgltrees.errors import ConfigError
from dgltrees.traversal.functions import (
    Message,
    Reduce,
    call,
    check_fields,
    integer_field,
    is_builtin,
    message_function,
    name_of,
    prepared,
    reduce_function,
)
from dgltrees.traversal.levels import Update, run
from dgltrees.traversal.order import tree_in_errors
from dgltrees.traversal.plan import Schedule, make_schedule
from dgltrees.traversal.reference import run_dgl
from dgltrees.traversal.views import Edges, IndexedRows, Nodes
from dgltrees.traversal.ways import (
    Traversal,
    compiled_states,
    dense,
    goes_second,
)
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.forest import Forest

if TYPE_CHECKING:
    from dgl import DGLGraph


BACKENDS = ("levels", "dgl")

Graph = Union["DGLGraph", TreeBatch, Forest]
"""The types of graphs that a cell runs over."""


class Cell(Protocol):
    """A recurrent unit over a graph: DGL's three functions message, reduce and update.

    A cell is any object with these functions, usually an ``nn.Module``. It may also have the
    following attributes, which mean the same under both backends:

    - ``group_by = "op"``: an integer node field. Nodes of equal value are adjacent in the
      ``reduce`` and ``update`` functions, and ``nodes.groups`` lists the values and their counts.
    - ``slots = 5``: every mailbox has five slots. The edge field ``pos`` is the slot of a message,
      an empty slot is 0, and ``nodes.mask`` is True for filled slots. ``reduce`` is called once per
      level.
    - ``prepare(ndata)``: called before the traversal with the fields of all nodes, in any order.
      The fields that it returns are added to them. Each row of its results must depend only on the
      same row of ``ndata``, since with ``activation_checkpointing`` it is called with some nodes at
      a time. With ``group_by``, ``getattr(ndata, "groups", None)`` is ``nodes.groups`` of all nodes
      if it is known; reading it does not synchronise with a GPU.
    - ``downward = True``: edges lead from parents to children, so a :class:`~dgltrees.Forest` is
      batched with reversed edges.

    The class of a cell can also have a faster implementation of the whole traversal
    (:func:`~dgltrees.traversal.compiled_way`), which backend ``levels`` uses where it applies.

    Example:
        >>> import torch
        >>> from dgltrees import Forest, prop_nodes_topo
        >>> class Height:
        ...     def message(self, edges):
        ...         return {"h": edges.src["h"]}
        ...     def reduce(self, nodes):
        ...         return {"below": nodes.mailbox["h"].amax(1)}
        ...     def update(self, nodes):
        ...         h = torch.zeros(len(nodes))
        ...         return {"h": nodes.data["below"] + 1 if "below" in nodes.data else h}
        >>> batch = Forest.build([-1, 0, 0, 2]).batch()
        >>> prop_nodes_topo(batch, Height())
        >>> batch.ndata["h"]
        tensor([2., 0., 1., 0.])
    """

    def message(self, edges: Edges) -> Mapping[str, Tensor]:
        """Return the message along each edge, as fields ``(E, ...)``."""
        ...

    def reduce(self, nodes: Nodes) -> Mapping[str, Tensor]:
        """Reduce the messages of each node to fields ``(n, ...)``."""
        ...

    def update(self, nodes: Nodes) -> Mapping[str, Tensor]:
        """Return the new state of nodes with or without messages, as fields ``(n, ...)``."""
        ...


def prop_nodes_topo(
    graph: DGLGraph | TreeBatch,
    message_func: Message | Cell | Any,
    reduce_func: Reduce | Any | None = None,
    reverse: bool = False,
    apply_node_func: Update | None = None,
    *,
    backend: str = "levels",
    group_by: str | None = None,
    slots: int | None = None,
    compile: bool = True,
    activation_checkpointing: bool = False,
) -> None:
    """Pass messages through a graph in topological order and update ``graph.ndata`` in place.

    A drop-in replacement for ``dgl.prop_nodes_topo``: it has the same arguments and effect.
    ``prop_nodes_topo(graph, cell)`` runs a cell with its declarations (:class:`Cell`) and writes
    the states of all nodes into ``graph.ndata``.

    Arguments:
        graph: an acyclic ``DGLGraph``, batched or not, with one type of nodes, or a
            :class:`TreeBatch`. The types of the edges of a heterograph are numbers in
            ``edges.data["etype"]``, see :meth:`TreeBatch.from_graph`.
        message_func: a function of a batch of edges that returns messages, a built-in such as
            ``fn.copy_u``, or a cell.
        reduce_func: a function of nodes with a mailbox that returns fields, or a built-in such as
            ``fn.sum``. It is not called for nodes without messages (a built-in gives them 0).
            Leave it out for a cell.
        reverse: visit the nodes in reverse topological order. As in DGL, the edges are not
            reversed; for a top-down pass, let the edges point down. (In reverse order, DGL 1.1
            sets the reduced fields of a node without messages to 0, or with the built-in max and
            min to minus and plus infinity, if its frontier has nodes with messages. Here such a
            node has the 0 of a built-in, and no fields of any other reduce function.)
        apply_node_func: a function of nodes, whose data include the reduced fields, that returns
            the fields to store. Without it, the reduced fields are stored.
        backend: ``"levels"``, with time linear in nodes and edges, or ``"dgl"``, DGL's own
            traversal, with time proportional to nodes times depth.
        group_by, slots: the declarations of the functions, as in :class:`Cell`.
        compile, activation_checkpointing: see :func:`run_cell`.

    Raises:
        TreeError: the graph has a cycle or several types of nodes; or, with ``slots``, a position
            is out of range.
        ConfigError: the backend does not exist or has no checkpoints; a cell is passed together
            with another function or with ``reverse``; or ``reverse`` is a function.

    Example:
        >>> import torch
        >>> from dgltrees import Forest, prop_nodes_topo
        >>> batch = Forest.build([-1, 0, 0, 2]).batch()
        >>> batch.ndata["x"] = torch.tensor([1.0, 2.0, 3.0, 4.0])
        >>> prop_nodes_topo(
        ...     batch,
        ...     lambda edges: {"m": edges.src["x"]},
        ...     lambda nodes: {"x": nodes.data["x"] + nodes.mailbox["m"].sum(1)},
        ... )
        >>> batch.ndata["x"]  # the sum over each subtree
        tensor([10.,  2.,  7.,  4.])

        >>> import dgl
        >>> import dgl.function as fn
        >>> edges = {("node", "LEFT", "node"): ([1], [0]), ("node", "RIGHT", "node"): ([2], [0])}
        >>> graph = dgl.heterograph(edges)
        >>> graph.ndata["x"] = torch.tensor([0.0, 3.0, 5.0])
        >>> weight = torch.tensor([1.0, 10.0])  # of LEFT and of RIGHT
        >>> prop_nodes_topo(
        ...     graph,
        ...     lambda edges: {"m": weight[edges.data["etype"]] * edges.src["x"]},
        ...     fn.sum("m", "below"),
        ...     apply_node_func=lambda nodes: {"x": nodes.data["x"] + nodes.data["below"]},
        ... )
        >>> graph.ndata["x"]
        tensor([53.,  3.,  5.])
    """
    if callable(reverse):
        raise ConfigError(
            "expected reverse to be True or False, got a function; write apply_node_func=function"
        )
    batch = graph if isinstance(graph, TreeBatch) else TreeBatch.from_graph(graph)
    if reduce_func is None:
        if reverse or apply_node_func is not None or group_by is not None or slots is not None:
            raise ConfigError(
                "expected only a cell, or both message_func and reduce_func, got other arguments "
                "without reduce_func; for a top-down pass reverse the edges: batch.reversed()"
            )
        cell = cast(Cell, message_func)
        states = run_cell(
            cell,
            batch,
            backend=backend,
            compile=compile,
            activation_checkpointing=activation_checkpointing,
        )
    else:
        with tree_in_errors(batch):
            states = _run(
                batch,
                batch.ndata,
                batch.edata,
                Traversal(message_func, reduce_func, apply_node_func, None, slots, group_by),
                backend,
                reverse=reverse,
                compile=compile,
                activation_checkpointing=activation_checkpointing,
            )
    for name, column in states.items():
        graph.ndata[name] = column
    if isinstance(graph, TreeBatch):
        graph.refresh_graph()


def run_cell(
    cell: Cell,
    graph: Graph,
    ndata: Mapping[str, Tensor | IndexedRows] | None = None,
    edata: Mapping[str, Tensor] | None = None,
    *,
    backend: str = "levels",
    outputs: Sequence[str] | None = None,
    compile: bool = True,
    activation_checkpointing: bool = False,
) -> dict[str, Tensor]:
    """Run a cell over a graph and return the states of its nodes; the graph is not changed.

    Arguments:
        cell: a cell of :mod:`dgltrees.cells`, or any object with the functions of :class:`Cell`.
        graph: a :class:`TreeBatch`, a homogeneous acyclic ``DGLGraph``, or a :class:`Forest`, whose
            trees are batched.
        ndata: fields of the nodes, each ``(N, ...)`` or :class:`IndexedRows`; default: those of the
            graph.
        edata: fields of the edges, each ``(E, ...)``; default: those of the graph.
        backend: ``"levels"`` or ``"dgl"``, see :func:`prop_nodes_topo`.
        outputs: the names of the fields to return; default: all fields that the cell returns.
        compile: run the cell as compiled code if possible (see :func:`dgltrees.compile_report`).
            Compiled code has no second derivative; it raises RuntimeError if one is requested.
        activation_checkpointing: save memory by running the three functions again in the backward
            pass, one segment of levels after another. Values, gradients and dropout are the same;
            compiled code is not used. Only for backend ``"levels"``.

    Returns:
        the fields of all nodes, each ``(N, ...)``, in the order of the graph's nodes.

    Raises:
        TreeError: the graph has a cycle, or the cell has no slot for a child.
        ConfigError: the backend does not exist or has no checkpoints; the cell lacks one of its
            functions or does not return one of ``outputs``; or fields are not a dictionary.

    Example:
        >>> import torch
        >>> from dgltrees import Forest, run_cell
        >>> from dgltrees.cells import TreeGRU
        >>> cell = TreeGRU(input_size=2, hidden_size=3, max_children=2)
        >>> run_cell(cell, Forest.build([-1, 0, 0, 2]), {"x": torch.ones(4, 2)})["h"].shape
        torch.Size([4, 3])
    """
    batch = as_batch(graph, downward=getattr(cell, "downward", False))
    fields = batch.ndata if ndata is None else ndata
    check_fields("node", fields, batch.num_nodes)
    with tree_in_errors(batch):
        own = compile and backend == "levels" and edata is None and not activation_checkpointing
        second = own and goes_second(cell)
        states = compiled_states(cell, batch, fields) if own and not second else None
        if states is None:
            states = _run(
                batch,
                fields,
                batch.edata if edata is None else edata,
                _traversal_of(cell),
                backend,
                outputs=outputs,
                compile=compile,
                activation_checkpointing=activation_checkpointing,
                second=partial(compiled_states, cell, batch, fields) if second else None,
            )
    for name in outputs or ():
        if name not in states:
            raise ConfigError(f"expected outputs that {name_of(cell)} returns, got {name!r}")
    return states if outputs is None else {name: states[name] for name in outputs}


def as_batch(graph: Graph, *, downward: bool = False) -> TreeBatch:
    """Return a graph as a batch; a forest as all its trees, with reversed edges if ``downward``."""
    if isinstance(graph, TreeBatch):
        return graph
    if isinstance(graph, Forest):
        return graph.batch().reversed() if downward else graph.batch()
    return TreeBatch.from_graph(graph)


def _traversal_of(cell: Cell) -> Traversal:
    if isinstance(cell, type):
        raise ConfigError(
            f"expected a cell, got the class {cell.__name__}; write {cell.__name__}(...)"
        )
    missing = [name for name in ("message", "reduce", "update") if not hasattr(cell, name)]
    if missing:
        raise ConfigError(
            "expected a cell with the functions message, reduce and update, got "
            f"{type(cell).__name__} without {' and '.join(missing)}; DGL's apply_node_func is "
            "named update in a cell"
        )
    declared = (getattr(cell, name, None) for name in ("prepare", "slots", "group_by"))
    return Traversal(cell.message, cell.reduce, cell.update, *declared)


def schedule_of(
    batch: TreeBatch,
    group: Tensor | None = None,
    pos: Tensor | None = None,
    slots: int | None = None,
    *,
    reverse: bool = False,
    device: str | torch.device = "cpu",
) -> Schedule:
    """Return the schedule of a batch on a device; it is cached with the batch.

    Arguments:
        batch, group, pos, slots, reverse: see :func:`make_schedule`.
        device: the device of the traversal's tensors.

    Returns:
        the schedule.
    """
    with torch._C._DisableFuncTorch():  # whose tensors have no data for numpy
        values = [
            None if tensor is None else batch.on_host(tensor).numpy()
            for tensor in (group, pos if slots else None)
        ]
        return batch.cache.get(
            ("schedule", slots, reverse),
            lambda: make_schedule(batch, group=group, pos=pos, slots=slots, reverse=reverse),
            values=values,
            device=device,
        )


def _run(
    batch: TreeBatch,
    ndata: Mapping[str, Tensor | IndexedRows],
    edata: Mapping[str, Tensor],
    traversal: Traversal,
    backend: str,
    *,
    reverse: bool = False,
    outputs: Sequence[str] | None = None,
    compile: bool = False,
    activation_checkpointing: bool = False,
    second: Callable[[], dict[str, Tensor] | None] | None = None,
) -> dict[str, Tensor]:
    message, reduce, update, prepare, slots, group_by = traversal
    check_fields("node", ndata, batch.num_nodes)
    check_fields("edge", edata, len(batch.src))
    slots = None if is_builtin(reduce) else slots  # a built-in sees no mailbox
    if backend not in BACKENDS:
        raise ConfigError(f"expected backend to be one of {', '.join(BACKENDS)}, got {backend!r}")
    if backend == "dgl" and activation_checkpointing:
        raise ConfigError("expected backend 'levels' with activation_checkpointing=True, got 'dgl'")
    if backend == "dgl" and batch.num_nodes:
        fields = dense(ndata)
        if prepare is not None:
            fields = {**fields, **call(prepare, fields, batch.num_nodes)}
        if group_by is not None:
            group_field(fields, group_by, reduce)
        declared: Any = {"group_by": group_by, "slots": slots}
        try:
            return run_dgl(batch, fields, edata, *traversal[:3], reverse=reverse, **declared)
        except KeyError:
            traversal = traversal._replace(prepare=None)
            _run(batch, fields, edata, traversal, "levels", reverse=reverse)  # names the function
            raise
    three = message_function(message), reduce_function(reduce), update
    traversal = Traversal(*three, prepare, slots, group_by)
    if compile and update is not None and not (reverse or activation_checkpointing):
        compiled = _shortcuts.compiled_traversal(traversal, batch, ndata, edata)
        if compiled is None and second is not None:
            compiled = second()
        if compiled is not None:
            return compiled
    indexed = any(isinstance(field, IndexedRows) for field in ndata.values())
    if prepare is not None and indexed and not activation_checkpointing:
        ndata, prepare = {**ndata, **prepared(prepare, ndata, batch.num_nodes)}, None
    fields, group = dense(ndata), None
    if group_by is not None:
        more = {} if prepare is None or group_by in fields else prepare(fields)
        group = group_field({**fields, **more}, group_by, reduce)
    device = next(iter(fields.values())).device if fields else torch.device("cpu")
    schedule = schedule_of(batch, group, edata.get("pos"), slots, reverse=reverse, device=device)
    return run(schedule, fields, edata, *three, prepare, outputs, activation_checkpointing)


def group_field(fields: Mapping[str, Tensor], name: str, reduce: Any) -> Tensor:
    """Return the node field ``name``, by which the nodes of a function ``reduce`` are grouped."""
    return integer_field(fields, name, f"by which the nodes of {name_of(reduce)} are grouped")
