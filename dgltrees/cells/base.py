"""What all cells share: the state that passes along the edges, and the checks of the input."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Optional

import torch
from torch import Tensor, nn

from dgltrees.errors import ConfigError, TreeError
from dgltrees.traversal.views import Edges, Nodes

__all__ = ["BaseCell"]


class BaseCell(nn.Module, ABC):
    """A recurrent unit over trees: ``x`` of ``(N, m)`` in, the fields of its state out.

    Arguments:
        input_size: m, the size of the input ``x`` of a node.
        hidden_size: c, the size of a state.
        dropout: probability of the recurrent dropout, whose place is the cell's to say.

    Raises:
        ConfigError: a size is not positive or the probability not in [0, 1).
    """

    state_fields: ClassVar[tuple[str, ...]] = ("h",)
    """The node fields that pass from a child to its parent; ``h`` is the encoding."""
    group_by: Optional[str] = None
    slots: Optional[int] = None
    ordered: bool = True
    """Whether swapping two children changes the result."""

    def __init__(self, input_size: int, hidden_size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        for what, value in (("input_size", input_size), ("hidden_size", hidden_size)):
            if value < 1:
                raise ConfigError(f"expected {what} to be at least 1, got {value}")
        if not 0.0 <= dropout < 1.0:
            raise ConfigError(f"expected dropout to be at least 0 and below 1, got {dropout}")
        self.input_size, self.hidden_size = input_size, hidden_size
        self.dropout = nn.Dropout(dropout)

    def check(self, ndata: Mapping[str, Tensor]) -> Tensor:
        """The input ``x`` of all nodes, ``(N, m)``.

        Raises:
            TreeError: it is not there or has another size.
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
        return x

    def message(self, edges: Edges) -> dict[str, Tensor]:
        """A child tells its parent its state: fields of ``(E, c)``."""
        return {name: edges.src[name] for name in self.state_fields}

    def slots_filled(self, nodes: Nodes) -> Tensor:
        """``(n, L)`` bool, which slots of the mailboxes hold a child.

        Raises:
            ConfigError: the traversal was not told of what this cell declares.
        """
        present: Optional[Tensor] = getattr(nodes, "present", None)
        groups = getattr(nodes, "groups", None)
        if present is None or (self.group_by is not None and groups is None):
            name = "" if self.group_by is None else f" and group_by={self.group_by!r}"
            more = "" if self.group_by is None else ", group_by=cell.group_by"
            raise ConfigError(
                f"this cell wants slots={self.slots}{name}: use traverse, or "
                f"prop_nodes_topo(..., slots=cell.slots{more})"
            )
        return present

    @abstractmethod
    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """What of the inputs can be computed for all nodes at once."""

    @abstractmethod
    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        """The pre-activations and what is kept of the children, of nodes that have some."""

    @abstractmethod
    def update(self, nodes: Nodes) -> dict[str, Tensor]:
        """The new state of nodes with and without children, fields of ``(n, c)``."""

    def extra_repr(self) -> str:
        """The sizes, for printing."""
        return f"m={self.input_size}, c={self.hidden_size}"


class GateNorm(nn.Module):
    """Layer normalisation of each gate by itself (Ba et al., 2016), with its own gain and bias.

    Arguments:
        gates: G.
        size: c.

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
