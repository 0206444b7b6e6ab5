"""ListOps: the value of nested operations on lists of digits.

Tensor Tree-LSTM paper, section V.C: each operator has its own parameters, a digit k is its
thermometer code, and a network with two hidden layers reads the root's state.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from torch import nn

from dgltrees.formats.listops import read_listops
from dgltrees.models import Classifier
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.task import Task
from dgltrees.tasks.trees.build import digits_input, make_encoder, make_head, make_readout
from dgltrees.trees import Examples, Vocabulary

__all__ = ["LISTOPS"]


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    return read_listops(path)


def _build(settings: ModelSettings, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_encoder(settings, digits_input(settings, 10), operators=len(vocabs["op"]))
    head = make_head(settings, encoder, len(vocabs["target"]))
    return Classifier(encoder, make_readout(settings, encoder), head)


LISTOPS = Task("listops", _read, _build, max_children=5)
