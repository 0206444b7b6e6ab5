"""Sentences scored by a trained language model."""

from __future__ import annotations

import numpy as np
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.analyses.require import require
from dgltrees.models.streaming import batches_of_similar, run_batched
from dgltrees.papers.top_down.graphs.batch import generation_batch
from dgltrees.papers.top_down.graphs.generation import generation_forest
from dgltrees.papers.top_down.models.add_decisions import JointTreeLM
from dgltrees.papers.top_down.models.base import LanguageModel
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from dgltrees.papers.top_down.tasks.settings import TreeLMSettings
from dgltrees.papers.top_down.tasks.tree_lm import Objective
from dgltrees.training.loaded import LoadedRun
from dgltrees.trees import Forest
from dgltrees.trees.words import recode

__all__ = [
    "generation_log_probs",
    "language_model",
    "language_model_settings",
    "log_probs",
    "tree_language_model",
]

Model = LanguageModel | JointTreeLM


def language_model(run: LoadedRun) -> LanguageModel:
    """The language model of a run, over trees or over sequences.

    Raises:
        ConfigError: the run has another task than ``tree-lm``.
    """
    return require(run, run.model, Objective, "a language model (task tree-lm)").model


def tree_language_model(run: LoadedRun) -> TreeLM:
    """The language model over trees of a run.

    Raises:
        ConfigError: the run has another task than ``tree-lm``, or reads sequences.
    """
    expected = "a language model over trees (task tree-lm, model.language_model tree)"
    return require(run, getattr(run.model, "model", None), TreeLM, expected)


def language_model_settings(run: LoadedRun) -> TreeLMSettings:
    """The settings of a language model's data.

    Raises:
        ConfigError: the run has another task than ``tree-lm``.
    """
    return require(run, run.settings.data, TreeLMSettings, "a language model (task tree-lm)")


def log_probs(
    run: LoadedRun, forest: Forest, *, model: Model | None = None, max_nodes: int = 20_000
) -> NDArray[np.float64]:
    """The log-probability of each sentence given its tree, by the full softmax, ``(T,)``.

    Arguments:
        run: the run of a language model.
        forest: dependency trees with a column ``word`` and its vocabulary.
        model: a model to use instead of the run's, such as the result of
            ``load_joint``, whose scores are log P(S, T).
        max_nodes: the largest number of nodes in a batch.

    Raises:
        ConfigError: the run's model is not a language model.
        TreeError: the forest has no such column, or is not a dependency forest.
    """
    model = model or language_model(run)
    lower = language_model_settings(run).lower
    coded = recode(forest, {"word": run.vocabularies["word"]}, lower=lower)
    words = Forest(
        coded.parent,
        coded.pos,
        coded.offsets,
        {"word": coded.columns["word"]},
        {"word": coded.vocabs["word"]},
    )
    return generation_log_probs(model, generation_forest(words), run.fabric, max_nodes=max_nodes)


def generation_log_probs(
    model: Model, forest: Forest, fabric: Fabric, *, max_nodes: int = 20_000
) -> NDArray[np.float64]:
    """The log-probability of each tree, ``(T,)``.

    Arguments:
        model: the model, set up by ``fabric`` and in evaluation mode.
        forest: a generation forest with the model's ids in its column ``word``.
        fabric: device and precision.
        max_nodes: the largest number of nodes in a batch.
    """

    def score(ids: NDArray[np.int64]) -> dict[str, Tensor]:
        batch = generation_batch(forest, ids).to(fabric.device)
        with fabric.autocast():
            return {"score": model.log_prob(batch).double()}

    batches = batches_of_similar(forest.sizes, forest.depths, max_nodes=max_nodes)
    scores = run_batched(score, batches, len(forest), title="score")
    return scores["score"].cpu().numpy() if scores else np.zeros(0)
