"""Models and reports of tasks without a run."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.settings import Options
from dgltrees.settings.layers import TrainingSettings, flat
from dgltrees.tasks.task import Columns, Task
from dgltrees.training.device import make_fabric
from dgltrees.training.evaluation import run_model
from dgltrees.trees import LabeledTrees


def build(task: Task, data: LabeledTrees, **model: Any) -> nn.Module:
    """The model with these settings, in the initial state of seed 0."""
    torch.manual_seed(0)
    return task.build(Options(task.model, flat(model), "model"), data.schema)


def run(model: nn.Module, task: Task, data: LabeledTrees, max_nodes: int = 20_000) -> Columns:
    """The output columns of a model for all rows of ``data``, on a processor."""
    fabric = make_fabric(TrainingSettings(accelerator="cpu"))
    return run_model(model, task, data, fabric, max_nodes=max_nodes)


def columns(outputs: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
    """Output columns as a report takes them."""
    return {name: column.detach().numpy() for name, column in outputs.items()}


def predictions(classes: Any) -> dict[str, NDArray[Any]]:
    """The output columns of a model that predicts these classes."""
    ones = np.ones(len(classes))
    return {"loss": ones, "prediction": np.asarray(classes), "probability": ones}
