"""The settings of models that read sentences token by token, and of policies."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

import torch
from torch import nn

from dgltrees.cells import RRNetCell
from dgltrees.cells.initial import Init
from dgltrees.cells.rrnet import Memory, Merge, MergeInit
from dgltrees.errors import ConfigError
from dgltrees.models.classifier import Classifier
from dgltrees.models.encoder import Encoder
from dgltrees.models.heads import Head
from dgltrees.models.inputs import GivenVectors, Input, NodeInput, WordEmbedding
from dgltrees.models.readout import Root
from dgltrees.papers.rrnet.models.classifier import NumberDecoder, PolicyClassifier, StateAndMemory
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.objectives import Reinforce
from dgltrees.papers.rrnet.models.policy import OnlyRecur, Policy, RandomOperations
from dgltrees.papers.rrnet.models.stepping import Consume
from dgltrees.settings import Count, Fraction, NonNegative, Options, Part, Seed, Share, chosen
from dgltrees.tasks.sequences import (
    SENTENCE_ENCODERS,
    SEQUENCES,
    EncoderSettings,
    classifier,
    make_pair_head,
)
from dgltrees.trees import Vocabulary


@dataclass(frozen=True)
class Rewards:
    """The rewards of a policy."""

    reward: Literal["accuracy", "likely", "log_likelihood"] = "accuracy"
    """Reward: 1 for the right answer (accuracy), 1 if its probability is above 0.5 (likely), or its
    log-probability (log_likelihood)."""
    supervised_fraction: Share = 0.0
    """Fraction of the training sentences for which the policy follows the operations in the
    data."""


Agent = tuple[Reinforce, Any] | Literal["none"]
"""How a policy learns: its objective and rewards, or from the operations in the data."""


@dataclass(frozen=True)
class LimitedStack:
    """The settings of operations that are not gold, which need a limit of the stack."""

    stack: Count = 16
    """Largest number of subtrees that can be open at a time."""


@dataclass(frozen=True)
class Consumption:
    """The settings of how operations consume tokens."""

    consume: Consume = "step"
    """Operations that consume a token: all (step), for texts in which brackets are tokens, or only
    recur, with any number of splits and merges between two words."""


@dataclass(frozen=True)
class LearnedOperations(LimitedStack, Consumption):
    """The settings of a policy network and its learning."""

    parts: ClassVar[Mapping[str, Any]] = {
        "agent": {"none": None, "reinforce": (Reinforce, Rewards)}
    }

    agent: Agent = chosen("none")
    """Reinforcement learning of the policy; none: it imitates the operations in the data."""
    hidden_sizes: list[Count] = field(default_factory=list)
    """Sizes of the hidden layers of the policy network."""
    detach: bool = False
    """Stop the gradient of the policy's loss at the states that the policy reads."""
    weight: NonNegative = 1.0
    """Weight of the policy's loss; that of the answer has weight 1."""

    @property
    def reward(self) -> Any:
        """Return the setting ``policy.reward``; None without reinforcement learning."""
        return None if self.agent == "none" else self.agent[1].reward


@dataclass(frozen=True)
class RandomOperationsSettings(LimitedStack):
    """The settings of random operations, one for each token of the vocabulary."""

    seed: Seed = 0
    """Seed of the operations."""


@dataclass(frozen=True)
class PolicySettings:
    """The settings of the operations of a recurrent-recursive network."""

    parts: ClassVar[Mapping[str, Any]] = {
        "operations": {
            "gold": Consumption,
            "policy": LearnedOperations,
            "random": RandomOperationsSettings,
            "recur": None,
        }
    }

    operations: Consumption | LearnedOperations | RandomOperationsSettings | Literal["recur"] = (
        chosen("gold")
    )
    """Operations (split, recur, merge): those of the trees in the data (gold), of a policy network
    that is trained with the model (policy), one for each word of the vocabulary, drawn once
    (random), or only recur, which is an LSTM."""
    merge: Merge = "one_layer"
    """How many layers the MLP of a merge has, which combines two states."""
    memory: Memory = "restored"
    """The LSTM's memory after a merge: that of the split (restored), or of the last step in the
    subtree (running)."""
    merge_init: MergeInit = "average"
    """Initial weights of the MLP of a merge: near the average of two states, or uniform."""


@dataclass(frozen=True, kw_only=True)
class RRNetSettings(EncoderSettings):
    """The settings of a recurrent-recursive network."""

    parts: ClassVar[Mapping[str, Any]] = {"policy": PolicySettings}

    policy: PolicySettings
    hidden_size: Count
    """Size of a state."""
    dropout: Fraction = 0.0
    """Probability of dropout on the inputs and on states between steps, one mask per sequence."""
    layer_norm: bool = False
    """Layer normalisation of the pre-activations of every gate, and of the memory."""

    def __call__(self, inputs: Input) -> RRNetEncoder:
        """Construct the encoder."""
        operations = self.policy.operations
        fixed = self._fixed(inputs)
        cell = RRNetCell(
            inputs.size,
            self.hidden_size,
            merge=self.policy.merge,
            memory=self.policy.memory,
            merge_init=self.policy.merge_init,
            layer_norm=self.layer_norm,
        )
        policy: Policy | None = None
        objective: Reinforce | None = None
        supervised = 0.0
        if isinstance(operations, LearnedOperations):
            sizes, detach = operations.hidden_sizes, operations.detach
            policy = Policy(cell.hidden_size, inputs.size, sizes, detach=detach)
            supervised = 1.0
            if operations.agent != "none":
                objective, rewards = operations.agent
                supervised = getattr(rewards, "supervised_fraction", 0.0)
        return RRNetEncoder(
            cast(NodeInput | GivenVectors, inputs),
            cell,
            policy=policy,
            objective=objective,
            fixed=fixed,
            consume=operations.consume if isinstance(operations, Consumption) else "step",
            supervised_fraction=supervised,
            max_open=operations.stack if isinstance(operations, LimitedStack) else 16,
            dropout=self.dropout,
        )

    def _fixed(self, inputs: Input) -> RandomOperations | OnlyRecur | None:
        """Construct operations that are neither in the data nor learned, or return None."""
        operations = self.policy.operations
        if operations == "recur":
            return OnlyRecur()
        if not isinstance(operations, RandomOperationsSettings):
            return None
        if inputs.ids is None:
            raise ConfigError("expected model.words table with random operations, got pretrained")
        return RandomOperations(inputs.ids, cast(NodeInput, inputs).rows, operations.seed)

    def classifier(self, encoder: Encoder, head: Head) -> Classifier:
        """Construct a classifier of sentence vectors; a policy, if any, learns from rewards."""
        operations = self.policy.operations
        if not isinstance(operations, LearnedOperations):
            return Classifier(encoder, Root(), head)
        reward: Any = operations.reward or "accuracy"
        reader = cast(RRNetEncoder, encoder)
        return PolicyClassifier(reader, Root(), head, reward=reward, weight=operations.weight)

    @staticmethod
    def display_name(model: Options) -> str:
        """Return the name of the encoder, including the source of the operations."""
        names = {
            "gold": "supervised RRNet",
            "random": "RRNet, random operations",
            "recur": "RRNet, only recur",
        }
        agent = model.get("policy.agent", "none")
        learned = f"RRNet, policy learned {'supervised' if agent == 'none' else agent}"
        return names.get(model["policy.operations"], learned)

    @staticmethod
    def separate_losses(model: Options) -> bool:
        """Return whether a policy learns too, whose loss has another scale."""
        return bool(model["policy.operations"] == "policy")


@dataclass(frozen=True)
class ReaderModel:
    """The settings of a model that reads symbols one by one and answers."""

    parts: ClassVar[Mapping[str, Any]] = {"encoder": ChainMap({**SEQUENCES}, SENTENCE_ENCODERS)}

    encoder: EncoderSettings | Part[Encoder] = chosen("rrnet")
    """Encoder: a recurrent-recursive network (RRNet), Neural Tree Indexers (NTI), one or two LSTMs,
    or a transformer."""
    hidden_size: Count = 50
    """Size of a state."""
    embedding: Count = 100
    """Size of a symbol's vector."""
    init: Init = "kaiming"
    """Initial weights of NTI and of a head: kaiming (normal), xavier (uniform), or uniform."""
    decoder_memory: Literal["zero", "encoder"] = "zero"
    """Initial memory of the decoder: zero, or that of a recurrent-recursive network after the last
    symbol (encoder)."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings without effect."""
        readers = {"init": "nti", "decoder_memory": "rrnet"}
        return {
            name: f"without model.encoder {encoder}"
            for name, encoder in readers.items()
            if values["encoder"] != encoder
        }

    def symbols(self, vocab: Vocabulary) -> WordEmbedding:
        """Construct the embedding of the symbols of a small alphabet, in the column ``"word"``.

        It is initialised from N(0, 1), since learning starts late with the smaller default vectors.
        """
        rows, size = len(vocab), self.embedding
        return WordEmbedding("word", rows, size, vectors=torch.randn(rows, size))

    def build(self, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
        """Construct the model, whose answer is a number, digit by digit."""
        encoder = self.encoder(inputs=self.symbols(vocabs["word"]))
        memory = self.decoder_memory == "encoder"
        model = classifier(self.encoder, encoder, NumberDecoder(encoder.size, memory=memory))
        if memory:
            cast(RRNetEncoder, encoder).returns_memories = True
            model.readout = StateAndMemory()
        return model


@dataclass(frozen=True)
class PairReaderModel(ReaderModel):
    """The settings of a model that reads two sequences of symbols and compares them."""

    hidden: ClassVar[tuple[str, ...]] = ("decoder_memory",)

    head_hidden_sizes: list[Count] = field(default_factory=list)
    """Size of the hidden layer that compares two encodings."""
    head_dropout: Fraction = 0.0
    """Probability of dropout before every layer of the head."""

    @staticmethod
    def unread(values: Mapping[str, Any]) -> dict[str, str]:
        """Return the settings without effect: none, since the head reads ``init``."""
        return {}

    def build(self, vocabs: Mapping[str, Vocabulary]) -> nn.Module:
        """Construct the model, whose answer is a class of the two sequences."""
        encoder = self.encoder(inputs=self.symbols(vocabs["word"]))
        head = make_pair_head(
            encoder.size,
            len(vocabs["target"]),
            self.head_hidden_sizes,
            dropout=self.head_dropout,
            init=self.init,
        )
        return classifier(self.encoder, encoder, head)
