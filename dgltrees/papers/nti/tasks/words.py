"""Words of sentences: their vectors, also of a pretrained encoder, and LSTMs over them."""

from __future__ import annotations

import itertools
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from torch import nn

from dgltrees.errors import ConfigError
from dgltrees.models.encoder import Encoder
from dgltrees.models.inputs import GivenVectors, Input, WordEmbedding
from dgltrees.models.sequence_encoder import SequenceEncoder
from dgltrees.settings import Count, Fraction
from dgltrees.tasks.pretrained import pretrained_encoder
from dgltrees.tasks.sequences import (
    SENTENCE_ENCODERS,
    SEQUENCES,
    BidirectionalLSTM,
    Encoders,
    EncoderSettings,
)
from dgltrees.tasks.settings import DataSettings
from dgltrees.trees import Forest, Vocabulary
from dgltrees.trees.segments import offsets_of

Words = GivenVectors | WordEmbedding

VECTOR = "vector"
"""The node column ``(N, size)`` of the vectors of words."""


def with_pretrained(sentences: Forest, settings: DataSettings) -> Forest:
    """Add the vectors of a pretrained encoder, if the settings name one."""
    encoder = pretrained_encoder(settings)
    if encoder is None:
        return sentences
    ids = np.asarray(sentences.columns["word"])
    has_word = ids >= 0
    words = sentences.vocabs["word"].decode(ids[has_word])
    bounds = offsets_of(has_word)[sentences.offsets].tolist()
    texts = [words[i:j] for i, j in itertools.pairwise(bounds)]
    vectors = np.zeros((len(ids), encoder.size), np.float32)
    vectors[has_word] = encoder(texts).numpy()
    return replace(sentences, columns={**sentences.columns, VECTOR: vectors})


def make_words(
    vocabs: Mapping[str, Vocabulary], size: int, *, pretrained: bool = False, frozen: bool = False
) -> Words:
    """Return the word vectors of a model: a lookup table, or those of a pretrained encoder."""
    if pretrained:
        return GivenVectors(VECTOR, size)
    return WordEmbedding("word", len(vocabs["word"]), size, frozen=frozen)


def check_pretrained(model: nn.Module, settings: DataSettings) -> None:
    """Check that the model uses a pretrained encoder's vectors if and only if there are any."""
    reader: Any = model.encoder
    vectors: Input | None = reader.input if reader.input.ids is None else None
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


class WordLSTM(SequenceEncoder):
    """An LSTM over sentences.

    Arguments:
        input_dropout: probability of dropout on the word vectors and between the layers.
    """

    def __init__(
        self,
        inputs: Input,
        hidden_size: Count,
        *,
        layers: Count = 1,
        input_dropout: Fraction = 0.0,
        bidirectional: bool = False,
    ) -> None:
        super().__init__(
            inputs, hidden_size, dropout=input_dropout, layers=layers, bidirectional=bidirectional
        )


class BidirectionalWordLSTM(WordLSTM):
    """A bidirectional LSTM over sentences, with dropout on the word vectors."""

    def __init__(self, inputs: Input, hidden_size: Count, **options: Any) -> None:
        super().__init__(inputs, hidden_size, bidirectional=True, **options)

    display_name = BidirectionalLSTM.display_name


SEQUENTIAL: Encoders = {**SEQUENCES, "lstm": WordLSTM, "bilstm": BidirectionalWordLSTM}
"""The encoders of the words of a sentence, with dropout on the word vectors in LSTMs."""


def sentence_encoders(**own: type[Encoder] | type[EncoderSettings]) -> Encoders:
    """Return the encoders of a task on sentences: its own, those that are added, and the core's.

    Encoders that are added later are included.
    """
    # in the order of names the last is first
    return ChainMap(SEQUENTIAL, own, SENTENCE_ENCODERS)  # type: ignore[arg-type]
