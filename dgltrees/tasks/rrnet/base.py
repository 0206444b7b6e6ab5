"""What tasks share whose model may decide while it reads: a recurrent-recursive network."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Optional, Union, cast

import torch
from torch import nn

from dgltrees.cells import RRNetCell
from dgltrees.errors import ConfigError
from dgltrees.models import (
    Classifier,
    Encoder,
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
from dgltrees.tasks.rrnet.policy_settings import PolicySettings
from dgltrees.tasks.settings import ModelSettings
from dgltrees.tasks.task import Task
from dgltrees.trees import Vocabulary

__all__ = [
    "ReadingTask",
    "classifier",
    "make_reading_encoder",
    "make_rrnet",
    "reading_name",
    "symbols",
]

ReadingEncoder = Union[RRNetEncoder, SequenceEncoder, TransformerEncoder]


@dataclass(frozen=True)
class ReadingTask(Task):
    """Examples are sentences, or pairs of them."""

    def kind(self, model: ModelSettings) -> str:
        """The encoder's name."""
        return reading_name(model)

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """Without the vectors of tokens (``cell``; there is no ``table``), and in all."""
        encoder: Any = model.encoder
        total = sum(p.numel() for p in model.parameters())
        vectors = sum(p.numel() for p in encoder.input.parameters())
        return {"table": None, "cell": total - vectors, "model": total}


def classifier(settings: Any, encoder: Encoder, head: Head) -> Classifier:
    """A classifier of the vectors of sentences, whose policy, if there is one, is rewarded."""
    policy = settings.policy
    if settings.encoder != "rrnet" or policy.operations != "policy":
        return Classifier(encoder, Root(), head)
    reward, weight = policy.reward, policy.weight
    return PolicyClassifier(cast(RRNetEncoder, encoder), Root(), head, reward=reward, weight=weight)


def symbols(settings: Any, vocab: Vocabulary) -> WordEmbedding:
    """The vectors of the symbols of a small alphabet, the column ``"word"``.

    From N(0, 1): from the small vectors that words have by default, learning begins late.
    """
    rows, size = len(vocab), settings.embedding
    return WordEmbedding("word", rows, size, vectors=torch.randn(rows, size))


def make_reading_encoder(
    settings: Any, inputs: Union[NodeInput, GivenVectors], *, dropout: float
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


def refuse_layer_norm(settings: Any) -> None:
    """Raise ConfigError where layer normalisation is asked of another encoder than RRNet."""
    if settings.layer_norm:
        raise ConfigError(
            f"expected no model.layer_norm with model.encoder {settings.encoder}, got true"
        )


def make_rrnet(settings: Any, inputs: Union[NodeInput, GivenVectors]) -> RRNetEncoder:
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
        if inputs.ids is None:
            raise ConfigError("expected model.words table with fixed operations, got pretrained")
        rows = cast(NodeInput, inputs).rows
        fixed = FixedOperations(inputs.ids, rows, policy.seed)
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
        objective=_objective(policy) if decides else None,
        fixed=fixed,
        supervised_fraction=0.0 if not decides else policy.told if policy.agent != "none" else 1.0,
        max_open=policy.stack,
        dropout=settings.dropout,
        backend=settings.backend,
    )


def _objective(policy: PolicySettings) -> Optional[PolicyObjective]:
    if policy.agent == "none":
        return None
    values = {"gae_lambda": policy.trace, "epsilon": policy.explore, **vars(policy)}
    kind: Any = OBJECTIVES[policy.agent]
    return cast(PolicyObjective, kind(**{f.name: values[f.name] for f in fields(kind)}))


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
