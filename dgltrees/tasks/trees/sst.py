"""Stanford Sentiment Treebank: the sentiment of every constituent of a sentence.

Socher et al. (2013), with the trees and the protocol of Tai et al. (2015): words are at the
leaves; the model learns the labels of all constituents, and metrics are over sentences. There are
five classes, or two without the neutral one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Optional

import numpy as np
from torch import nn

from dgltrees.formats import FORMATS
from dgltrees.formats.sst import read_sst
from dgltrees.models import Classifier, EveryNode, WordEmbedding
from dgltrees.options import Options
from dgltrees.tasks.trees.base import TreeTask, make_encoder, make_head
from dgltrees.tasks.trees.settings import SSTSettings, WordNodesModel
from dgltrees.tasks.trees.supervision import root_labels
from dgltrees.trees import Examples, Vocabulary
from dgltrees.trees.words import UNKNOWN

__all__ = ["SST"]

_NEUTRAL = 2


def _read(
    path: Path, settings: SSTSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    words = vocabs["word"] if vocabs else Vocabulary(unknown=UNKNOWN)
    data = read_sst(path, vocabs={"word": words})
    data = _binary(data) if settings.binary else data
    return data if settings.supervise == "nodes" else root_labels(data)


def _binary(data: Examples) -> Examples:
    """Negative (0) and positive (1): drop neutral sentences, and the class of neutral nodes."""
    data = data.select(np.flatnonzero(data.columns["target"] != _NEUTRAL))
    nodes = np.asarray(data.forest.columns["target"])
    classes = np.where(nodes == _NEUTRAL, -1, nodes > _NEUTRAL)
    forest = replace(data.forest, columns={**data.forest.columns, "target": classes})
    names = Vocabulary(["negative", "positive"], frozen=True)
    return Examples(forest, {"target": classes[forest.roots]}, targets=names)


def _build(model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    words = WordEmbedding("word", len(vocabs["word"]), model["embedding"])
    encoder = make_encoder(model, words)
    return Classifier(encoder, EveryNode(), make_head(model, encoder, vocabs))


SST = TreeTask(
    "sst-tree",
    SSTSettings,
    WordNodesModel,
    _read,
    _build,
    nodes=True,
    max_children=2,
    reads=FORMATS["sst"].description,
)
