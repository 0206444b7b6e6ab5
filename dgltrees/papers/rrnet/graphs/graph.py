"""Graphs of sequences of operations."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.papers.rrnet.graphs.matching import in_sequences, match_splits, step_error
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.kinds import OPERATIONS, Flow, Operation
from dgltrees.trees.segments import starts

__all__ = ["operation_graph"]


def operation_graph(
    operations: ArrayLike,
    sizes: ArrayLike,
    *,
    ndata: Mapping[str, Tensor] | None = None,
    complete: bool = False,
) -> TreeBatch:
    """The graph that a recurrent-recursive network runs over.

    A sequence is a START, then an OPEN for each split that is still open from earlier windows (the
    bottom of the stack first), then its steps. NEXT edges go from START through all steps, RETURN
    edges from each split (or OPEN) to its merge.

    Arguments:
        operations: ``(N,)``, the :class:`Operation` of each node, sequence after sequence.
        sizes: ``(T,)`` the number of operations of each sequence.
        ndata: node data, each ``(N, ...)``.
        complete: whether a split without a merge is an error.

    Returns:
        a batch with the node data ``op``, the operations, and ``open``, the number of sub-trees
        that are open after each step (including those of OPENs); and the edge data ``pos``, the
        :class:`Flow` of each edge.

    Raises:
        TreeError: the error names the sequence and the step: an unknown operation, a sequence that
            does not begin with START, a START or OPEN after the beginning, a merge without a split,
            with ``complete`` a split without a merge; or the sizes do not add up.
    """
    ops, lengths = in_sequences(operations, sizes)
    _check(ops, lengths)
    matching = match_splits(ops, lengths, complete=complete)
    steps = np.flatnonzero((ops != Operation.START) & (ops != Operation.OPEN))
    start = np.repeat(starts(lengths), lengths)  # (N,) the START of each node
    after_open = (steps > 0) & (ops[steps - 1] == Operation.OPEN)
    before = np.where(after_open, start[steps], steps - 1)
    src = np.concatenate([before, matching.split])
    dst = np.concatenate([steps, matching.merge])
    flow = np.repeat([int(Flow.NEXT), int(Flow.RETURN)], [len(steps), len(matching.merge)])
    order = np.lexsort((flow, dst))  # NEXT before RETURN in every mailbox
    return TreeBatch(
        torch.from_numpy(src[order]),
        torch.from_numpy(dst[order]),
        torch.from_numpy(lengths),
        ndata={
            "op": torch.from_numpy(ops),
            "open": torch.from_numpy(matching.depth),
            **(ndata or {}),
        },
        edata={"pos": torch.from_numpy(flow[order].astype(np.int64))},
    )


def _check(ops: NDArray[np.int64], lengths: NDArray[np.int64]) -> None:
    """Check that all operations are valid, and START and OPEN occur only at the beginning."""
    in_range = (ops >= 0) & (ops < len(OPERATIONS))
    if not in_range.all():
        at = int(np.argmin(in_range))
        names = ", ".join(f"{o.name} {o.value}" for o in Operation)
        raise step_error(f"expected an operation ({names}), got {ops[at]}", lengths, at)
    empty = lengths < 1
    if empty.any():
        raise TreeError("expected a START in every sequence, got none", tree=int(empty.argmax()))
    is_first = np.zeros(len(ops), np.bool_)
    is_first[starts(lengths)] = True
    wrong = is_first != (ops == Operation.START)
    before = np.concatenate([[Operation.START], ops[:-1]])
    wrong |= (ops == Operation.OPEN) & (before != Operation.START) & (before != Operation.OPEN)
    if wrong.any():
        at = int(wrong.argmax())
        raise step_error(
            "expected START first in a sequence and nowhere else, and OPEN only right after it or "
            f"another OPEN, got {Operation(ops[at]).name}",
            lengths,
            at,
        )
