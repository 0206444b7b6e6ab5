"""Cells, which are recurrent units over trees, and the aggregators that some of them use."""

from __future__ import annotations

from typing import Any

from dgltrees.cells.aggregators import AGGREGATORS, Aggregator
from dgltrees.cells.base import BaseCell, ParameterCount, count_parameters
from dgltrees.cells.child_sum import ChildSumTreeLSTM
from dgltrees.cells.compiled import fused_lstm  # noqa: F401  (it registers)
from dgltrees.cells.nary import NaryTreeLSTM
from dgltrees.cells.node_function import NodeFunction
from dgltrees.cells.nti_attention import NTIAttention, Score
from dgltrees.cells.nti_lstm import NTILSTM, ChainerNTILSTM
from dgltrees.cells.rrnet import RRNetCell
from dgltrees.cells.top_down import LeftDependentLSTM, TopDownLSTM
from dgltrees.cells.tree_cell import TreeCell
from dgltrees.cells.tree_cells import TreeGRU, TreeLSTM, TreeRNN
from dgltrees.errors import ConfigError
from dgltrees.registry import Registry, subclass_of
from dgltrees.settings import Options
from dgltrees.settings.values import suggestion

__all__ = [
    "AGGREGATORS",
    "CELLS",
    "NTILSTM",
    "Aggregator",
    "BaseCell",
    "ChainerNTILSTM",
    "ChildSumTreeLSTM",
    "LeftDependentLSTM",
    "NTIAttention",
    "NaryTreeLSTM",
    "NodeFunction",
    "ParameterCount",
    "RRNetCell",
    "Score",
    "TopDownLSTM",
    "TreeCell",
    "TreeGRU",
    "TreeLSTM",
    "TreeRNN",
    "count_parameters",
    "make_cell",
]

CELLS: Registry[type[BaseCell]] = Registry(
    "cells",
    {
        "rnn": "dgltrees.cells.tree_cells:TreeRNN",
        "lstm": "dgltrees.cells.tree_cells:TreeLSTM",
        "gru": "dgltrees.cells.tree_cells:TreeGRU",
        "child_sum": "dgltrees.cells.child_sum:ChildSumTreeLSTM",
        "nary": "dgltrees.cells.nary:NaryTreeLSTM",
        "nti_lstm": "dgltrees.cells.nti_lstm:NTILSTM",
        "chainer_nti_lstm": "dgltrees.cells.nti_lstm:ChainerNTILSTM",
        "nti_attention": "dgltrees.cells.nti_attention:NTIAttention",
    },
    subclass_of(BaseCell),
)
"""The cells by the names that settings use."""


def make_cell(name: str, **options: Any) -> BaseCell:
    """Construct a cell by its name.

    Arguments:
        name: a key of :data:`CELLS`.
        options: the arguments of the class, by name.

    Returns:
        the cell.

    Raises:
        ConfigError: the name is unknown, an option is not an argument of the cell, or an argument
            is missing.

    Example:
        >>> from dgltrees.cells import make_cell
        >>> make_cell("child_sum", input_size=8, hidden_size=16)
        ChildSumTreeLSTM(
          m=8, c=16
          (dropout): Dropout(p=0.0, inplace=False)
          (norm): Identity()
          (norm_f): Identity()
          (norm_c): Identity()
        )
    """
    if name not in CELLS:
        raise ConfigError(
            f"expected the cell to be one of {', '.join(CELLS)}, got {name!r}"
            f"{suggestion(name, CELLS)}"
        )
    return Options(CELLS[name], options, name).of(CELLS[name])
