"""Trees sampled from a trained language model."""

from __future__ import annotations

import torch

from dgltrees.papers.top_down.analyses.scoring import language_model_settings
from dgltrees.papers.top_down.analyses.shape import load_joint
from dgltrees.papers.top_down.analyses.tree_files import GeneratedTrees
from dgltrees.papers.top_down.graphs import ROOT
from dgltrees.papers.top_down.graphs.word_order import dependency_forest
from dgltrees.papers.top_down.models.sample_trees import SampledTrees, sample_trees
from dgltrees.papers.top_down.models.sampling import Sampling
from dgltrees.papers.top_down.tasks.dependencies import LABEL
from dgltrees.training.loaded import LoadedRun
from dgltrees.trees import Forest
from dgltrees.trees.words import UNKNOWN

__all__ = ["generate"]

BATCH = 256
"""The number of trees that are generated together, which bounds memory."""


def generate(
    run: LoadedRun,
    number: int,
    *,
    seed: int = 0,
    sampling: Sampling | None = None,
    sample_decisions: bool = False,
    max_words: int = 100,
    unknown: bool = True,
) -> GeneratedTrees:
    """Sample trees from a run's model; see :func:`~dgltrees.papers.top_down.models.sample_trees`.

    Arguments:
        run: the run of a language model over trees whose shape has been trained, by
            :func:`~dgltrees.papers.top_down.analyses.shape.train_shape` or as START and STOP.
        number: number of trees.
        seed: the same seed draws the same trees.
        sampling: how words are drawn.
        sample_decisions: draw the decisions too, instead of deciding at p > 0.5.
        max_words: the length at which a tree grows no further.
        unknown: whether ``<unk>`` may be drawn.

    Returns:
        the trees in word order; their comments have ``log_prob``, log P(S | T), ``joint_log_prob``,
        log P(S, T), and ``cut: yes`` if the tree reached ``max_words``.

    Raises:
        ConfigError: the run is not one of a TreeLM, its shape has not been trained, or a number is
            out of its range.
    """
    model, settings = load_joint(run), language_model_settings(run)
    words = run.vocabularies["word"]
    generator = torch.Generator(run.fabric.device).manual_seed(seed)
    parts: list[SampledTrees] = []
    for first in range(0, max(1, number), BATCH):
        part = sample_trees(
            model,
            run.vocabularies,
            min(BATCH, number - first),
            root=int(words.encode([ROOT])[0]),
            max_words=max_words,
            sampling=sampling,
            sample_decisions=sample_decisions,
            excluded=() if unknown else words.encode([UNKNOWN]).tolist(),
            single_root=settings.single_root,
            generator=generator,
        )
        parts.append(part)
    comments = [comment for part in parts for comment in _comments(part)]
    return GeneratedTrees(
        dependency_forest(Forest.concat([part.forest for part in parts])),
        comments,
        [_title(comment) for comment in comments],
        _has_heads(run),
    )


def _comments(part: SampledTrees) -> list[dict[str, object]]:
    joint = part.log_prob + part.shape_log_prob
    return [
        {"log_prob": p, "joint_log_prob": q, **({"cut": "yes"} if cut else {})}
        for p, q, cut in zip(part.log_prob.tolist(), joint.tolist(), part.truncated.tolist())
    ]


def _title(comment: dict[str, object]) -> str:
    return f"log P = {comment['joint_log_prob']:.2f}" + (", cut" if "cut" in comment else "")


def _has_heads(run: LoadedRun) -> bool:
    """Whether the model was trained on CoNLL-U, the only format with labels."""
    files = run.settings.data.train or []
    names = [files] if isinstance(files, str) else files
    return LABEL in run.vocabularies or any(name.endswith(".conllu") for name in names)
