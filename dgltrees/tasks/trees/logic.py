"""Logical relations: which of seven relations holds between two propositional sentences.

Tensor Tree-LSTM paper, section V.B, after Bowman et al. (2015): one encoder with parameters of its
own for each operator reads both sentences, variables are one-hot codes, and a bilinear layer
compares the two roots. Accuracy is reported by the larger number of operators too, 12 or more
together.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from torch import nn

from dgltrees.formats.logic import read_logic
from dgltrees.models import Classifier, ComparisonHead, OneHot, Root
from dgltrees.tasks.settings import DataSettings
from dgltrees.tasks.task import Task
from dgltrees.tasks.trees.build import make_encoder
from dgltrees.trees import Examples, Vocabulary

__all__ = ["LOGIC"]

_VARIABLES = 6


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    return read_logic(path)


def _build(settings: Any, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_encoder(settings, OneHot("value", _VARIABLES), operators=len(vocabs["op"]))
    classes, comparison = len(vocabs["target"]), settings.comparison
    head = ComparisonHead(encoder.size, classes, comparison=comparison, init=settings.init)
    return Classifier(encoder, Root(), head)


LOGIC = Task("logic", _read, _build, max_children=2, by=("operators", 12))
