"""Encoders of trees whose nodes with children are operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dgltrees.cells import CELLS
from dgltrees.errors import ConfigError
from dgltrees.models.encoder import BidirectionalEncoder, TreeEncoder
from dgltrees.models.inputs import Concat, Input, OneHot
from dgltrees.settings import options_of
from dgltrees.tasks.trees.settings import TreeModel

__all__ = ["OperatorModel"]


@dataclass(frozen=True)
class OperatorModel(TreeModel):
    """An encoder of trees whose nodes with children are operators."""

    operator_labels: Literal["parameters", "one_hot"] = "parameters"
    """What an operator is to the cell: the choice of a set of parameters, or a one-hot label, which
    a full tensor or hosvd takes as one more mode (tensor Tree-LSTM paper, section V.A)."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Cells with a set of parameters per operator have no label at operators."""
        sets = values["operator_labels"] == "parameters"
        return {"label": "with model.operator_labels parameters"} if sets else {}

    def operator_encoder(self, leaves: Input, operators: int) -> TreeEncoder | BidirectionalEncoder:
        """The encoder of trees whose nodes with children are operators.

        Arguments:
            leaves: the inputs of the leaves, zero elsewhere.
            operators: the number of operators, which the node field ``op`` numbers.

        Raises:
            ConfigError: each operator is to have parameters, and the cell has none per operator.
        """
        if self.operator_labels == "one_hot":
            return self.encoder(Concat([leaves, OneHot("op", operators)]))
        if "operators" not in options_of(self.cell.source):
            able = [each for each in CELLS if "operators" in options_of(CELLS[each])]
            raise ConfigError(
                f"model.cell {self.cell.name} has no argument 'operators', a set of parameters per "
                f"operator, which this task needs; choose one of {', '.join(able)}, or "
                "model.operator_labels one_hot"
            )
        return self.encoder(leaves, operators=operators)
