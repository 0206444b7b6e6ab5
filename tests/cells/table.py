"""The table of cells: what the laws are checked for. A cell that is not here is not done."""

from dataclasses import dataclass, field
from typing import Any, get_args

import torch

from dgltrees.cells import (
    AGGREGATORS,
    CELLS,
    BaseCell,
    LeftDependentLSTM,
    RRNetCell,
    TopDownLSTM,
    make_cell,
)
from dgltrees.cells.aggregators import FactorisedAggregator
from dgltrees.cells.initial import uniform
from dgltrees.cells.nti_attention import ScoreName
from dgltrees.cells.rrnet import Merge
from dgltrees.settings import options_of

OF_MODELS = {"top_down": TopDownLSTM, "left_dependents": LeftDependentLSTM, "rrnet": RRNetCell}
"""Cells that no settings name: a model is made for them."""

INPUT, HIDDEN, CHILDREN, OPERATORS, RANK, LEFT = 3, 2, 3, 3, 2, 2


@dataclass(frozen=True)
class Row:
    """A cell and how to make it."""

    cell: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.cell, *(f"{v}" for v in self.options.values())])

    @property
    def operators(self) -> int:
        return self.options.get("operators", 0)

    @property
    def up(self) -> bool:
        """Whether edges go from children to their parent."""
        return self.cell in CELLS

    @property
    def children(self) -> int:
        """At how many places a node can have children: four types of edges, one chain."""
        return {"top_down": 4, "left_dependents": 1}.get(self.cell, CHILDREN)

    @property
    def types(self) -> int:
        """How many sets of parameters are stacked."""
        if self.cell == "top_down" and not self.options.get("shared"):
            return self.children
        return 4 if self.cell == "rrnet" else self.operators

    def make(self, **changes: Any) -> BaseCell:
        """The cell in float64, all parameters drawn, biases too, so that each matters."""
        size = 2 * HIDDEN if "layer_norm" in self.options else HIDDEN  # of two, only signs are left
        options = {"input_size": INPUT, "hidden_size": size, **self.options}
        if self.up and "max_children" in options_of(CELLS[self.cell]):
            options["max_children"] = CHILDREN
        if issubclass(AGGREGATORS[options.get("aggregator", "sum")], FactorisedAggregator):
            options["rank"] = RANK
        torch.manual_seed(0)
        options.update(changes)
        cell = make_cell(self.cell, **options) if self.up else OF_MODELS[self.cell](**options)
        cell = cell.double()
        uniform(cell, 0.8)
        return cell.eval()


def _rows() -> list[Row]:
    rows = []
    for aggregator in AGGREGATORS:
        rows.append(Row("lstm", {"aggregator": aggregator}))
        rows.append(Row("lstm", {"aggregator": aggregator, "operators": OPERATORS}))
    for aggregator, cls in AGGREGATORS.items():
        if "label" in options_of(cls):
            other = {"mode": "add", "add": "mode"}[options_of(cls)["label"].default]
            rows.append(Row("lstm", {"aggregator": aggregator, "label": other}))
    for operators in (0, OPERATORS):
        options = {"aggregator": "hosvd", "bias": False, "operators": operators}
        rows.append(Row("lstm", options))
    for cell in ("rnn", "gru"):
        for aggregator in ("sum", "hosvd", "symmetric_hosvd"):
            rows.append(Row(cell, {"aggregator": aggregator}))
            rows.append(Row(cell, {"aggregator": aggregator, "operators": OPERATORS}))
    for cell in ("rnn", "lstm", "gru"):
        rows.append(Row(cell, {"aggregator": "full", "activation": "sigmoid", "layer_norm": True}))
        options = {"aggregator": "hosvd", "operators": OPERATORS, "layer_norm": True}
        rows.append(Row(cell, options))
    for cell in ("child_sum", "nary"):
        rows.append(Row(cell))
        rows.append(Row(cell, {"layer_norm": True}))
    rows.append(Row("nti_lstm"))
    rows.append(Row("nti_lstm", {"layer_norm": True}))
    rows.append(Row("chainer_nti_lstm"))
    rows.append(Row("nti_attention", {"layer_norm": True}))
    for score in get_args(ScoreName):
        rows.append(Row("nti_attention", {"score": score}))
        rows.append(Row("nti_attention", {"score": score, "query": "given"}))
    for layers in (1, 2):
        rows.append(Row("left_dependents", {"layers": layers}))
        for left_size in (0, LEFT):
            for shared in (False, True):
                options = {"layers": layers, "left_size": left_size, "shared": shared}
                rows.append(Row("top_down", options))
    rows += [Row("rrnet", {"merge": merge}) for merge in get_args(Merge)]
    others = ({"memory": "running"}, {"merge_init": "uniform"}, {"layer_norm": True})
    rows += [Row("rrnet", options) for options in others]
    return rows


TABLE = _rows()
"""Every cell, every aggregator, with and without operators, every way for a label to come in."""

UP = [row for row in TABLE if row.up]
"""Those that go from the leaves up."""

ONE_OF_EACH = list({row.cell: row for row in reversed(TABLE)}.values())
"""A row of every cell, for what does not depend on the aggregator."""
