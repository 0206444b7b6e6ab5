"""Models and reports of tasks without a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.options import Options
from dgltrees.tasks.splits import vocabularies
from dgltrees.tasks.task import Task
from dgltrees.trees import Examples


def build(task: Task, data: Examples, **model: Any) -> nn.Module:
    """The model with these settings in the initial state of seed 0; dots are underscores twice."""
    values = {name.replace("__", "."): value for name, value in model.items()}
    torch.manual_seed(0)
    return task.build(Options(task.model, values, "model"), vocabularies(data))


def columns(outputs: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Output columns as a report takes them."""
    return {name: column.detach().numpy() for name, column in outputs.items()}


def predictions(classes: Any) -> dict[str, NDArray[Any]]:
    """The output columns of a model that predicts these classes."""
    ones = np.ones(len(classes))
    return {"loss": ones, "prediction": np.asarray(classes), "probability": ones}
