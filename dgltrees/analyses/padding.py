"""How accurate a model is where trees have many leaves without a word: Figure 3 of the NTI paper.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dgltrees._files import PathLike
from dgltrees.analyses.sentence_runs import SentenceRun
from dgltrees.errors import ConfigError
from dgltrees.training.evaluation import run_model
from dgltrees.trees.builders.full import full_shape

__all__ = ["accuracy_by_padding"]


def accuracy_by_padding(
    run: SentenceRun, files: Sequence[PathLike], *, step: int = 5
) -> list[dict[str, Any]]:
    """Accuracy by the number of pads in an example's tree, or in both of its trees.

    Arguments:
        run: a run with a model that makes full trees.
        files: the examples.
        step: how many numbers of pads are counted together.

    Returns:
        rows of ``pads``, the least number of a group, ``accuracy`` and ``examples``.

    Raises:
        ConfigError: the step is not positive, or the model makes no full trees.
        TreeError: a file is not what the task reads.
    """
    if step < 1:
        raise ConfigError(f"expected steps of at least 1, got {step}")
    data = run.read(files)
    shape = full_shape(run.encoder.make_trees(data.forest.sizes))
    if shape is None:
        raise ConfigError(f"expected full trees (model.trees), got {run.settings.model.trees}")
    leaves = np.asarray(shape.widths) - data.forest.sizes
    pads = np.maximum(leaves, 0).reshape(-1, data.arity).sum(1)
    known = run.known(data.forest)
    outputs = run_model(run.model, run.task, replace(data, forest=known), run.fabric)
    right = outputs.prediction == run.task.targets(data)
    group = pads // step
    return [
        {
            "pads": int(g * step),
            "accuracy": float(right[group == g].mean()),
            "examples": int((group == g).sum()),
        }
        for g in np.unique(group)
    ]
