"""The settings of language models over running text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dgltrees.models.inputs import WordEmbedding
from dgltrees.papers.rrnet.models.language_model import LSTMStream, StreamLM
from dgltrees.papers.rrnet.models.objectives import OBJECTIVES, QLearning
from dgltrees.papers.rrnet.models.stepping import Consume
from dgltrees.papers.rrnet.tasks.settings import (
    Agent,
    Consumption,
    LearnedOperations,
    LimitedStack,
    PolicySettings,
    RandomOperationsSettings,
    RRNetSettings,
)
from dgltrees.settings import Count, Fraction, NonNegativeInt, Part, chosen
from dgltrees.tasks.settings import WordSettings
from dgltrees.trees import Vocabulary


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

    replay: NonNegativeInt = 0


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

    agent: Agent = chosen("reinforce")
    """Reinforcement learning of the policy; none: it imitates the trees of the data."""


@dataclass(frozen=True)
class GoldOperations(LimitedStack, Consumption):
    """Operations of the trees in the data."""

    consume: Consume = "recur"
    """Operations that consume a token: recur alone, with any number of splits and merges between
    two words as in trees, or every one (step)."""


@dataclass(frozen=True)
class StreamPolicySettings(PolicySettings):
    """What a recurrent-recursive network does at each token of a text."""

    parts: ClassVar[Mapping[str, Any]] = {
        "operations": {
            "gold": GoldOperations,
            "policy": StreamLearnedOperations,
            "random": RandomOperationsSettings,
            "recur": None,
        }
    }

    operations: Consumption | LearnedOperations | RandomOperationsSettings | Literal["recur"] = (
        chosen("policy")
    )
    """Operations (split, recur, merge): those of a policy network that is trained with the model
    (policy), one for each word of the vocabulary, drawn once (random), recur only, which is an
    LSTM, or those of the trees in the data (gold), which depend on later words."""


@dataclass(frozen=True, kw_only=True)
class StreamRRNetSettings(RRNetSettings):
    """A recurrent-recursive network over running text."""

    parts: ClassVar[Mapping[str, Any]] = {"policy": StreamPolicySettings}


@dataclass(frozen=True)
class StreamModel:
    """A language model over running text."""

    parts: ClassVar[Mapping[str, Any]] = {
        "encoder": {"rrnet": StreamRRNetSettings, "lstm": LSTMStream}
    }

    encoder: StreamRRNetSettings | Part[LSTMStream] = chosen("rrnet")
    """Encoder: a recurrent-recursive network (RRNet), or an LSTM."""
    hidden_size: Count = 50
    """Size of a state."""
    embedding: Count = 100
    """Size of a word's vector."""
    tied: bool = False
    """Use the word vectors as output embeddings; both sizes must be equal."""
    output_dropout: Fraction = 0.0
    """Probability of dropout between the states and the output layer."""

    def build(self, vocabs: Mapping[str, Vocabulary]) -> StreamLM:
        """The model."""
        reader = self.encoder(inputs=WordEmbedding("word", len(vocabs["word"]), self.embedding))
        options: dict[str, Any] = {}
        if isinstance(self.encoder, StreamRRNetSettings):
            operations = self.encoder.policy.operations
            if isinstance(operations, LearnedOperations):
                options = {"weight": operations.weight}
                options.update({"reward": operations.reward} if operations.reward else {})
        return StreamLM(reader, tied=self.tied, dropout=self.output_dropout, **options)
