"""Recurrent-recursive networks as the settings describe them, and the symbols that they read."""

from __future__ import annotations

from typing import cast

import torch

from dgltrees.cells import RRNetCell
from dgltrees.errors import ConfigError
from dgltrees.models.fine_tuned import FineTunedWords
from dgltrees.models.inputs import GivenVectors, Input, NodeInput, WordEmbedding
from dgltrees.options import Options
from dgltrees.papers.rrnet.models.encoder import RRNetEncoder
from dgltrees.papers.rrnet.models.objectives import OBJECTIVES, PolicyObjective
from dgltrees.papers.rrnet.models.policy import FixedOperations, OnlyRecur, Policy
from dgltrees.trees import Vocabulary

__all__ = ["make_rrnet", "symbol_embedding"]


def symbol_embedding(model: Options, vocab: Vocabulary) -> WordEmbedding:
    """The embedding of the symbols of a small alphabet, in the column ``"word"``.

    It is initialised from N(0, 1), since learning starts late with the small default vectors.
    """
    rows, size = len(vocab), model["embedding"]
    return WordEmbedding("word", rows, size, vectors=torch.randn(rows, size))


def make_rrnet(model: Options, inputs: Input) -> RRNetEncoder:
    """Make the recurrent-recursive network of the settings.

    Arguments:
        model: the model's settings.
        inputs: maps every token to its vector.

    Raises:
        ConfigError: the vectors are those of a pretrained encoder that is trained; or the
            operations should be fixed per token id, but tokens have no ids.
    """
    if isinstance(inputs, FineTunedWords):
        raise ConfigError(
            "expected a pretrained encoder that is not trained with model.encoder rrnet, which "
            "decides word by word, got data.fine_tune; leave it out"
        )
    operations, agent = model["policy.operations"], model.get("policy.agent", "none")
    fixed: FixedOperations | OnlyRecur | None = None
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
    policy: Policy | None = None
    if operations == "policy":
        sizes, detach = model["policy.hidden_sizes"], model["policy.detach"]
        policy = Policy(cell.hidden_size, inputs.size, sizes, detach=detach)
    supervised = 0.0 if policy is None else 1.0
    if agent != "none":
        supervised = model.get("policy.supervised_fraction", 0.0)
    return RRNetEncoder(
        cast(NodeInput | GivenVectors, inputs),
        cell,
        policy=policy,
        objective=None if agent == "none" else _objective(model, agent),
        fixed=fixed,
        consume=model.get("policy.consume", "step"),
        supervised_fraction=supervised,
        max_open=model.get("policy.stack", 16),
        dropout=model["dropout"],
    )


def _objective(model: Options, name: str) -> PolicyObjective:
    values = {"replay": 0} if name == "dqn" and "policy.replay" not in model else {}
    return model.of(OBJECTIVES[name], prefix="policy", **values)
