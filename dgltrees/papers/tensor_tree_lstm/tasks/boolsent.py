"""Boolean sentences: the truth value of an expression, or of each of its subexpressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import nn

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.models.classifier import Classifier
from dgltrees.models.inputs import OneHot
from dgltrees.models.readout import EveryNode
from dgltrees.options import Options
from dgltrees.papers.tensor_tree_lstm.data.boolsent import stream_boolsent
from dgltrees.papers.tensor_tree_lstm.tasks.operators import OperatorModel, make_operator_encoder
from dgltrees.tasks.task import Names
from dgltrees.tasks.trees.base import TreeTask, make_head
from dgltrees.tasks.trees.settings import HeadSettings
from dgltrees.tasks.trees.supervision import SupervisedSettings, root_labels
from dgltrees.trees import Examples, Vocabulary

__all__ = ["BOOLSENT", "OperatorNodesModel"]


@dataclass(frozen=True)
class OperatorNodesModel(HeadSettings, OperatorModel):
    """A classifier of all nodes, some of which are operators."""


def _read(
    path: PathLike, settings: SupervisedSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    for data in stream_boolsent(path, trees, labeled=labeled):
        yield data if settings.supervise == "nodes" else root_labels(data)


def _build(model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_operator_encoder(model, OneHot("value", 2), vocabs)
    return Classifier(encoder, EveryNode(), make_head(model, encoder, vocabs))


BOOLSENT = TreeTask(
    "boolsent",
    SupervisedSettings,
    OperatorNodesModel,
    {"boolsent": _read},
    _build,
    nodes=True,
    reads=FORMATS["boolsent"].description,
)
