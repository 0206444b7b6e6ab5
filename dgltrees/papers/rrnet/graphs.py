"""The graphs of sequences of operations, and the trees that they build.

Jacob, Lin, Sordoni and Bengio, "Learning Hierarchical Structures On-The-Fly with a
Recurrent-Recursive Model for Sequences" (RepL4NLP 2018), section 2. Splits and merges match like
brackets. If only RECUR consumes a token, there are L operations for N tokens, L >= N. Between two
words, first subtrees end and then others begin, since every subtree has a word. So two numbers for
each word determine the operations of a sentence: the merges after the previous word, and the splits
before the word. Subtrees that are open at the end are merged there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from dgltrees.errors import TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.forest import Forest
from dgltrees.trees.kinds import OPERATIONS, Flow, Operation
from dgltrees.trees.order import over_subtrees, parents_of_depths
from dgltrees.trees.segments import Ints, lasts, locate, offsets_of, owner, running_sum, starts
from dgltrees.trees.vocabulary import Vocabulary


@dataclass(frozen=True)
class Matching:
    """The matched splits and merges of sequences that have ``N`` operations in total.

    Attributes:
        split, merge: ``(P,)`` the operations of each pair, in the order of the merges.
        open: ``(R,)`` the splits (and OPENs) without a merge, in order: for each sequence the
            stack after its last step, bottom first.
        depth: ``(N,)`` the number of subtrees that are open after each step.
    """

    split: Ints
    merge: Ints
    open: Ints
    depth: Ints


def match_splits(operations: ArrayLike, sizes: ArrayLike, *, complete: bool = False) -> Matching:
    """Match the splits and merges of all sequences at once, without a stack.

    The merge of a split is the first one after it with the same number of open subtrees as before
    the split. So, sorted by sequence, depth and step, each merge comes right after its split.
    """
    ops, lengths = in_sequences(operations, sizes)
    sequence = owner(lengths)
    pushes = (ops == Operation.SPLIT) | (ops == Operation.OPEN)
    merges = ops == Operation.MERGE
    depth = running_sum(pushes.astype(np.int64) - merges, lengths)

    if (depth < 0).any():
        at = int(np.argmax(depth < 0))
        raise step_error("expected a split for every merge, got an empty stack", lengths, at)
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
        message = f"missing merge for this {name}"
        raise step_error(message, lengths, first)
    order = np.argsort(merge, kind="stable")
    return Matching(split[order], merge[order], open_splits, depth)


def step_error(message: str, lengths: Ints, step: int) -> TreeError:
    """Return an error about a step of sequences with these ``lengths``; it names both."""
    tree, node = locate(offsets_of(lengths), step)
    return TreeError(message, tree=tree, node=node)


def in_sequences(operations: ArrayLike, sizes: ArrayLike) -> tuple[Ints, Ints]:
    """Copy operations ``(N,)`` and sizes ``(T,)`` to arrays."""
    ops, lengths = np.array(operations, np.int64), np.array(sizes, np.int64)
    if (lengths < 0).any():
        raise TreeError(f"expected sizes of 0 or more, got {lengths.min()}")
    if ops.shape != (lengths.sum(),):
        raise TreeError(
            f"expected sizes that add up to the {ops.size} operations, got {lengths.sum()}; the "
            "size of a sequence includes START and OPEN"
        )
    return ops, lengths


def operation_graph(
    operations: ArrayLike,
    sizes: ArrayLike,
    *,
    ndata: Mapping[str, Tensor] | None = None,
    complete: bool = False,
) -> TreeBatch:
    """Build the graph for a recurrent-recursive network from sequences of operations.

    A sequence is a START, then an OPEN for each split that is still open from earlier windows (the
    bottom of the stack first), then its steps. NEXT edges lead from START through all steps, RETURN
    edges from each split (or OPEN) to its merge.

    Arguments:
        operations: ``(N,)``, the :class:`~dgltrees.trees.kinds.Operation` of each node, sequence
            after sequence.
        sizes: ``(T,)`` the number of operations of each sequence.
        ndata: node data, each ``(N, ...)``.
        complete: whether a split without a merge is an error.

    Returns:
        a batch with the node data ``op``, the operations, and ``open``, the number of subtrees that
        are open after each step (including those of OPENs); and with the edge data ``pos``, the
        :class:`~dgltrees.trees.kinds.Flow` of each edge.

    Raises:
        TreeError: an operation is unknown, a sequence does not begin with START, a START or OPEN
            comes after the beginning, a merge has no split, with ``complete`` a split has no merge,
            or the sizes do not add up. The error names the sequence and the step.

    Example:
        >>> from dgltrees.papers.rrnet.graphs import operation_graph
        >>> from dgltrees.trees.kinds import Operation
        >>> ops = [Operation.START, Operation.SPLIT, Operation.RECUR, Operation.MERGE]
        >>> graph = operation_graph(ops, sizes=[4])
        >>> graph.src.tolist(), graph.dst.tolist(), graph.edata["pos"].tolist()
        ([0, 1, 2, 1], [1, 2, 3, 3], [0, 0, 0, 1])
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
        etype_names=list(Flow.__members__),
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
        raise TreeError("missing START in this sequence", tree=int(empty.argmax()))
    is_first = np.zeros(len(ops), np.bool_)
    is_first[starts(lengths)] = True
    wrong = is_first != (ops == Operation.START)
    before = np.concatenate([[Operation.START], ops[:-1]])
    wrong |= (ops == Operation.OPEN) & (before != Operation.START) & (before != Operation.OPEN)
    if wrong.any():
        at = int(wrong.argmax())
        raise step_error(
            "expected START only at the beginning of a sequence, and OPEN only right after START "
            f"or OPEN, got {Operation(ops[at]).name}",
            lengths,
            at,
        )


def word_operations(
    merges: ArrayLike, splits: ArrayLike, sizes: ArrayLike, opened: ArrayLike | None = None
) -> tuple[Ints, Ints]:
    """Compute the operations of sentences from the merges and splits before each word."""
    before, after = np.array(merges, np.int64), np.array(splits, np.int64)
    lengths = np.asarray(sizes, np.int64)
    sentence = owner(lengths)
    unknown = np.zeros(len(lengths), np.bool_)
    unknown[sentence[(before < 0) | (after < 0)]] = True
    known = ~unknown[sentence]
    before, after = before * known, after * known
    if opened is not None:
        before = _of_open(before, after, lengths, np.asarray(opened, np.int64))
    end = np.zeros_like(before)
    if opened is None and len(lengths):
        end[lasts(lengths)] = np.maximum(np.add.reduceat(after - before, starts(lengths)), 0)
    counts = np.stack([before, after, np.ones_like(before), end], 1)
    order = [Operation.MERGE, Operation.SPLIT, Operation.RECUR, Operation.MERGE]
    kinds = np.tile(order, (len(before), 1))
    kinds[~known] = Operation.START
    total = np.zeros_like(lengths)
    np.add.at(total, sentence, counts.sum(1))
    return np.repeat(kinds.ravel(), counts.ravel()), total


def _of_open(merges: Ints, splits: Ints, sizes: Ints, opened: Ints) -> Ints:
    """Return the merges that have a subtree to merge, ``(N,)``."""
    depth, merges = opened.copy(), merges.copy()
    for rows, at in each_step(sizes):
        merges[at] = np.minimum(merges[at], depth[rows])
        depth[rows] += splits[at] - merges[at]
    return merges


def each_step(sizes: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Yield for each step the sequences that have it, and its index among steps, ``(R,)`` each."""
    first = starts(sizes)
    for step in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > step)
        yield rows, first[rows] + step


def token_at(operations: ArrayLike, sizes: ArrayLike, tokens: ArrayLike) -> Ints:
    """Return the next token to consume at each step; -1 after the last."""
    recurs = (np.asarray(operations) == Operation.RECUR).astype(np.int64)
    lengths, counts = np.asarray(sizes, np.int64), np.asarray(tokens, np.int64)
    place = running_sum(recurs, lengths) - recurs
    sequence = owner(lengths)
    return np.where(place < counts[sequence], starts(counts)[sequence] + place, -1)


def inferred_trees(
    graph: TreeBatch,
    columns: Sequence[str] = (),
    *,
    recur_only: bool = False,
    vocabs: Mapping[str, Vocabulary] | None = None,
) -> Forest:
    """Build the trees of sequences of operations, with nodes in preorder.

    Jacob et al. (2018), Figure 1(e). The root is the whole sequence, an inner node is a subtree
    from its SPLIT (or OPEN) to its MERGE, and leaves are tokens. A subtree without a MERGE ends
    with its sequence.
    """
    ops, opened = (graph.on_host(graph.ndata[name]).numpy() for name in ("op", "open"))
    is_tree = (ops != Operation.RECUR) & (ops != Operation.MERGE)
    is_token = (ops != Operation.START) & (ops != Operation.OPEN)
    if recur_only:
        is_token = ops == Operation.RECUR
    counts = is_tree.astype(np.int64) + is_token
    first = starts(counts)  # the sub-tree that a step begins is right before its token
    token_node = (first + is_tree)[is_token]
    depth = np.empty(counts.sum(), np.int64)
    depth[first[is_tree]] = opened[is_tree]
    depth[token_node] = (opened + 1 + (ops == Operation.MERGE))[is_token]  # in what it ends
    roots = first[ops == Operation.START]
    up = parents_of_depths(depth, roots, lambda message, _: TreeError(message))
    offsets = np.append(roots, len(up))
    parent = np.where(up < 0, -1, up - np.repeat(roots, np.diff(offsets)))

    def at_leaves(values: NDArray[np.generic]) -> NDArray[np.generic]:
        column = np.full((len(parent), *values.shape[1:]), -1, values.dtype)
        column[token_node] = values[is_token]
        return column

    place = running_sum(is_token, graph.sizes.numpy()) - is_token  # tokens before each step
    leaf_columns = {name: at_leaves(graph.on_host(graph.ndata[name]).numpy()) for name in columns}
    leaf_columns["token"] = at_leaves(place)
    return Forest.build(parent, offsets=offsets, columns=leaf_columns, vocabs=vocabs)


def spans(forest: Forest) -> Ints:
    """Return the spans of all subtrees with tokens, including the roots."""
    token = forest.columns["token"].astype(np.int64)
    is_tree = token < 0
    firsts = np.where(is_tree, len(token), token)
    first = over_subtrees(np.minimum, firsts, forest.global_parent)
    last = over_subtrees(np.maximum, token, forest.global_parent)
    nodes = np.flatnonzero(is_tree & (last >= 0))
    return np.stack([forest.tree_of_node[nodes], first[nodes], last[nodes]], 1)
