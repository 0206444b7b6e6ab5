"""Every cell with a batch for it, and a training step of them on any device."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dgltrees import Forest, TreeBatch, run_cell
from dgltrees.cells import BaseCell
from tests.cells.sequences import flat, graph_of, spelled
from tests.cells.table import INPUT, TABLE, Row
from tests.cells.test_laws import graph, world
from tests.cells.test_rrnet import GIVEN, OPTIONS, fields, make
from tests.worlds import chain, random_forest

WAYS: dict[str, dict[str, Any]] = {
    "own way": {},
    "three functions": {"compile": False},
    "checkpoint": {"activation_checkpointing": True},
}


@dataclass(frozen=True)
class World:
    """A cell in float64, and a batch with all that it reads.

    Arguments:
        name: for the test's.
        make: makes both.
    """

    name: str
    make: Callable[[], tuple[BaseCell, TreeBatch]]

    def __str__(self) -> str:
        return self.name


def _of_a_forest(row: Row) -> tuple[BaseCell, TreeBatch]:
    unlike = random_forest(np.random.default_rng(4), 2, 5, row.children)
    cell, forest = row.make(), Forest.concat([unlike, chain(1)])
    batch, ndata = graph(cell, forest, *world(forest))
    return cell, batch.with_data(ndata)


def _of_a_dag() -> tuple[BaseCell, TreeBatch]:
    src, dst = torch.tensor([[0, 1, 0, 2, 2, 0, 5], [1, 2, 3, 3, 4, 4, 4]])
    x = torch.linspace(-1, 1, 6 * INPUT).double().view(-1, INPUT)
    return Row("child_sum").make(), TreeBatch(src, dst, torch.tensor([6]), ndata={"x": x})


def _of_operations(options: dict[str, Any]) -> tuple[BaseCell, TreeBatch]:
    drawn = spelled("SRM", "OSMM", "")
    data = fields(flat(drawn)[0], *GIVEN, "mask")
    return make(**options), graph_of(drawn).with_data(data)


WORLDS = [
    *(World(str(r), lambda r=r: _of_a_forest(r)) for r in TABLE),
    World("child_sum on a graph", _of_a_dag),
    *(World(f"rrnet {n}", lambda o=o: _of_operations(o)) for n, o in OPTIONS.items()),
]


def on(
    device: str, dtype: torch.dtype, cell: BaseCell, batch: TreeBatch
) -> tuple[BaseCell, TreeBatch]:
    """The cell and the batch on a device, in a precision; floating inputs take gradients."""
    ndata = {n: t.to(dtype) if t.is_floating_point() else t for n, t in batch.ndata.items()}
    moved = batch.with_data(ndata).to(device)
    for tensor in moved.ndata.values():
        tensor.requires_grad_(tensor.is_floating_point())
    return cell.to(device, dtype), moved


def step(cell: BaseCell, batch: TreeBatch, **way: Any) -> tuple[Tensor, dict[str, Tensor]]:
    """The states ``h``, and the gradients of a sum over them with a weight for each entry."""
    h = run_cell(cell, batch, batch.ndata, **way)["h"]
    weight = torch.linspace(-1, 2, h.numel(), dtype=h.dtype, device=h.device)
    (h * weight.view_as(h)).sum().backward()
    inputs = {f"input {name}": tensor for name, tensor in batch.ndata.items()}
    learned = {**dict(cell.named_parameters()), **inputs}
    return h.detach(), {n: t.grad for n, t in learned.items() if t.grad is not None}
