"""The joint probability of trees and words: log P(S, T) of a language model over trees.

Zhang, Lu and Lapata, "Top-down Tree Long Short-Term Memory Networks" (NAACL 2016), section 3.4. A
language model that generates only words is extended by four classifiers, which decide on every
edge. They are a run of the task ``edge-classifier`` in the subfolder of this name of the language
model's run.
"""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dgltrees.analyses.require import require
from dgltrees.errors import ConfigError
from dgltrees.models.streaming import run_batched
from dgltrees.papers.top_down.analyses.scoring import generation_log_probs, tree_language_model
from dgltrees.papers.top_down.graphs import edge_decisions, generation_batch
from dgltrees.papers.top_down.models.add_decisions import (
    AddDecisions,
    JointTreeLM,
    decision_features,
)
from dgltrees.papers.top_down.models.tree_lm import TreeLM
from dgltrees.papers.top_down.tasks.edge_classifier import decisions_forest
from dgltrees.settings.catalog import preset_values
from dgltrees.settings.layers import Settings, layered
from dgltrees.tasks.files import fingerprint
from dgltrees.tasks.settings import Files
from dgltrees.tasks.splits import load_splits
from dgltrees.training.run import train
from dgltrees.training.rundir import RunDirectory, fingerprints
from dgltrees.training.trained import TrainedModel, load
from dgltrees.trees import BatchSampler, Forest
from dgltrees.trees.segments import rows_of

CLASSIFIER, STATES, WEIGHTS = "edge-classifier", "edge-states", "edge-classifier.json"


def train_edge_classifier(
    run: TrainedModel,
    *,
    model: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    dir: str | None = None,
    bar: bool | None = None,
) -> dict[str, Any]:
    """Train the classifiers that add edges to trees, on the states of a language model.

    The language model is not changed. Its states of all training trees are written to
    ``edge-states`` in its run directory. The classifiers are trained on them like any other model,
    in the run directory ``edge-classifier`` next to it; interrupted training is resumed. All four
    classifiers are trained on the same batches. The weights are those of the epoch with the lowest
    loss on the validation trees.

    Arguments:
        run: a trained language model over trees.
        model: settings ``hidden``, ``dropout``, ``state`` and ``embedding`` of ``AddDecisions``; by
            default those of the preset ``edge-classifier``.
        training: settings of the training loop; by default those of the preset.
        dir: folder of the data sets; by default that of the run.
        bar: show a progress bar; by default only in a terminal.

    Returns:
        The result of :func:`~dgltrees.training.run.train`, and ``joint_loss``, the mean of -log
        P(S, T) per word of the validation trees in nats, if there are any.

    Raises:
        ConfigError: the model is not a TreeLM, it generates the shape of trees (``model.stops``),
            it has been trained further since its classifiers were trained, its data have changed,
            or a setting does not exist.
    """
    words = tree_language_model(run)
    if words.start is not None:
        raise ConfigError(
            f"expected a language model without model.stops at {run.directory.path}, got one that "
            "generates the shape of trees by START and STOP; its log-probability is joint already"
        )
    run_settings = run.settings if dir is None else run.settings.replace("data", dir=dir)
    run.directory.check(run_settings, fingerprints(run_settings))
    device = ("accelerator", "precision", "threads", "deterministic")
    loop = {name: getattr(run.settings.training, name) for name in device}
    layer = {
        "model": {"hidden_size": words.output.shape[1], **(model or {})},
        "training": {**loop, **(training or {})},
    }
    settings = Settings(layered(preset_values("edge-classifier"), layer))
    _check_or_drop_states(run)
    splits = load_splits(run.task, run_settings.data, run.max_children)
    decisions = settings.model.of(AddDecisions)
    folder = run.directory / STATES / (decisions.state + "-input" * bool(decisions.embedding))
    if not (folder / "train" / "forest.json").exists():  # what is written last
        if splits.valid is not None:
            _write_states(run, words, splits.valid.forest, decisions, folder / "valid")
        _write_states(run, words, splits.train.forest, decisions, folder / "train")
    files: dict[str, Any] = {"train": str(folder / "train"), "valid_fraction": 0.0}
    if splits.valid is not None:
        files = {name: str(folder / name) for name in ("train", "valid")}
    settings = settings.replace("data", **files)
    result = train(settings, run.directory / CLASSIFIER, bar=bar)
    if splits.valid is not None:
        loss = _mean_loss(run, load_joint(run), splits.valid.forest)
        result = {**result, "joint_loss": loss}
    return result


def load_joint(run: TrainedModel) -> JointTreeLM | TreeLM:
    """Load a run's model of words and edges, whose ``log_prob`` is log P(S, T)."""
    words = tree_language_model(run)
    if words.start is not None:
        return words
    path = run.directory.path
    if not _has_classifier(run):
        raise ConfigError(
            f"missing the edge classifier of {path}; train it: dgltrees train-edge-classifier "
            f"{path}"
        )
    _check_weights(run)
    loaded = load(run.directory / CLASSIFIER)
    decisions = require(loaded, loaded.model, AddDecisions, "a run of the task edge-classifier")
    return JointTreeLM(words, decisions).eval()


def joint_report(run: TrainedModel, test: Files = None, dir: str | None = None) -> dict[str, float]:
    """Return ``joint_loss``, the mean of -log P(S, T) per word of test files, for ``evaluate``.

    Without an edge classifier the report is empty; also, with a warning, if it cannot be used.
    """
    if not _has_classifier(run):
        return {}
    try:
        joint, data = load_joint(run), run.test_examples(test, dir)
        return {"joint_loss": _mean_loss(run, joint, data.forest)}
    except ConfigError as error:
        warnings.warn(f"no joint_loss: {error}", stacklevel=2)
        return {}


def _mean_loss(run: TrainedModel, model: JointTreeLM | TreeLM, forest: Forest) -> float:
    words = forest.num_nodes - len(forest)
    return -float(generation_log_probs(model, forest, run.fabric).sum()) / words


def _write_states(
    run: TrainedModel, model: TreeLM, forest: Forest, decisions: AddDecisions, folder: Path
) -> None:
    """Save the inputs and targets of the classifiers for all words of a generation forest."""
    source, vectors = forest.global_parent, decisions.vectors(model)
    dtype = torch.promote_types(vectors.dtype, torch.float32)  # numpy has no bfloat16

    def features_of(ids: NDArray[np.int64]) -> dict[str, Tensor]:
        batch = generation_batch(forest, ids).to(run.fabric.device)
        features = decision_features(batch, model.states(batch), vectors, decisions.state)
        return {"features": features.to("cpu", dtype)}

    features = run_batched(
        features_of,
        BatchSampler(forest.sizes, max_nodes=20_000, shuffle=False),
        forest.num_nodes,
        rows=lambda ids: rows_of(forest.offsets, ids),
        title="states",
    )["features"]
    added = edge_decisions(forest.pos, source).T
    words = source >= 0  # ROOT decides nothing
    decisions_forest(features.numpy()[words], added[words]).save(folder)


def _check_or_drop_states(run: TrainedModel) -> None:
    """Check that the states in the run directory belong to the current language model.

    Outdated states are removed.
    """
    if RunDirectory(run.directory / CLASSIFIER).started:
        _check_weights(run)
    if not _states_are_current(run):
        shutil.rmtree(run.directory / STATES, ignore_errors=True)
        run.directory.write_values(WEIGHTS, _weights(run))


def _check_weights(run: TrainedModel) -> None:
    if not _states_are_current(run):
        path = run.directory.path
        raise ConfigError(
            f"the language model at {path} has been trained further since its edge classifier; "
            f"remove {path / CLASSIFIER} and train it again: dgltrees train-edge-classifier {path}"
        )


def _weights(run: TrainedModel) -> dict[str, Any]:
    """Return a fingerprint of the language model's weights."""
    return fingerprint(run.directory / "weights.safetensors")


def _states_are_current(run: TrainedModel) -> bool:
    """Return whether states of the language model's current weights were written."""
    written = (run.directory / WEIGHTS).exists()
    return written and run.directory.values(WEIGHTS) == _weights(run)


def _has_classifier(run: TrainedModel) -> bool:
    return (run.directory / CLASSIFIER / "run.json").exists()
