"""A model on a whole data set."""

from __future__ import annotations

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch import nn

from dgltrees.metrics.accuracy import Outputs
from dgltrees.tasks.task import Task
from dgltrees.training.processes import total
from dgltrees.training.sampling import evaluation_batches
from dgltrees.trees import Examples

__all__ = ["run_model"]


@torch.no_grad()
def run_model(
    model: nn.Module, task: Task, data: Examples, fabric: Fabric, *, max_nodes: int = 20_000
) -> Outputs:
    """What ``model`` gives for every row of ``data``, in order, on every process.

    The processes share the batches; the model is in evaluation mode meanwhile.

    Arguments:
        model: as ``task`` builds it, on the device and of the precision that ``fabric`` set up.
        task: the task.
        data: ``E`` examples with ``R`` rows.
        fabric: device and processes.
        max_nodes: nodes in a batch, at most; results depend on it only by rounding.
    """
    training = model.training
    model.eval()
    found = np.zeros((3, len(task.targets(data))))  # (3, R)
    batches = evaluation_batches(task, data, max_nodes)
    for ids in batches[fabric.global_rank :: fabric.world_size]:
        found[:, task.rows(data, ids)] = _run_batch(model, task, data, fabric, ids)
    loss, prediction, probability = total(fabric, torch.from_numpy(found)).cpu().numpy()
    model.train(training)
    return Outputs(loss, prediction.astype(np.int64), probability)


def _run_batch(
    model: nn.Module, task: Task, data: Examples, fabric: Fabric, ids: NDArray[np.int64]
) -> NDArray[np.float64]:
    """``(3, R)``: loss, likeliest class and its probability of the rows of examples ``ids``."""
    batch, targets = task.batch(data, ids)
    with fabric.autocast():
        found = task.outputs(model, batch.to(fabric.device), targets.to(fabric.device))
    outputs: NDArray[np.float64] = found.cpu().numpy()
    return outputs
