"""What all aggregators share: the label, the types, and the children that are not there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, Optional

import torch
from torch import Tensor, nn

from dgltrees.cells.grouped import grouped
from dgltrees.cells.initial import Init, initialize
from dgltrees.errors import ConfigError
from dgltrees.options import Count
from dgltrees.traversal.views import Groups

__all__ = ["Aggregator", "RankedAggregator"]


class Aggregator(nn.Module, ABC):
    r"""A map of the label and the children's states to the pre-activations of all gates.

    .. math:: a^g = f^g(x, h_1, \dots, h_L) \in \mathbb{R}^c

    multi-affine in its arguments: Castellana and Bacciu, "Generalising Recursive Neural Models by
    Tensor Decomposition", section III. The bias is included. An absent child is h = 0.

    Arguments:
        children: L, the largest number of children.
        size: c, the size of a state.
        gates: G, how many maps are computed from the same arguments.
        types: K, how many sets of parameters there are (one for each operator).
        label_size: m, the size of the label x; 0: there is no label.
        label: ``"mode"``: the label is one more mode of the tensor, as in equation (4);
            ``"add"``: W x is added to the result, as in (5). The default is the first of
            :attr:`labels`.
        init: initial weights: kaiming (normal), xavier (uniform), or uniform.

    Raises:
        ConfigError: a size is not positive, the tensor is too large, or there are both types and
            labels.
    """

    ordered: ClassVar[bool] = True
    """Whether swapping two children changes the result."""
    has_rank: ClassVar[bool] = False
    """Whether the map is factorised, with a rank to choose."""
    r: int = 0
    """The rank; 0 without one."""
    bias_init: ClassVar[float] = 0.0
    """Initial value of the bias of a reduced child or label."""
    labels: ClassVar[tuple[str, ...]] = ("add", "mode")
    """How a label can come in; the first is the default."""
    stacked: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters ``(K, ...)`` in the order in which :meth:`compute` takes them."""

    def __init__(
        self,
        children: int,
        size: int,
        gates: int = 1,
        *,
        types: int = 1,
        label_size: int = 0,
        label: Optional[Literal["add", "mode"]] = None,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        kind = type(self).__name__
        for what, value in (("children", children), ("size", size), ("types", types)):
            if value < 1:
                raise ConfigError(f"expected {kind}'s {what} to be at least 1, got {value}")
        if label is not None and label not in self.labels:
            raise ConfigError(f"expected {kind}'s label to be {self.labels}, got {label!r}")
        if label_size and types > 1:
            raise ConfigError(f"{kind} takes either a label or types, got both")
        self.L, self.c, self.G, self.K = children, size, gates, types
        self.m, self.init = label_size, init
        self.label = (label or self.labels[0]) if label_size else None
        if self.label == "add":
            self.W = nn.Parameter(torch.empty(label_size, gates * size))
        if self.label == "mode" and self.has_rank:
            self.w = nn.Linear(label_size, gates * self.r)
        self._build()
        self.reset_parameters()

    @staticmethod
    @abstractmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int:
        """Parameters of one map as the paper's tables count them: no biases, no label."""

    @abstractmethod
    def _build(self) -> None:
        """Allocate the parameters."""

    @abstractmethod
    def _draw(self) -> None:
        """Draw the parameters anew."""

    @abstractmethod
    def compute(self, h: Tensor, *rest: Tensor) -> Tensor:
        """The formula, types apart.

        Arguments:
            h: ``(K, n, L, c)``.
            rest: the parameters named in :attr:`stacked`, ``(K, ...)``; before them the label
                ``(1, n, e)`` where it is a mode.

        Returns:
            ``(K, n, G, c)``.
        """

    def embed(self, x: Tensor) -> Tensor:
        """What the map needs of the labels, ``(n, m)`` to ``(n, e)``: one product for all nodes."""
        if self.label == "add":
            return x @ self.W
        return self.w(x) if self.has_rank else x

    def forward(
        self, h: Tensor, groups: Optional[Groups] = None, x: Optional[Tensor] = None
    ) -> Tensor:
        """Aggregate.

        Arguments:
            h: ``(n, L, c)`` states of the children, zero where there is none.
            groups: type and length of the runs of rows of one type; None where K = 1.
            x: ``(n, m)`` labels, where the map has them.

        Returns:
            ``(n, G, c)`` pre-activations.
        """
        return self.aggregate(h, groups, None if x is None else self.embed(x))

    def aggregate(
        self, h: Tensor, groups: Optional[Groups] = None, label: Optional[Tensor] = None
    ) -> Tensor:
        """:meth:`forward` with labels that went through :meth:`embed`, ``(n, e)``."""
        if label is not None and self.label == "mode":
            (a,) = grouped(self._formula, (h, label), self.parameters_by_type(), groups)
            return a
        (a,) = grouped(self._formula, (h,), self.parameters_by_type(), groups)
        return a if label is None else a + label.view_as(a)

    def leaves(self, label: Tensor) -> Tensor:
        """The map where there are no children, ``(n, e)`` to ``(n, G, c)``.

        All states are zero, so the map is affine in the label: it is read off at zero and at the
        unit vectors, and no row is contracted.
        """
        n, e = label.shape
        if self.label == "add":
            a = self.aggregate(label.new_zeros(1, self.L, self.c))
            return a + label.view(n, self.G, self.c)
        if n <= e:
            return self.aggregate(label.new_zeros(n, self.L, self.c), None, label)
        basis = torch.eye(e + 1, e, dtype=label.dtype, device=label.device).roll(1, 0)
        a = self.aggregate(label.new_zeros(e + 1, self.L, self.c), None, basis)
        a = a.flatten(1)
        return (a[0] + label @ (a[1:] - a[0])).view(n, self.G, self.c)

    def parameters_by_type(self) -> list[Tensor]:
        """The parameters named in :attr:`stacked`."""
        return [getattr(self, name) for name in self.stacked]

    def _formula(self, *tensors: Tensor) -> tuple[Tensor]:
        return (self.compute(*tensors),)

    def reset_parameters(self) -> None:
        """Draw all parameters anew."""
        if self.label == "add":
            initialize(self.W, self.m, self.c, self.init)
        if self.label == "mode" and self.has_rank:
            initialize(self.w.weight, self.m, self.r, self.init)
            nn.init.constant_(self.w.bias, self.bias_init)
        self._draw()

    def extra_repr(self) -> str:
        """The sizes, for printing."""
        rank = f", rank={self.r}" if self.has_rank else ""
        label = f", label={self.label}({self.m})" if self.label else ""
        return f"L={self.L}, c={self.c}, gates={self.G}, types={self.K}{rank}{label}"


class RankedAggregator(Aggregator):
    """An aggregator whose tensor is factorised.

    Arguments:
        children, size, gates: see :class:`Aggregator`.
        rank: rank r of the factorised map.
        arguments: the others of :class:`Aggregator`.

    Raises:
        ConfigError: the rank is missing or not positive, or as :class:`Aggregator`.
    """

    has_rank = True

    def __init__(
        self,
        children: int,
        size: int,
        gates: int = 1,
        *,
        rank: Optional[Count] = None,
        **arguments: Any,
    ) -> None:
        if rank is None or rank < 1:
            raise ConfigError(f"{type(self).__name__} needs a rank of at least 1, got {rank}")
        self.r = rank  # the base class builds the parameters, whose shapes depend on it
        super().__init__(children, size, gates, **arguments)
