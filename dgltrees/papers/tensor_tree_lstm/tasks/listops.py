"""ListOps: the value of nested operations on lists of digits.

Tensor Tree-LSTM paper, section V.C: each operator has its own parameters, digits have
thermometer codes, and a network with two hidden layers classifies the root's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.models.classifier import Classifier
from dgltrees.models.inputs import OneHot, Thermometer
from dgltrees.papers.tensor_tree_lstm.data.listops import stream_listops
from dgltrees.papers.tensor_tree_lstm.tasks.operators import OperatorModel
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.task import Names
from dgltrees.tasks.trees.base import TreeTask
from dgltrees.tasks.trees.settings import ReadoutSettings
from dgltrees.trees import Examples, Vocabulary

__all__ = ["LISTOPS", "ListOpsModel"]


@dataclass(frozen=True)
class ListOpsModel(ReadoutSettings, OperatorModel):
    """A classifier of trees over digits."""

    digits: Literal["thermometer", "one_hot"] = "thermometer"
    """Input vector of a leaf's digit d: d + 1 ones, then zeros (thermometer), or a single one."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """The model."""
        leaves = {"thermometer": Thermometer, "one_hot": OneHot}[self.digits]("value", 10)
        encoder = self.operator_encoder(leaves, len(vocabs["op"]))
        head = self.mlp(encoder.size, len(vocabs["target"]), self.init)
        return Classifier(encoder, self.tree_vectors(encoder.size), head)


def _read(
    path: PathLike, settings: DataSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    return stream_listops(path, trees, labeled=labeled)


LISTOPS = TreeTask(
    "listops",
    DataSettings,
    ListOpsModel,
    {"listops": _read},
    max_children=5,
    reads=FORMATS["listops"].description,
)
