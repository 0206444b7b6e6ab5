"""Logical relations between sentences that are read token by token.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.2: the pairs of the task
``logic``, brackets being tokens that split and merge; files, split and report are the same too.
Encodings are compared by an MLP over them, their difference and their product: with the bilinear
layer of ``logic`` sequential encoders learn far more slowly.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from torch import nn

from dgltrees.formats.logic import read_logic_sequences
from dgltrees.tasks.rrnet.base import ReadingTask, classifier, make_reading_encoder, symbols
from dgltrees.tasks.sentences.models import make_pair_head
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.trees import Examples, Vocabulary

__all__ = ["LOGIC_SEQUENCE"]


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    return read_logic_sequences(path)


def _build(settings: ModelSettings, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    inputs = symbols(settings, vocabs["word"])
    encoder = make_reading_encoder(settings, inputs, dropout=settings.dropout)
    head = make_pair_head(settings, encoder.size, len(vocabs["target"]))
    return classifier(settings, encoder, head)


LOGIC_SEQUENCE = ReadingTask("logic-sequence", _read, _build, max_children=1, by=("operators", 12))
