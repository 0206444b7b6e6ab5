"""Boolean sentences: the truth value of an expression, or of each of its subexpressions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from torch import nn

from dgltrees.formats import FORMATS
from dgltrees.formats.boolsent import read_boolsent
from dgltrees.models import Classifier, EveryNode, OneHot
from dgltrees.options import Options
from dgltrees.tasks.trees.base import TreeTask, make_encoder, make_head
from dgltrees.tasks.trees.settings import OperatorNodesModel, SupervisedSettings
from dgltrees.tasks.trees.supervision import root_labels
from dgltrees.trees import Examples, Vocabulary

__all__ = ["BOOLSENT"]


def _read(
    path: Path, settings: SupervisedSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    data = read_boolsent(path)
    return data if settings.supervise == "nodes" else root_labels(data)


def _build(model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_encoder(model, OneHot("value", 2), operators=len(vocabs["op"]))
    return Classifier(encoder, EveryNode(), make_head(model, encoder, vocabs))


BOOLSENT = TreeTask(
    "boolsent",
    SupervisedSettings,
    OperatorNodesModel,
    _read,
    _build,
    nodes=True,
    reads=FORMATS["boolsent"].description,
)
