"""INEX 2005: the class of an XML document from the structure of its tags alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.models.classifier import Classifier
from dgltrees.models.inputs import OneHot
from dgltrees.papers.tensor_tree_lstm.data.inex import stream_inex
from dgltrees.tasks.settings import WordSettings
from dgltrees.tasks.task import Names
from dgltrees.tasks.trees.base import TreeTask
from dgltrees.tasks.trees.settings import ReadoutSettings, TreeModel
from dgltrees.trees import Examples, Vocabulary
from dgltrees.trees.words import UNKNOWN

__all__ = ["INEX", "TreesModel"]


@dataclass(frozen=True)
class TreesModel(ReadoutSettings, TreeModel):
    """A classifier of trees."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> Classifier:
        """The model."""
        encoder = self.encoder(OneHot("label", len(vocabs["label"])))
        head = self.mlp(encoder.size, len(vocabs["target"]), self.init)
        return Classifier(encoder, self.tree_vectors(encoder.size), head)


def _read(
    path: PathLike, settings: WordSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    if vocabs is None:
        tags = Vocabulary(unknown=UNKNOWN)
        vocabs = {"label": tags, "target": Vocabulary()}
    return stream_inex(path, trees, vocabs=vocabs, labeled=labeled)


INEX = TreeTask(
    "inex",
    WordSettings,
    TreesModel,
    {"inex": _read},
    max_children=32,
    reads=FORMATS["inex"].description,
)
