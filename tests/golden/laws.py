"""What every row of the table of cells computes: states, outputs and gradients of one forest.

In double precision, level by level with calls of torch. Of each tensor there is the shape and a sum
that weighs every entry differently, to six digits: no processor differs there.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dgltrees.cells import BaseCell
from dgltrees.traversal import traverse
from tests.cells.table import TABLE, Row
from tests.cells.test_laws import graph, sample, world
from tests.golden.rows import rounded


def _digest(x: Tensor) -> list[Any]:
    flat = x.detach().double().reshape(-1)
    weights = torch.cos(torch.arange(1, len(flat) + 1, dtype=torch.float64))
    return [list(x.shape), rounded(float(flat @ weights), 6)]


def _numbers(cell: BaseCell, row: Row) -> dict[str, Any]:
    torch.manual_seed(0)
    forest = sample(row.children)
    batch, ndata = graph(cell, forest, *world(forest))
    ndata = {n: t.requires_grad_() if t.is_floating_point() else t for n, t in ndata.items()}
    options: dict[str, Any] = {"backend": "levels", "fused": False}
    states = traverse(cell, batch, ndata, outputs=cell.state_fields, **options)
    outputs = traverse(cell, batch, ndata, **options)
    wanted = {n: t for n, t in ndata.items() if t.requires_grad} | dict(cell.named_parameters())
    total = sum((h.sin() * (i + 1)).sum() for i, h in enumerate(states.values()))
    grads = torch.autograd.grad(total, [*wanted.values()], allow_unused=True)
    return {
        "parameters": {name: list(p.shape) for name, p in cell.named_parameters()},
        "buffers": {name: list(b.shape) for name, b in cell.named_buffers()},
        "states": {name: _digest(state) for name, state in states.items()},
        "outputs": {name: _digest(state) for name, state in outputs.items()},
        "gradients": {n: None if g is None else _digest(g) for n, g in zip(wanted, grads)},
    }


def record() -> dict[str, Any]:
    """A row for each of the table."""
    return {str(row): _numbers(row.make(), row) for row in TABLE}


fast = record
