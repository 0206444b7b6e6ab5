"""Attention over trees straight from the equations: one query, one node, one vector at a time."""

import torch
from torch import Tensor

from dgltrees.cells import Score
from dgltrees.papers.nti.models.attention import GlobalAttention
from dgltrees.papers.nti.models.encoder import NTIEncoding
from dgltrees.papers.nti.models.tree_attention import TreeAttention


def scores(s: Score, S: list[Tensor], q: Tensor) -> Tensor:
    """Equation (11) and the line below it."""
    if s.kind == "mlp":
        return torch.stack([s.w @ torch.relu(s.W_1.T @ h + s.W_2.T @ q) for h in S])
    q = q if s.kind == "dot" else s.W_2.T @ q + s.b
    return torch.stack([q @ h for h in S])


class Tree:
    """One tree of an encoding: the state of each node, its children by position, its pads."""

    def __init__(self, encoding: NTIEncoding, tree: int) -> None:
        batch, sizes = encoding.batch, encoding.batch.sizes
        first = int(sizes[:tree].sum())
        nodes = range(first, first + int(sizes[tree]))
        self.h = [encoding.states[v] for v in nodes]
        self.pad = [bool(batch.ndata["pad"][v]) for v in nodes]
        self.children: list[list[int]] = [[] for _ in nodes]
        edges = batch.src.tolist(), batch.dst.tolist(), batch.edata["pos"].tolist()
        for child, parent, _ in sorted(zip(*edges), key=lambda edge: edge[2]):
            if parent in nodes:
                self.children[parent - first].append(child - first)


def attend_globally(attention: GlobalAttention, q: Tensor, tree: Tree) -> tuple[Tensor, Tensor]:
    """Equations (12) to (15): the vector, and the weight of each node."""
    kept = [v for v in range(len(tree.h)) if not (attention.mask_pads and tree.pad[v])]
    S = [tree.h[v] for v in kept]
    alpha = torch.softmax(scores(attention.score, S, q), 0)
    z = sum(a * h for a, h in zip(alpha, S))
    weights = q.new_zeros(len(tree.h))
    weights[kept] = alpha
    return torch.relu(attention.W_1.T @ z + attention.W_2.T @ q), weights


def attend_climbing(attention: TreeAttention, q: Tensor, tree: Tree) -> tuple[Tensor, Tensor]:
    """Equations (16) to (19): the vector, and the part of each node in it."""
    paper, new = attention.rescores, list(tree.h)
    own: list[Tensor] = [torch.eye(len(tree.h))[v] for v in range(len(tree.h))]
    for v, below in enumerate(tree.children):  # children stand before their parents
        if not below:
            continue
        hide = attention.mask_pads and not tree.pad[v]
        seen = [j for j in below if not (hide and tree.pad[j])]
        S = [tree.h[v], *(new[j] for j in seen)]
        alpha = torch.softmax(
            scores(attention.score, S if paper else [tree.h[j] for j in (v, *seen)], q), 0
        )
        z = sum(a * h for a, h in zip(alpha, S))
        new[v] = torch.relu(attention.W_1.T @ z) if paper else z
        own[v] = sum(a * o for a, o in zip(alpha, [own[v], *(own[j] for j in seen)]))
    root = new[-1]
    if not paper:
        root = torch.relu(attention.W_1.T @ root + attention.W_2.T @ q)
    return root, own[-1].detach()


def attend(
    attention: torch.nn.Module, queries: Tensor, encoding: NTIEncoding
) -> tuple[Tensor, list[list[Tensor]]]:
    """``(T, Q, c)`` and the weights of each query."""
    way = attend_globally if isinstance(attention, GlobalAttention) else attend_climbing
    h, weights = [], []
    for t, some in enumerate(queries):
        tree = Tree(encoding, t)
        both: list[tuple[Tensor, Tensor | None]] = [way(attention, q, tree) for q in some]
        h.append(torch.stack([one[0] for one in both]))
        weights.append([one[1] for one in both])
    return torch.stack(h), weights
