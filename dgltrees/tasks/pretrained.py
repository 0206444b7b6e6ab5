"""Words and texts in the pretrained encoder of the setting ``data.pretrained``.

Its vectors are computed once, when the data are read. With ``data.fine_tune``, the data contain the
ids of sub-words instead, and the encoder is a part of the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from dgltrees.errors import ConfigError
from dgltrees.models.fine_tuned import (
    FineTunedWords,
    PretrainedEncoder,
    SubwordEncoder,
    freeze_layers,
)
from dgltrees.models.inputs import GivenVectors, Input, WordEmbedding
from dgltrees.models.subwords import SubwordTokenizer, encoder_files, read_transformer
from dgltrees.tasks.files import data_files
from dgltrees.tasks.settings import DataSettings, PretrainedSettings, is_fine_tuned
from dgltrees.trees import Forest, Vocabulary
from dgltrees.trees.segments import offsets_of

Words = FineTunedWords | GivenVectors | WordEmbedding

VECTOR = "vector"
"""The node column ``(N, size)`` of the vectors of words."""
SUBWORDS = "subword"
"""The node column ``(N, P)`` of the ids of the sub-words of words, padded with -1."""


def with_pretrained(sentences: Forest, settings: DataSettings) -> Forest:
    """Add the vectors or sub-words of a pretrained encoder, if the settings name one.

    Arguments:
        sentences: trees with every word in its form for the encoder, in the order of the sentence;
            nodes without a word (-1) get zeros, or no sub-words.
        settings: the data settings.
    """
    reader = pretrained_reader(settings)
    if reader is None:
        return sentences
    ids = np.asarray(sentences.columns["word"])
    has_word = ids >= 0
    words = sentences.vocabs["word"].decode(ids[has_word])
    bounds = offsets_of(has_word)[sentences.offsets].tolist()
    texts = [words[i:j] for i, j in itertools.pairwise(bounds)]
    if isinstance(reader, SubwordTokenizer):
        rows = reader.words(texts)
        table = np.full((len(ids), rows.shape[1]), -1, np.int32)
        table[has_word] = rows
        vocabs = {**sentences.vocabs, SUBWORDS: reader.names}
        return replace(sentences, columns={**sentences.columns, SUBWORDS: table}, vocabs=vocabs)
    vectors = np.zeros((len(ids), reader.size), np.float32)
    vectors[has_word] = reader(texts).numpy()
    return replace(sentences, columns={**sentences.columns, VECTOR: vectors})


def make_words(
    vocabs: Mapping[str, Vocabulary], size: int, *, pretrained: bool = False, frozen: bool = False
) -> Words:
    """Return the word vectors of a model: a lookup table, or those of a pretrained encoder.

    Arguments:
        vocabs: the vocabularies of the words, or of the sub-words of the pretrained encoder.
        size: size of a vector.
        pretrained: use the vectors of a pretrained encoder.
        frozen: do not train the lookup table.
    """
    if pretrained:
        return FineTunedWords(SUBWORDS, size) if SUBWORDS in vocabs else GivenVectors(VECTOR, size)
    return WordEmbedding("word", len(vocabs["word"]), size, frozen=frozen)


def attach_pretrained(model: nn.Module, settings: DataSettings, *, weights: bool = True) -> None:
    """Add the encoder that is fine-tuned to a new model, if the model uses one.

    Arguments:
        model: the model.
        settings: the data settings.
        weights: load the encoder's weights; otherwise they are random, for a model whose weights
            are loaded afterwards.

    Raises:
        ConfigError: the encoder cannot be loaded, or has fewer layers than are to be frozen.
    """
    if not isinstance(settings, PretrainedSettings) or not settings.fine_tune:
        return
    folder, tokenizer = pretrained_folder(settings), pretrained_reader(settings)
    if folder is None or not isinstance(tokenizer, SubwordTokenizer):
        return
    for each in model.modules():
        if isinstance(each, SubwordEncoder):
            transformer = read_transformer(folder, weights=weights)
            freeze_layers(transformer, settings.frozen_layers)
            each.attach(tokenizer, transformer)
            return  # a model reads one folder


def check_pretrained(model: nn.Module, settings: DataSettings) -> None:
    """Check that the model uses a pretrained encoder's vectors if and only if there are any.

    Raises:
        ConfigError: it does not, or its word vectors have the wrong size.
    """
    reader: Any = model.encoder
    vectors: Input | None = reader.input if reader.input.ids is None else None
    encoder = pretrained_reader(settings)
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


def pretrained_folder(settings: DataSettings) -> Path | None:
    """Return the folder ``data.pretrained``; None if it is not set.

    Raises:
        ConfigError: there is no such folder, or several.
    """
    if not isinstance(settings, PretrainedSettings) or not settings.pretrained:
        return None
    folders = data_files(settings, "pretrained")
    if len(folders) > 1:
        raise ConfigError(f"expected one folder as data.pretrained, got {len(folders)}")
    return folders[0] if folders else None


def pretrained_reader(settings: DataSettings) -> PretrainedEncoder | SubwordTokenizer | None:
    """Return the encoder whose vectors are computed once, or the tokenizer of a fine-tuned one.

    Without an encoder it is None.

    Raises:
        ConfigError: its folder does not exist, or it cannot be loaded.
    """
    folder, tuned = pretrained_folder(settings), is_fine_tuned(settings)
    if folder is None:
        return None
    files = encoder_files(folder, weights=not tuned)
    changes = tuple((path.name, path.stat().st_mtime_ns) for path in files)
    return _reader(folder.absolute(), tuned, changes)


@lru_cache(maxsize=2)  # a frozen encoder, and the tokenizer of a fine-tuned one
def _reader(
    folder: Path, tuned: bool, changes: tuple[tuple[str, int], ...]
) -> PretrainedEncoder | SubwordTokenizer:
    return SubwordTokenizer(folder) if tuned else PretrainedEncoder(folder)
