"""Stanford Sentiment Treebank: the sentiment of every constituent of a sentence.

Socher et al. (2013), with the trees and the protocol of Tai et al. (2015): words are at the
leaves; the model learns the labels of all constituents, and metrics are over sentences. There are
five classes, or two without the neutral one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from torch import nn

from dgltrees._files import PathLike
from dgltrees.formats import FORMATS
from dgltrees.models.classifier import Classifier
from dgltrees.models.readout import EveryNode
from dgltrees.options import Count, Options
from dgltrees.papers.nti.data.sst import SST_LABELS, stream_sst
from dgltrees.papers.nti.graphs.binary import binary_constituents, binary_dependencies
from dgltrees.tasks.pretrained import check_pretrained, make_words, with_pretrained
from dgltrees.tasks.settings import PretrainedSettings
from dgltrees.tasks.task import Names, Reader
from dgltrees.tasks.trees.base import TreeTask, make_encoder, make_head
from dgltrees.tasks.trees.settings import HeadSettings, TreeModel
from dgltrees.tasks.trees.supervision import SupervisedSettings, root_labels
from dgltrees.trees import Examples, Forest, Vocabulary
from dgltrees.trees.words import UNKNOWN, recode

__all__ = ["SST", "SSTSettings", "WordNodesModel"]


@dataclass(frozen=True)
class SSTSettings(SupervisedSettings, PretrainedSettings):
    """The data of the Stanford Sentiment Treebank."""

    binary: bool = False
    """Learn positive against negative, without neutral trees and nodes; by default five classes."""


@dataclass(frozen=True)
class WordNodesModel(HeadSettings, TreeModel):
    """A classifier of all nodes, with a vector per word."""

    words: Literal["table", "pretrained"] = "table"
    """Word vectors: a table that is learned, or those of ``data.pretrained``."""
    embedding: Count = 100
    """Size of a word's vector."""


_NEUTRAL = 2
_CLASSES = {
    False: Vocabulary(SST_LABELS, frozen=True),
    True: Vocabulary(["negative", "positive"], frozen=True),
}


def _read(
    path: PathLike, settings: SSTSettings, vocabs: Names, *, labeled: bool, trees: int
) -> Iterator[Examples]:
    words = vocabs["word"] if vocabs else Vocabulary(unknown=UNKNOWN)
    for data in stream_sst(path, trees, labeled=labeled):
        forest = recode(with_pretrained(data.forest, settings), {"word": words})
        data = replace(data, forest=forest)
        data = _binary(data, labeled) if settings.binary else data
        yield data if settings.supervise == "nodes" else root_labels(data)


def _parses(name: str, binary: Callable[[Forest], Forest]) -> Reader:
    """Reads trees without sentiment from a format; ``binary`` makes the trees of the treebank."""

    def read(
        path: PathLike, settings: SSTSettings, vocabs: Names, *, labeled: bool, trees: int
    ) -> Iterator[Examples]:
        words = {"word": vocabs["word"] if vocabs else Vocabulary(unknown=UNKNOWN)}
        for data in FORMATS[name].chunks(path, trees):
            forest = recode(with_pretrained(binary(data.forest), settings), words)
            target = np.full(forest.num_nodes, -1)
            forest = replace(forest, columns={**forest.columns, "target": target})
            classes = _CLASSES[settings.binary]
            yield Examples(forest, {"target": target[forest.roots]}, targets=classes)

    return read


def _binary(data: Examples, labeled: bool) -> Examples:
    """Negative (0) and positive (1); neutral nodes have no class, neutral sentences go."""
    if labeled:
        data = data.select(np.flatnonzero(data.columns["target"] != _NEUTRAL))
    nodes = np.asarray(data.forest.columns["target"])
    classes = np.where((nodes == _NEUTRAL) | (nodes < 0), -1, nodes > _NEUTRAL)
    forest = replace(data.forest, columns={**data.forest.columns, "target": classes})
    return Examples(forest, {"target": classes[forest.roots]}, targets=_CLASSES[True])


def _build(model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    words = make_words(model, vocabs)
    encoder = make_encoder(model, words)
    return Classifier(encoder, EveryNode(), make_head(model, encoder, vocabs))


@dataclass(frozen=True)
class SSTTask(TreeTask):
    """A task on trees with words at their leaves."""

    def init_from_data(  # type: ignore[override]
        self, model: nn.Module, settings: SSTSettings, data: Examples
    ) -> None:
        """Check that the model reads a pretrained encoder's vectors if there are any.

        Raises:
            ConfigError: it does not, or its word vectors have the wrong size.
        """
        check_pretrained(model, settings)


SST = SSTTask(
    "sst-tree",
    SSTSettings,
    WordNodesModel,
    {
        "sst": _read,
        "mrg": _parses("mrg", binary_constituents),
        "conllu": _parses("conllu", binary_dependencies),
        "dp": _parses("dp", binary_dependencies),
    },
    _build,
    nodes=True,
    max_children=2,
    reads=f"{FORMATS['sst'].description} To predict: these with labels or without, or parses as "
    "mrg, or with heads as conllu or dp.",
)
