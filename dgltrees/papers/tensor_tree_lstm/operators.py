"""Encoders of trees whose nodes with children are operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dgltrees.models.inputs import Concat, Input, OneHot
from dgltrees.options import Options
from dgltrees.tasks.trees.base import Encoder, make_encoder
from dgltrees.tasks.trees.settings import TreeModel
from dgltrees.trees import Vocabulary

__all__ = ["OperatorModel", "make_operator_encoder"]


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


def make_operator_encoder(
    model: Options, leaves: Input, vocabs: Mapping[str, Vocabulary]
) -> Encoder:
    """The encoder of trees whose nodes with children are operators, as the settings say.

    Arguments:
        model: the model's settings, with ``operator_labels``.
        leaves: the inputs of the leaves, zero elsewhere.
        vocabs: that of the node field ``op`` names the operators.

    Raises:
        ConfigError: each operator is to have parameters, and the cell has none per operator.
    """
    operators = len(vocabs["op"])
    if model["operator_labels"] == "one_hot":
        return make_encoder(model, Concat([leaves, OneHot("op", operators)]))
    return make_encoder(model, leaves, operators)
