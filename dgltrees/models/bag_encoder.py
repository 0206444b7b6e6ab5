"""Nodes without their tree: the baseline that shows what the edges add."""

from __future__ import annotations

import torch
from torch import nn

from dgltrees.models.encoding import Encoder, Encoding
from dgltrees.models.inputs import Input
from dgltrees.models.readout import mean_by_tree
from dgltrees.settings import Count
from dgltrees.trees.batch import TreeBatch

__all__ = ["BagEncoder"]


class BagEncoder(Encoder):
    """A layer over each node alone; the vector of a tree is the mean over its nodes.

    Arguments:
        inputs: gives every node its vector.
        hidden_size: c, the size of a state.

    Attributes:
        size: c.
    """

    def __init__(self, inputs: Input, hidden_size: Count) -> None:
        super().__init__()
        self.input, self.size = inputs, hidden_size
        self.layer = nn.Linear(inputs.size, hidden_size)

    def forward(self, batch: TreeBatch) -> Encoding:
        """The states of all nodes, in the order of the batch's nodes."""
        states = torch.relu(self.layer(self.input(batch)))
        return Encoding(batch, states, vectors=mean_by_tree(states, batch))
