"""INEX 2005: the class of an XML document from the structure of its tags alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from torch import nn

from dgltrees.formats.inex import read_inex
from dgltrees.models import Classifier, OneHot
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.tasks.task import Task
from dgltrees.tasks.trees.build import make_encoder, make_head, make_readout
from dgltrees.trees import Examples, Vocabulary
from dgltrees.trees.words import UNKNOWN

__all__ = ["INEX"]


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    if vocabs is None:
        tags = Vocabulary(unknown=UNKNOWN)
        vocabs = {"label": tags, "target": Vocabulary()}
    return read_inex(path, vocabs=vocabs)


def _build(settings: ModelSettings, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_encoder(settings, OneHot("label", len(vocabs["label"])))
    head = make_head(settings, encoder, len(vocabs["target"]))
    return Classifier(encoder, make_readout(settings, encoder), head)


INEX = Task("inex", _read, _build, max_children=32)
