"""The settings of language models over running text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from dgltrees.models.inputs import WordEmbedding
from dgltrees.papers.rrnet.models.language_model import LSTMStream, StreamLM
from dgltrees.papers.rrnet.models.objectives import Reinforce
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
from dgltrees.settings import Count, Fraction, Part, chosen
from dgltrees.tasks.settings import WordSettings
from dgltrees.trees import Vocabulary


@dataclass(frozen=True)
class StreamSettings(WordSettings):
    """The data settings of language models over running text, which is not shuffled."""

    hidden: ClassVar[tuple[str, ...]] = ("seed",)

    window: Count = 35
    """Words of each stream in a batch, the length of truncated backpropagation."""


@dataclass(frozen=True)
class WordRewards:
    """The rewards of a policy for predicted words."""

    reward: Literal["likely", "log_likelihood"] = "log_likelihood"
    """Reward: the log-probability of the next word (log_likelihood), or 1 if its probability is
    above 0.5 (likely)."""


@dataclass(frozen=True)
class StreamLearnedOperations(LearnedOperations):
    """The settings of a policy network and its learning."""

    parts: ClassVar[Mapping[str, Any]] = {
        "agent": {"none": None, "reinforce": (Reinforce, WordRewards)}
    }

    agent: Agent = chosen("reinforce")
    """Reinforcement learning of the policy; none: it imitates the trees of the data."""


@dataclass(frozen=True)
class GoldOperations(LimitedStack, Consumption):
    """The settings of gold operations, those of the trees in the data."""

    consume: Consume = "recur"
    """Operations that consume a token: only recur, with any number of splits and merges between two
    words, or all (step)."""


@dataclass(frozen=True)
class StreamPolicySettings(PolicySettings):
    """The settings of the operations of a recurrent-recursive network over running text."""

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
    (policy), one for each word of the vocabulary, drawn once (random), only recur, which is an
    LSTM, or those of the trees in the data (gold), which depend on later words."""


@dataclass(frozen=True, kw_only=True)
class StreamRRNetSettings(RRNetSettings):
    """The settings of a recurrent-recursive network over running text."""

    parts: ClassVar[Mapping[str, Any]] = {"policy": StreamPolicySettings}


@dataclass(frozen=True)
class StreamModel:
    """The settings of a language model over running text."""

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
        """Construct the model."""
        reader = self.encoder(inputs=WordEmbedding("word", len(vocabs["word"]), self.embedding))
        options: dict[str, Any] = {}
        if isinstance(self.encoder, StreamRRNetSettings):
            operations = self.encoder.policy.operations
            if isinstance(operations, LearnedOperations):
                options = {"weight": operations.weight}
                options.update({"reward": operations.reward} if operations.reward else {})
        return StreamLM(reader, tied=self.tied, dropout=self.output_dropout, **options)
