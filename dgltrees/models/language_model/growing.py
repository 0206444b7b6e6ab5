"""Trees drawn from a model, many at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional, Union

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dgltrees.cells.top_down import INITIAL
from dgltrees.errors import ConfigError
from dgltrees.models.language_model.add_decisions import AddDecisions, JointTreeLM
from dgltrees.models.language_model.possible_edges import deciding
from dgltrees.models.language_model.sampling import Sampling
from dgltrees.models.language_model.tree_lm import TreeLM
from dgltrees.trees.dependencies import EDGE_TYPES, EdgeType
from dgltrees.trees.forest import Forest
from dgltrees.trees.segments import mask_of, offsets_of, within
from dgltrees.trees.vocabulary import Vocabulary

__all__ = ["Grown", "grow_trees"]


@dataclass(frozen=True)
class Grown:
    """Trees that a model has drawn, and what it says of them.

    Attributes:
        forest: a generation forest; nodes stand in the order of generation.
        log_prob: ``(T,)`` log P(S | T), of the words alone.
        decisions: ``(T,)`` the log-probability of the decisions to add edges, or none; or of all
            START and STOP.
        cut: ``(T,)`` whether the limit of length has left out an edge that was decided on.
    """

    forest: Forest
    log_prob: Tensor
    decisions: Tensor
    cut: Tensor


@torch.no_grad()
def grow_trees(
    model: Union[JointTreeLM, TreeLM],
    vocabs: dict[str, Vocabulary],
    trees: int,
    *,
    root: int,
    max_words: int = 100,
    sampling: Optional[Sampling] = None,
    sample_decisions: bool = False,
    without: Sequence[int] = (),
    single_root: bool = True,
    generator: Optional[torch.Generator] = None,
) -> Grown:
    """Draw dependency trees top-down.

    Zhang, Lu and Lapata (2016), section 4: a classifier decides on every edge, and where there is
    one, its LSTM gives the distribution of the new word. A model with ``stops`` needs none: where
    it draws START or STOP there is no edge. The order is that of training,
    :func:`~dgltrees.trees.dependencies.generation_order`. All trees grow by one word, or symbol, a
    step. ROOT has right dependents alone.

    Arguments:
        model: words and decisions, or a model of words with ``stops``; in evaluation mode.
        vocabs: the names of the columns ``word`` and, where the model has labels, ``deprel``.
        trees: T.
        root: the id of ROOT, which is drawn nowhere else.
        max_words: a tree of so many words grows no further.
        sampling: how words, and labels, are drawn; from the softmax as it is by default.
        sample_decisions: draw the decisions by their probability p, instead of p > 0.5; START and
            STOP are drawn as words are.
        without: more words that are not drawn.
        single_root: ROOT has one dependent; else one or more.
        generator: of randomness, on the model's device; the same one draws the same trees.

    Raises:
        ConfigError: there is no tree or no word to grow; the model tells no shape.
    """
    if trees < 1 or max_words < 1:
        raise ConfigError(f"expected at least 1 tree and 1 word, got {trees} and {max_words}")
    words, decisions = model.words, model.decisions
    if decisions is None and words.start is None:
        raise ConfigError("expected a model with decisions to add edges or with stops=True")
    growth = _Growth(words, decisions, trees, max_words, root, generator)
    growth.sample, growth.single_root = sample_decisions, single_root
    barred = torch.tensor([root, *without], device=growth.word.device)
    how = sampling or Sampling()
    alive = torch.arange(trees, device=growth.word.device)
    while True:
        alive, source, etype = growth.next_edges(alive)
        if not len(alive):
            return growth.finish(vocabs)
        growth.add_words(alive, source, etype, how, barred)


class _Growth:
    """Tables of T trees with M nodes at most, by tree and by place in the order of generation.

    The edges of a node that have been decided on and not been grown yet are *open*.
    """

    def __init__(
        self,
        model: TreeLM,
        decisions: Optional[AddDecisions],
        trees: int,
        words: int,
        root: int,
        generator: Optional[torch.Generator],
    ) -> None:
        self.model, self.decisions, self.generator = model, decisions, generator
        self.most, self.sample, self.single_root = words, False, True
        weight = model.output
        shape, layers, d = (trees, words + 1), model.cell.layers, weight.shape[1]

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
        self.log_prob, self.shape = weight.new_zeros(trees), weight.new_zeros(trees)
        self.cut = torch.zeros(trees, dtype=torch.bool, device=weight.device)

    def next_edges(self, alive: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The trees that grow on, each ``(A,)``, the source of the next edge, and its type.

        An edge to a next sibling is taken at once, so it can be open at the last node alone. Of
        all others the first is taken: nodes in order, and of each LEFT, then RIGHT.
        """
        unfinished = self.open[alive, : int(self.size[alive].max())]  # (A, n, 4)
        going = unfinished.flatten(1).any(1)
        if self.decisions is not None:
            going &= self.size[alive] <= self.most  # else symbols close what is open
        alive, unfinished = alive[going], unfinished[going]
        last, rows = self.size[alive] - 1, torch.arange(len(alive), device=alive.device)
        sibling = unfinished[rows, last, EdgeType.NX_LEFT :].int()  # (A, 2)
        own = unfinished[:, :, : EdgeType.NX_LEFT].flatten(1).int()  # (A, 2 n)
        first, beside = own.argmax(1), sibling.any(1)
        source = torch.where(beside, last, first // 2)
        etype = torch.where(beside, EdgeType.NX_LEFT + sibling.argmax(1), first % 2)
        return alive, source, etype

    def add_words(
        self, alive: Tensor, source: Tensor, etype: Tensor, sampling: Sampling, barred: Tensor
    ) -> None:
        """Grow a node on each of these edges, or close it by a symbol.

        Arguments:
            alive, source, etype: as :meth:`next_edges` returns them.
        """
        model = self.model
        ndata = {"x": model.embed.look_up(self.word[alive, source]), "etype": etype}
        if model.left is not None:
            ndata["left"] = self._left(alive, source, etype)
        h, c = model.cell.advance(ndata, self.h[alive, source], self.c[alive, source])
        y = h[:, -1] @ model.output.t()  # (A, V)
        word = self._draw(y.index_fill(1, barred, -math.inf), alive, source, etype, sampling)
        self.open[alive, source, etype] = False
        log_p = -F.cross_entropy(y, word, reduction="none")
        is_word = word < len(y[0]) if model.start is None else word < model.start
        self.log_prob[alive] += log_p.masked_fill(~is_word, 0.0)
        self.shape[alive] += log_p.masked_fill(is_word, 0.0)
        alive, source, etype, h, c, word = (
            each[is_word] for each in (alive, source, etype, h, c, word)
        )
        n = self.size[alive]
        self.h[alive, n], self.c[alive, n], self.word[alive, n] = h, c, word
        scores = model.label_scores(h[:, -1], word)
        if scores is not None:
            self.label[alive, n] = sampling.draw(scores, self.generator)
        self.size[alive] = n + 1
        self._hang(alive, source, etype, n)
        self._open_edges(alive, source, etype, n)

    def _draw(
        self, y: Tensor, alive: Tensor, source: Tensor, etype: Tensor, sampling: Sampling
    ) -> Tensor:
        """``(A,)`` a word for each edge, or the symbol of its side in its place."""
        start = self.model.start
        if start is None:
            return sampling.draw(y, self.generator)
        right = etype % 2
        y = y.scatter(1, (start + 1 - right)[:, None], -math.inf)
        y[:, start:].masked_fill_((source == 0)[:, None], -math.inf)  # ROOT has a dependent
        second = (etype == EdgeType.NX_RIGHT) & (self.head[alive, source] == 0) & self.single_root
        word = sampling.draw(y, self.generator)
        beyond = (self.size[alive] > self.most) & (word < start) & ~second
        self.cut[alive] |= beyond
        return torch.where(second | beyond, start + right, word)

    def _hang(self, alive: Tensor, source: Tensor, etype: Tensor, n: Tensor) -> None:
        """Put the new nodes n below their sources and heads."""
        self.grown[alive, source, etype] = True
        self.source[alive, n], self.etype[alive, n] = source, etype
        head = torch.where(etype < EdgeType.NX_LEFT, source, self.head[alive, source])
        self.head[alive, n] = head
        nearest = etype == EdgeType.LEFT
        self.first_left[alive[nearest], head[nearest]] = n[nearest]
        self.lefts[alive, head] += (etype % 2 == EdgeType.LEFT).long()

    def _left(self, alive: Tensor, source: Tensor, etype: Tensor) -> Tensor:
        """``(A, d)`` q after the left dependents of the source, from the farthest to the nearest.

        They have been grown one after the other, so the k-th nearest stands k - 1 places behind
        the nearest, and START before them all. Only RIGHT edges read it; it is q_0 at all others.
        """
        model = self.model
        assert model.left is not None
        count = self.lefts[alive, source] * (etype == EdgeType.RIGHT)
        first = self.first_left[alive, source]
        h = self.h.new_full((len(alive), model.left.layers, model.left.hidden_size), INITIAL)
        c = h.clone()
        steps = [
            (rows, self.word[alive[rows], first[rows] + k - 1])
            for k in range(int(count.max()), 0, -1)
            for rows in torch.nonzero(count >= k).T
        ]
        if model.start is not None:
            rows = torch.nonzero((etype == EdgeType.RIGHT) & (source > 0))[:, 0]
            steps.insert(0, (rows, torch.full_like(rows, model.start)))
        for rows, word in steps:
            ndata = {"x": model.embed.look_up(word)}
            h[rows], c[rows] = model.left.advance(ndata, h[rows], c[rows])
        return h[:, -1]

    def _open_edges(self, alive: Tensor, source: Tensor, etype: Tensor, n: Tensor) -> None:
        """Open the edges of the new nodes n: those that the classifiers want, or all there may be.

        What a symbol is drawn for is closed again.
        """
        may = torch.ones(len(n), len(EdgeType), dtype=torch.bool, device=n.device)
        may[:, EdgeType.NX_LEFT] = etype % 2 == EdgeType.LEFT
        may[:, EdgeType.NX_RIGHT] = etype % 2 == EdgeType.RIGHT
        if self.decisions is not None:
            at = n if self.decisions.state == "own" else source
            h, word = self.h[alive, at, -1], self.word[alive, n]
            features = torch.cat([h, F.embedding(word, self.model.output)], 1)
            logits = self.decisions(features)  # (A, 4)
            p = torch.sigmoid(logits)
            bound = torch.full_like(p, 0.5)
            if self.sample:
                bound.uniform_(generator=self.generator)
            if self.single_root:
                may[:, EdgeType.NX_RIGHT] &= source > 0
            may &= p > bound
            self.logits[alive, n] = logits
        self.open[alive, n] = may

    def finish(self, vocabs: dict[str, Vocabulary]) -> Grown:
        """The trees as they are now."""
        real = mask_of(self.size, self.word.shape[1])
        columns = {"word": self.word, "etype": self.etype}
        if self.model.labels is not None:
            columns["deprel"] = self.label
        arrays = {name: table[real].cpu().numpy() for name, table in columns.items()}
        sizes = self.size.cpu().numpy()
        arrays["t"] = within(sizes)
        forest = Forest.build(
            self.source[real].cpu().numpy(),
            pos=arrays["etype"],
            offsets=offsets_of(sizes),
            columns={name: array.astype(np.int32) for name, array in arrays.items()},
            vocabs={
                **{name: vocabs[name] for name in arrays if name in vocabs},
                "etype": EDGE_TYPES,
            },
        )
        if self.decisions is None:
            return Grown(forest, self.log_prob, self.shape, self.cut)
        logits, grown = self.logits[real], self.grown[real]  # (N, 4)
        may = torch.from_numpy(deciding(forest.pos, forest.parent < 0).T.copy()).to(grown.device)
        log_p = F.logsigmoid(torch.where(grown, logits, -logits)) * may
        tree = torch.nonzero(real)[:, 0]
        decisions = torch.zeros_like(self.log_prob).index_add_(0, tree, log_p.sum(1))
        return Grown(forest, self.log_prob, decisions, self.open.flatten(1).any(1))
