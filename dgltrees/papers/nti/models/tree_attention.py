"""Attention from the leaves of a tree to its root: equations (16) to (19) of the NTI paper."""

from __future__ import annotations

import itertools
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from dgltrees.cells.initial import Init
from dgltrees.cells.nti_attention import ScoreName
from dgltrees.papers.nti.graphs import FullShape, full_shape
from dgltrees.papers.nti.models.attention import Attended, AttentionOverTrees, in_chunks
from dgltrees.papers.nti.models.encoder import NTIEncoding
from dgltrees.settings import checked
from dgltrees.traversal import Edges, Nodes, run_cell
from dgltrees.traversal.order import levels_of
from dgltrees.trees.batch import TreeBatch
from dgltrees.trees.segments import inverse


@checked
class TreeAttention(AttentionOverTrees):
    r"""Attention of a query at every node over the node's own state and those of its children.

    Munkhdalai and Yu, "Neural Tree Indexers for Text Understanding" (EACL 2017), equations (16) to
    (19), for each node with children, from the leaves up:

    .. math::

        m      &= f_{score}(S, q) \\
        \alpha &= softmax(m) \\
        z      &= S \alpha^T \\
        h_p'   &= ReLU(W_1 z)

    where the columns of S are the original state of the node and the new ones, h', of its children;
    h' = h at leaves. The result is h' of the root, or the root's h if it is a leaf. The variant
    ``"code"`` follows the public code, which scores the original states once and has no ReLU at
    each node: h' = z, and the result is :math:`ReLU(W_1 h'_{root} + W_2 q)`, as inferred from (15).

    With ``mask_pads`` a node with tokens below it ignores children without tokens.

    Arguments:
        size, score, mask_pads, init: see :class:`AttentionOverTrees`.
        variant: ``"paper"`` or ``"code"``.

    Raises:
        ConfigError: there is no such variant or score.
    """

    def __init__(
        self,
        size: int,
        *,
        score: ScoreName = "mlp",
        mask_pads: bool = False,
        variant: Literal["paper", "code"] = "paper",
        init: Init = "kaiming",
    ) -> None:
        super().__init__(size, score=score, mask_pads=mask_pads, init=init)
        self.rescores = variant == "paper"  # whether new states are scored
        if not self.rescores:
            self.W_2 = self._weight(init)

    def forward(
        self, queries: Tensor, encoding: NTIEncoding, *, keys: Tensor | None = None
    ) -> Attended:
        """Attend by reshaping the levels of full trees; see :class:`AttentionOverTrees`."""
        keys = self.keys(encoding) if keys is None else keys
        shape = full_shape(encoding.batch)
        if shape is None or shape.stride != shape.branching:
            return self.by_messages(queries, encoding, keys=keys)
        table, parts = encoding.table, []
        order, groups = _by_width(shape)
        for width, rows in groups:
            some = slice(None) if len(groups) == 1 else torch.from_numpy(rows)
            nodes = int(encoding.batch.sizes[rows[0]])
            columns = (each[some, :nodes] for each in (table.states, keys, table.pad))
            full = _FullTrees(self, shape.branching, width, *columns)
            size = full.h.numel() * full.h.element_size() * (4 if self.rescores else 1)
            attended = in_chunks(full.attend, queries[some], size)
            extra = table.states.shape[1] - nodes
            parts.append((attended.h, nn.functional.pad(attended.weights, (0, extra))))
        if len(parts) == 1:
            return Attended(*parts[0])
        h, weights = (torch.cat(each)[order] for each in zip(*parts))
        return Attended(h, weights)

    def by_messages(
        self, queries: Tensor, encoding: NTIEncoding, *, keys: Tensor | None = None
    ) -> Attended:
        """Attend by message passing, on trees of any shape; the reference for :meth:`forward`.

        Node data have a query axis, ``(N, Q, c)``.

        Arguments:
            queries, encoding, keys: see :meth:`forward`.

        Returns:
            the attention vectors ``h`` and the ``weights``.
        """
        batch = encoding.batch
        tree = batch.tree_of_node.to(queries.device)
        keys = self.score.keys(encoding.states) if keys is None else keys[encoding.table.mask]
        q = queries.index_select(0, tree)
        ndata = {"h": encoding.states, "keys": keys, "q": q, "pad": encoding.pad}
        slots = 1 + int(batch.edata["pos"].max()) if len(batch.src) else 1
        states = run_cell(_Climb(self, slots), batch, ndata)
        h = self.last(states["s"].index_select(0, batch.roots.to(queries.device)), queries)
        with torch.no_grad():
            node_weights = _root_weights(batch, states["alpha"])
        weights = node_weights.new_zeros(*encoding.table.mask.shape, queries.shape[1])
        weights[encoding.table.mask] = node_weights
        return Attended(h, weights.transpose(1, 2))

    def new(self, z: Tensor) -> Tensor:
        """Return the new state h' of inner nodes, equation (19)."""
        return (z @ self.W_1).relu_() if self.rescores else z

    def last(self, h: Tensor, q: Tensor) -> Tensor:
        """Return the attention vector, from the new state h' of the root and the query."""
        return h if self.rescores else torch.relu(h @ self.W_1 + q @ self.W_2)


class _Climb:
    """Cell of tree attention; its state ``s`` is h', ``m`` the score of a node as a child."""

    def __init__(self, attention: TreeAttention, slots: int) -> None:
        self.attention, self.slots = attention, slots

    def prepare(self, ndata: dict[str, Tensor]) -> dict[str, Tensor]:
        score = self.attention.score
        wq = score.queries(ndata["q"])  # (N, Q, c)
        node_score = score.pairs(ndata["keys"].unsqueeze(1), wq)  # (N, Q)
        hidden = ndata["pad"].to(node_score.dtype)
        return {"wq": wq, "node_score": node_score, "hidden": hidden}

    def message(self, edges: Edges) -> dict[str, Tensor]:
        return {name: edges.src[name] for name in ("s", "m", "hidden")}

    def reduce(self, nodes: Nodes) -> dict[str, Tensor]:
        s, h = nodes.mailbox["s"], nodes.data["h"].unsqueeze(1)  # (n, L, Q, c), (n, 1, c)
        node_score = nodes.data["node_score"].unsqueeze(1)
        m = torch.cat([node_score, nodes.mailbox["m"]], 1)  # (n, 1 + L, Q)
        hidden = ~nodes.mask  # type: ignore[operator]
        if self.attention.mask_pads:
            below = nodes.mailbox["hidden"] > nodes.data["hidden"].unsqueeze(1)
            hidden = hidden | below
        hidden = nn.functional.pad(hidden, (1, 0)).unsqueeze(2)
        alpha = torch.softmax(m.masked_fill(hidden, -torch.inf), 1)
        z = alpha[:, 0].unsqueeze(2) * h + (alpha[:, 1:].unsqueeze(3) * s).sum(1)
        return {"z": z, "alpha": alpha.transpose(1, 2)}

    def update(self, nodes: Any) -> dict[str, Tensor]:
        attention, wq, node_score = self.attention, nodes.data["wq"], nodes.data["node_score"]
        if "z" not in nodes.data:
            alpha = torch.zeros_like(node_score).unsqueeze(2).repeat(1, 1, 1 + self.slots)
            alpha[:, :, 0] = 1.0
            h = nodes.data["h"].unsqueeze(1).expand_as(wq)
            return {"s": h, "m": node_score, "alpha": alpha}
        s = attention.new(nodes.data["z"])
        m = node_score
        if attention.rescores:
            m = attention.score.pairs(attention.score.keys(s), wq)
        return {"s": s, "m": m, "alpha": nodes.data["alpha"]}


def _root_weights(batch: TreeBatch, alpha: Tensor) -> Tensor:
    """Return the weight of each node in its root's vector, ``(N, Q)``."""
    weight = torch.zeros_like(alpha[:, :, 0])
    weight[batch.roots.to(alpha.device)] = 1.0
    level = levels_of(batch)[batch.dst.numpy()]
    for of_level in range(int(level.max(initial=-1)), -1, -1):
        edge = torch.from_numpy(np.flatnonzero(level == of_level))
        child, parent = (e[edge].to(alpha.device) for e in (batch.src, batch.dst))
        slot = 1 + batch.edata["pos"][edge].to(alpha.device)
        weight.index_add_(0, child, weight[parent] * alpha[parent, :, slot])
    return weight * alpha[:, :, 0]


def _by_width(shape: FullShape) -> tuple[Tensor, list[tuple[int, Any]]]:
    """Group the trees by width; return the index of each tree in this order, and the groups."""
    widths = np.array(shape.widths)
    groups = [(int(width), np.flatnonzero(widths == width)) for width in np.unique(widths)]
    order = inverse(np.concatenate([rows for _, rows in groups]))
    return torch.from_numpy(order), groups


class _FullTrees:
    """``G`` full trees of one width; a level is a slice, after the slice of its children.

    Arguments:
        attention: the attention module.
        branching: b, the number of children.
        width: the number of leaves of every tree.
        h: ``(G, M, c)``, the states, leaves first, then level by level.
        keys: ``(G, M, c)``, the keys of the scores.
        pad: ``(G, M)`` bool, the nodes without a token below them.
    """

    def __init__(
        self,
        attention: TreeAttention,
        branching: int,
        width: int,
        h: Tensor,
        keys: Tensor,
        pad: Tensor,
    ) -> None:
        self.attention, self.branching, self.h, self.keys = attention, branching, h, keys
        self.sizes = [width]
        while self.sizes[-1] > 1:
            self.sizes.append(self.sizes[-1] // branching)
        self.hidden: list[Tensor] = []  # children without a token, under nodes that have one
        levels = pad.split_with_sizes(self.sizes, 1) if attention.mask_pads else ()
        for below, level in itertools.pairwise(levels):
            hidden = below.reshape(len(pad), -1, branching) & ~level.unsqueeze(2)  # (G, n, b)
            self.hidden.append(nn.functional.pad(hidden, (1, 0)).unsqueeze(3))  # (G, n, 1 + b, 1)

    def attend(self, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Return attention vectors and weights of queries ``(G, Q, c)``, equations (16) to (19)."""
        attention, score, b = self.attention, self.attention.score, self.branching
        wq = score.queries(queries)
        scores = score.every(self.keys, wq).transpose(1, 2).split_with_sizes(self.sizes, 1)
        h, alphas = self.h.split_with_sizes(self.sizes, 1), []
        s, m = h[0].unsqueeze(2), scores[0]  # leaves are the same for all queries
        for level in range(1, len(self.sizes)):
            below = m.reshape(len(m), -1, b, m.shape[2])  # (G, n, b, Q)
            both = torch.cat([scores[level].unsqueeze(2), below], 2)  # (G, n, 1 + b, Q)
            if self.hidden:
                both = both.masked_fill(self.hidden[level - 1], -torch.inf)
            alpha = torch.softmax(both, 2)
            alphas.append(alpha)
            s = attention.new(self._blend(alpha, h[level], s))  # (G, n, Q, c)
            m = scores[level]
            if attention.rescores and self.sizes[level] > 1:
                m = score.pairs(score.keys(s), wq.unsqueeze(1))
        root = s.squeeze(1).expand(-1, queries.shape[1], -1)
        with torch.no_grad():
            weights = self._weights(alphas, queries)
        return attention.last(root, queries), weights

    def _blend(self, alpha: Tensor, h: Tensor, s: Tensor) -> Tensor:
        """Return z ``(G, n, Q, c)`` of equation (18), from h of a level and s of the one below."""
        children = s.reshape(len(s), -1, self.branching, *s.shape[2:])  # (G, n, b, Q or 1, c)
        if children.shape[3] == 1:  # leaves: one product
            S = torch.cat([h.unsqueeze(2), children.squeeze(3)], 2)  # (G, n, 1 + b, c)
            return torch.matmul(alpha.transpose(2, 3), S)
        z = alpha[:, :, 0].unsqueeze(3) * h.unsqueeze(2)
        for j in range(self.branching):
            z.addcmul_(alpha[:, :, 1 + j].unsqueeze(3), children[:, :, j])
        return z

    def _weights(self, alphas: list[Tensor], queries: Tensor) -> Tensor:
        """Return the weight of each node in its root's vector, ``(G, Q, M)``."""
        weight = queries.new_ones(len(queries), 1, queries.shape[1])  # (G, n, Q)
        parts = []
        for alpha in reversed(alphas):
            weights = alpha * weight.unsqueeze(2)  # (G, n, 1 + b, Q)
            parts.append(weights[:, :, 0])
            weight = weights[:, :, 1:].flatten(1, 2)
        return torch.cat([weight, *reversed(parts)], 1).transpose(1, 2)
