"""Boolean sentences: the truth value of an expression, or of each of its subexpressions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from torch import nn

from dgltrees.formats.boolsent import read_boolsent
from dgltrees.models import Classifier, EveryNode, OneHot
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.task import Task
from dgltrees.tasks.trees.build import make_encoder, make_head
from dgltrees.tasks.trees.supervision import supervised
from dgltrees.trees import Examples, Vocabulary

__all__ = ["BOOLSENT"]


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    return supervised(read_boolsent(path), settings.supervise)


def _build(settings: ModelSettings, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_encoder(settings, OneHot("value", 2), operators=len(vocabs["op"]))
    head = make_head(settings, encoder, len(vocabs["target"]))
    return Classifier(encoder, EveryNode(), head)


BOOLSENT = Task("boolsent", _read, _build, nodes=True)
