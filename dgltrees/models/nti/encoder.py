"""The encoder of Neural Tree Indexers: a tree over a sentence, a leaf function, a cell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Optional, Union

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from dgltrees.cells import make_cell
from dgltrees.cells.base import BaseCell
from dgltrees.errors import ConfigError
from dgltrees.models.nti.encoding import Encoding
from dgltrees.models.nti.leaves import (
    BidirectionalLSTMLeaves,
    IdentityLeaves,
    LeafFunction,
    LSTMLeaves,
    State,
)
from dgltrees.models.nti.sentences import Sentences
from dgltrees.traversal import IndexedRows, traverse
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.builders.full import full_trees, left_branching_trees
from dgltrees.trees.segments import starts

__all__ = ["LEAF_FUNCTIONS", "NTIEncoder", "make_nti_encoder"]

LEAF_FUNCTIONS = ("identity", "linear", "lstm", "bilstm")

TREES = ("full", "left")

PADS = ("fixed", "learned", "zero")


class NTIEncoder(nn.Module):
    """Neural Tree Indexers: runs a cell over trees that need no parser.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), section 3. A full
    n-ary tree stands over the tokens; a leaf without a token has one pad vector for all, and passes
    through the leaf function as the others do.

    Arguments:
        leaves: the leaf function.
        cell: the cell, made for inputs of the leaf function's size; nodes above the leaves have
            the input zero.
        trees: ``"full"``, or ``"left"``, left-branching binary trees.
        branching: b, of full trees.
        stride, padding, width, truncate: of full trees, see
            :func:`dgltrees.trees.builders.full_trees`.
        pad: the pad vector: ``"fixed"``, drawn once from U(-0.1, 0.1) and part of the state, as
            in the paper's code; ``"learned"``, a parameter; or ``"zero"``.
        dropout: probability of dropout on the leaves' vectors.
        backend: ``"levels"`` or ``"dgl"``.
        fused: let the cell take a way of its own through all levels, if it has one.

    Attributes:
        size: c, the size of a node's state.
        make_trees: from the lengths of sentences to the trees over them.

    Raises:
        ConfigError: sizes do not fit, or a setting is out of range.
    """

    pad: Tensor

    def __init__(
        self,
        leaves: LeafFunction,
        cell: BaseCell,
        *,
        trees: str = "full",
        branching: int = 2,
        stride: Optional[int] = None,
        padding: str = "left",
        width: Optional[int] = None,
        truncate: bool = False,
        pad: str = "fixed",
        dropout: float = 0.0,
        backend: str = "levels",
        fused: bool = True,
    ) -> None:
        super().__init__()
        if leaves.size != cell.input_size:
            raise ConfigError(
                f"expected a cell with input_size={leaves.size}, the size of the leaf function, "
                f"got {cell.input_size}"
            )
        if trees not in TREES:
            raise ConfigError(f"expected trees to be one of {', '.join(TREES)}, got {trees!r}")
        if pad not in PADS:
            raise ConfigError(f"expected pad to be one of {', '.join(PADS)}, got {pad!r}")
        self.leaves, self.cell, self.size = leaves, cell, cell.hidden_size
        self.backend, self.fused = backend, fused
        self.make_trees: Callable[[ArrayLike], TreeBatch] = left_branching_trees
        if trees == "full":
            self.make_trees = partial(
                full_trees,
                branching=branching,
                stride=stride,
                padding=padding,
                width=width,
                truncate=truncate,
            )
        self.dropout = nn.Dropout(dropout)
        vector = torch.zeros(leaves.input_size)
        if pad != "zero":
            vector.uniform_(-0.1, 0.1)
        if pad == "learned":
            self.pad = nn.Parameter(vector)
        else:
            self.register_buffer("pad", vector)
        self.make_trees([1])  # a shape that cannot be is refused now

    def forward(
        self,
        sentences: Sentences,
        *,
        start: Optional[State] = None,
        query: Optional[Tensor] = None,
    ) -> Encoding:
        """The states of all nodes of all trees.

        Arguments:
            sentences: T of them.
            start: what the leaf LSTM has before each sentence, each ``(T, d)``.
            query: ``(T, c)`` for cells that want a node field ``q``, such as the attentive node.

        Raises:
            TreeError: a sentence is empty, or too long.
            ConfigError: there is a start, but no leaf LSTM.
        """
        batch, ndata, last = self.read(sentences, start)
        if query is not None:
            ndata["q"] = query.index_select(0, batch.tree_of_node.to(query.device))
        state = traverse(self.cell, batch, ndata, backend=self.backend, fused=self.fused)
        return Encoding(batch, state["h"], state.get("c"), last)

    def read(
        self, sentences: Sentences, start: Optional[State] = None
    ) -> tuple[TreeBatch, dict[str, Union[Tensor, IndexedRows]], Optional[State]]:
        """The trees, what their nodes show to the cell, and what the leaf LSTM has at the end.

        Arguments:
            sentences, start: see :meth:`forward`.
        """
        batch = self.make_trees(sentences.lengths)
        leaf, index = _leaves(batch, sentences.lengths)
        x, device = sentences.vectors, sentences.vectors.device
        vectors = torch.cat([x, self.pad.to(x.dtype).unsqueeze(0)])
        vectors = self.dropout(vectors.index_select(0, index.to(device)))  # (W, k)
        made = self.leaves(vectors, torch.bincount(_trees(batch, leaf)), start)
        row = torch.full((batch.num_nodes,), len(leaf))
        row[leaf] = torch.arange(len(leaf))
        row, batch = row.to(device), batch.to(device)
        ndata: dict[str, Union[Tensor, IndexedRows]] = {"x": _at_leaves(made.h, row)}
        if made.c is not None:
            ndata["c0"] = _at_leaves(made.c, row)
        return batch, ndata, made.last


def _at_leaves(leaves: Tensor, row: Tensor) -> IndexedRows:
    """A node field whose row is one of ``leaves``, or zero."""
    return IndexedRows(torch.cat([leaves, leaves.new_zeros(1, leaves.shape[1])]), row)


def _leaves(batch: TreeBatch, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The leaves, and the token of each among all tokens, their number at pads; on the CPU."""
    degree = np.bincount(batch.dst.numpy(), minlength=batch.num_nodes)
    leaf = torch.from_numpy(np.flatnonzero(degree == 0))
    token, tree = batch.ndata["token"].index_select(0, leaf), _trees(batch, leaf)
    first = starts(lengths).index_select(0, tree)
    return leaf, torch.where(token < 0, lengths.sum(), first + token)


def _trees(batch: TreeBatch, leaf: Tensor) -> Tensor:
    """The tree of each leaf."""
    return batch.tree_of_node.index_select(0, leaf)


def make_nti_encoder(
    input_size: int,
    hidden_size: int,
    *,
    leaves: str = "lstm",
    node: str = "s_lstm",
    branching: int = 2,
    init: str = "kaiming",
    fused: bool = True,
    node_dropout: float = 0.0,
    node_options: Optional[dict[str, Any]] = None,
    **options: Any,
) -> NTIEncoder:
    """An encoder by the names of its parts: NTI-SLSTM-LSTM, if nothing else is said.

    Arguments:
        input_size: k, the size of a token's vector.
        hidden_size: c.
        leaves: ``"identity"`` (k must be c), ``"linear"``, ``"lstm"`` or ``"bilstm"``.
        node: ``"s_lstm"``, ``"chainer_s_lstm"``, ``"anf"`` or ``"selective_s_lstm"``.
        branching: b.
        init: ``"kaiming"``, ``"xavier"`` or ``"uniform"``, U(-0.1, 0.1), as in the paper's code.
        fused: let leaf function and cell run all their steps in one autograd function; False where
            a second derivative is wanted.
        node_dropout: probability of dropout on all children before each node function.
        node_options: more arguments of the node function, by name.
        options: more arguments of :class:`NTIEncoder`, by name.

    Raises:
        ConfigError: there is no part of that name, or an argument is out of range.
    """
    if leaves not in LEAF_FUNCTIONS:
        raise ConfigError(
            f"expected leaves to be one of {', '.join(LEAF_FUNCTIONS)}, got {leaves!r}"
        )
    leaf: LeafFunction
    if leaves == "lstm":
        leaf = LSTMLeaves(input_size, hidden_size, init=init, fused=fused)
    elif leaves == "bilstm":
        leaf = BidirectionalLSTMLeaves(input_size, hidden_size, init=init, fused=fused)
    else:
        leaf = IdentityLeaves(input_size)
    cell = make_cell(
        node,
        input_size=leaf.size,
        hidden_size=hidden_size,
        max_children=branching,
        leaf="linear" if leaves == "linear" else "identity",
        dropout=node_dropout,
        init=init,
        **(node_options or {}),
    )
    return NTIEncoder(leaf, cell, branching=branching, fused=fused, **options)
