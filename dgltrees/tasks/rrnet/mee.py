"""Math expression evaluation: the value of a bracketed expression, digit by digit.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 3.1. Every encoder reads the
characters and has the same decoder; an answer is right if both digits are. Accuracy is reported by
the number of operators too.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Optional

from torch import nn

from dgltrees.formats.mee import read_mee
from dgltrees.models import NumberDecoder
from dgltrees.tasks.rrnet.base import ReadingTask, classifier, make_reading_encoder, symbols
from dgltrees.tasks.settings import DataSettings, ModelSettings
from dgltrees.trees import Examples, Vocabulary

__all__ = ["MEE"]

_MANY_OPERATORS = 99


def _read(
    path: Path, settings: DataSettings, vocabs: Optional[Mapping[str, Vocabulary]]
) -> Examples:
    return read_mee(path)


def _build(settings: ModelSettings, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
    inputs = symbols(settings, vocabs["word"])
    encoder = make_reading_encoder(settings, inputs, dropout=settings.dropout)
    return classifier(settings, encoder, NumberDecoder(encoder.size))


MEE = ReadingTask("mee", _read, _build, max_children=1, by=("operators", _MANY_OPERATORS))
