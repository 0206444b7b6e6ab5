"""Sentences scored by a language model that was trained."""

from __future__ import annotations

from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.models import TreeLM
from dgltrees.tasks.tree_lm import TREE_LM, Objective
from dgltrees.training.processes import make_fabric
from dgltrees.training.run import load_run
from dgltrees.training.rundir import RunDirectory
from dgltrees.trees import BatchSampler, Forest
from dgltrees.trees.dependencies import generation_batch, generation_forest
from dgltrees.trees.words import recode

__all__ = ["TrainedLanguageModel"]


class TrainedLanguageModel:
    """The language model of a run directory.

    Arguments:
        path: the run directory.

    Raises:
        ConfigError: there is no usable run, or one of another task.
    """

    def __init__(self, path: PathLike) -> None:
        self.path = path
        self.fabric = make_fabric(RunDirectory(path).one_device())
        run, settings, task, model = load_run(path, self.fabric)
        if task is not TREE_LM:
            raise ConfigError(
                f"expected a language model at {path}, got a run of the task {task.name}"
            )
        self.model = cast(Objective, model).model.eval()
        self.words, self.lower = run.vocabularies()["word"], settings.data.lower

    @property
    def needs_trees(self) -> bool:
        """Whether it reads trees; else sentences alone."""
        return isinstance(self.model, TreeLM)

    @torch.no_grad()
    def log_probs(self, forest: Forest, *, max_nodes: int = 20_000) -> NDArray[np.float64]:
        """``(T,)`` log P of each sentence given its tree, by the full softmax.

        Arguments:
            forest: dependency trees with a column ``word`` and its vocabulary.
            max_nodes: nodes in a batch, at most.

        Raises:
            TreeError: the forest has no such column, or is no dependency forest.
        """
        coded = recode(forest, {"word": self.words}, lower=self.lower)
        bare = Forest(
            coded.parent,
            coded.pos,
            coded.offsets,
            {"word": coded.columns["word"]},
            {"word": self.words},
        )
        made = generation_forest(bare)
        order = np.lexsort((made.sizes, made.depths))  # alike trees meet: fewer levels in all
        found = np.zeros(len(made))
        for ids in BatchSampler(made.sizes[order], max_nodes=max_nodes, shuffle=False):
            batch = generation_batch(made, order[ids]).to(self.fabric.device)
            with self.fabric.autocast():
                found[order[ids]] = self.model.log_prob(batch).double().cpu().numpy()
        return found
