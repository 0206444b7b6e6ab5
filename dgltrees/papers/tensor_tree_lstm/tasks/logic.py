"""Logical relations: which of seven relations holds between two propositional sentences.

Tensor Tree-LSTM paper, section V.B, after Bowman et al. (2015): one encoder with parameters of its
own for each operator reads both sentences, variables are one-hot codes, and a bilinear layer
compares the two roots. Accuracy is reported by the larger number of operators too, 12 or more
together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import nn

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.formats.logic import stream_logic
from dgltrees.models.classifier import Classifier
from dgltrees.models.heads import ComparisonHead
from dgltrees.models.inputs import OneHot
from dgltrees.models.readout import Root
from dgltrees.options import Count, Options
from dgltrees.papers.tensor_tree_lstm.tasks.operators import OperatorModel, make_operator_encoder
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


_VARIABLES = 6


def _read(
    path: PathLike, settings: LogicSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    return stream_logic(path, trees, labeled=labeled)


def _build(model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_operator_encoder(model, OneHot("value", _VARIABLES), vocabs)
    head = model.of(ComparisonHead, size=encoder.size, classes=len(vocabs["target"]))
    return Classifier(encoder, Root(), head)


LOGIC = TreeTask(
    *("logic", LogicSettings, LogicModel, {"logic": _read}, _build),
    max_children=2,
    breakdown=("operators", 12),
    reads=FORMATS["logic"].description,
)
