"""The settings of language models over trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dgltrees.settings import Count, Fraction
from dgltrees.tasks.settings import Files, WordSettings

__all__ = ["TreeLMModel", "TreeLMSettings"]


@dataclass(frozen=True)
class TreeLMSettings(WordSettings):
    """The data of language models over trees."""

    label: str = "label"
    """Node column whose names are the words, in saved forests of other trees than dependencies."""
    lower: bool = False
    """Turn words to lower case."""
    max_words: Count | None = None
    """Longest sentence in words; longer ones are left out."""
    single_root: bool = True
    """Refuse sentences with several words below ROOT, as files in CoNLL-X may have."""
    vectors: Files = None
    """Text file of word vectors, a word and its numbers a line, to start the embedding with."""


@dataclass(frozen=True)
class TopDownSettings:
    """A language model along a tree, top-down."""

    left_dependents: bool = False
    """Use an LdTreeLSTM, which reads left dependents before it generates right ones."""
    shared: bool = False
    """Use one LSTM for all four types of edges; by default each has its own."""
    labels: bool = False
    """Predict each word's dependency label after it."""
    stops: bool = False
    """Generate a tree's shape too, by START and STOP; perplexity stays that of the words."""


@dataclass(frozen=True)
class SequenceSettings:
    """A language model along the words of a sentence."""

    end: bool = False
    """Predict the end of each sentence too; perplexity stays that of the words."""


@dataclass(frozen=True)
class NoiseSettings:
    """Noise-contrastive estimation."""

    noise: Count = 20
    """Noise words that are drawn for each word."""


@dataclass(frozen=True)
class TreeLMModel:
    """A language model over trees, or over their words alone."""

    parts: ClassVar[Mapping[str, Any]] = {
        "language_model": {
            "tree": TopDownSettings,
            "sequence": SequenceSettings,
            "bidirectional": None,
        },
        "objective": {"nll": None, "nce": NoiseSettings},
    }

    language_model: str = "tree"
    """What a word is predicted from: its ancestors and siblings (tree), the words before it
    (sequence), or those on both sides (bidirectional)."""
    hidden_size: Count = 50
    """Size of a state."""
    embedding: Count = 100
    """Size of a word's vector."""
    layers: Count = 1
    """Layers of the LSTMs."""
    tied: bool = False
    """Use the word vectors as output embeddings."""
    output_dropout: Fraction = 0.0
    """Probability of dropout between the top layer and the output layer."""
    objective: str = "nll"
    """Training loss: full softmax (nll), or noise-contrastive estimation (nce)."""
