"""The base classes of the aggregators: labels, types and missing children."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from dgltrees.cells.grouped import grouped
from dgltrees.cells.initial import Init, initialize
from dgltrees.errors import ConfigError
from dgltrees.settings import Count, NonNegativeInt, checked
from dgltrees.traversal.views import Groups

MAX_ENTRIES = 2**30
"""The most entries of one parameter: 4 GiB in float32; training needs three to four times that."""


def check_entries(
    formula: str, entries: int, gates: int, types: int, *, linear: bool = False
) -> None:
    """Check that a stacked parameter has at most :data:`MAX_ENTRIES` entries."""
    total = entries * gates * types
    if total > MAX_ENTRIES:
        digits = math.log10(total) + math.log10(4 / 2**30)  # total may be too large for a float
        size = f"{10**digits:,.1f}" if digits < 6 else f"about 10^{digits:.0f}"
        other = (
            ", or aggregator='canonical', 'tensor_train' or 'sum', which grow linearly with the "
            "number of children L"
        )
        raise ConfigError(
            f"{formula} entries in each of {gates} gates and {types} types ({size} GiB in "
            f"float32), over the limit of {4 * MAX_ENTRIES // 2**30} GiB; choose a smaller hidden "
            f"size or rank{'' if linear else other}"
        )


Label = Literal["mode", "add"]
"""How the label is used; see :class:`TensorAggregator`."""


class Aggregator(nn.Module, ABC):
    r"""The base class of aggregators: maps from label and states of children to pre-activations.

    .. math:: a^g = f^g(x, h_1, \dots, h_L) \in \mathbb{R}^c

    The map of each gate g is multi-affine in its arguments: Castellana and Bacciu, "Generalising
    Recursive Neural Models by Tensor Decomposition" (IJCNN 2020), section III. It includes a bias.
    The term W x of the label x is added. A missing child is h = 0.

    A subclass allocates its parameters in its constructor and then calls :meth:`reset_parameters`.

    Arguments:
        children: L, the largest number of children of a node.
        size: c, the size of a state.
        gates: G, the number of maps that are computed from the same arguments.
        types: K, the number of sets of parameters, one per operator.
        label_size: m, the size of the label x; with 0 there is no label.
        init: how weights are drawn: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1).

    Shapes:
        ``h`` (n, L, c) and, with labels, ``x`` (n, m) in; (n, G, c) out.

    Raises:
        ConfigError: an argument is none of its choices, the tensor is too large, or there are both
            types and labels.

    Example:
        >>> import torch
        >>> from dgltrees.cells import AGGREGATORS
        >>> f = AGGREGATORS["hosvd"](children=2, size=3, gates=4, rank=5)
        >>> f(torch.zeros(7, 2, 3)).shape  # 7 nodes
        torch.Size([7, 4, 3])
    """

    ordered: ClassVar[bool] = True
    """Whether swapping two children changes the result."""
    bounded: ClassVar[bool] = True
    """Whether L is a limit: parameters belong to positions or to numbers of children."""
    bias_init: ClassVar[float] = 0.0
    """The initial value of the bias of a reduced child or label."""
    stacked: ClassVar[tuple[str, ...]] = ()
    """Names of the parameters ``(K, ...)``, in the order in which :meth:`compute` takes them."""

    def __init__(
        self,
        children: Count,
        size: Count,
        gates: Count = 1,
        *,
        types: Count = 1,
        label_size: NonNegativeInt = 0,
        init: Init = "kaiming",
    ) -> None:
        super().__init__()
        if label_size and types > 1:
            raise ConfigError(
                f"expected either label_size or types of {type(self).__name__}, got label_size="
                f"{label_size} and types={types}"
            )
        self.L, self.c, self.G, self.K, self.r = children, size, gates, types, 0
        self.m, self.init = label_size, init
        self.label: Label | None = "add" if label_size else None
        self.W: nn.Parameter | None = None
        if self.label:
            self.W = nn.Parameter(torch.empty(label_size, gates * size))

    @staticmethod
    def paper_parameter_count(L: int, c: int, r: int = 0) -> int | None:
        """Count the parameters of one map as the paper's tables do: without biases and label.

        Arguments:
            L, c, r: the number of children, the size of a state, and the rank.

        Returns:
            the number; None, the default, for a map that is not in these tables.
        """
        return None

    @abstractmethod
    def _draw(self) -> None:
        """Initialise the parameters, except those of the label."""

    @abstractmethod
    def compute(self, h: Tensor, *parameters: Tensor) -> Tensor:
        """Compute the map for each type with the parameters of the type.

        Arguments:
            h: ``(K, n, L, c)``, the states of the children.
            parameters: the parameters of :attr:`stacked`, each ``(K, ...)``; before them the label
                ``(1, n, e)`` if it is a mode.

        Returns:
            the pre-activations, ``(K, n, G, c)``.
        """

    def embed(self, x: Tensor) -> Tensor:
        """Transform the labels of all nodes in one product, ``(n, m)`` to ``(n, e)``."""
        return x if self.W is None else x @ self.W

    def forward(self, h: Tensor, groups: Groups | None = None, x: Tensor | None = None) -> Tensor:
        """Compute the pre-activations of all gates.

        Arguments:
            h: ``(n, L, c)``, the states of the children; zero for missing children.
            groups: the type and the length of each run of rows with the same type; None if K = 1.
            x: ``(n, m)``, the labels, if the aggregator has them.

        Returns:
            the pre-activations, ``(n, G, c)``.
        """
        return self.aggregate(h, groups, None if x is None else self.embed(x))

    def aggregate(
        self, h: Tensor, groups: Groups | None = None, label: Tensor | None = None
    ) -> Tensor:
        """Do the same as :meth:`forward`, for labels from :meth:`embed`, ``(n, e)``."""
        if label is not None and self.label == "mode":
            try:
                (a,) = grouped(self._formula, (h, label), self.parameters_by_type(), groups)
            except ValueError as error:
                if "unpack" not in str(error):
                    raise
                name = type(self).__name__
                raise ConfigError(
                    f"{name}.compute: {error}; with label='mode' it gets the label before the "
                    f"{len(self.stacked)} parameters: take it, or derive {name} from "
                    "ProductAggregator, whose default is label='add'"
                ) from error
            return a
        (a,) = grouped(self._formula, (h,), self.parameters_by_type(), groups)
        return a if label is None else a + label.view_as(a)

    def leaves(self, label: Tensor) -> Tensor:
        """Compute the pre-activations of nodes without children, ``(n, e)`` to ``(n, G, c)``.

        All states are zero, so the map is affine in the label. Its matrix follows from its values
        at zero and at the unit vectors; this is cheaper than an evaluation at every row.
        """
        n, e = label.shape
        if self.label == "add":
            a = self.aggregate(label.new_zeros(1, self.L, self.c))
            return a + label.view(n, self.G, self.c)
        if n <= e:
            return self.aggregate(label.new_zeros(n, self.L, self.c), None, label)
        basis = nn.functional.pad(torch.diag(label.new_ones(e)), (0, 0, 1, 0))
        a = self.aggregate(label.new_zeros(e + 1, self.L, self.c), None, basis)
        a = a.flatten(1)
        return (a[0] + label @ (a[1:] - a[0])).view(n, self.G, self.c)

    def parameters_by_type(self) -> list[Tensor]:
        """Return the parameters of :attr:`stacked`."""
        return [getattr(self, name) for name in self.stacked]

    def _formula(self, *tensors: Tensor) -> tuple[Tensor]:
        return (self.compute(*tensors),)

    def reset_parameters(self) -> None:
        """Initialise all parameters."""
        if self.W is not None:
            initialize(self.W, self.m, self.c, self.init)
        self._draw()

    def extra_repr(self) -> str:
        """Return the sizes, for ``repr``."""
        rank = f", rank={self.r}" if self.r else ""
        label = f", label={self.label}({self.m})" if self.label else ""
        return f"L={self.L}, c={self.c}, gates={self.G}, types={self.K}{rank}{label}"


@checked
class TensorAggregator(Aggregator):
    """The base class of aggregators that are tensors; the label can be one of their modes.

    Arguments:
        label: how the label is used: mode, one more mode of the tensor as in equation (4) of
            Castellana and Bacciu, or add, W x added to the result as in equation (5).
        options: the other arguments of :class:`Aggregator`.
    """

    def __init__(
        self,
        children: Count,
        size: Count,
        gates: Count = 1,
        *,
        label: Label = "mode",
        **options: Any,
    ) -> None:
        super().__init__(children, size, gates, **options)
        if self.label and label == "mode":
            self.label, self.W = "mode", None


class FactorisedAggregator(TensorAggregator):
    """The base class of aggregators whose tensor is factorised with some rank.

    Arguments:
        rank: rank r of the factorised tensor: the size of every mode of its core (hosvd), the
            number of its terms (canonical), or the size between two factors (tensor train).
        options: the other arguments of :class:`TensorAggregator`.
    """

    def __init__(
        self, children: Count, size: Count, gates: Count = 1, *, rank: Count, **options: Any
    ) -> None:
        super().__init__(children, size, gates, **options)
        self.r = rank
        if self.label == "mode":
            self.w = nn.Linear(self.m, gates * rank)

    def embed(self, x: Tensor) -> Tensor:
        """Transform the labels of all nodes in one product, ``(n, m)`` to ``(n, e)``."""
        return self.w(x) if self.label == "mode" else super().embed(x)

    def reset_parameters(self) -> None:
        """Initialise all parameters."""
        if self.label == "mode":
            initialize(self.w.weight, self.m, self.r, self.init)
            if self.w.bias is not None:
                nn.init.constant_(self.w.bias, self.bias_init)
        super().reset_parameters()


class ProductAggregator(FactorisedAggregator):
    """The base class of factorised tensors that multiply one factor per child, 1 if it is missing.

    Arguments:
        label: how the label is used: add, W x added to the result, or mode, one more factor.
        options: the other arguments of :class:`FactorisedAggregator`.
    """

    bias_init = 1.0

    def __init__(
        self,
        children: Count,
        size: Count,
        gates: Count = 1,
        *,
        label: Label = "add",
        **options: Any,
    ) -> None:
        super().__init__(children, size, gates, label=label, **options)
