"""The number of parameters of a cell: in total, and as the paper counts them."""

from __future__ import annotations

from typing import TypedDict

from dgltrees.cells.aggregators import Sum
from dgltrees.cells.base import BaseCell
from dgltrees.cells.child_sum import ChildSumTreeLSTM
from dgltrees.cells.nary import NaryTreeLSTM
from dgltrees.cells.tree_cell import TreeCell

__all__ = ["ParameterCount", "count_parameters"]


class ParameterCount(TypedDict):
    """The two counts of :func:`count_parameters`."""

    paper: int | None
    total: int


def count_parameters(cell: BaseCell) -> ParameterCount:
    """Count the parameters of a cell in two ways.

    Returns:
        ``paper``: those of a single aggregation (one gate, one operator) as Tables I and II of
        Castellana and Bacciu count them: without biases, label and output matrix; None for a cell
        that has no such aggregation. ``total``: all parameters of the cell.
    """
    total = sum(p.numel() for p in cell.parameters())
    paper: int | None = None
    if isinstance(cell, TreeCell):
        f = cell.aggregators[0]
        paper = f.paper_parameter_count(f.L, f.c, f.r)
    elif isinstance(cell, NaryTreeLSTM):
        paper = Sum.paper_parameter_count(cell.max_children, cell.hidden_size)
    elif isinstance(cell, ChildSumTreeLSTM):
        paper = Sum.paper_parameter_count(1, cell.hidden_size)
    return {"paper": paper, "total": total}
