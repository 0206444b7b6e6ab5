"""Trees drawn from a trained language model."""

from __future__ import annotations

from typing import Optional

import torch

from dgltrees.analyses.decisions import JointRun
from dgltrees.analyses.tree_files import MadeTrees
from dgltrees.models import SampledTrees, Sampling, sample_trees
from dgltrees.tasks.language_models.dependencies import LABEL
from dgltrees.trees import Forest
from dgltrees.trees.dependencies import ROOT, dependency_forest
from dgltrees.trees.words import UNKNOWN

__all__ = ["generate"]

BATCH = 256  # trees that grow together: tables of all their states are held


def generate(
    run: JointRun,
    number: int,
    *,
    seed: int = 0,
    sampling: Optional[Sampling] = None,
    sample_decisions: bool = False,
    max_words: int = 100,
    unknown: bool = True,
) -> MadeTrees:
    """Draw trees from a run's model; see :func:`~dgltrees.models.sample_trees`.

    Arguments:
        run: what :func:`~dgltrees.analyses.decisions.load_joint` has loaded.
        number: how many trees.
        seed: the same seed draws the same trees.
        sampling: how words are drawn.
        sample_decisions: draw the decisions too, instead of deciding at p > 0.5.
        max_words: the length at which a tree grows no further.
        unknown: whether ``<unk>`` may be drawn.

    Returns:
        the trees in word order; of each ``log_prob``, log P(S | T), ``joint_log_prob``, log
        P(S, T), and ``cut: yes`` if the limit of length has cut it.

    Raises:
        ConfigError: a number is out of its range.
    """
    words, device = run.vocabs["word"], next(run.model.parameters()).device
    generator = torch.Generator(device).manual_seed(seed)
    parts: list[SampledTrees] = []
    for begun in range(0, max(1, number), BATCH):
        trees = sample_trees(
            run.model,
            run.vocabs,
            min(BATCH, number - begun),
            root=int(words.encode([ROOT])[0]),
            max_words=max_words,
            sampling=sampling,
            sample_decisions=sample_decisions,
            excluded=() if unknown else words.encode([UNKNOWN]).tolist(),
            single_root=run.settings.data.single_root,
            generator=generator,
        )
        parts.append(trees)
    comments = [about for part in parts for about in _about(part)]
    return MadeTrees(
        dependency_forest(Forest.concat([part.forest for part in parts])),
        comments,
        [_title(about) for about in comments],
        _has_heads(run),
    )


def _about(trees: SampledTrees) -> list[dict[str, object]]:
    joint = trees.log_prob + trees.shape_log_prob
    return [
        {"log_prob": p, "joint_log_prob": q, **({"cut": "yes"} if cut else {})}
        for p, q, cut in zip(trees.log_prob.tolist(), joint.tolist(), trees.truncated.tolist())
    ]


def _title(about: dict[str, object]) -> str:
    return f"log P = {about['joint_log_prob']:.2f}" + (", cut" if "cut" in about else "")


def _has_heads(run: JointRun) -> bool:
    """Whether the model has learned from CoNLL-U, which has labels; no other format has."""
    files = run.settings.data.train or []
    names = [files] if isinstance(files, str) else files
    return LABEL in run.vocabs or any(name.endswith(".conllu") for name in names)
