"""Any labeled forest: classify its trees, or label its nodes.

The data are folders that ``Forest.save`` wrote. One column of names is the input of every node;
another one has the classes of all nodes (``label``), or those of the trees at their roots
(``classify``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import numpy as np
from numpy.typing import NDArray
from torch import nn

from dgltrees.errors import TreeError
from dgltrees.models import Classifier, EveryNode, WordEmbedding
from dgltrees.options import Options
from dgltrees.tasks.trees.base import TreeTask, make_encoder, make_head, make_readout
from dgltrees.tasks.trees.settings import LabeledSettings, WordClassifyModel, WordNodesModel
from dgltrees.trees import Examples, Forest, Vocabulary
from dgltrees.trees.words import UNKNOWN

__all__ = ["CLASSIFY", "LABEL"]


def _read(
    path: Path, settings: LabeledSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    if vocabs is None:
        names = Vocabulary(unknown=UNKNOWN)
        vocabs = {"label": names, "target": Vocabulary()}
    saved = Forest.load(path)
    columns: dict[str, NDArray[Any]] = {
        "label": _column(saved, settings.label, vocabs["label"], path),
        "target": _column(saved, settings.target, vocabs["target"], path).astype(np.int64),
    }
    forest = Forest(saved.parent, saved.pos, saved.offsets, columns, {"label": vocabs["label"]})
    return Examples(forest, {"target": columns["target"][forest.roots]}, targets=vocabs["target"])


def _column(forest: Forest, name: str, vocab: Vocabulary, path: Path) -> NDArray[np.int32]:
    """Encode a column of names by ``vocab``; -1 is kept."""
    if name not in forest.columns or name not in forest.vocabs:
        raise TreeError(
            f"expected a column {name!r} of names with its vocabulary, got columns "
            f"{list(forest.columns)} and vocabularies {list(forest.vocabs)}; see data.label and "
            "data.target",
            file=path,
        )
    ids = np.asarray(forest.columns[name])
    used = np.unique(ids[ids >= 0])  # names that no node has need not be known
    renumber = np.full(len(forest.vocabs[name]) + 1, -1, np.int32)  # the last row is for -1
    renumber[used] = vocab.encode(forest.vocabs[name].decode(used))
    return np.asarray(renumber[ids])


def _classifier(model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_encoder(model, _names(model, vocabs))
    head = make_head(model, encoder, vocabs)
    return Classifier(encoder, make_readout(model, encoder), head)


def _labeler(model: Options, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    encoder = make_encoder(model, _names(model, vocabs))
    return Classifier(encoder, EveryNode(), make_head(model, encoder, vocabs))


def _names(model: Options, vocabs: Mapping[str, Vocabulary]) -> WordEmbedding:
    return WordEmbedding("label", len(vocabs["label"]), model["embedding"])


_FOLDER = "a folder of labelled trees that Forest.save wrote"
CLASSIFY = TreeTask(
    "classify", LabeledSettings, WordClassifyModel, _read, _classifier, reads=_FOLDER
)
LABEL = TreeTask(
    "label",
    LabeledSettings,
    WordNodesModel,
    _read,
    _labeler,
    nodes=True,
    accuracy_over="node",
    reads=_FOLDER,
)
