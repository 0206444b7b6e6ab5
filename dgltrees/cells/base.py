"""The base class of all cells: functions that DGL can call too, and the checks of inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ClassVar, TypedDict

import torch
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.settings import Count, Fraction, checked
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


@checked
class BaseCell(nn.Module, ABC):
    """A recurrent unit over trees: from inputs ``x`` ``(N, m)`` to the states of all nodes.

    A cell is three functions in DGL's contract, :meth:`message`, :meth:`reduce` and
    :meth:`update`, so that both ``dgl.prop_nodes_topo`` and ``dgltrees.prop_nodes_topo`` can run
    it. Under DGL the groups of nodes and the slots of the mailboxes, which a schedule provides
    otherwise, are computed from the node field :attr:`group_by` and the edge field ``pos``.

    Arguments:
        input_size: m, the size of the node field ``x``.
        hidden_size: c, the size of a state.
        dropout: probability of dropout within a cell, where the cell says.

    Raises:
        ConfigError: an argument is out of range.
    """

    state_fields: ClassVar[tuple[str, ...]] = ("h",)
    """The node fields that pass from a child to its parent; ``h`` is the encoding."""
    input_fields: tuple[str, ...] = ("x",)
    """The node fields that the cell reads, including optional ones."""
    group_by: str | None = None
    """The node field whose equal values are adjacent in :meth:`reduce` and :meth:`update`."""
    slots: int | None = None
    """The width of each mailbox, with each child at its position; None: the number of children."""
    downward: ClassVar[bool] = False
    """Whether the edges go from the root down."""
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
        """The states of all nodes: :attr:`state_fields`, each ``(N, ...)``.

        Arguments:
            graph: a ``DGLGraph``, a :class:`~dgltrees.TreeBatch` or a :class:`~dgltrees.Forest`.
            x: ``(N, m)``, the inputs; by default the graph's node field ``x``.
            fields: other :attr:`input_fields`, by name; by default those of the graph.

        Raises:
            TreeError: a field is missing, is no tensor, has the wrong shape or type or is none
                that the cell reads; or the graph has a cycle.
        """
        unknown = [name for name in fields if name not in self.input_fields]
        if unknown:
            raise TreeError(
                f"expected node fields that {type(self).__name__} reads, "
                f"{', '.join(self.input_fields)}, got {', '.join(unknown)}"
            )
        batch = as_batch(graph, downward=self.downward)
        inputs: dict[str, Any] = {**batch.ndata, **fields}
        if x is not None:
            inputs["x"] = x
        for name, value in inputs.items():
            if not isinstance(value, Tensor):
                raise TreeError(
                    f"expected {name} as a tensor, got a {type(value).__name__}; write "
                    f"torch.as_tensor({name})"
                )
        ndata = {name: inputs[name] for name in self.input_fields if name in inputs}
        return run_cell(self, batch, ndata)

    def check(self, ndata: Mapping[str, Tensor]) -> Tensor:
        """The input ``x`` of all nodes, ``(N, m)``.

        Raises:
            TreeError: it is missing or has the wrong size or type.
        """
        x = ndata.get("x")
        if x is None:
            raise TreeError(
                f"expected a node field 'x' of shape (N, {self.input_size}), got only "
                f"{sorted(ndata)}; put the input of the nodes there"
            )
        if x.dim() != 2 or x.shape[1] != self.input_size:
            raise TreeError(
                f"expected the node field 'x' to be (N, {self.input_size}), got {tuple(x.shape)}; "
                "make the cell with input_size equal to the size of the input"
            )
        dtype = next((p.dtype for p in self.parameters()), x.dtype)
        if x.dtype != dtype and not autocasts(x.device.type):
            raise TreeError(
                f"expected the node field 'x' to be {dtype}, as the cell's parameters are, got "
                f"{x.dtype}; use x.to({dtype}), or cell.double() for numbers of 64 bits"
            )
        return x

    def check_graph(self, batch: TreeBatch, ndata: Mapping[str, Tensor]) -> None:
        """Check what the functions cannot check where they are compiled, such as values of fields.

        It is called before compiled code runs; elsewhere the functions check, unless
        :func:`~dgltrees.traversal.is_traced`.

        Arguments:
            batch: the graph.
            ndata: the fields of its nodes, with those of :meth:`prepare`.
        """

    @_message
    def message(self, edges: Edges) -> dict[str, Tensor]:
        """A child sends its parent its state: fields of ``(E, c)``."""
        return {name: edges.src[name] for name in self.state_fields}

    @abstractmethod
    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Fields of all nodes that depend on the inputs alone, computed before the traversal."""

    @abstractmethod
    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """Fields of nodes with children, from the states of the children."""

    @abstractmethod
    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """The new state of nodes with and without children, fields of ``(n, c)``."""

    def paper_parameter_count(self) -> int | None:
        """Parameters of one aggregation as :func:`count_parameters` returns them, None if none."""
        return None

    def child_mask(self, nodes: Nodes) -> Tensor:
        """Which slots of the mailboxes hold a child, ``(n, L)`` bool."""
        mask: Tensor = nodes.mask  # type: ignore[assignment]  # in a cell with slots
        return mask

    def extra_repr(self) -> str:
        """The sizes, for ``repr``."""
        return f"m={self.input_size}, c={self.hidden_size}"


class ParameterCount(TypedDict):
    """The two counts of :func:`count_parameters`."""

    paper: int | None
    total: int


def count_parameters(cell: BaseCell) -> ParameterCount:
    """Count the parameters of a cell in two ways.

    Returns:
        ``paper``: those of a single aggregation (one gate, one operator) as Tables I and II of
        Castellana and Bacciu count them: without biases, label and output matrix; None for a cell
        that has no such aggregation. ``total``: all parameters of the cell.
    """
    total = sum(p.numel() for p in cell.parameters())
    return {"paper": cell.paper_parameter_count(), "total": total}


def autocasts(device: str) -> bool:
    """Whether autocast is on for this type of device."""
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
    """The normalisation of a single gate: a :class:`GateNorm` of one, or ``nn.Identity``.

    Shapes:
        ``(n, c)`` to ``(n, c)``.
    """
    normal: Tensor = norm(a.unsqueeze(1)).squeeze(1)
    return normal
