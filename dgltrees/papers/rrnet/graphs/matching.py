"""The splits and merges of sequences of operations, matched like brackets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.kinds import Operation
from dgltrees.trees.segments import locate, offsets_of, owner, running_sum

__all__ = ["Matching", "in_sequences", "match_splits", "step_error"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Matching:
    """The matched splits and merges of sequences that have ``N`` operations in total.

    Attributes:
        split, merge: ``(P,)`` the operations of each pair, in the order of the merges.
        open: ``(R,)`` the splits (and OPENs) without a merge, in order: for each sequence the
            stack after its last step, bottom first.
        depth: ``(N,)`` the number of sub-trees that are open after each step.
    """

    split: Ints
    merge: Ints
    open: Ints
    depth: Ints


def match_splits(operations: ArrayLike, sizes: ArrayLike, *, complete: bool = False) -> Matching:
    """Match the splits and merges of all sequences at once, without a stack.

    The merge of a split is the first one after it with the same number of open sub-trees as before
    the split. So, sorted by sequence, depth and step, each merge comes right after its split.

    Arguments:
        operations: ``(N,)`` ``Operation``, sequence after sequence.
        sizes: ``(T,)`` the number of operations of each sequence.
        complete: whether a split without a merge is an error.

    Raises:
        TreeError: the error names the sequence and the step: a merge without a split, or with
            ``complete`` a split without a merge; or the sizes do not add up.
    """
    ops, lengths = in_sequences(operations, sizes)
    sequence = owner(lengths)
    pushes = (ops == Operation.SPLIT) | (ops == Operation.OPEN)
    merges = ops == Operation.MERGE
    depth = running_sum(pushes.astype(np.int64) - merges, lengths)

    if (depth < 0).any():
        at = int(np.argmax(depth < 0))
        raise step_error("expected a split for every merge, got none to merge", lengths, at)
    event = np.flatnonzero(pushes | merges)
    level = depth[event] + merges[event]  # that of the sub-tree that begins or ends
    event = event[np.lexsort((event, level, sequence[event]))]
    is_merge = merges[event]
    merge = event[is_merge]
    split = event[np.flatnonzero(is_merge) - 1]
    has_merge = np.zeros(len(ops), np.bool_)
    has_merge[split] = True
    open_splits = np.flatnonzero(pushes & ~has_merge)
    if complete and len(open_splits):
        first = int(open_splits[0])
        name = Operation(ops[first]).name
        message = f"expected a merge for every split, got none for this {name}"
        raise step_error(message, lengths, first)
    order = np.argsort(merge, kind="stable")
    return Matching(split[order], merge[order], open_splits, depth)


def step_error(message: str, lengths: Ints, step: int) -> TreeError:
    """The error of one step of sequences with these ``lengths``, which names sequence and step."""
    tree, node = locate(offsets_of(lengths), step)
    return TreeError(message, tree=tree, node=node)


def in_sequences(operations: ArrayLike, sizes: ArrayLike) -> tuple[Ints, Ints]:
    """Copies of operations ``(N,)`` and sizes ``(T,)`` as arrays.

    Raises:
        TreeError: the sizes do not add up to N, or one is negative.
    """
    ops, lengths = np.array(operations, np.int64), np.array(sizes, np.int64)
    if (lengths < 0).any():
        raise TreeError(f"expected sizes of 0 or more, got {lengths.min()}")
    if ops.shape != (lengths.sum(),):
        raise TreeError(
            f"expected sizes that add up to the {ops.size} operations, got {lengths.sum()}; give "
            "each sequence as many as it has steps, START and OPEN counted"
        )
    return ops, lengths
