"""What tasks share whose model reads token by token, and may decide while it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional, Union

import torch
from torch import Tensor, nn

from dgltrees.cells import RRNetCell
from dgltrees.errors import ConfigError
from dgltrees.models import (
    GivenVectors,
    NodeInput,
    SequenceEncoder,
    TransformerEncoder,
    WordEmbedding,
)
from dgltrees.models.rrnet import (
    PPO,
    Agent,
    FixedOperations,
    OnlyRecur,
    Policy,
    PolicyGradient,
    QLearning,
    Replay,
    RRNetEncoder,
    SequenceReader,
)
from dgltrees.options import Options
from dgltrees.tasks.task import Task
from dgltrees.trees import TreeBatch, Vocabulary

__all__ = [
    "ReaderTask",
    "make_reader",
    "make_rrnet",
    "make_sequence_encoder",
    "sequence_model_name",
    "symbol_embedding",
]

SequenceEncoders = Union[RRNetEncoder, SequenceEncoder, TransformerEncoder]


@dataclass(frozen=True)
class ReaderTask(Task):
    """Examples are sentences; a model may be a :class:`~dgltrees.models.rrnet.SequenceReader`."""

    def display_name(self, model: Options) -> str:
        """The encoder's name."""
        return sequence_model_name(model)

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """``cell`` without the vectors of tokens, and ``model`` in all; there is no ``table``."""
        if not isinstance(model, SequenceReader):
            return super().parameters(model)
        total = sum(p.numel() for p in model.parameters())
        vectors = sum(p.numel() for p in model.encoder.input.parameters())
        return {"table": None, "cell": total - vectors, "model": total}

    def rollouts(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Sequence[Any]:
        """What the policy decides, once per update."""
        if not isinstance(model, SequenceReader):
            return super().rollouts(model, batch, targets)
        return model.rollouts(batch, targets)

    def losses(self, model: nn.Module, batch: Any, targets: Tensor) -> Tensor:
        """``(R,)`` losses of the answers and of the decisions that led to them."""
        if not isinstance(_unwrapped(model), SequenceReader):
            return super().losses(model, batch, targets)
        losses: Tensor = model(batch, targets)
        return losses

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> dict[str, Tensor]:
        """Columns ``(R,)``: ``loss``, ``prediction`` (the answer) and its ``probability``."""
        if not isinstance(model, SequenceReader):
            return super().outputs(model, batch, targets)
        return dict(zip(("loss", "prediction", "probability"), model.outputs(batch, targets)))


def _unwrapped(model: nn.Module) -> nn.Module:
    """The model itself, without the wrapper of data parallel training."""
    return getattr(model, "module", model)


def make_reader(model: Options, encoder: SequenceEncoders, answer: nn.Module) -> SequenceReader:
    """An encoder with the head that answers from its encodings."""
    reward, weight = model.get("policy.reward", "accuracy"), model.get("policy.weight", 1.0)
    return SequenceReader(encoder, answer, reward=reward, weight=weight)


def symbol_embedding(model: Options, vocab: Vocabulary) -> WordEmbedding:
    """The vectors of the symbols of a small alphabet, the column ``"word"``.

    From N(0, 1): with the small vectors that words have by default, learning starts late.
    """
    rows, size = len(vocab), model["embedding"]
    return WordEmbedding("word", rows, size, vectors=torch.randn(rows, size))


def make_sequence_encoder(
    model: Options, inputs: Union[NodeInput, GivenVectors], *, dropout: float
) -> SequenceEncoders:
    """The encoder of sentences that the settings describe, one that needs no trees.

    Arguments:
        model: the model's settings.
        inputs: gives every token its vector.
        dropout: of an LSTM's inputs and between its layers.

    Raises:
        ConfigError: settings do not go together.
    """
    encoder = model["encoder"]
    if encoder == "rrnet":
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
    """The recurrent-recursive network that the settings describe.

    Raises:
        ConfigError: fixed operations are asked for, and tokens have no ids.
    """
    operations, agent = model["policy.operations"], model.get("policy.agent", "none")
    replay = model.get("policy.replay", 0)
    fixed: Union[FixedOperations, OnlyRecur, None] = None
    if operations == "recur":
        fixed = OnlyRecur()
    if operations == "fixed":
        if not isinstance(inputs, NodeInput):
            raise ConfigError("expected model.words table with fixed operations, got pretrained")
        fixed = FixedOperations(inputs.column, inputs.rows, model["policy.seed"])
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
    return RRNetEncoder(
        inputs,
        cell,
        policy=policy,
        agent=_agent(model, agent),
        replay=Replay(replay) if replay else None,
        fixed=fixed,
        told=supervised if agent == "none" else model.get("policy.supervised_fraction", 0.0),
        limit=model.get("policy.stack", 16),
        dropout=model["dropout"],
        backend=model["backend"],
    )


def _agent(model: Options, name: str) -> Optional[Agent]:
    if name == "none":
        return None
    if name == "dqn":
        return model.of(QLearning, prefix="policy")
    return model.of(PPO if name == "ppo" else PolicyGradient, prefix="policy")


def sequence_model_name(model: Options) -> str:
    """The name of an encoder that needs no trees; of an RRNet, who decides."""
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
