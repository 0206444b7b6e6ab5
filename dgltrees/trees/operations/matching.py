"""Which merge takes what a split has pushed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import TreeError
from dgltrees.trees.operations.kinds import Operation
from dgltrees.trees.segments import locate, offsets_of, owner, running_sum

__all__ = ["Matching", "in_sequences", "match_splits"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Matching:
    """Splits and merges of some sequences.

    Attributes:
        split, merge: ``(P,)`` the places of each pair, in the order of the merges.
        open: the places of what no merge takes, in order: of each sequence the stack that is left,
            bottom first.
        depth: ``(N,)`` how many sub-trees are open after each step.
    """

    split: Ints
    merge: Ints
    open: Ints
    depth: Ints


def match_splits(operations: ArrayLike, sizes: ArrayLike, *, complete: bool = False) -> Matching:
    """Match brackets, all sequences at once: a stack without a loop.

    A split is taken by the first merge after it at whose step as many sub-trees are open as before
    the split. So, of all splits and merges of one sequence and one level, a merge takes the one
    right before it.

    Arguments:
        operations: ``(N,)`` :class:`~dgltrees.trees.operations.Operation`, sequence after sequence.
        sizes: ``(T,)`` their lengths.
        complete: refuse sequences that leave a split open.

    Raises:
        TreeError: a merge finds an empty stack, or a split is left open and may not; with the
            sequence and the place in it. Or the lengths do not add up.
    """
    ops, lengths = in_sequences(operations, sizes)
    sequence = owner(lengths)
    pushes = (ops == Operation.SPLIT) | (ops == Operation.OPEN)
    merges = ops == Operation.MERGE
    depth = running_sum(pushes.astype(np.int64) - merges, lengths)

    def fail(place: int, message: str) -> TreeError:
        tree, node = locate(offsets_of(lengths), place)
        return TreeError(message, tree=tree, node=node)

    if (depth < 0).any():
        raise fail(int(np.argmax(depth < 0)), "expected a split for every merge, got none to merge")
    event = np.flatnonzero(pushes | merges)
    level = depth[event] + merges[event]  # of the sub-tree that begins or ends here
    event = event[np.lexsort((event, level, sequence[event]))]
    is_merge = merges[event]
    merge = event[is_merge]
    split = event[np.flatnonzero(is_merge) - 1]
    taken = np.zeros(len(ops), np.bool_)
    taken[split] = True
    left = np.flatnonzero(pushes & ~taken)
    if complete and len(left):
        name = Operation(ops[left[0]]).name
        raise fail(int(left[0]), f"expected a merge for every split, got none for this {name}")
    order = np.argsort(merge, kind="stable")
    return Matching(split[order], merge[order], left, depth)


def in_sequences(operations: ArrayLike, sizes: ArrayLike) -> tuple[Ints, Ints]:
    """Copies of both as arrays, ``(N,)`` and ``(T,)``.

    Raises:
        TreeError: the sizes do not add up to N.
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
