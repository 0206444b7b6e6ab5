"""The base class of the cells that use an aggregator: labels and operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from dgltrees.cells.aggregators import AGGREGATORS, Aggregator
from dgltrees.cells.base import BaseCell, GateNorm
from dgltrees.cells.child_gate import ChildGate, per_child
from dgltrees.cells.grouped import check_types, grouped
from dgltrees.cells.initial import Init, initialize
from dgltrees.errors import ConfigError
from dgltrees.settings import (
    Count,
    Fraction,
    NonNegativeInt,
    checked,
    expected,
    nearest,
    options_of,
)
from dgltrees.traversal.functions import integer_field
from dgltrees.traversal.views import Groups, Nodes

ACTIVATIONS = {"tanh": torch.tanh, "sigmoid": torch.sigmoid}


@checked
class TreeCell(BaseCell):
    """The base class of cells that compute pre-activations with an aggregator.

    Without operators, there is one set of parameters, and every node has an input x. With K
    operators, there are K sets without W, and the node field ``op`` (0 .. K - 1) selects the set of
    an inner node; leaves use a separate W and b, and no U. This is the label-dependent
    parametrisation of Castellana and Bacciu, section V.A, where the one-hot label of an operator
    selects a slice of the tensor.

    Arguments:
        input_size: m, the size of the node field ``x``.
        hidden_size: c, the size of a state.
        max_children: largest number L of children of a node. A child at position L or higher is an
            error, except with the aggregator shared_sum; a missing child has the state zero. As a
            setting, the default is the largest number in the training data.
        aggregator: map from the states of the children to the pre-activations of the gates.
        operators: K, the number of sets of parameters; 0: one set, and every node has an input.
        activation: activation of the candidate state: tanh, as in Tai et al. (2015), or sigmoid, as
            printed in Castellana and Bacciu (2020).
        dropout: probability of recurrent dropout: in lstm and gru on the candidates that are added
            to a node's memory or state (Semeniuta et al., 2016), in rnn on the children's states.
        layer_norm: layer normalisation of the pre-activations of every gate, and of the memory if
            there is one (Ba et al., 2016); gains and biases are shared by all operators.
        init: initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1).
        aggregator_options: the arguments of the aggregator, such as ``rank``, by name.

    Raises:
        ConfigError: an argument is none of its choices or has no effect, or the tensor is too
            large.
    """

    parts: ClassVar[Mapping[str, Any]] = {"aggregator": AGGREGATORS}
    hidden: ClassVar[tuple[str, ...]] = ("children", "size", "gates", "types", "label_size")
    """The arguments of the aggregator that the cell sets itself."""

    @staticmethod
    def unread(options: Mapping[str, Any]) -> dict[str, str]:
        """Return the names of options that have no effect with ``options``, with the reasons."""
        return {"label": "with operators"} if options["operators"] else {}

    def __init__(
        self,
        input_size: Count,
        hidden_size: Count,
        max_children: Count,
        aggregator: str = "sum",
        *,
        operators: NonNegativeInt = 0,
        activation: Literal["tanh", "sigmoid"] = "tanh",
        dropout: Fraction = 0.0,
        layer_norm: bool = False,
        init: Init = "kaiming",
        **aggregator_options: Any,
    ) -> None:
        super().__init__(input_size, hidden_size, dropout=dropout)
        if aggregator not in AGGREGATORS:
            raise ConfigError(
                f"expected aggregator to be {expected(str, aggregator, AGGREGATORS)}, got "
                f"{aggregator!r}"
            )
        if operators and "label" in aggregator_options:
            raise ConfigError(
                f"expected no label with operators, got label={aggregator_options['label']!r} with "
                f"{operators} operators; remove label, which has no effect"
            )
        self.max_children = max_children
        self.slots = max_children if AGGREGATORS[aggregator].bounded else None
        self.operators, self.layer_norm, self.init = operators, layer_norm, init
        self.group_by = "op" if operators else None
        self.input_fields = ("x", "op") if operators else ("x",)
        self.aggregator, self.ordered = aggregator, AGGREGATORS[aggregator].ordered
        self._check_options(aggregator_options)
        self.aggregator_options = aggregator_options
        self.activation = ACTIVATIONS[activation]
        self.leaf: nn.Linear | None = None
        self.child_gate: ChildGate | None = None

    def _check_options(self, options: Mapping[str, Any]) -> None:
        """Raise ConfigError for an unknown option of the aggregator."""
        accepted = options_of(AGGREGATORS[self.aggregator]).keys() - {*self.hidden, "init"}
        for name in options:
            if name not in accepted:
                names = [*options_of(type(self)), *sorted(accepted)]
                raise ConfigError(
                    f"{type(self).__name__} with aggregator {self.aggregator!r} has no argument "
                    f"{name!r}; {nearest(name, names)}"
                )

    @property
    def aggregators(self) -> tuple[Aggregator, ...]:
        """Return the aggregators of all gates, in the order of the pre-activations."""
        return tuple(each for each in self._modules.values() if isinstance(each, Aggregator))

    def paper_parameter_count(self) -> int | None:
        """Return the number of parameters of the map of one gate, as the paper counts them.

        The paper does not count those of a label that is a mode of the tensor: then it is None.
        """
        f = self.aggregators[0]
        return None if f.label == "mode" else f.paper_parameter_count(f.L, f.c, f.r)

    def make_aggregator(self, gates: int) -> Aggregator:
        """Construct an aggregator for this number of gates."""
        return AGGREGATORS[self.aggregator](
            self.max_children,
            self.hidden_size,
            gates,
            types=max(self.operators, 1),
            label_size=0 if self.operators else self.input_size,
            init=self.init,
            **self.aggregator_options,
        )

    def make_child_gate(self) -> ChildGate:
        """Construct a gate that reads each child separately."""
        return ChildGate(
            self.max_children,
            self.hidden_size,
            types=max(self.operators, 1),
            label_size=0 if self.operators else self.input_size,
            shared=not self.ordered,
            init=self.init,
        )

    def make_leaf(self, gates: int) -> nn.Linear | None:
        """Construct the linear map from a leaf's input to its pre-activations, with operators."""
        if not self.operators:
            return None
        leaf = nn.Linear(self.input_size, gates * self.hidden_size)
        initialize(leaf.weight, self.input_size, self.hidden_size, self.init)
        nn.init.zeros_(leaf.bias)
        return leaf

    def make_norm(self, gates: int) -> nn.Module:
        """Construct the layer normalisation of this number of gates, or the identity."""
        return GateNorm(gates, self.hidden_size) if self.layer_norm else nn.Identity()

    def check(self, ndata: Mapping[str, Tensor]) -> Tensor:
        """Check the inputs of all nodes and return ``x``, ``(N, m)``.

        Raises:
            TreeError: ``x`` or ``op`` is missing or has the wrong shape or dtype.
        """
        x = super().check(ndata)
        if self.operators:
            last = self.operators - 1
            integer_field(ndata, "op", f"0 to {last} at nodes that have children")
        return x

    def leaf_activations(self, nodes: Nodes) -> Tensor:
        """Compute the pre-activations of nodes without children, ``(n, G, c)``."""
        if self.leaf is not None:
            a: Tensor = self.leaf(nodes.data["x"])
            return a.view(len(a), a.shape[1] // self.hidden_size, self.hidden_size)
        parts = [each.leaves(nodes.data[f"label_{i}"]) for i, each in enumerate(self.aggregators)]
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def prepare(self, ndata: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Transform the inputs of all nodes for the aggregators and the child gates."""
        x = self.check(ndata)
        if self.operators:
            return {}
        labels = {f"label_{i}": each.embed(x) for i, each in enumerate(self.aggregators)}
        if self.child_gate is not None:
            labels["label_child"] = self.child_gate.embed(x)
        return labels

    def _groups(self, nodes: Nodes) -> Groups | None:
        """Return the operators of ``nodes`` as groups, or None; TreeError if out of range."""
        if nodes.groups is not None and self.operators:
            values, counts = zip(*nodes.groups)
            check_types(values, self.operators, lambda i: int(nodes.nodes()[sum(counts[:i])]))
        return nodes.groups

    def aggregate(self, f: Aggregator, h: Tensor, nodes: Nodes, label: str) -> Tensor:
        """Compute pre-activations ``(n, G, c)`` from the states of the children ``(n, L, c)``.

        Raises:
            TreeError: an operator is out of range.
        """
        groups = self._groups(nodes)
        return f.aggregate(h, groups, None if self.operators else nodes.data[label])

    def aggregate_and_gate(
        self, f: Aggregator, gate: ChildGate, h: Tensor, nodes: Nodes
    ) -> tuple[Tensor, Tensor]:
        """Compute pre-activations of ``f``, ``(n, G, c)``, and of child gates, ``(n, L, c)``."""
        if not self.operators:
            return self.aggregate(f, h, nodes, "label_0"), gate(h, nodes.data["label_child"])
        parameters = f.parameters_by_type()

        def both(h: Tensor, *stacked: Tensor) -> tuple[Tensor, Tensor]:
            count = len(parameters)
            return f.compute(h, *stacked[:count]), per_child(h, *stacked[count:])

        a, g = grouped(both, (h,), [*parameters, gate.U, gate.b], self._groups(nodes))
        return a, g
