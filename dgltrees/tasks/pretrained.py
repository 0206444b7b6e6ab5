"""Words and texts with vectors from the pretrained encoder that ``data.pretrained`` names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
from torch import nn

from dgltrees.errors import ConfigError
from dgltrees.models import GivenVectors, Input, WordEmbedding
from dgltrees.models.pretrained import PretrainedEncoder
from dgltrees.options import Options
from dgltrees.tasks.files import data_files
from dgltrees.tasks.settings import DataSettings
from dgltrees.trees import Forest, Vocabulary
from dgltrees.trees.segments import offsets_of

__all__ = [
    "VECTOR",
    "Words",
    "check_pretrained",
    "make_words",
    "pretrained_encoder",
    "with_pretrained",
]

Words = Union[GivenVectors, WordEmbedding]

VECTOR = "vector"
"""The node column ``(N, size)`` of these vectors."""


def with_pretrained(sentences: Forest, settings: DataSettings) -> Forest:
    """Add the word vectors of a pretrained encoder, if ``data.pretrained`` names one.

    Arguments:
        sentences: trees with every word as the encoder should read it, in the order of the
            sentence; nodes without a word (-1) have zeros.
        settings: the data settings.
    """
    encoder = pretrained_encoder(settings)
    if encoder is None:
        return sentences
    ids = np.asarray(sentences.columns["word"])
    has_word = ids >= 0
    words = sentences.vocabs["word"].decode(ids[has_word])
    bounds = offsets_of(has_word)[sentences.offsets].tolist()
    vectors = np.zeros((len(ids), encoder.size), np.float32)
    vectors[has_word] = encoder([words[i:j] for i, j in zip(bounds, bounds[1:])]).numpy()
    return replace(sentences, columns={**sentences.columns, VECTOR: vectors})


def make_words(model: Options, vocabs: Mapping[str, Vocabulary]) -> Words:
    """The word vectors that the settings describe: a table, or those of :func:`with_pretrained`."""
    if model["words"] == "pretrained":
        return GivenVectors(VECTOR, model["embedding"])
    frozen = model.get("fixed_words", False)
    return WordEmbedding("word", len(vocabs["word"]), model["embedding"], frozen=frozen)


def check_pretrained(model: nn.Module, settings: DataSettings) -> None:
    """Check that the model reads a pretrained encoder's vectors if and only if there are any.

    Raises:
        ConfigError: it does not, or its word vectors have the wrong size.
    """
    reader: Any = model.encoder
    vectors: Optional[Input] = reader.input if reader.input.ids is None else None
    encoder = pretrained_encoder(settings)
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


def pretrained_encoder(settings: DataSettings) -> Optional[PretrainedEncoder]:
    """The encoder in the folder ``data.pretrained``; None if none is named.

    Raises:
        ConfigError: there is no such folder, or several, or it cannot be loaded.
    """
    folders = data_files(settings, "pretrained")
    if len(folders) > 1:
        raise ConfigError(f"expected one folder as data.pretrained, got {len(folders)}")
    return _load(folders[0]) if folders else None


@lru_cache(maxsize=1)
def _load(folder: Path) -> PretrainedEncoder:
    return PretrainedEncoder(folder)
