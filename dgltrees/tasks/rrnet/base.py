"""What tasks share whose model may decide while it reads: a recurrent-recursive network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from dgltrees.tasks.rrnet.policy_settings import PolicySettings
from dgltrees.tasks.settings import ModelSettings
from dgltrees.tasks.task import Task
from dgltrees.trees import TreeBatch, Vocabulary

__all__ = [
    "ReadingTask",
    "make_reading_encoder",
    "make_rrnet",
    "reader",
    "reading_name",
    "symbols",
]

ReadingEncoder = Union[RRNetEncoder, SequenceEncoder, TransformerEncoder]


@dataclass(frozen=True)
class ReadingTask(Task):
    """Examples are sentences; a model may be a :class:`~dgltrees.models.rrnet.SequenceReader`."""

    def kind(self, model: ModelSettings) -> str:
        """The encoder's name."""
        return reading_name(model)

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """Without the vectors of tokens (``cell``; there is no ``table``), and in all."""
        if not isinstance(model, SequenceReader):
            return super().parameters(model)
        total = sum(p.numel() for p in model.parameters())
        vectors = sum(p.numel() for p in model.encoder.input.parameters())
        return {"table": None, "cell": total - vectors, "model": total}

    def rollouts(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Sequence[Any]:
        """What the model decides, as often as its agent wants to learn from it."""
        if not isinstance(model, SequenceReader):
            return super().rollouts(model, batch, targets)
        return model.rollouts(batch, targets)

    def losses(self, model: nn.Module, batch: Any, targets: Tensor) -> Tensor:
        """Of the answers, and of the decisions that led to them."""
        if not isinstance(_plain(model), SequenceReader):
            return super().losses(model, batch, targets)
        losses: Tensor = model(batch, targets)
        return losses

    def outputs(self, model: nn.Module, batch: TreeBatch, targets: Tensor) -> Tensor:
        """``(3, R)`` float64: loss, answer and its probability."""
        if not isinstance(model, SequenceReader):
            return super().outputs(model, batch, targets)
        return torch.stack([part.double() for part in model.outputs(batch, targets)])


def _plain(model: nn.Module) -> nn.Module:
    """The model itself, without what spreads it over devices."""
    return getattr(model, "module", model)


def reader(settings: ModelSettings, encoder: ReadingEncoder, answer: nn.Module) -> SequenceReader:
    """An encoder with what is said of its encodings."""
    policy = settings.policy
    return SequenceReader(encoder, answer, reward=policy.reward, weight=policy.weight)


def symbols(settings: ModelSettings, vocab: Vocabulary) -> WordEmbedding:
    """The vectors of the symbols of a small alphabet, the column ``"word"``.

    From N(0, 1): from the small vectors that words have by default, learning begins late.
    """
    rows, size = len(vocab), settings.embedding
    return WordEmbedding("word", rows, size, vectors=torch.randn(rows, size))


def make_reading_encoder(
    settings: ModelSettings, inputs: Union[NodeInput, GivenVectors], *, dropout: float
) -> ReadingEncoder:
    """The encoder of sentences the settings describe, one that makes no trees beforehand.

    Arguments:
        settings: the model's settings.
        inputs: gives every token its vector.
        dropout: of an LSTM's inputs and between its layers.

    Raises:
        ConfigError: it is another encoder, or settings do not go together.
    """
    size = settings.hidden_size
    if settings.encoder == "rrnet":
        return make_rrnet(settings, inputs)
    refuse_layer_norm(settings)
    if settings.encoder == "transformer":
        layers, heads = settings.layers, settings.heads
        return TransformerEncoder(
            inputs, size, layers=layers, heads=heads, dropout=settings.dropout
        )
    if settings.encoder not in ("lstm", "bilstm"):
        raise ConfigError(
            "expected model.encoder rrnet, lstm, bilstm or transformer, got "
            f"{settings.encoder}, which makes trees beforehand"
        )
    bidirectional = settings.encoder == "bilstm"
    return SequenceEncoder(
        inputs, size, layers=settings.layers, bidirectional=bidirectional, dropout=dropout
    )


def refuse_layer_norm(settings: ModelSettings) -> None:
    """Raise ConfigError where layer normalisation is asked of another encoder than RRNet."""
    if settings.layer_norm:
        raise ConfigError(
            f"expected no model.layer_norm with model.encoder {settings.encoder}, got true"
        )


def make_rrnet(settings: ModelSettings, inputs: Union[NodeInput, GivenVectors]) -> RRNetEncoder:
    """The recurrent-recursive network the settings describe.

    Raises:
        ConfigError: settings do not go together.
    """
    policy = settings.policy
    if settings.layers != 1:
        raise ConfigError(
            f"expected model.layers 1 with model.encoder rrnet, got {settings.layers}"
        )
    if policy.operations != "policy" and (policy.agent != "none" or policy.told):
        raise ConfigError(
            "expected model.policy.operations policy with model.policy.agent or told, got "
            f"{policy.operations}"
        )
    fixed: Union[FixedOperations, OnlyRecur, None] = None
    if policy.operations == "recur":
        fixed = OnlyRecur()
    if policy.operations == "fixed":
        if not isinstance(inputs, NodeInput):
            raise ConfigError("expected model.words table with fixed operations, got pretrained")
        fixed = FixedOperations(inputs.column, inputs.rows, policy.seed)
    cell = RRNetCell(
        inputs.size,
        settings.hidden_size,
        merge=policy.merge,
        stack_cell=policy.stack_cell,
        layer_norm=settings.layer_norm,
    )
    decides = policy.operations == "policy"
    return RRNetEncoder(
        inputs,
        cell,
        policy=Policy(cell.hidden_size, inputs.size, policy.hidden, detach=policy.detach)
        if decides
        else None,
        agent=_agent(policy) if decides else None,
        replay=Replay(policy.replay) if policy.agent == "dqn" and policy.replay else None,
        fixed=fixed,
        told=0.0 if not decides else policy.told if policy.agent != "none" else 1.0,
        limit=policy.stack,
        dropout=settings.dropout,
        backend=settings.backend,
    )


def _agent(policy: PolicySettings) -> Optional[Agent]:
    if policy.agent == "none":
        return None
    if policy.agent == "dqn":
        return QLearning(policy.discount, policy.explore)
    made = PPO(clip=policy.clip, updates=policy.updates) if policy.agent == "ppo" else None
    return replace(
        made or PolicyGradient(),
        discount=policy.discount,
        trace=1.0 if policy.agent == "reinforce" else policy.trace,
        entropy=policy.entropy,
        value=policy.value,
    )


def reading_name(model: ModelSettings) -> str:
    """What a model that makes no trees beforehand is called; an RRNet by who decides."""
    if model.encoder != "rrnet":
        names = {"lstm": "LSTM", "bilstm": "bidirectional LSTM", "transformer": "transformer"}
        return names[model.encoder]
    policy = model.policy
    if policy.operations != "policy":
        names = {"given": "supervised RRNet", "fixed": "RRNet, fixed operations"}
        return {**names, "recur": "RRNet, recur alone"}[policy.operations]
    return "RRNet, policy learned " + ("supervised" if policy.agent == "none" else policy.agent)
