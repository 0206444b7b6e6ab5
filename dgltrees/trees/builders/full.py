"""From sequences to trees without a parser: full n-ary trees, and left-branching ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Optional

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.check import integers
from dgltrees.trees.segments import offsets_of, owner, starts, within

__all__ = ["FullShape", "full_shape", "full_trees", "full_width", "left_branching_trees"]

Ints = NDArray[np.int64]

PADDINGS = ("left", "right")


@dataclass(frozen=True)
class FullShape:
    """What is known of a batch of full trees besides its edges.

    Arguments:
        branching: b, how many children an inner node has.
        stride: by how many nodes the children of neighbours differ; b: no node has two parents.
        widths: of each tree the number of its leaves, pads among them.
    """

    branching: int
    stride: int
    widths: tuple[int, ...]


def full_shape(batch: TreeBatch) -> Optional[FullShape]:
    """The shape of a batch that :func:`full_trees` made; None of any other."""
    shape: Optional[FullShape] = batch.cache.get("full_shape", lambda: None)
    return shape


def full_trees(
    lengths: ArrayLike,
    branching: int = 2,
    *,
    stride: Optional[int] = None,
    padding: str = "left",
    width: Optional[int] = None,
    truncate: bool = False,
) -> TreeBatch:
    """A full n-ary tree over each of some sequences, as one batch.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 3: "a full
    n-ary tree (and the sub-trees can be overlapped)". The nodes of a tree stand deepest level
    first, each level from left to right: the leaves at first, the root at last. Batches of equal
    widths share one structure and what is derived of it.

    Arguments:
        lengths: ``(T,)`` how many tokens each sequence has.
        branching: b, 2 or more.
        stride: how many nodes of a level lie between the first children of neighbours above it;
            below b, sub-trees overlap, as the windows of a convolution do. By default b.
        padding: the side on which leaves without a token stand, ``"left"`` (as the paper's code
            has it) or ``"right"``.
        width: the number of leaves of every tree; by default of each tree the least number that
            holds its tokens and makes a full tree.
        truncate: leave out the tokens that ``width`` has no room for, the last ones.

    Returns:
        a batch with the node data ``token`` ``(N,)``, the place of a leaf's token in its sequence
        or -1; ``span`` ``(N, 2)``, the first and the last token below each node, or -1; and ``pad``
        ``(N,)`` bool, nodes that have no token below them.

    Raises:
        ConfigError: the branching factor is below 2, the stride not from 1 to b, the width not
            that of a full tree, or there is no such side.
        TreeError: a sequence is empty, or longer than the width.
    """
    stride = branching if stride is None else stride
    _check_shape(branching, stride, padding, width)
    tokens = _check_lengths(lengths, width, truncate)
    if width is None:
        widths = _least_widths(tokens, branching, stride)
    else:
        widths = np.full_like(tokens, width)
    return _with_tokens(_full_structure(branching, stride, tuple(widths.tolist())), tokens, padding)


def left_branching_trees(lengths: ArrayLike) -> TreeBatch:
    """A left-branching binary tree over each of some sequences, as one batch.

    The first two tokens are the deepest leaves, and each node above has a node to its left and one
    more token to its right. The nodes of a tree stand deepest level first, each level from left to
    right, the root at last.

    Arguments:
        lengths: ``(T,)`` how many tokens each sequence has.

    Returns:
        a batch with the node data of :func:`full_trees`; there are no pads.

    Raises:
        TreeError: a sequence is empty.
    """
    tokens = _check_lengths(lengths, None, False)
    return _with_tokens(_left_branching_structure(tuple(tokens.tolist())), tokens, "left")


def full_width(tokens: int, branching: int = 2, stride: Optional[int] = None) -> int:
    """The least number of leaves, at least ``tokens``, of which a full tree can be made."""
    stride, width = branching if stride is None else stride, 1
    while width < tokens:
        width = (width - 1) * stride + branching
    return width


def _check_shape(branching: int, stride: int, padding: str, width: Optional[int]) -> None:
    if branching < 2:
        raise ConfigError(f"expected a branching factor of at least 2, got {branching}")
    if not 1 <= stride <= branching:
        raise ConfigError(
            f"expected a stride from 1 to {branching}, the branching factor, got {stride}; a wider "
            "one would leave nodes without a parent"
        )
    if padding not in PADDINGS:
        raise ConfigError(f"expected padding to be one of {', '.join(PADDINGS)}, got {padding!r}")
    if width is not None and width != full_width(width, branching, stride):
        raise ConfigError(
            f"expected the width of a full tree of branching factor {branching} and stride "
            f"{stride}, got {width}; the next is {full_width(width, branching, stride)}"
        )


def _check_lengths(lengths: ArrayLike, width: Optional[int], truncate: bool) -> Ints:
    tokens = integers(lengths, "lengths", None)
    if (tokens < 1).any():
        tree = int(np.argmax(tokens < 1))
        raise TreeError(
            f"expected a sequence of at least one token, got {tokens[tree]}; leave it out",
            tree=tree,
        )
    if width is None or (tokens <= width).all():
        return tokens
    if not truncate:
        tree = int(np.argmax(tokens > width))
        raise TreeError(
            f"expected at most {width} tokens, got {tokens[tree]}; choose a larger width, or "
            "truncate",
            tree=tree,
        )
    return np.minimum(tokens, width)


def _least_widths(tokens: Ints, branching: int, stride: int) -> Ints:
    steps = [1]
    while steps[-1] < tokens.max(initial=1):
        steps.append(full_width(steps[-1] + 1, branching, stride))
    every = np.array(steps)
    return np.asarray(every[np.searchsorted(every, tokens)])


@dataclass(frozen=True)
class _Tree:
    """One tree: its edges as they enter its nodes, and which leaves each node covers."""

    src: Ints
    dst: Ints
    pos: Ints
    depth: Ints
    first: Ints  # (N,) the first leaf below each node
    last: Ints
    one_parent: bool = True


@lru_cache(maxsize=256)
def _full_tree(width: int, branching: int, stride: int) -> _Tree:
    sizes = [width]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] - branching) // stride + 1)
    offsets = offsets_of(sizes)  # of the levels, deepest first
    level, place = owner(np.array(sizes)), within(np.array(sizes))
    inner, pos = np.arange(width, offsets[-1]), np.arange(branching)
    below = offsets[level[inner] - 1] + place[inner] * stride
    step, covers = [1], [1]  # between neighbours of a level, in leaves, and how many each covers
    for _ in sizes[1:]:
        covers.append(covers[-1] + (branching - 1) * step[-1])
        step.append(step[-1] * stride)
    first = place * np.array(step)[level]
    return _Tree(
        (below[:, None] + pos).ravel(),
        np.repeat(inner, branching),
        np.tile(pos, len(inner)),
        len(sizes) - 1 - level,
        first,
        first + np.array(covers)[level] - 1,
        stride == branching,
    )


@lru_cache(maxsize=256)
def _left_branching_tree(width: int) -> _Tree:
    step = np.arange(1, width)  # node 2 j joins node 2 j - 2, to its left, and leaf j, node 2 j - 1
    leaf = (np.arange(2 * width - 1) + 1) // 2
    inner = np.arange(2 * width - 1) % 2 == 0
    inner[0] = False
    return _Tree(
        np.stack([2 * step - 2, 2 * step - 1], 1).ravel(),
        np.repeat(2 * step, 2),
        np.tile([0, 1], len(step)),
        width - np.where(inner, leaf + 1, np.maximum(leaf, 1)) if width > 1 else np.zeros(1, int),
        np.where(inner, 0, leaf),
        leaf,
    )


class _Structure(NamedTuple):
    """The trees of some sequences without their tokens, and which leaves each node covers.

    Attributes:
        batch: the trees, without node data.
        first, last: ``(N,)`` the first and the last leaf below each node.
        width: ``(N,)`` the number of leaves of each node's tree.
    """

    batch: TreeBatch
    first: Ints
    last: Ints
    width: Ints


@lru_cache(maxsize=64)
def _full_structure(branching: int, stride: int, widths: tuple[int, ...]) -> _Structure:
    structure = _concat(widths, lambda width: _full_tree(width, branching, stride))
    structure.batch.cache.get("full_shape", lambda: FullShape(branching, stride, widths))
    return structure


@lru_cache(maxsize=64)
def _left_branching_structure(widths: tuple[int, ...]) -> _Structure:
    return _concat(widths, _left_branching_tree)


def _concat(widths: tuple[int, ...], make_tree: Callable[[int], _Tree]) -> _Structure:
    """One tree of each width, one after the other."""
    trees = [make_tree(width) for width in widths]
    sizes = np.array([len(tree.depth) for tree in trees], np.int64)
    begins = np.repeat(starts(sizes), [len(tree.src) for tree in trees])
    has_depth = all(tree.one_parent for tree in trees)

    def column(name: str) -> Ints:
        parts = [getattr(tree, name) for tree in trees]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    batch = TreeBatch(
        torch.from_numpy(column("src") + begins),
        torch.from_numpy(column("dst") + begins),
        torch.from_numpy(sizes),
        edata={"pos": torch.from_numpy(column("pos"))},
        depth=column("depth").astype(np.int32) if has_depth else None,
    )
    width = np.repeat(np.array(widths, np.int64), sizes)
    return _Structure(batch, column("first"), column("last"), width)


def _with_tokens(structure: _Structure, tokens: Ints, padding: str) -> TreeBatch:
    """The trees with the node data that tell which tokens are below each node."""
    batch, first, last, width = structure
    count = np.repeat(tokens, batch.sizes.numpy())
    begin = width - count if padding == "left" else np.zeros_like(width)  # the first token's leaf
    pad = (last < begin) | (first >= begin + count)
    degree = np.bincount(batch.dst.numpy(), minlength=batch.num_nodes)
    token = np.where(pad | (degree > 0), -1, first - begin)
    span = np.stack([np.maximum(first - begin, 0), np.minimum(last - begin, count - 1)], 1)
    span[pad] = -1
    ndata = {"token": token, "span": span, "pad": pad}
    return batch.with_data({name: torch.from_numpy(column) for name, column in ndata.items()})
