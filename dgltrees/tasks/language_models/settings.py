"""The settings of language models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Optional

from dgltrees.models.rrnet import OBJECTIVES, QLearning
from dgltrees.models.rrnet.choosing import Consume
from dgltrees.options import Count, Fraction
from dgltrees.tasks.rrnet.settings import (
    Consumption,
    FixedOperationsSettings,
    LearnedOperations,
    LimitedStack,
    LSTMSettings,
    PolicySettings,
    RRNetSettings,
)
from dgltrees.tasks.settings import Files, WordSettings

__all__ = ["StreamModel", "StreamSettings", "TreeLMModel", "TreeLMSettings"]


@dataclass(frozen=True)
class TreeLMSettings(WordSettings):
    """The data of language models over trees."""

    label: str = "label"
    """Node column whose names are the words, in saved forests of other trees than dependencies."""
    lower: bool = False
    """Turn words to lower case."""
    max_words: Optional[Count] = None
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


@dataclass(frozen=True)
class StreamSettings(WordSettings):
    """The data of language models over running text, whose order stays."""

    hidden: ClassVar[tuple[str, ...]] = ("seed",)

    window: Count = 35
    """Words of each stream in a batch; truncated backpropagation goes back no further."""


@dataclass(frozen=True)
class WordRewards:
    """Where the rewards of a policy come from: the words it predicts."""

    reward: Literal["likely", "log_likelihood"] = "log_likelihood"
    """Reward: the log-probability of the next word, or 1 where its probability is above 0.5."""


@dataclass(frozen=True)
class StreamQLearning(QLearning):
    """Deep Q-learning; windows continue from each other, so there is no replay memory."""

    hidden: ClassVar[tuple[str, ...]] = ("replay",)


@dataclass(frozen=True)
class StreamLearnedOperations(LearnedOperations):
    """A policy network and how it learns."""

    parts: ClassVar[Mapping[str, Any]] = {
        "agent": {
            "none": None,
            **{
                name: (kind, WordRewards)
                for name, kind in {**OBJECTIVES, "dqn": StreamQLearning}.items()
            },
        }
    }

    agent: str = "reinforce"
    """Reinforcement learning of the policy; none: it imitates the trees of the data."""


@dataclass(frozen=True)
class GivenOperations(LimitedStack, Consumption):
    """Operations of the trees in the data."""

    consume: Consume = "recur"
    """Operations that consume a token: recur alone, with any number of splits and merges between
    two words as in trees, or every one (step)."""


@dataclass(frozen=True)
class StreamPolicySettings(PolicySettings):
    """What a recurrent-recursive network does at each token of a text."""

    parts: ClassVar[Mapping[str, Any]] = {
        "operations": {
            "given": GivenOperations,
            "policy": StreamLearnedOperations,
            "fixed": FixedOperationsSettings,
            "recur": None,
        }
    }

    operations: str = "policy"
    """Whether to split, recur or merge: as a network says that is trained with the model (policy),
    one choice for each word of the vocabulary, drawn once (fixed), never anything but recur, which
    is an LSTM, or as the trees of the data say (given), which know the words to come."""


@dataclass(frozen=True)
class StreamRRNetSettings(RRNetSettings):
    """A recurrent-recursive network over running text."""

    includes: ClassVar[tuple[type, ...]] = (StreamPolicySettings,)


@dataclass(frozen=True)
class StreamModel:
    """A language model over running text."""

    parts: ClassVar[Mapping[str, Any]] = {
        "encoder": {"rrnet": StreamRRNetSettings, "lstm": LSTMSettings}
    }

    encoder: str = "rrnet"
    """Encoder: a recurrent-recursive network (RRNet), or an LSTM."""
    hidden_size: Count = 50
    """Size of a state."""
    embedding: Count = 100
    """Size of a word's vector."""
    tied: bool = False
    """Use the word vectors as output embeddings; both sizes must be equal."""
    output_dropout: Fraction = 0.0
    """Probability of dropout between the states and the output layer."""
