"""Logical relations between sentences that are read token by token.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.2: the pairs of the task
``logic``, brackets being tokens that split and merge. Every encoder is followed by the comparison
layer that the task ``logic`` has; files, split and report are the same too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

import torch
from torch import nn

from dgltrees.models import Comparison, WordEmbedding
from dgltrees.models.rrnet import PairAnswer
from dgltrees.tasks.reading import ReadingTask, make_reading_encoder, reader, reading_name
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.trees import Examples, Vocabulary
from dgltrees.trees.readers.logic import read_logic_sequences

__all__ = ["LOGIC_SEQUENCE"]


class LogicSequenceTask(ReadingTask):
    """Pairs of sentences as chains of tokens."""

    def kind(self, model: ModelSettings) -> str:
        """The encoder's name."""
        return reading_name(model)


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    return read_logic_sequences(path)


def _build(settings: ModelSettings, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    rows, size = len(vocabs["word"]), settings.embedding
    # N(0, 1): from the small vectors that words have by default, learning begins late
    inputs = WordEmbedding("word", rows, size, vectors=torch.randn(rows, size))
    encoder = make_reading_encoder(settings, inputs, dropout=settings.dropout)
    compare = Comparison(encoder.size, len(vocabs["target"]), init=settings.init)
    return reader(settings, encoder, PairAnswer(compare))


LOGIC_SEQUENCE = LogicSequenceTask(
    "logic-sequence", _read, _build, max_children=1, by=("operators", 12)
)
