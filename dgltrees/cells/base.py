"""The base class of all cells: functions that DGL can call too, and the checks of inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ClassVar, TypedDict

import torch
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.settings import Count, Fraction
from dgltrees.traversal.functions import name_of
from dgltrees.traversal.reference import call_arranged, with_positions
from dgltrees.traversal.topo import Graph, as_batch, run_cell
from dgltrees.traversal.views import Edges, FieldError, Nodes
from dgltrees.trees.batch import TreeBatch

Function = Callable[..., dict[str, Tensor]]


def _message(function: Function) -> Function:
    """Wrap a message function so that DGL can call it; DGL calls it for zero edges, too."""

    @wraps(function)
    def message(self: BaseCell, edges: Any) -> dict[str, Tensor]:
        if not isinstance(edges, Edges) and not edges.batch_size():
            return {}  # of the nodes that DGL updates first; no node has a state yet
        messages = function(self, edges)
        if self.slots is None or getattr(edges, "slotted", False):
            return messages
        return with_positions(messages, edges)

    return message


def _arranged(function: Function) -> Function:
    """Wrap a reduce or update function so that DGL, which has no groups and slots, can call it."""

    @wraps(function)
    def arranged(self: BaseCell, nodes: Any) -> dict[str, Tensor]:
        if isinstance(nodes, Nodes):
            grouped = self.group_by is None or nodes.groups is not None
            slotted = self.slots is None or nodes.mask is not None or not nodes.mailbox
            if grouped and slotted:
                return function(self, nodes)
        try:
            return call_arranged(
                lambda some: function(self, some), nodes, self.group_by, self.slots
            )
        except FieldError:
            raise
        except KeyError as error:  # DGL's, which has the bare name
            raise FieldError(
                f"{name_of(function)} reads a missing field {error}; before DGL's own traversal "
                "call graph.ndata.update(cell.prepare(graph.ndata))"
            ) from None

    return arranged


class BaseCell(nn.Module, ABC):
    """The base class of cells: recurrent units that map inputs to the states of all nodes.

    A cell has DGL's three functions, :meth:`message`, :meth:`reduce` and :meth:`update`, so that
    both ``dgl.prop_nodes_topo`` and ``dgltrees.prop_nodes_topo`` can run it. DGL knows neither
    groups of nodes nor slots of mailboxes. Under DGL they are computed from the node field
    :attr:`group_by` and the edge field ``pos``.

    Arguments:
        input_size: m, the size of the node field ``x``.
        hidden_size: c, the size of a state.
        dropout: probability of dropout within the cell.

    Shapes:
        ``x`` (N, m) in; the fields of :attr:`state_fields`, each (N, c), out.

    Example:
        >>> import torch
        >>> from dgltrees import Forest
        >>> from dgltrees.cells import BaseCell
        >>> class SumCell(BaseCell):
        ...     def __init__(self, input_size, hidden_size):
        ...         super().__init__(input_size, hidden_size)
        ...         self.W = torch.nn.Linear(input_size, hidden_size)
        ...     def prepare(self, ndata):
        ...         return {"wx": self.W(self.check(ndata))}
        ...     def reduce(self, nodes):
        ...         return {"a": nodes.mailbox["h"].sum(1)}
        ...     def update(self, nodes):
        ...         a = nodes.data.get("a", 0.0)  # leaves have no children
        ...         return {"h": torch.tanh(nodes.data["wx"] + a)}
        >>> cell = SumCell(2, 3)
        >>> cell(Forest.build([-1, 0, 0, 2]), torch.ones(4, 2))["h"].shape
        torch.Size([4, 3])
    """

    state_fields: ClassVar[tuple[str, ...]] = ("h",)
    """The node fields that a child sends to its parent; ``h`` is the encoding of a node."""
    input_fields: tuple[str, ...] = ("x",)
    """The node fields that the cell reads, including optional ones."""
    group_by: str | None = None
    """The node field whose equal values are adjacent in :meth:`reduce` and :meth:`update`."""
    slots: int | None = None
    """The width of each mailbox, with each child at its position; None if it varies."""
    downward: ClassVar[bool] = False
    """Whether edges lead from parents to children."""
    ordered: bool = True
    """Whether swapping two children changes the result."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Wrap the three functions of a subclass so that DGL can call them."""
        super().__init_subclass__(**kwargs)
        for name, wrap in (("message", _message), ("reduce", _arranged), ("update", _arranged)):
            if name in cls.__dict__:
                setattr(cls, name, wrap(cls.__dict__[name]))

    def __init__(self, input_size: Count, hidden_size: Count, *, dropout: Fraction = 0.0) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        self.dropout = nn.Dropout(dropout)

    def forward(self, graph: Graph, x: Tensor | None = None, **fields: Tensor) -> dict[str, Tensor]:
        """Compute the states of all nodes.

        Arguments:
            graph: a ``DGLGraph``, a :class:`~dgltrees.TreeBatch` or a :class:`~dgltrees.Forest`.
            x: ``(N, m)``, the inputs; default: the node field ``x`` of the graph.
            fields: other :attr:`input_fields`, by name; default: those of the graph.

        Returns:
            the fields of :attr:`state_fields`, each ``(N, ...)``, in the order of the nodes.

        Raises:
            TreeError: a field is missing, is not a tensor, has the wrong shape or dtype, or is
                unknown to the cell; or the graph has a cycle.
        """
        unknown = [name for name in fields if name not in self.input_fields]
        if unknown:
            raise TreeError(
                f"expected only the inputs of {type(self).__name__}, "
                f"{', '.join(self.input_fields)}, got {', '.join(unknown)}"
            )
        batch = as_batch(graph, downward=self.downward)
        inputs: dict[str, Any] = {**batch.ndata, **fields}
        if x is not None:
            inputs["x"] = x
        for name, value in inputs.items():
            if not isinstance(value, Tensor):
                raise TreeError(
                    f"expected {name} to be a tensor, got {type(value).__name__}; convert it with "
                    f"torch.as_tensor({name})"
                )
        ndata = {name: inputs[name] for name in self.input_fields if name in inputs}
        return run_cell(self, batch, ndata)

    def check(self, ndata: Mapping[str, Tensor]) -> Tensor:
        """Check the input ``x`` of all nodes and return it.

        Arguments:
            ndata: the fields of the nodes.

        Returns:
            ``x``, ``(N, m)``.

        Raises:
            TreeError: ``x`` is missing or has the wrong shape or dtype.
        """
        x = ndata.get("x")
        if x is None:
            raise TreeError(
                f"missing node field 'x' of shape (N, {self.input_size}), the inputs of the nodes; "
                f"the fields are {sorted(ndata)}"
            )
        if x.dim() != 2 or x.shape[1] != self.input_size:
            raise TreeError(
                f"expected the node field 'x' to have the shape (N, {self.input_size}), got "
                f"{tuple(x.shape)}; input_size of the cell must be the size of the inputs"
            )
        dtype = next((p.dtype for p in self.parameters()), x.dtype)
        if x.dtype != dtype and not autocasts(x.device.type):
            raise TreeError(
                f"expected the node field 'x' to be {dtype}, like the cell's parameters, got "
                f"{x.dtype}; use x.to({dtype}), or cell.double() for 64-bit inputs"
            )
        return x

    def check_graph(self, batch: TreeBatch, ndata: Mapping[str, Tensor]) -> None:
        """Check the values of fields, which compiled functions cannot check.

        It is called before compiled code runs. In uncompiled runs the functions do these checks,
        unless :func:`~dgltrees.traversal.is_traced`.

        Arguments:
            batch: the graph.
            ndata: the fields of its nodes, including those of :meth:`prepare`.
        """

    @_message
    def message(self, edges: Edges) -> dict[str, Tensor]:
        """Send the state of each child to its parent, as fields ``(E, c)``."""
        return {name: edges.src[name] for name in self.state_fields}

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Compute the fields that depend only on the inputs, for all nodes at once; here none."""
        return {}

    @abstractmethod
    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute fields of nodes with children from the states of the children, ``(n, ...)``."""

    @abstractmethod
    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """Compute the state of nodes with and without children, as fields ``(n, c)``."""

    def paper_parameter_count(self) -> int | None:
        """Return the number of parameters of one aggregation; see :func:`count_parameters`."""
        return None

    def child_mask(self, nodes: Nodes) -> Tensor:
        """Return a mask ``(n, L)`` that is True for the children, which fill only some slots."""
        if nodes.mask is None:
            message = next(iter(nodes.mailbox.values()))
            return message.new_ones(message.shape[:2], dtype=torch.bool)
        return nodes.mask

    def extra_repr(self) -> str:
        """Return the sizes, for ``repr``."""
        return f"m={self.input_size}, c={self.hidden_size}"


class ParameterCount(TypedDict):
    """The two counts of :func:`count_parameters`.

    Attributes:
        paper: the parameters of one aggregation as the paper counts them; None if it has none.
        total: all parameters.
    """

    paper: int | None
    total: int


def count_parameters(cell: BaseCell) -> ParameterCount:
    """Count the parameters of a cell, of one aggregation and in total.

    Arguments:
        cell: the cell.

    Returns:
        a dictionary with two counts. ``paper`` counts the parameters of one aggregation (one gate,
        one operator) as Tables I and II of Castellana and Bacciu do, without biases, label and
        output matrix; it is None for a cell without such an aggregation. ``total`` counts all
        parameters of the cell.

    Example:
        >>> from dgltrees.cells import TreeLSTM, count_parameters
        >>> count_parameters(TreeLSTM(input_size=4, hidden_size=8, max_children=2))
        {'paper': 128, 'total': 680}
    """
    total = sum(p.numel() for p in cell.parameters())
    return {"paper": cell.paper_parameter_count(), "total": total}


def autocasts(device: str) -> bool:
    """Return whether autocast is on for this type of device."""
    try:
        return torch.is_autocast_enabled(device)
    except TypeError:  # torch before 2.4
        return torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()
    except RuntimeError:  # a device that has none
        return False


class GateNorm(nn.Module):
    """Layer normalisation of each gate (Ba et al., 2016), with a gain and a bias per gate.

    Arguments:
        gates: G, the number of gates.
        size: c, the size of a gate.

    Shapes:
        ``(..., G, c)`` to ``(..., G, c)``.
    """

    def __init__(self, gates: int, size: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(gates, size))
        self.bias = nn.Parameter(torch.zeros(gates, size))

    def forward(self, a: Tensor) -> Tensor:
        """Normalize over the last dimension."""
        normal = nn.functional.layer_norm(a, a.shape[-1:])
        return torch.addcmul(self.bias, normal, self.gain)


def normalize_one(norm: nn.Module, a: Tensor) -> Tensor:
    """Normalise a single gate with a :class:`GateNorm` of one gate, or ``nn.Identity``.

    Shapes:
        ``(n, c)`` to ``(n, c)``.
    """
    normal: Tensor = norm(a.unsqueeze(1)).squeeze(1)
    return normal
