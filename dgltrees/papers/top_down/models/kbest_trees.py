"""The k best projective dependency trees of a table of arc scores.

In every tree exactly one word is below ROOT.

J. Eisner, "Three New Probabilistic Models for Dependency Parsing: An Exploration", COLING 1996.
L. Huang and D. Chiang, "Better k-best Parsing", IWPT 2005.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from dgltrees.errors import ConfigError


def kbest_projective(scores: Tensor, sizes: Tensor, k: int = 1) -> tuple[Tensor, Tensor]:
    """Return the k projective trees with the highest sums of arc scores; exact.

    All spans of one width, of all sentences, are computed at once: O(n) steps, O(n^3 k log k) work.
    Each projective tree has one derivation in Eisner's chart, so no tree occurs twice; trees with
    equal scores may be in any order.
    """
    if k < 1:
        raise ConfigError(f"expected k to be at least 1, got {k}")
    chart = _fill(scores, _pairs(k, scores.device), k)
    sizes = sizes.to(scores.device)
    return _trees(chart, sizes), chart.totals[torch.arange(len(sizes), device=sizes.device), sizes]


def _pairs(k: int, device: torch.device) -> Tensor:
    """Return the pairs of ranks of two parts that can form one of the k best spans, ``(2, P)``.

    A span of parts with the ranks (a, b) has (a + 1)(b + 1) - 1 others that are at least as good.
    """
    a, b = torch.meshgrid(torch.arange(k), torch.arange(k), indexing="ij")
    return torch.nonzero((a + 1) * (b + 1) <= k).t().to(device)


@dataclass
class _Chart:
    """The parts of the k best trees of every span.

    Arguments:
        pairs: ``(2, P)`` ranks of parts.
        totals: ``(B, m, k)`` the scores of all words up to one, below ROOT.
        arc, right, left: ``(B, m, m, k)`` of spans by first word and width: the split, times P,
            and the pair. A span of ``arc`` has its ends joined, of ``right`` and ``left`` is all
            that is below its first, or its last word.
    """

    pairs: Tensor
    totals: Tensor
    arc: Tensor
    right: Tensor
    left: Tensor


def _fill(scores: Tensor, pairs: Tensor, k: int) -> _Chart:
    """Fill the chart by width; ``from`` tables are by first word and width, ``to`` by last."""
    B, m = scores.shape[:2]
    values = scores.new_full((6, B, m, m, k), -math.inf)
    arc_right_from, arc_left_to, right_from, right_to, left_from, left_to = values
    values[2:, :, :, 0, 0] = 0.0  # a word alone
    back = torch.zeros(3, B, m, m, k, dtype=torch.int32, device=scores.device)
    arc, right, left = back
    for w in range(1, m):
        s = m - w  # spans of this width
        within = right_from[:, :s, :w].clone()
        within[:, 0, 1:] = -math.inf  # ROOT has no word yet when it gets one
        best, arc[:, :s, w] = _best(within, left_to[:, w:, :w].flip(2), pairs, k)
        arc_right_from[:, :s, w] = best + scores.diagonal(-w, 1, 2).unsqueeze(2)
        arc_left_to[:, w:, w] = best + scores.diagonal(w, 1, 2).unsqueeze(2)
        best, right[:, :s, w] = _best(
            arc_right_from[:, :s, 1 : w + 1], right_to[:, w:, :w].flip(2), pairs, k
        )
        right_from[:, :s, w] = right_to[:, w:, w] = best
        best, left[:, :s, w] = _best(
            left_from[:, :s, :w], arc_left_to[:, w:, 1 : w + 1].flip(2), pairs, k
        )
        left_from[:, :s, w] = left_to[:, w:, w] = best
    return _Chart(pairs, right_from[:, 0], arc, right, left)


def _best(first: Tensor, second: Tensor, pairs: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k best sums of two parts, ``(B, s, w, k)``, over w splits, and their indices."""
    sums = first[..., pairs[0]] + second[..., pairs[1]]  # (B, s, w, P)
    values, index = sums.flatten(2).topk(k, 2)
    return values, index.int()


def _trees(chart: _Chart, sizes: Tensor) -> Tensor:
    """Read the heads off the chart, from the widest spans down, for all trees at once."""
    B, m, k = chart.totals.shape
    heads = torch.full((B, k, m), -1, device=sizes.device)
    # The rank of each span in a tree, by width, tree and first word; -1 for spans not in it.
    parts = torch.full((4, m, B, k, m), -1, dtype=torch.int32, device=sizes.device)
    arc_right, arc_left, right, left = parts
    b = torch.arange(B, device=sizes.device)
    ranks = torch.arange(k, dtype=torch.int32, device=sizes.device).expand(B, k)
    right[sizes, b, :, 0] = ranks.masked_fill(torch.isinf(chart.totals[b, sizes]), -1)

    def split(part: Tensor, back: Tensor, w: int) -> tuple[tuple[Tensor, ...], Tensor, Tensor]:
        b, kth, i = torch.nonzero(part[w] >= 0, as_tuple=True)
        entry = back[b, i, w, part[w, b, kth, i]].long()
        at, pair = entry // chart.pairs.shape[1], entry % chart.pairs.shape[1]
        return (b, kth, i), at, chart.pairs[:, pair].int()

    for w in range(m - 1, 0, -1):
        (b, kth, i), at, rank = split(right, chart.right, w)
        arc_right[at + 1, b, kth, i] = rank[0]
        right[w - at - 1, b, kth, i + at + 1] = rank[1]
        (b, kth, i), at, rank = split(left, chart.left, w)
        left[at, b, kth, i] = rank[0]
        arc_left[w - at, b, kth, i + at] = rank[1]
        for part, head, dependent in ((arc_right, 0, w), (arc_left, w, 0)):
            (b, kth, i), at, rank = split(part, chart.arc, w)
            heads[b, kth, i + dependent] = i + head
            right[at, b, kth, i] = rank[0]
            left[w - at - 1, b, kth, i + at + 1] = rank[1]
    return heads
