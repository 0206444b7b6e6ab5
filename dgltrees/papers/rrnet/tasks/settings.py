"""The settings of models that read sentences token by token, and of policies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast

from dgltrees.models.classifier import Classifier
from dgltrees.models.encoding import Encoder
from dgltrees.models.heads import Head
from dgltrees.models.inputs import Input
from dgltrees.models.readout import Root
from dgltrees.options import Count, Fraction, NonNegative, Options, Seed, Share
from dgltrees.papers.rrnet.models.classifier import PolicyClassifier
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.objectives import OBJECTIVES
from dgltrees.papers.rrnet.models.stepping import Consume
from dgltrees.papers.rrnet.tasks.base import make_rrnet
from dgltrees.tasks.sequence_encoders import (
    BidirectionalLSTMSettings,
    LSTMSettings,
    SequenceEncoderSettings,
    TransformerSettings,
)

__all__ = [
    "Consumption",
    "LimitedStack",
    "PairReaderModel",
    "PolicySettings",
    "RRNetSettings",
    "ReaderModel",
]


@dataclass(frozen=True)
class Rewards:
    """Where the rewards of a policy come from."""

    reward: Literal["accuracy", "likely", "log_likelihood"] = "accuracy"
    """Reward: 1 for the right answer, 1 where its probability is above 0.5, or its log."""
    supervised_fraction: Share = 0.0
    """Part of the training sentences whose operations in the data the policy follows."""


@dataclass(frozen=True)
class LimitedStack:
    """Operations that are not given, so that something must bound the stack."""

    stack: Count = 16
    """Largest number of sub-trees that can be open at a time."""


@dataclass(frozen=True)
class Consumption:
    """How operations and tokens go together."""

    consume: Consume = "step"
    """Operations that consume a token: every one (step), as where brackets are tokens, or recur
    alone, with any number of splits and merges between two words."""


@dataclass(frozen=True)
class LearnedOperations(LimitedStack, Consumption):
    """A policy network and how it learns."""

    parts: ClassVar[Mapping[str, Any]] = {
        "agent": {"none": None, **{name: (kind, Rewards) for name, kind in OBJECTIVES.items()}}
    }

    agent: str = "none"
    """Reinforcement learning of the policy; none: it imitates the operations in the data."""
    hidden_sizes: list[Count] = field(default_factory=list)
    """Sizes of the policy network's hidden layers."""
    detach: bool = False
    """Stop the gradient of the policy's loss at the states that the policy reads."""
    weight: NonNegative = 1.0
    """Weight of the policy's loss beside that of the answer."""


@dataclass(frozen=True)
class FixedOperationsSettings(LimitedStack):
    """One operation for each token of the vocabulary."""

    seed: Seed = 0
    """Seed of the operations."""


@dataclass(frozen=True)
class PolicySettings:
    """What a recurrent-recursive network does at each token."""

    prefix: ClassVar[str] = "policy"
    parts: ClassVar[Mapping[str, Any]] = {
        "operations": {
            "given": Consumption,
            "policy": LearnedOperations,
            "fixed": FixedOperationsSettings,
            "recur": None,
        }
    }

    operations: str = "given"
    """Whether to split, recur or merge: as the data say (given), as a network says that is trained
    with the model (policy), one choice for each word of the vocabulary, drawn once (fixed), or
    never anything but recur, which is an LSTM."""
    merge: Literal["mlp", "average"] = "mlp"
    """How a merge joins two states: by the paper's MLP, or by their mean."""
    stack_cell: bool = False
    """Push the LSTM's memory on the stack too; by default its state alone."""


@dataclass(frozen=True)
class RRNetSettings(SequenceEncoderSettings):
    """A recurrent-recursive network."""

    includes: ClassVar[tuple[type, ...]] = (PolicySettings,)

    dropout: Fraction = 0.0
    """Probability of dropout on the inputs and on states between steps, one mask per sequence."""
    layer_norm: bool = False
    """Layer normalisation of every gate's pre-activation, and of the memory."""

    @staticmethod
    def make(model: Options, inputs: Input) -> Encoder:
        """Make the encoder; see :func:`~dgltrees.papers.rrnet.tasks.base.make_rrnet`."""
        return make_rrnet(model, inputs)

    @staticmethod
    def display_name(model: Options) -> str:
        """The name of the encoder, with how operations are decided."""
        names = {
            "given": "supervised RRNet",
            "fixed": "RRNet, fixed operations",
            "recur": "RRNet, recur alone",
        }
        agent = model.get("policy.agent", "none")
        learned = f"RRNet, policy learned {'supervised' if agent == 'none' else agent}"
        return names.get(model["policy.operations"], learned)

    @staticmethod
    def classifier(model: Options, encoder: Encoder, head: Head) -> Classifier:
        """A classifier of sentence vectors; if there is a policy, it learns from rewards."""
        if model["policy.operations"] != "policy":
            return Classifier(encoder, Root(), head)
        reward, weight = model.get("policy.reward", "accuracy"), model["policy.weight"]
        reader = cast(RRNetEncoder, encoder)
        return PolicyClassifier(reader, Root(), head, reward=reward, weight=weight)

    @staticmethod
    def separate_losses(model: Options) -> bool:
        """Whether a policy learns too, whose loss has another scale."""
        return bool(model["policy.operations"] == "policy")


@dataclass(frozen=True)
class ReaderModel:
    """A model that reads symbols one by one and answers."""

    parts: ClassVar[Mapping[str, Any]] = {
        "encoder": {
            "rrnet": RRNetSettings,
            "lstm": LSTMSettings,
            "bilstm": BidirectionalLSTMSettings,
            "transformer": TransformerSettings,
        }
    }

    encoder: str = "rrnet"
    """Encoder: a recurrent-recursive network (RRNet), one or two LSTMs, or a transformer."""
    hidden_size: Count = 50
    """Size of a state."""
    embedding: Count = 100
    """Size of a symbol's vector."""


@dataclass(frozen=True)
class PairReaderModel(ReaderModel):
    """A model that reads two sequences of symbols and compares them."""

    head: list[Count] = field(default_factory=list)
    """Size of the one hidden layer that compares two encodings."""
    head_dropout: Fraction = 0.0
    """Probability of dropout before every layer of the head."""
    init: Literal["kaiming", "xavier", "uniform"] = "kaiming"
    """Initial weights of the head: kaiming (normal), xavier (uniform), or uniform."""
