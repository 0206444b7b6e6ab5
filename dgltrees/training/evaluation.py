"""Evaluation of a model on a whole data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from dgltrees.errors import TreeError
from dgltrees.models.streaming import run_batched
from dgltrees.tasks.task import Columns, Task
from dgltrees.training.device import OneDevice, total
from dgltrees.training.loading import evaluation_batches
from dgltrees.trees import LabeledTrees

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def run_model(
    model: nn.Module,
    task: Task,
    data: LabeledTrees,
    fabric: Fabric | OneDevice,
    *,
    max_nodes: int = 20_000,
) -> Columns:
    """Return the output columns of a model for all rows of a data set, on every process.

    The processes share the batches. The model is in evaluation mode during the call.
    """
    training = model.training
    if training:  # a walk over all modules, which takes longer than a small tree
        model.eval()
    batches = evaluation_batches(task, data, max_nodes)
    mine = batches[fabric.global_rank :: fabric.world_size] or batches[:1]  # all know the columns
    counts = fabric.global_rank < len(batches)

    def outputs(ids: NDArray[np.int64]) -> dict[str, Tensor]:
        batch, targets = task.batch(data, ids)
        try:
            with fabric.autocast():
                columns = task.outputs(model, batch.to(fabric.device), targets.to(fabric.device))
        except TreeError as error:
            raise _placed(error, data, ids) from None
        wide = {n: v.double() if v.is_floating_point() else v.long() for n, v in columns.items()}
        return {name: values.cpu() * counts for name, values in wide.items()}

    count = len(task.targets(data))
    columns = run_batched(
        outputs, mine, count, rows=lambda ids: task.rows(data, ids), title="evaluate"
    )
    if training:
        model.train()
    return {name: total(fabric, column).cpu().numpy() for name, column in columns.items()}


def _placed(error: TreeError, data: LabeledTrees, ids: NDArray[np.int64]) -> TreeError:
    """Return an error in a batch of examples ``ids`` with the line or tree in the data."""
    if error.tree is None or error.line is not None or ids.ndim > 1:  # windows of streams
        return error
    example = int(ids[error.tree // data.arity])
    line = int(data.columns["line"][example]) if "line" in data.columns else None
    tree = example * data.arity + error.tree % data.arity if line is None else None
    return TreeError(error.message, file=error.file, line=line, tree=tree)
