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
from dgltrees.models.fine_tuned import FineTunedWords, SubwordEncoder, freeze_layers
from dgltrees.models.inputs import GivenVectors, Input, WordEmbedding
from dgltrees.models.pretrained import PretrainedEncoder
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
    encoder, tokenizer = pretrained_encoder(settings), subword_tokenizer(settings)
    if encoder is None and tokenizer is None:
        return sentences
    ids = np.asarray(sentences.columns["word"])
    has_word = ids >= 0
    words = sentences.vocabs["word"].decode(ids[has_word])
    bounds = offsets_of(has_word)[sentences.offsets].tolist()
    texts = [words[i:j] for i, j in itertools.pairwise(bounds)]
    if tokenizer is not None:
        rows = tokenizer.words(texts)
        table = np.full((len(ids), rows.shape[1]), -1, np.int32)
        table[has_word] = rows
        columns = {**sentences.columns, SUBWORDS: table}
        return replace(
            sentences, columns=columns, vocabs={**sentences.vocabs, SUBWORDS: tokenizer.names}
        )
    assert encoder is not None
    vectors = np.zeros((len(ids), encoder.size), np.float32)
    vectors[has_word] = encoder(texts).numpy()
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
    folder, tokenizer = pretrained_folder(settings), subword_tokenizer(settings)
    if not isinstance(settings, PretrainedSettings) or folder is None or tokenizer is None:
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
    encoder = pretrained_encoder(settings) or subword_tokenizer(settings)
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


def pretrained_encoder(settings: DataSettings) -> PretrainedEncoder | None:
    """Return the encoder whose vectors are computed once; None without one, or if it is fine-tuned.

    Raises:
        ConfigError: its folder does not exist, or it cannot be loaded.
    """
    folder = pretrained_folder(settings)
    if folder is None or is_fine_tuned(settings):
        return None
    return _encoder(folder.absolute(), _state(folder, weights=True))


def subword_tokenizer(settings: DataSettings) -> SubwordTokenizer | None:
    """Return the tokenizer of the encoder that is fine-tuned; None without one.

    Raises:
        ConfigError: its folder does not exist, or it cannot be loaded.
    """
    folder = pretrained_folder(settings)
    if folder is None or not is_fine_tuned(settings):
        return None
    return _tokenizer(folder.absolute(), _state(folder, weights=False))


def _state(folder: Path, *, weights: bool) -> tuple[tuple[str, int], ...]:
    """Return values that change when the files of a folder are rewritten."""
    files = encoder_files(folder, weights=weights)
    return tuple((path.name, path.stat().st_mtime_ns) for path in files)


@lru_cache(maxsize=1)
def _encoder(folder: Path, state: tuple[tuple[str, int], ...]) -> PretrainedEncoder:
    return PretrainedEncoder(folder)


@lru_cache(maxsize=1)
def _tokenizer(folder: Path, state: tuple[tuple[str, int], ...]) -> SubwordTokenizer:
    return SubwordTokenizer(folder)
