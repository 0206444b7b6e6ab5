"""Sequences of operations as one graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Optional

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.operations.kinds import OPERATIONS, Flow, Operation
from dgltrees.trees.operations.matching import in_sequences, match_splits
from dgltrees.trees.segments import locate, offsets_of, starts

__all__ = ["operation_graph"]


def operation_graph(
    operations: ArrayLike,
    sizes: ArrayLike,
    *,
    ndata: Optional[Mapping[str, Tensor]] = None,
    complete: bool = False,
) -> TreeBatch:
    """The graph over which a recurrent-recursive network runs.

    A sequence is a START, then an OPEN for each split that an earlier window left open (bottom of
    the stack first), then its steps. NEXT edges lead from START through all steps, RETURN edges
    from a split, or an OPEN, to its merge.

    Arguments:
        operations: ``(N,)`` :class:`Operation`, sequence after sequence.
        sizes: ``(T,)`` how many of them each sequence has.
        ndata: fields of the nodes, each ``(N, ...)``.
        complete: refuse sequences that leave a split open.

    Returns:
        a batch with node fields ``op`` and ``open``, how many sub-trees are open after each step
        (OPENs count), and edge field ``pos``, the :class:`Flow` of each edge: the
        place of its message in the mailbox.

    Raises:
        TreeError: there is no such operation, a sequence does not begin with START, START or OPEN
            stand elsewhere than at the beginning, a merge has no split, a split is left open and
            may not, or the sizes do not add up.
    """
    ops, lengths = in_sequences(operations, sizes)
    _check(ops, lengths)
    matching = match_splits(ops, lengths, complete=complete)
    steps = np.flatnonzero((ops != Operation.START) & (ops != Operation.OPEN))
    begins = np.repeat(starts(lengths), lengths)  # (N,) the START of each node
    first = (steps > 0) & (ops[steps - 1] == Operation.OPEN)
    last = np.where(first, begins[steps], steps - 1)  # whom a step hears by NEXT
    src = np.concatenate([last, matching.split])
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
    def fail(place: int, message: str) -> TreeError:
        tree, node = locate(offsets_of(lengths), place)
        return TreeError(message, tree=tree, node=node)

    known = (ops >= 0) & (ops < len(OPERATIONS))
    if not known.all():
        at = int(np.argmin(known))
        names = ", ".join(f"{o.name} {o.value}" for o in Operation)
        raise fail(at, f"expected an operation ({names}), got {ops[at]}")
    empty = lengths < 1
    if empty.any():
        raise TreeError("expected a START in every sequence, got none", tree=int(empty.argmax()))
    is_first = np.zeros(len(ops), np.bool_)
    is_first[starts(lengths)] = True
    wrong = is_first != (ops == Operation.START)
    before = np.concatenate([[Operation.START], ops[:-1]])
    after_step = (before != Operation.START) & (before != Operation.OPEN)
    wrong |= (ops == Operation.OPEN) & after_step
    if wrong.any():
        at = int(wrong.argmax())
        raise fail(
            at,
            "expected START first in a sequence and nowhere else, and OPEN only right after it or "
            f"another OPEN, got {Operation(ops[at]).name}",
        )
