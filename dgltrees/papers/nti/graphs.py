"""Full n-ary and left-branching trees over sequences, without a parser; and phrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from dgltrees.errors import ConfigError, TreeError
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.builders.sentences import chains
from dgltrees.trees.check import integers
from dgltrees.trees.forest import Forest
from dgltrees.trees.order import over_subtrees
from dgltrees.trees.segments import Ints, offsets_of, owner, ranges, starts, within

PADDINGS = ("left", "right")


@dataclass(frozen=True)
class FullShape:
    """Shape of a batch of full trees.

    Arguments:
        branching: b, the number of children of an inner node.
        stride: the distance between the first children of neighbours; b if no node has two parents.
        widths: the number of leaves of each tree, pads included.
    """

    branching: int
    stride: int
    widths: tuple[int, ...]


def full_shape(batch: TreeBatch) -> FullShape | None:
    """Return the shape of a batch of :func:`full_trees`; None for any other batch."""
    shape: FullShape | None = batch.cache.get("full_shape", lambda: None)
    return shape


def full_trees(
    lengths: ArrayLike,
    branching: int = 2,
    *,
    stride: int | None = None,
    padding: str = "left",
    width: int | None = None,
) -> TreeBatch:
    """Build a batch with a full n-ary tree over each sequence.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 3: "a full
    n-ary tree (and the sub-trees can be overlapped)". The nodes of a tree are in level order,
    leaves first, each level from left to right; the root is last. Batches of equal widths share
    their structure and its cache.

    Arguments:
        lengths: ``(T,)``, the number of tokens of each sequence.
        branching: b, the number of children of an inner node, 2 or more.
        stride: the distance between the first children of neighbours, by default b; below b,
            sub-trees overlap like the windows of a convolution.
        padding: the side of the leaves without a token: ``"left"`` (as in the paper's code) or
            ``"right"``.
        width: the number of leaves of every tree; by default the smallest number of a full tree
            for the tokens of each sequence.

    Returns:
        a batch with the node data ``token`` ``(N,)``, the index of a leaf's token in its sequence;
        ``span`` ``(N, 2)``, the first and the last token below each node, both -1 without a token;
        and ``pad`` ``(N,)`` bool, whether a node has no token below it.

    Raises:
        ConfigError: the branching factor is below 2, the stride is not from 1 to b, no full tree
            has this width, or the side is unknown.
        TreeError: a sequence is empty, or longer than the width.
    """
    stride = branching if stride is None else stride
    _check_shape(branching, stride, padding, width)
    tokens = _check_lengths(lengths, width)
    if width is None:
        widths = _least_widths(tokens, branching, stride)
    else:
        widths = np.full_like(tokens, width)
    return _with_tokens(_full_structure(branching, stride, tuple(widths.tolist())), tokens, padding)


def left_branching_trees(lengths: ArrayLike) -> TreeBatch:
    """Build a batch with a left-branching binary tree over each sequence.

    The first two tokens are the deepest leaves; each node above has a node as its left child and
    the next token as its right child. The nodes of a tree are in level order, deepest first, each
    level from left to right; the root is last.
    """
    tokens = _check_lengths(lengths)
    return _with_tokens(_left_branching_structure(tuple(tokens.tolist())), tokens, "left")


def full_width(tokens: int, branching: int = 2, stride: int | None = None) -> int:
    """Return the smallest number of leaves of a full tree with at least ``tokens`` leaves."""
    stride, width = branching if stride is None else stride, 1
    while width < tokens:
        width = (width - 1) * stride + branching
    return width


def _check_shape(branching: int, stride: int, padding: str, width: int | None) -> None:
    if branching < 2:
        raise ConfigError(f"expected a branching factor of at least 2, got {branching}")
    if not 1 <= stride <= branching:
        raise ConfigError(
            f"expected a stride from 1 to {branching}, the branching factor, got {stride}; a "
            "larger one leaves nodes without a parent"
        )
    if padding not in PADDINGS:
        raise ConfigError(f"expected padding to be one of {', '.join(PADDINGS)}, got {padding!r}")
    if width is not None and width != full_width(width, branching, stride):
        raise ConfigError(
            f"expected the width of a full tree of branching factor {branching} and stride "
            f"{stride}, got {width}; the next is {full_width(width, branching, stride)}"
        )


def _check_lengths(lengths: ArrayLike, width: int | None = None) -> Ints:
    tokens = integers(lengths, "lengths", None)
    if (tokens < 1).any():
        tree = int(np.argmax(tokens < 1))
        raise TreeError(
            f"expected a sequence of at least one token, got {tokens[tree]}; leave it out",
            tree=tree,
        )
    if width is not None and (tokens > width).any():
        tree = int(np.argmax(tokens > width))
        raise TreeError(
            f"expected at most {width} tokens, got {tokens[tree]}; choose a larger width, or "
            "truncate",
            tree=tree,
        )
    return tokens


def _least_widths(tokens: Ints, branching: int, stride: int) -> Ints:
    possible = [1]
    while possible[-1] < tokens.max(initial=1):
        possible.append(full_width(possible[-1] + 1, branching, stride))
    widths = np.array(possible)
    return np.asarray(widths[np.searchsorted(widths, tokens)])


@dataclass(frozen=True)
class _Tree:
    """Edges of one tree, and the leaves below each node.

    Attributes:
        src, dst, pos: ``(E,)``, the child, parent and position of each edge.
        depth: ``(N,)``, the depth of each node.
        first, last: ``(N,)``, the first and the last leaf below each node.
        one_parent: whether no node has two parents.
    """

    src: Ints
    dst: Ints
    pos: Ints
    depth: Ints
    first: Ints
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
    distance, covers = [1], [1]  # of neighbours, and below each node, in leaves; by level
    for _ in sizes[1:]:
        covers.append(covers[-1] + (branching - 1) * distance[-1])
        distance.append(distance[-1] * stride)
    first = place * np.array(distance)[level]
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


@lru_cache(maxsize=64)
def _full_structure(branching: int, stride: int, widths: tuple[int, ...]) -> TreeBatch:
    batch = _concat(widths, lambda width: _full_tree(width, branching, stride))
    batch.cache.get("full_shape", lambda: FullShape(branching, stride, widths))
    return batch


@lru_cache(maxsize=64)
def _left_branching_structure(widths: tuple[int, ...]) -> TreeBatch:
    return _concat(widths, _left_branching_tree)


def _concat(widths: tuple[int, ...], make_tree: Callable[[int], _Tree]) -> TreeBatch:
    """Build a batch with a tree of each width.

    Its node data are the ``first`` and the ``last`` leaf below each node, and the ``width`` of the
    node's tree, each ``(N,)``.
    """
    trees = [make_tree(width) for width in widths]
    sizes = np.array([len(tree.depth) for tree in trees], np.int64)
    begins = np.repeat(starts(sizes), [len(tree.src) for tree in trees])
    has_depth = all(tree.one_parent for tree in trees)

    def column(name: str) -> Ints:
        parts = [getattr(tree, name) for tree in trees]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    ndata = {name: torch.from_numpy(column(name)) for name in ("first", "last")}
    ndata["width"] = torch.from_numpy(np.repeat(np.array(widths, np.int64), sizes))
    return TreeBatch(
        torch.from_numpy(column("src") + begins),
        torch.from_numpy(column("dst") + begins),
        torch.from_numpy(sizes),
        ndata=ndata,
        edata={"pos": torch.from_numpy(column("pos"))},
        depth=column("depth").astype(np.int32) if has_depth else None,
    )


def _with_tokens(batch: TreeBatch, tokens: Ints, padding: str) -> TreeBatch:
    """Return a batch with the node data of sequences of ``tokens`` ``(T,)`` tokens."""
    first, last, width = (batch.ndata[name].numpy() for name in ("first", "last", "width"))
    count = np.repeat(tokens, batch.sizes.numpy())
    begin = width - count if padding == "left" else np.zeros_like(width)  # the first token's leaf
    pad = (last < begin) | (first >= begin + count)
    degree = np.bincount(batch.dst.numpy(), minlength=batch.num_nodes)
    token = np.where(pad | (degree > 0), -1, first - begin)
    span = np.stack([np.maximum(first - begin, 0), np.minimum(last - begin, count - 1)], 1)
    span[pad] = -1
    ndata = {"token": token, "span": span, "pad": pad}
    return batch.with_data({name: torch.from_numpy(column) for name, column in ndata.items()})


def phrases(forest: Forest, nodes: ArrayLike, *, columns: Sequence[str] = ("word",)) -> Forest:
    """Build a forest with one chain per node of ``nodes``: the words of the leaves below it."""
    roots = np.asarray(nodes, dtype=np.int64)
    up = forest.global_parent
    index = np.arange(forest.num_nodes)
    is_leaf = forest.degree == 0
    size = over_subtrees(np.add, np.ones(len(up), np.int64), up)
    last = over_subtrees(np.maximum, index, up)
    if (up >= index).any() or (last - index + 1 != size).any():
        raise TreeError(
            "expected every node before its children and the nodes of a subtree together, got "
            "another order; build the forest from its brackets"
        )
    before = offsets_of(is_leaf)  # leaves before each node
    first, sizes = before[roots], before[last[roots] + 1] - before[roots]
    leaves = np.flatnonzero(is_leaf)[ranges(first, sizes)]
    vocabs = {name: forest.vocabs[name] for name in columns if name in forest.vocabs}
    return chains(sizes, {name: forest.columns[name][leaves] for name in columns}, vocabs)


def binary_constituents(forest: Forest) -> Forest:
    """Convert trees to trees with two children or none at every node.

    A node with one child is replaced by that child. Of more than two children the first is kept,
    and the others get a new parent: ``(a b c d)`` becomes ``(a (b (c d)))``.
    """
    single = forest.degree == 1
    up = forest.global_parent
    top = np.where((up >= 0) & single[up], up, np.arange(len(up)))  # of a chain of single children
    while (top != top[top]).any():
        top = top[top]
    kept = np.flatnonzero(~single)
    kept = kept[np.lexsort((forest.pos[top[kept]], up[top[kept]]))]  # siblings are adjacent
    parent = up[top[kept]]
    _, family, sizes = np.unique(parent, return_inverse=True, return_counts=True)
    place, last = within(sizes), sizes[family] - 1
    is_root = parent < 0
    # each child but the first and the last gets a parent, which is the node before it
    middle = (place > 0) & (place < last) & ~is_root
    counts = np.zeros(len(up), np.int64)
    counts[kept] = 1 + middle
    first = offsets_of(counts)
    at = first[kept] + middle
    above = np.where(place > 1, np.roll(first[kept], 1), (first[1:] - 1)[parent])
    new_parent, pos = np.full(first[-1], -1), np.zeros(first[-1], np.int64)
    new_parent[at] = np.where(is_root, -1, np.where(place > 0, above, (first[1:] - 1)[parent]))
    pos[at] = (place > 0) & ~is_root
    new_parent[first[kept][middle]], pos[first[kept][middle]] = above[middle], 1
    new_parent[at[middle]], pos[at[middle]] = first[kept][middle], 0
    word = np.full(first[-1], -1, np.int32)
    word[at] = forest.columns["word"][kept]
    return _forest(new_parent, pos, first[forest.offsets], word, forest)


def binary_dependencies(forest: Forest) -> Forest:
    """Convert dependency trees to binary constituent trees.

    A word is joined with its dependents one by one: first those to the right, nearest first, then
    those to the left. So ``she likes old films`` with the head ``likes`` becomes
    ``(she (likes (old films)))``.
    """
    head, tree = forest.global_parent, forest.tree_of_node
    index, root = np.arange(len(head)), forest.roots[tree]
    dependents = np.flatnonzero((head >= 0) & (head != root))
    right = index > head
    order = (abs(index - head)[dependents], ~right[dependents], head[dependents])
    dependents = dependents[np.lexsort(order)]
    # a sentence of n words has n leaves, then n - 1 constituents, one for each dependent
    words = forest.sizes - 1
    offsets = offsets_of(2 * words - 1)
    leaf = offsets[tree] + index - root - 1
    constituent = np.full(len(head), -1)
    constituent[dependents] = (offsets[:-1] + words)[tree[dependents]] + within(words - 1)
    parent, pos = np.full(offsets[-1], -1), np.zeros(offsets[-1], np.int64)
    whole = leaf.copy()  # the node of a word with all its dependents
    heads = head[dependents]
    whole[heads] = constituent[dependents]  # the last one of each head
    joined = constituent[dependents]
    rest = np.where(np.diff(heads, prepend=-1) > 0, leaf[heads], np.roll(joined, 1))
    for child, is_second in ((whole[dependents], right), (rest, ~right)):
        parent[child], pos[child] = joined, is_second[dependents]
    word = np.full(offsets[-1], -1, np.int32)
    word[leaf[head >= 0]] = forest.columns["word"][head >= 0]
    return _forest(parent, pos, offsets, word, forest)


def _forest(
    parent: NDArray[np.int64],
    pos: NDArray[np.int64],
    offsets: NDArray[np.int64],
    word: NDArray[np.int32],
    source: Forest,
) -> Forest:
    begin = np.repeat(offsets[:-1], np.diff(offsets))
    return Forest(
        np.where(parent < 0, -1, parent - begin).astype(np.int32),
        pos.astype(np.int32),
        offsets,
        {"word": word},
        {"word": source.vocabs["word"]},
    )
