"""Attention scores by a multi-layer perceptron, without a table of all its hidden units.

For T trees of M nodes and Q queries that table would have T Q M k numbers. It is computed in
blocks that fit a processor's cache, and computed again in the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from dgltrees.cells.compiled.workspace import refuse_second_derivative

BLOCK = {"cpu": 1 << 20}
"""Bytes per block for a type of device; others use 2^28."""


class FusedScores(torch.autograd.Function):
    """The autograd function of the scores ``m[t, q, j] = w . ReLU(keys[t, j] + queries[t, q])``.

    Arguments:
        keys: ``(T, M, k)``.
        queries: ``(T, Q, k)``.
        w: ``(k,)``, the output weights.

    Returns:
        ``(T, Q, M)``, the scores m.
    """

    @staticmethod
    def forward(ctx: Any, keys: Tensor, queries: Tensor, w: Tensor) -> Tensor:  # noqa: D102
        ctx.save_for_backward(keys, queries, w)
        m = keys.new_empty(len(keys), queries.shape[1], keys.shape[1])
        for trees, columns in _blocks(keys, queries):
            m[trees, columns] = _hidden(keys, queries, trees, columns) @ w
        return m

    @staticmethod
    def backward(ctx: Any, dm: Tensor) -> tuple[Tensor | None, ...]:  # noqa: D102
        refuse_second_derivative()
        keys, queries, w = ctx.saved_tensors
        dkeys, dqueries, dw = (torch.zeros_like(each) for each in (keys, queries, w))
        for trees, columns in _blocks(keys, queries):
            hidden, grad = _hidden(keys, queries, trees, columns), dm[trees, columns]
            dw.addmv_(hidden.flatten(0, 2).t(), grad.flatten())
            through = (hidden > 0).to(w.dtype).mul_(grad.unsqueeze(3))  # (t, q, M, k)
            dkeys[trees] += through.sum(1)
            dqueries[trees, columns] = through.sum(2)
        return dkeys.mul_(w), dqueries.mul_(w), dw


def _hidden(keys: Tensor, queries: Tensor, trees: slice, columns: slice) -> Tensor:
    """Compute the hidden units of some queries to some trees, ``(t, q, M, k)``."""
    return (keys[trees].unsqueeze(1) + queries[trees, columns].unsqueeze(2)).relu_()


def _blocks(keys: Tensor, queries: Tensor) -> Iterator[tuple[slice, slice]]:
    """Yield slices of the trees and of the queries, block by block."""
    trees, number = queries.shape[:2]
    pair_bytes = max(1, keys[:1].numel() * keys.element_size())  # of one query to one tree
    room = max(1, BLOCK.get(keys.device.type, 1 << 28) // pair_bytes)
    q, t = min(room, number), max(1, room // max(1, number))
    for tree in range(0, trees, t):
        for first in range(0, number, q):
            yield slice(tree, tree + t), slice(first, first + q)
