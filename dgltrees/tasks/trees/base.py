"""The base of tasks on trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from dgltrees.cells import count_parameters
from dgltrees.settings import Options
from dgltrees.tasks.task import Task

__all__ = ["TreeTask", "cell_name"]


@dataclass(frozen=True)
class TreeTask(Task):
    """A task whose model has a :class:`~dgltrees.models.TreeEncoder`."""

    def display_name(self, model: Options) -> str:
        """The cell's name, with that of its aggregator where it has one."""
        return cell_name(model)

    def parameters(self, model: nn.Module) -> dict[str, Any]:
        """The numbers of parameters.

        ``table`` is that of one aggregation of the cell, as counted in the tables of the tensor
        Tree-LSTM paper (None for cells that are not in them); ``cell`` that of the cell (of a
        bidirectional encoder, the upward one); ``model`` that of the whole model.
        """
        encoder: Any = model.encoder
        counts = count_parameters(encoder.cell)
        total = sum(p.numel() for p in model.parameters())
        return {"table": counts["paper"], "cell": counts["total"], "model": total}


def cell_name(model: Options) -> str:
    """``"hosvd lstm"``: the cell of these settings, with its aggregator where it has one."""
    return " ".join(filter(None, (model.get("aggregator"), model["cell"])))
