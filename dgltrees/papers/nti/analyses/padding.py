"""Accuracy by the number of leaves without a word: Figure 3 of the NTI paper.

Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 5.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.papers.nti.analyses.sentences import (
    examples_with_all_words,
    tree_encoder,
    with_model_words,
)
from dgltrees.papers.nti.graphs.full import full_shape
from dgltrees.training.loaded import LoadedRun

__all__ = ["accuracy_by_padding"]


def accuracy_by_padding(
    run: LoadedRun, files: Sequence[PathLike], *, step: int = 5
) -> list[dict[str, Any]]:
    """Accuracy by the number of pads in an example's tree, or in both of its trees.

    Arguments:
        run: a run whose model makes full trees over sentences.
        files: the examples.
        step: the range of the number of pads in a group.

    Returns:
        one row per group: ``pads``, its smallest number, ``accuracy``, and the number of
            ``examples``.

    Raises:
        ConfigError: the step is not positive, or the model makes no full trees.
        TreeError: a file is not what the task reads.
    """
    if step < 1:
        raise ConfigError(f"expected steps of at least 1, got {step}")
    encoder = tree_encoder(run)
    data = examples_with_all_words(run, files)
    shape = full_shape(encoder.make_trees(data.forest.sizes))
    if shape is None:
        trees, path = run.settings.model["trees"], run.directory.path
        raise ConfigError(f"expected full trees (model.trees full) at {path}, got {trees}")
    pads = np.maximum(np.asarray(shape.widths) - data.forest.sizes, 0)
    group = pads.reshape(-1, data.arity).sum(1) // step
    encoded = replace(data, forest=with_model_words(run, data.forest))
    correct = run.outputs(encoded)["prediction"] == run.task.targets(data)
    return [
        {
            "pads": int(g * step),
            "accuracy": float(correct[group == g].mean()),
            "examples": int((group == g).sum()),
        }
        for g in np.unique(group)
    ]
