"""Encoder of Neural Tree Indexers: trees over sentences, a leaf function and a cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from dgltrees.cells.base import BaseCell
from dgltrees.cells.initial import Init
from dgltrees.errors import ConfigError
from dgltrees.models.encoder import Encoder, Encoding
from dgltrees.models.inputs import Input
from dgltrees.papers.nti.graphs import full_trees, left_branching_trees
from dgltrees.papers.nti.models.leaves import (
    BidirectionalLSTMLeaves,
    IdentityLeaves,
    LeafFunction,
    Leaves,
    LSTMLeaves,
    State,
)
from dgltrees.settings import Count, Fraction, checked, expected
from dgltrees.traversal import IndexedRows, run_cell
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import starts


@dataclass(frozen=True)
class NodeTable:
    """States of all nodes in a padded table with one row per tree.

    Attributes:
        states: ``(T, M, c)``, in the order of the nodes; zero after the last node of a tree.
        mask: ``(T, M)`` bool, the cells that hold a node.
        pad: ``(T, M)`` bool, the cells without a node, or whose node has no token below it.
    """

    states: Tensor
    mask: Tensor
    pad: Tensor


@dataclass(frozen=True)
class NTIEncoding(Encoding):
    """States of the nodes of trees over ``T`` sentences.

    Attributes:
        memory: ``(N, c)``, the memory cells of all nodes.
        attention: ``(N, M)``, the weights with which each node attended to the M nodes of the other
            tree of its pair; zero for nodes that did not attend.
    """

    memory: Tensor | None = None
    attention: Tensor | None = None

    @property
    def pad(self) -> Tensor:
        """Mask of the nodes without a token below them, ``(N,)`` bool."""
        return self.batch.ndata["pad"].to(self.states.device)

    @cached_property
    def table(self) -> NodeTable:
        """States in a padded table with one row per tree."""
        sizes, size = self.batch.sizes, self.states.shape[1]
        index = self.batch.cache.get("table", self._table_index, device=self.states.device)
        mask = index < self.batch.num_nodes
        if bool((sizes == sizes[:1]).all()):
            states, pad = self.states.view(*mask.shape, size), self.pad.view(mask.shape)
            return NodeTable(states, mask, pad)
        states = torch.cat([self.states, self.states.new_zeros(1, size)])
        pad = torch.cat([self.pad, self.pad.new_ones(1)])
        return NodeTable(states[index], mask, pad[index])

    def _table_index(self) -> Tensor:
        """Return the node in each cell of the table, ``(T, M)``; N in empty cells."""
        sizes = self.batch.sizes.numpy()
        column = np.arange(sizes.max(initial=0))
        index = np.where(column < sizes[:, None], starts(sizes)[:, None] + column, sizes.sum())
        return torch.from_numpy(index)


class Sentences(NamedTuple):
    """Token vectors of ``T`` sentences, ``S`` tokens in all.

    Arguments:
        vectors: ``(S, k)``, the vectors, sentence after sentence.
        lengths: ``(T,)`` int64 on the CPU, the number of tokens of each sentence.
    """

    vectors: Tensor
    lengths: Tensor


Leaf = Literal["identity", "linear", "lstm", "bilstm"]
"""Names of leaf functions."""


@checked
class PadVector(nn.Module):
    """Vector of leaves without a token.

    Arguments:
        size: the size of the vector.
        kind: ``"fixed"``, a buffer drawn once from U(-0.1, 0.1), as in the paper's code;
            ``"learned"``, a parameter; or ``"zero"``.
    """

    vector: Tensor

    def __init__(self, size: int, kind: Literal["fixed", "learned", "zero"] = "fixed") -> None:
        super().__init__()
        vector = torch.zeros(size)
        if kind != "zero":
            vector.uniform_(-0.1, 0.1)
        if kind == "learned":
            self.vector = nn.Parameter(vector)
        else:
            self.register_buffer("vector", vector)


@checked
class NTIEncoder(Encoder):
    """Encoder of Neural Tree Indexers: a cell over trees that need no parser.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 3. A full
    n-ary tree is built over the tokens. All leaves without a token share one vector, which is an
    input of the leaf function like the vectors of tokens.

    Arguments:
        inputs: the module that maps tokens to vectors; without it only :meth:`encode` works.
        leaves: the leaf function.
        cell: the cell, for inputs of the leaf function's size; nodes above the leaves have the
            input zero.
        trees: ``"full"``, or ``"left"``, left-branching binary trees.
        branching: b, the number of children in a full tree.
        stride: the distance between the first children of neighbours in a full tree; below b,
            sub-trees overlap; by default b.
        padding: the side of a sentence with the leaves without a token.
        width: the number of leaves of every full tree; by default the least for each sentence.
        pad: the vector of leaves without a token: ``"fixed"``, drawn once from U(-0.1, 0.1),
            ``"learned"``, or ``"zero"``.
        dropout: the probability of dropout on the leaves' vectors.
        compile: run the cell as compiled code where possible.

    Attributes:
        size: c, the size of a state.
        make_trees: the function from lengths of sentences to the trees over them.

    Raises:
        ConfigError: the sizes of leaf function and cell differ, or a setting is none of its
            choices.
    """

    input: Input
    __call__: Callable[..., NTIEncoding]

    def __init__(
        self,
        inputs: Input | None,
        leaves: LeafFunction,
        cell: BaseCell,
        *,
        trees: Literal["full", "left"] = "full",
        branching: Count = 2,
        stride: Count | None = None,
        padding: Literal["left", "right"] = "left",
        width: Count | None = None,
        pad: Literal["fixed", "learned", "zero"] = "fixed",
        dropout: Fraction = 0.0,
        compile: bool = True,
    ) -> None:
        super().__init__()
        if leaves.size != cell.input_size:
            raise ConfigError(
                f"expected a cell with input_size={leaves.size}, the size of the leaf function, "
                f"got {cell.input_size}"
            )
        if inputs is not None:
            self.input = inputs
        self.pad = PadVector(leaves.input_size, pad)
        self.leaves, self.cell, self.size = leaves, cell, cell.hidden_size
        self.compiled = compile
        self.make_trees: Callable[[ArrayLike], TreeBatch] = left_branching_trees
        if trees == "full":
            self.make_trees = partial(
                full_trees, branching=branching, stride=stride, padding=padding, width=width
            )
        self.dropout = nn.Dropout(dropout)
        self.make_trees([1])  # refuses an impossible shape now

    def forward(self, batch: TreeBatch) -> NTIEncoding:
        """Encode the sentences of a batch.

        Returns:
            the states of all nodes of the trees over the sentences.

        Raises:
            TreeError: a sentence is empty, or too long.
        """
        return self.encode(Sentences(self.input(batch), batch.sizes))

    def encode(
        self, sentences: Sentences, *, start: State | None = None, query: Tensor | None = None
    ) -> NTIEncoding:
        """Encode sentences from the vectors of their tokens.

        Arguments:
            sentences: the token vectors of T sentences.
            start: state and memory of the leaf LSTM before each sentence, each ``(T, d)``; zeros
                by default.
            query: ``(T, c)``, for cells that need a node field ``q``, such as
                :class:`~dgltrees.cells.nti_attention.NTIAttention`.

        Returns:
            the states of all nodes of the trees over the sentences.

        Raises:
            TreeError: a sentence is empty, or too long.
            ConfigError: ``start`` was given, but there is no leaf LSTM.
        """
        batch, ndata, parts = self.plant(sentences, start)
        if query is not None:
            ndata["q"] = query.index_select(0, batch.tree_of_node.to(query.device))
        state = run_cell(self.cell, batch, ndata, compile=self.compiled)
        return NTIEncoding(batch, state["h"], memory=state.get("c"), **parts)

    def plant(
        self, sentences: Sentences, start: State | None = None
    ) -> tuple[TreeBatch, dict[str, Tensor | IndexedRows], dict[str, Any]]:
        """Build the trees over sentences, and the inputs of the traversal.

        Arguments:
            sentences, start: see :meth:`encode`.

        Returns:
            the trees; the node fields that the cell reads; and the parts ``token_nodes`` and
            ``final`` (state and memory of the leaf LSTM, each ``(T, d)``) of an
            :class:`~dgltrees.papers.nti.models.encoder.NTIEncoding`.
        """
        (x, lengths), device = sentences, sentences.vectors.device
        batch = self.make_trees(lengths)
        degree = np.bincount(batch.dst.numpy(), minlength=batch.num_nodes)
        leaf = torch.from_numpy(np.flatnonzero(degree == 0))
        token, tree = batch.ndata["token"][leaf], batch.tree_of_node[leaf]
        token = torch.where(token < 0, len(x), starts(lengths)[tree] + token)  # pads come last
        vectors = torch.cat([x, self.pad.vector.to(x.dtype).unsqueeze(0)])
        vectors = self.dropout(vectors.index_select(0, token.to(device)))  # (W, k)
        leaves: Leaves = self.leaves(vectors, torch.bincount(tree), start)
        row = torch.full((batch.num_nodes,), len(leaf))
        row[leaf] = torch.arange(len(leaf))
        row, batch = row.to(device), batch.to(device)
        ndata: dict[str, Tensor | IndexedRows] = {"x": _at_leaves(leaves.h, row)}
        if leaves.c is not None:
            ndata["c0"] = _at_leaves(leaves.c, row)
        is_token = token < len(x)
        return batch, ndata, {"token_nodes": leaf[is_token], "final": leaves.last}


def _at_leaves(leaves: Tensor, row: Tensor) -> IndexedRows:
    """Return a node field with the rows of ``leaves`` at the leaves, zeros at inner nodes."""
    return IndexedRows(torch.cat([leaves, leaves.new_zeros(1, leaves.shape[1])]), row)


def make_leaves(
    name: Leaf, input_size: int, size: int, *, init: Init = "kaiming", compile: bool = True
) -> LeafFunction:
    """Make a leaf function by name."""
    wrong = expected(Leaf, name)
    if wrong is not None:
        raise ConfigError(f"expected leaves to be {wrong}, got {name!r}")
    if name in ("identity", "linear"):
        return IdentityLeaves(input_size)
    kind = LSTMLeaves if name == "lstm" else BidirectionalLSTMLeaves
    return kind(input_size, size, init=init, compile=compile)
