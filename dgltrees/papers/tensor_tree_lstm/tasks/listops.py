"""ListOps: the value of nested operations on lists of digits.

Tensor Tree-LSTM paper, section V.C: each operator has its own parameters, digits have
thermometer codes, and a network with two hidden layers classifies the root's state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from torch import nn

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.models.classifier import Classifier
from dgltrees.models.inputs import NodeInput, OneHot, Thermometer
from dgltrees.options import Options
from dgltrees.papers.tensor_tree_lstm.data.listops import stream_listops
from dgltrees.papers.tensor_tree_lstm.tasks.operators import OperatorModel, make_operator_encoder
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.task import Names
from dgltrees.tasks.trees.base import TreeTask, make_head, make_readout
from dgltrees.tasks.trees.settings import ReadoutSettings
from dgltrees.trees import Examples, Vocabulary

__all__ = ["LISTOPS", "ListOpsModel"]


@dataclass(frozen=True)
class ListOpsModel(ReadoutSettings, OperatorModel):
    """A classifier of trees over digits."""

    digits: Literal["thermometer", "one_hot"] = "thermometer"
    """Input vector of a leaf's digit d: d + 1 ones, then zeros (thermometer), or a single one."""


_CODES: dict[str, Callable[[str, int], NodeInput]] = {"thermometer": Thermometer, "one_hot": OneHot}


def _read(
    path: PathLike, settings: DataSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    return stream_listops(path, trees, labeled=labeled)


def _build(model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_operator_encoder(model, _CODES[model["digits"]]("value", 10), vocabs)
    head = make_head(model, encoder, vocabs)
    return Classifier(encoder, make_readout(model, encoder), head)


LISTOPS = TreeTask(
    "listops",
    DataSettings,
    ListOpsModel,
    {"listops": _read},
    _build,
    max_children=5,
    reads=FORMATS["listops"].description,
)
