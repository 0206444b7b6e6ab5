"""Boolean sentences: the truth value of an expression, or of each of its subexpressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.models.classifier import Classifier
from dgltrees.models.inputs import OneHot
from dgltrees.models.readout import EveryNode
from dgltrees.papers.tensor_tree_lstm.data.boolsent import stream_boolsent
from dgltrees.papers.tensor_tree_lstm.tasks.operators import OperatorModel
from dgltrees.tasks.task import Names
from dgltrees.tasks.trees.base import TreeTask
from dgltrees.tasks.trees.settings import HeadSettings
from dgltrees.tasks.trees.supervision import SupervisedSettings, root_labels
from dgltrees.trees import Examples, Vocabulary

__all__ = ["BOOLSENT", "OperatorNodesModel"]


@dataclass(frozen=True)
class OperatorNodesModel(HeadSettings, OperatorModel):
    """A classifier of all nodes, some of which are operators."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """The model."""
        encoder = self.operator_encoder(OneHot("value", 2), len(vocabs["op"]))
        head = self.mlp(encoder.size, len(vocabs["target"]), self.init)
        return Classifier(encoder, EveryNode(), head)


def _read(
    path: PathLike, settings: SupervisedSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    for data in stream_boolsent(path, trees, labeled=labeled):
        yield data if settings.supervise == "nodes" else root_labels(data)


BOOLSENT = TreeTask(
    "boolsent",
    SupervisedSettings,
    OperatorNodesModel,
    {"boolsent": _read},
    nodes=True,
    reads=FORMATS["boolsent"].description,
)
