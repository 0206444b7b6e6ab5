"""Trees drawn from a model, many at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dgltrees.cells.top_down import INITIAL
from dgltrees.errors import ConfigError
from dgltrees.models.add_decisions import JointTreeLM, deciding
from dgltrees.models.sampling import Sampling
from dgltrees.trees.edge_types import EDGE_TYPES, EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["Grown", "grow_trees"]


@dataclass(frozen=True)
class Grown:
    """Trees that a model has drawn, and what it says of them.

    Attributes:
        forest: a generation forest; nodes stand in the order of generation.
        log_prob: ``(T,)`` log P(S | T), of the words alone.
        decisions: ``(T,)`` the log-probability of the decisions to add edges, or none.
        cut: ``(T,)`` whether the limit of length has left out an edge that was decided on.
    """

    forest: Forest
    log_prob: Tensor
    decisions: Tensor
    cut: Tensor


@torch.no_grad()
def grow_trees(
    model: JointTreeLM,
    vocabs: dict[str, Vocabulary],
    trees: int,
    *,
    root: int,
    max_words: int = 100,
    sampling: Optional[Sampling] = None,
    sample_decisions: bool = False,
    without: Sequence[int] = (),
    generator: Optional[torch.Generator] = None,
) -> Grown:
    """Draw dependency trees top-down.

    Zhang, Lu and Lapata (2016), section 4: a classifier decides on every edge, and where there is
    one, its LSTM gives the distribution of the new word. The order is that of training,
    :func:`~dgltrees.trees.dependencies.generation_order`. All trees grow by one word a step. ROOT
    has one dependent, and it is a right one.

    Arguments:
        model: words and decisions, in evaluation mode.
        vocabs: the names of the columns ``word`` and, where the model has labels, ``deprel``.
        trees: T.
        root: the id of ROOT, which is drawn nowhere else.
        max_words: a tree of so many words grows no further.
        sampling: how words, and labels, are drawn; from the softmax as it is by default.
        sample_decisions: draw the decisions by their probability p, instead of p > 0.5.
        without: more words that are not drawn.
        generator: of randomness, on the model's device; the same one draws the same trees.

    Raises:
        ConfigError: there is no tree or no word to grow.
    """
    if trees < 1 or max_words < 1:
        raise ConfigError(f"expected at least 1 tree and 1 word, got {trees} and {max_words}")
    growth = _Growth(model, trees, max_words, root, generator)
    barred = torch.tensor([root, *without], device=growth.word.device)
    how = sampling or Sampling()
    alive = torch.arange(trees, device=growth.word.device)
    for n in range(1, max_words + 1):  # all trees that still grow have n nodes
        alive, source, etype = growth.next_edges(alive, n)
        if not len(alive):
            break
        growth.add_words(alive, source, etype, n, how, barred)
        growth.decide(alive, source, etype, n, sample_decisions)
    return growth.finish(vocabs)


class _Growth:
    """Tables of T trees with M nodes at most, by tree and by place in the order of generation.

    The edges of a node that have been decided on and not been grown yet are *open*.
    """

    def __init__(
        self,
        model: JointTreeLM,
        trees: int,
        words: int,
        root: int,
        generator: Optional[torch.Generator],
    ) -> None:
        self.model, self.generator = model, generator
        weight = model.words.output
        shape, layers, d = (trees, words + 1), model.words.cell.layers, weight.shape[1]

        def table(*more: int, value: float = 0, dtype: torch.dtype = torch.int64) -> Tensor:
            return torch.full((*shape, *more), value, dtype=dtype, device=weight.device)

        self.h, self.c = (table(layers, d, value=INITIAL, dtype=weight.dtype) for _ in range(2))
        self.word, self.label = table(value=root), table(value=-1)
        self.source, self.etype, self.head = table(value=-1), table(), table(value=-1)
        self.first_left, self.lefts = table(), table()  # the nearest left dependent; how many
        self.logits = table(len(EdgeType), dtype=weight.dtype)
        self.open, self.grown = (table(len(EdgeType), dtype=torch.bool) for _ in range(2))
        self.open[:, 0, EdgeType.RIGHT] = True
        self.size = torch.ones(trees, dtype=torch.int64, device=weight.device)
        self.log_prob = torch.zeros(trees, dtype=weight.dtype, device=weight.device)

    def next_edges(self, alive: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
        """The trees that grow on, each ``(A,)``, the source of the next edge, and its type.

        An edge to a next sibling is taken at once, so it can be open at the last node alone. Of
        all others the first is taken: nodes in order, and of each LEFT, then RIGHT.
        """
        unfinished = self.open[alive, :n]  # (A, n, 4)
        going = unfinished.flatten(1).any(1)
        alive, unfinished = alive[going], unfinished[going]
        sibling = unfinished[:, -1, EdgeType.NX_LEFT :].int()  # (A, 2)
        own = unfinished[:, :, : EdgeType.NX_LEFT].flatten(1).int()  # (A, 2 n)
        first, beside = own.argmax(1), sibling.any(1)
        source = torch.where(beside, n - 1, first // 2)
        etype = torch.where(beside, EdgeType.NX_LEFT + sibling.argmax(1), first % 2)
        return alive, source, etype

    def add_words(
        self,
        alive: Tensor,
        source: Tensor,
        etype: Tensor,
        n: int,
        sampling: Sampling,
        barred: Tensor,
    ) -> None:
        """Grow node n of the trees ``alive``; arguments as :meth:`next_edges` returns them."""
        model = self.model.words
        ndata = {"x": model.embed.look_up(self.word[alive, source]), "etype": etype}
        if model.left is not None:
            ndata["left"] = self._left(alive, source, etype)
        h, c = model.cell.advance(ndata, self.h[alive, source], self.c[alive, source])
        y = h[:, -1] @ model.output.t()  # (A, V)
        word = sampling.draw(y.index_fill(1, barred, -math.inf), self.generator)
        self.h[alive, n], self.c[alive, n], self.word[alive, n] = h, c, word
        self.log_prob[alive] -= F.cross_entropy(y, word, reduction="none")
        if model.labels is not None:
            scores = model.label_scores(h[:, -1], word)
            self.label[alive, n] = sampling.draw(scores, self.generator)
        self.size[alive] = n + 1
        self._hang(alive, source, etype, n)

    def _hang(self, alive: Tensor, source: Tensor, etype: Tensor, n: int) -> None:
        """Put node n below its source and its head."""
        self.open[alive, source, etype] = False
        self.grown[alive, source, etype] = True
        self.source[alive, n], self.etype[alive, n] = source, etype
        head = torch.where(etype < EdgeType.NX_LEFT, source, self.head[alive, source])
        self.head[alive, n] = head
        nearest = etype == EdgeType.LEFT
        self.first_left[alive[nearest], head[nearest]] = n
        self.lefts[alive, head] += (etype % 2 == EdgeType.LEFT).long()

    def _left(self, alive: Tensor, source: Tensor, etype: Tensor) -> Tensor:
        """``(A, d)`` q after the left dependents of the source, from the farthest to the nearest.

        They have been grown one after the other, so the k-th nearest stands k - 1 places behind
        the nearest. Only RIGHT edges read it; it is q_0 at all others.
        """
        model = self.model.words
        assert model.left is not None
        count = self.lefts[alive, source] * (etype == EdgeType.RIGHT)
        first = self.first_left[alive, source]
        h = self.h.new_full((len(alive), model.left.layers, model.left.hidden_size), INITIAL)
        c = h.clone()
        for k in range(int(count.max()), 0, -1):
            rows = torch.nonzero(count >= k)[:, 0]
            word = self.word[alive[rows], first[rows] + k - 1]
            h[rows], c[rows] = model.left.advance(
                {"x": model.embed.look_up(word)}, h[rows], c[rows]
            )
        return h[:, -1]

    def decide(self, alive: Tensor, source: Tensor, etype: Tensor, n: int, sample: bool) -> None:
        """Open the edges of node n that the classifiers want."""
        decisions = self.model.decisions
        at = torch.full_like(source, n) if decisions.state == "own" else source
        features = decisions.features(
            self.h[alive, at, -1], self.word[alive, n], self.model.words.output
        )
        logits = torch.cat([add(features) for add in decisions.add], 1)  # (A, 4)
        p = torch.sigmoid(logits)
        bound = torch.full_like(p, 0.5)
        if sample:
            bound.uniform_(generator=self.generator)
        may = torch.ones_like(p, dtype=torch.bool)
        may[:, EdgeType.NX_LEFT] = etype % 2 == EdgeType.LEFT
        may[:, EdgeType.NX_RIGHT] = (etype % 2 == EdgeType.RIGHT) & (source > 0)
        self.logits[alive, n] = logits
        self.open[alive, n] = may & (p > bound)

    def finish(self, vocabs: dict[str, Vocabulary]) -> Grown:
        """The trees as they are now."""
        real = torch.arange(self.word.shape[1], device=self.size.device) < self.size[:, None]
        columns = {"word": self.word, "etype": self.etype}
        if self.model.words.labels is not None:
            columns["deprel"] = self.label
        arrays = {name: table[real].cpu().numpy() for name, table in columns.items()}
        sizes = self.size.cpu().numpy()
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        arrays["t"] = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        forest = Forest.build(
            self.source[real].cpu().numpy(),
            pos=arrays["etype"],
            offsets=offsets,
            columns={name: array.astype(np.int32) for name, array in arrays.items()},
            vocabs={
                **{name: vocabs[name] for name in arrays if name in vocabs},
                "etype": EDGE_TYPES,
            },
        )
        logits, grown = self.logits[real], self.grown[real]  # (N, 4)
        may = torch.from_numpy(deciding(forest.pos, forest.parent < 0).T.copy()).to(grown.device)
        log_p = F.logsigmoid(torch.where(grown, logits, -logits)) * may
        tree = torch.nonzero(real)[:, 0]
        decisions = torch.zeros_like(self.log_prob).index_add_(0, tree, log_p.sum(1))
        return Grown(forest, self.log_prob, decisions, self.open.flatten(1).any(1))
