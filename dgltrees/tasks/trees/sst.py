"""Stanford Sentiment Treebank: the sentiment of every constituent of a sentence.

Socher et al. (2013), with the trees and the protocol of Tai et al. (2015): words are at the
leaves; the model learns the labels of all constituents, and metrics are over sentences. There are
five classes, or two without the neutral one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

import numpy as np
from torch import nn

from dgltrees.formats import FORMATS
from dgltrees.formats.sst import read_sst
from dgltrees.models import Classifier, EveryNode
from dgltrees.options import Options
from dgltrees.tasks.pretrained import check_pretrained, make_words, with_pretrained
from dgltrees.tasks.trees.base import TreeTask, make_encoder, make_head
from dgltrees.tasks.trees.settings import SSTSettings, WordNodesModel
from dgltrees.tasks.trees.supervision import root_labels
from dgltrees.trees import Examples, Vocabulary
from dgltrees.trees.words import UNKNOWN, recode

__all__ = ["SST"]

_NEUTRAL = 2


def _read(
    path: Path, settings: SSTSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    words = vocabs["word"] if vocabs else Vocabulary(unknown=UNKNOWN)
    data = read_sst(path)
    forest = recode(with_pretrained(data.forest, settings), {"word": words})
    data = replace(data, forest=forest)
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
    _read,
    _build,
    nodes=True,
    max_children=2,
    reads=FORMATS["sst"].description,
)
