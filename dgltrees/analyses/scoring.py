"""Sentences scored by a language model that was trained."""

from __future__ import annotations

from typing import Union, cast

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray

from dgltrees._files import PathLike
from dgltrees.errors import ConfigError
from dgltrees.models import JointTreeLM, LanguageModel
from dgltrees.tasks.language_models.tree_lm import TREE_LM, Objective
from dgltrees.training.processes import make_fabric
from dgltrees.training.run import load_run
from dgltrees.training.rundir import RunDirectory
from dgltrees.trees import BatchSampler, Forest
from dgltrees.trees.dependencies import generation_batch, generation_forest
from dgltrees.trees.words import recode

__all__ = ["TrainedLanguageModel", "log_probs"]


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
        self.single_root = settings.data.single_root

    @property
    def needs_trees(self) -> bool:
        """Whether it reads trees; else sentences alone."""
        return self.model.uses_trees

    def log_probs(self, forest: Forest, *, max_nodes: int = 20_000) -> NDArray[np.float64]:
        """``(T,)`` log P of each sentence given its tree, by the full softmax.

        Arguments:
            forest: dependency trees with a column ``word`` and its vocabulary.
            max_nodes: nodes in a batch, at most.

        Raises:
            TreeError: the forest has no such column, or is no dependency forest.
        """
        coded = recode(forest, {"word": self.words}, lower=self.lower)
        return log_probs(self.model, coded, self.fabric, max_nodes=max_nodes)


@torch.no_grad()
def log_probs(
    model: Union[LanguageModel, JointTreeLM],
    forest: Forest,
    fabric: Fabric,
    *,
    max_nodes: int = 20_000,
) -> NDArray[np.float64]:
    """``(T,)`` the log-probability of each tree.

    Arguments:
        model: set up by ``fabric``, in evaluation mode.
        forest: a dependency forest with the model's ids in its column ``word``.
        fabric: device and precision.
        max_nodes: nodes in a batch, at most.

    Raises:
        TreeError: it is no dependency forest.
    """
    bare = Forest(
        forest.parent,
        forest.pos,
        forest.offsets,
        {"word": forest.columns["word"]},
        {"word": forest.vocabs["word"]},
    )
    made = generation_forest(bare)
    order = np.lexsort((made.sizes, made.depths))  # alike trees meet: fewer levels in all
    found = np.zeros(len(made))
    for ids in BatchSampler(made.sizes[order], max_nodes=max_nodes, shuffle=False):
        batch = generation_batch(made, order[ids]).to(fabric.device)
        with fabric.autocast():
            found[order[ids]] = model.log_prob(batch).double().cpu().numpy()
    return found
