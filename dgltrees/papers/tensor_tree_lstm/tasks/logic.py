"""Logical relations: which of seven relations holds between two propositional sentences.

Tensor Tree-LSTM paper, section V.B, after Bowman et al. (2015): one encoder with parameters of its
own for each operator reads both sentences, variables are one-hot codes, and a bilinear layer
compares the two roots. Accuracy is reported by the larger number of operators too, 12 or more
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.formats.logic import stream_logic
from dgltrees.models.classifier import Classifier
from dgltrees.models.heads import ComparisonHead
from dgltrees.models.inputs import OneHot
from dgltrees.models.readout import Root
from dgltrees.options import Count
from dgltrees.papers.tensor_tree_lstm.tasks.operators import OperatorModel
from dgltrees.tasks.settings import OperatorSettings
from dgltrees.tasks.task import Names
from dgltrees.tasks.trees.base import TreeTask
from dgltrees.trees import Examples, Vocabulary

__all__ = ["LOGIC", "LogicModel", "LogicSettings"]


@dataclass(frozen=True)
class LogicSettings(OperatorSettings):
    """The data of logical relations."""

    max_operators: Count | None = None
    """Train on pairs with at most this many operators; by default on all."""


@dataclass(frozen=True)
class LogicModel(OperatorModel):
    """A classifier of pairs of trees."""

    comparison: Count | None = None
    """Width of the layer that compares two trees; by default the number of classes."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """The model."""
        encoder = self.operator_encoder(OneHot("value", _VARIABLES), len(vocabs["op"]))
        classes = len(vocabs["target"])
        head = ComparisonHead(encoder.size, classes, comparison=self.comparison, init=self.init)
        return Classifier(encoder, Root(), head)


_VARIABLES = 6


def _read(
    path: PathLike, settings: LogicSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    return stream_logic(path, trees, labeled=labeled)


LOGIC = TreeTask(
    *("logic", LogicSettings, LogicModel, {"logic": _read}),
    max_children=2,
    breakdown=("operators", 12),
    reads=FORMATS["logic"].description,
)
