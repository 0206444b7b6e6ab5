"""Sentences with word vectors from a pretrained encoder."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional

from torch import nn

from dgltrees.errors import ConfigError
from dgltrees.models import Input
from dgltrees.models.pretrained import PretrainedEncoder
from dgltrees.tasks.files import data_files
from dgltrees.tasks.sentences.settings import SentenceSettings
from dgltrees.trees import Forest

__all__ = ["VECTOR", "check_pretrained", "with_pretrained"]

VECTOR = "vector"
"""The node column ``(N, size)`` of these vectors."""


def with_pretrained(sentences: Forest, settings: SentenceSettings) -> Forest:
    """Add the word vectors of a pretrained encoder, if ``data.pretrained`` names one.

    Arguments:
        sentences: chains with every word as the encoder should read it.
        settings: the data settings.
    """
    encoder = _encoder_of(settings)
    if encoder is None:
        return sentences
    words = sentences.vocabs["word"].decode(sentences.columns["word"])
    bounds = zip(sentences.offsets[:-1].tolist(), sentences.offsets[1:].tolist())
    vectors = encoder([words[start:stop] for start, stop in bounds]).numpy()
    return replace(sentences, columns={**sentences.columns, VECTOR: vectors})


def check_pretrained(model: nn.Module, settings: SentenceSettings) -> None:
    """Check that the model reads a pretrained encoder's vectors if and only if there are any.

    Raises:
        ConfigError: it does not, or its word vectors have the wrong size.
    """
    reader: Any = model.encoder
    vectors: Optional[Input] = reader.input if reader.input.ids is None else None
    encoder = _encoder_of(settings)
    if (vectors is None) != (encoder is None):
        raise ConfigError(
            "expected model.words pretrained and data.pretrained together, got only "
            f"{'data.pretrained' if vectors is None else 'model.words pretrained'}"
        )
    if vectors is not None and encoder is not None and vectors.size != encoder.size:
        raise ConfigError(
            f"expected model.embedding {encoder.size}, the size of the pretrained encoder's "
            f"vectors, got {vectors.size}"
        )


def _encoder_of(settings: SentenceSettings) -> Optional[PretrainedEncoder]:
    folders = data_files(settings, "pretrained")
    if len(folders) > 1:
        raise ConfigError(f"expected one folder as data.pretrained, got {len(folders)}")
    return _load(folders[0]) if folders else None


@lru_cache(maxsize=1)
def _load(folder: Path) -> PretrainedEncoder:
    return PretrainedEncoder(folder)
