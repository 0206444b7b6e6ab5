"""The settings of models over given trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from dgltrees.cells import CELLS
from dgltrees.options import Count, Fraction

__all__ = ["HeadSettings", "ReadoutSettings", "TreeModel"]


@dataclass(frozen=True)
class TreeModel:
    """An encoder of trees: a cell that runs from the leaves to the root."""

    parts: ClassVar[Mapping[str, Any]] = {"cell": CELLS}
    hidden: ClassVar[tuple[str, ...]] = ("input_size", "operators")

    cell: str = "lstm"
    """Cell that makes a node's state from those of its children."""
    hidden_size: Count = 50
    """Size c of a node's state."""
    init: Literal["kaiming", "xavier", "uniform"] = "kaiming"
    """Initial weights: kaiming (normal), xavier (uniform), or uniform in U(-0.1, 0.1)."""
    bidirectional: bool = False
    """Run a second cell from the root down too, over the states of the first, and read both."""
    checkpoint: bool = False
    """Compute levels again in the backward pass, which takes longer and less memory."""

    @property
    def display_name(self) -> str:
        """The cell's name; see :meth:`dgltrees.tasks.trees.base.TreeTask.display_name`."""
        return self.cell


@dataclass(frozen=True)
class HeadSettings:
    """The layers between a state and the classes."""

    head: list[Count] = field(default_factory=list)
    """Sizes of the hidden layers between a state and the classes."""
    head_dropout: Fraction = 0.0
    """Probability of dropout before every layer of the head."""


@dataclass(frozen=True)
class ReadoutSettings(HeadSettings):
    """From the states of a tree's nodes to its classes."""

    readout: Literal["root", "mean", "attention"] = "root"
    """Vector of a tree: the root's state, the mean over its nodes, or a learned weighted mean."""
