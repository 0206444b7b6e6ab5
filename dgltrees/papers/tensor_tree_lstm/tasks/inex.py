"""INEX 2005: the class of an XML document from the structure of its tags alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import nn

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.models.classifier import Classifier
from dgltrees.models.inputs import OneHot
from dgltrees.options import Options
from dgltrees.papers.tensor_tree_lstm.data.inex import stream_inex
from dgltrees.tasks.settings import WordSettings
from dgltrees.tasks.task import Names
from dgltrees.tasks.trees.base import TreeTask, make_encoder, make_head, make_readout
from dgltrees.tasks.trees.settings import ReadoutSettings, TreeModel
from dgltrees.trees import Examples, Vocabulary
from dgltrees.trees.words import UNKNOWN

__all__ = ["INEX", "TreesModel"]


@dataclass(frozen=True)
class TreesModel(ReadoutSettings, TreeModel):
    """A classifier of trees."""


def _read(
    path: PathLike, settings: WordSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    if vocabs is None:
        tags = Vocabulary(unknown=UNKNOWN)
        vocabs = {"label": tags, "target": Vocabulary()}
    return stream_inex(path, trees, vocabs=vocabs, labeled=labeled)


def _build(model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_encoder(model, OneHot("label", len(vocabs["label"])))
    head = make_head(model, encoder, vocabs)
    return Classifier(encoder, make_readout(model, encoder), head)


INEX = TreeTask(
    "inex",
    WordSettings,
    TreesModel,
    {"inex": _read},
    _build,
    max_children=32,
    reads=FORMATS["inex"].description,
)
