"""The base of tasks whose models read token by token and may have a policy."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Optional, Union, cast

import torch
from torch import Tensor, nn

from dgltrees.cells import RRNetCell
from dgltrees.errors import ConfigError
from dgltrees.models import (
    Classifier,
    Encoder,
    FineTunedWords,
    GivenVectors,
    Head,
    NodeInput,
    Root,
    SequenceEncoder,
    TransformerEncoder,
    WordEmbedding,
)
from dgltrees.models.rrnet import (
    OBJECTIVES,
    FixedOperations,
    OnlyRecur,
    Policy,
    PolicyClassifier,
    PolicyObjective,
    RRNetEncoder,
)
from dgltrees.options import Options
from dgltrees.tasks.task import Task
from dgltrees.trees import Vocabulary

__all__ = [
    "ReaderTask",
    "make_classifier",
    "make_rrnet",
    "make_sequence_encoder",
    "sequence_model_name",
    "symbol_embedding",
]

SequenceEncoders = Union[RRNetEncoder, SequenceEncoder, TransformerEncoder]


@dataclass(frozen=True)
class ReaderTask(Task):
    """A task whose examples are sentences or pairs of sentences."""

    def display_name(self, model: Options) -> str:
        """The encoder's name."""
        return sequence_model_name(model)

    def separate_losses(self, model: Options) -> bool:
        """Whether a policy learns too, whose loss has another scale."""
        return bool(model.get("policy.operations") == "policy")

    def word_parameters(self, model: nn.Module) -> Iterable[Tensor]:
        """The vectors of tokens."""
        encoder: Any = model.encoder
        vectors: Iterable[Tensor] = encoder.input.parameters()
        return vectors


def make_classifier(model: Options, encoder: Encoder, head: Head) -> Classifier:
    """A classifier of sentence vectors; if the encoder has a policy, it learns from rewards."""
    if model.get("policy.operations") != "policy":
        return Classifier(encoder, Root(), head)
    reward, weight = model.get("policy.reward", "accuracy"), model["policy.weight"]
    return PolicyClassifier(cast(RRNetEncoder, encoder), Root(), head, reward=reward, weight=weight)


def symbol_embedding(model: Options, vocab: Vocabulary) -> WordEmbedding:
    """The embedding of the symbols of a small alphabet, in the column ``"word"``.

    It is initialised from N(0, 1), since learning starts late with the small default vectors.
    """
    rows, size = len(vocab), model["embedding"]
    return WordEmbedding("word", rows, size, vectors=torch.randn(rows, size))


def make_sequence_encoder(
    model: Options, inputs: Union[FineTunedWords, NodeInput, GivenVectors], *, dropout: float
) -> SequenceEncoders:
    """Make the sentence encoder of the settings; it needs no trees.

    Arguments:
        model: the model's settings.
        inputs: maps every token to its vector.
        dropout: the probability of dropout on an LSTM's inputs and between its layers.

    Raises:
        ConfigError: settings contradict each other.
    """
    encoder = model["encoder"]
    if encoder == "rrnet":
        if isinstance(inputs, FineTunedWords):
            raise ConfigError(
                "expected a pretrained encoder that is not trained with model.encoder rrnet, which "
                "decides word by word, got data.fine_tune; leave it out"
            )
        return make_rrnet(model, inputs)
    size, layers = model["hidden_size"], model["layers"]
    if encoder == "transformer":
        heads = model["heads"]
        return TransformerEncoder(
            inputs, size, layers=layers, heads=heads, dropout=model["dropout"]
        )
    return SequenceEncoder(
        inputs, size, layers=layers, bidirectional=encoder == "bilstm", dropout=dropout
    )


def make_rrnet(model: Options, inputs: Union[NodeInput, GivenVectors]) -> RRNetEncoder:
    """Make the recurrent-recursive network of the settings.

    Raises:
        ConfigError: the operations should be fixed per token id, but tokens have no ids.
    """
    operations, agent = model["policy.operations"], model.get("policy.agent", "none")
    fixed: Union[FixedOperations, OnlyRecur, None] = None
    if operations == "recur":
        fixed = OnlyRecur()
    if operations == "fixed":
        if inputs.ids is None:
            raise ConfigError("expected model.words table with fixed operations, got pretrained")
        fixed = FixedOperations(inputs.ids, cast(NodeInput, inputs).rows, model["policy.seed"])
    cell = RRNetCell(
        inputs.size,
        model["hidden_size"],
        merge=model["policy.merge"],
        stack_cell=model["policy.stack_cell"],
        layer_norm=model["layer_norm"],
    )
    policy: Optional[Policy] = None
    if operations == "policy":
        sizes, detach = model["policy.hidden_sizes"], model["policy.detach"]
        policy = Policy(cell.hidden_size, inputs.size, sizes, detach=detach)
    supervised = 0.0 if policy is None else 1.0
    if agent != "none":
        supervised = model.get("policy.supervised_fraction", 0.0)
    return RRNetEncoder(
        inputs,
        cell,
        policy=policy,
        objective=None if agent == "none" else _objective(model, agent),
        fixed=fixed,
        consume=model.get("policy.consume", "step"),
        supervised_fraction=supervised,
        max_open=model.get("policy.stack", 16),
        dropout=model["dropout"],
        backend=model["backend"],
    )


def _objective(model: Options, name: str) -> PolicyObjective:
    values = {"replay": 0} if name == "dqn" and "policy.replay" not in model else {}
    return model.of(OBJECTIVES[name], prefix="policy", **values)


def sequence_model_name(model: Options) -> str:
    """The name of an encoder that needs no trees; for an RRNet, how operations are decided."""
    encoder = model["encoder"]
    if encoder != "rrnet":
        names = {"lstm": "LSTM", "bilstm": "bidirectional LSTM", "transformer": "transformer"}
        return names[encoder]
    names = {
        "given": "supervised RRNet",
        "fixed": "RRNet, fixed operations",
        "recur": "RRNet, recur alone",
    }
    agent = model.get("policy.agent", "none")
    learned = f"RRNet, policy learned {'supervised' if agent == 'none' else agent}"
    return names.get(model["policy.operations"], learned)
